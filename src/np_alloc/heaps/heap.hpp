// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A heap: the slabs of one thread, and what other threads free of them.
///
///     heap  =  slabs (heap_slabs.hpp)  +  outbox and inbox (remote_frees.hpp)
///
/// Thread safety: as those.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>

#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "remote_frees.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool::np {
/// The heap of one thread; or of all, one at a time: see shared_heap.hpp.
class heap : public remote_frees
{
public:
    using remote_frees::remote_frees;

    /// As heap_slabs::of.
    static heap& of(slice_tag tag) noexcept { return static_cast<heap&>(heap_slabs::of(tag)); }

    using heap_slabs::put;

    /// Effects: puts blocks of one class back into their slabs, or into the outbox if they are of other heaps; reports
    ///   those that were not outstanding.
    void put(std::size_t size_class, void* const* blocks, std::size_t count) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        std::uint32_t taken_back = 0;
        for (void* const* const end = blocks + count; blocks != end;) {
            const slice_tag tag = tag_of(*blocks);
            if (MEMORY_POOL_UNLIKELY(tag != (own_tag() | size_class))) {
                void* const* const first = blocks;
                do
                    ++blocks;
                while (blocks != end && tag_of(*blocks) == tag);
                put_of_others(tag, size_class, first, static_cast<std::size_t>(blocks - first));
                continue;
            }
            const slice_record::returned result =
                put_into(slab_of(*blocks), size_class, blocks, static_cast<std::size_t>(end - blocks),
                         [this, size_class](error_kind kind, const void* block) { report(kind, size_class, block); });
            blocks += result.seen;
            taken_back += result.taken_back;
        }
        count_outstanding(size_class, -block_count{taken_back});
    }

    /// Effects: calls `visit(const slice_record&)` for the slab that a slice is part of, under the heap lock, if it is
    ///   one of this heap.
    /// Thread safety: any thread.
    template <class Visit>
    void with_slab(slice_index slice, Visit&& visit)
    {
        const base::lock_guard lock(mutex_);
        if ((region().tag(slice).load(std::memory_order_relaxed) & ~class_bits) == own_tag())
            visit(std::as_const(record(record(slice).slab)));
    }

private:
    /// Puts blocks, whose slices have that tag, into the outbox. Reports a double free if their slab is gone: it
    /// existed when they were freed.
    void put_of_others(slice_tag tag, std::size_t size_class, void* const* blocks, std::size_t count) noexcept
    {
        if (is_of_thread(tag, size_class)) {
            add_remote_frees(tag, blocks, count);
            return;
        }
        for (void* const* const end = blocks + count; blocks != end; ++blocks)
            report(error_kind::double_free, size_class, *blocks);
    }
};
} // namespace memory_pool::np
