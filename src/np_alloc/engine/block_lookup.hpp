// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Looks up a block by its address, for slow paths; the fast paths are in engine.hpp.
///
///     address -> slice -> slice tag -> block of that class | large block | outside of the region | none
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../heaps/heap.hpp"
#include "../heaps/shared_heap.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/misuse.hpp"
#include "engine.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
inline bool is_misaligned(const void* block) noexcept
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment_of_all != 0;
}

/// Returns: the tag of the slice of `address`; outside of the region, mmap_block for a block, otherwise no_owner.
MEMORY_POOL_ALWAYS_INLINE slice_tag tag_of(const void* address) noexcept
{
    const page_heap::region_type& all = pages().region();
    if (MEMORY_POOL_LIKELY(all.slices_before(address) < all.committed()))
        return all.tag_of(address).load(std::memory_order_relaxed);
    return pages().mmap_bytes(address) != 0 ? mmap_block : no_owner;
}

inline slice_index slice_of(const void* block) noexcept
{
    return pages().region().slice_of(block);
}

MEMORY_POOL_NOINLINE inline std::size_t usable_size(const void* block, slice_tag tag) noexcept
{
    switch (tag) {
    case large_block: return pages().checks().bytes_of_large(slice_of(block));
    case mmap_block: return pages().mmap_bytes(block);
    default: return sizes::size(tag & class_bits);
    }
}

inline bool is_inside_large_block(slice_tag tag, const void* block) noexcept
{
    return tag == inside_large_block ||
           (tag == large_block && pages().large().begin_of_large(slice_of(block)) != block);
}

/// Effects: reports writes around a guarded sample.
inline void look_around_sample(const void* block) noexcept
{
    if (const std::optional<error_kind> found =
            pages().with_guarded(block, [block](guarded_slots& slots) { return slots.mend_canary(block); }))
        report_misuse(*found, block, pages().mmap_bytes(block));
}

/// Effects: reports an address outside of the region where no block begins.
MEMORY_POOL_SLOW_PATH inline void report_wrong_outside(const void* address) noexcept
{
    wrong_address wrong = pages().what_is_wrong_with(address);
    // The region was longer earlier: the block was freed and its addresses were released.
    if (wrong.kind == error_kind::foreign_pointer &&
        pages().region().slices_before(address) < pages().region().peak_committed())
        wrong.kind = error_kind::double_free;
    report_misuse(wrong.kind, address, wrong.block_bytes);
}

MEMORY_POOL_SLOW_PATH inline void report_wrong(slice_tag tag, const void* block) noexcept
{
    if (tag != no_owner)
        report_misuse(error_kind::misaligned_pointer, block, tag != inside_large_block ? usable_size(block, tag) : 0);
    else if (pages().region().slices_before(block) < pages().region().committed())
        report_misuse(error_kind::double_free, block, 0); // In the region, a program has pointers only to blocks.
    else
        report_wrong_outside(block);
}

/// Effects: reports `block` if its address or the tag of its slice shows that it is invalid.
/// Returns: whether `block` is invalid.
inline bool report_if_wrong(slice_tag tag, const void* block) noexcept
{
    if (MEMORY_POOL_LIKELY(tag != no_owner && !is_inside_large_block(tag, block) && !is_misaligned(block)))
        return false;
    report_wrong(tag, block);
    return true;
}

/// Returns: the shared heap of a block; nullptr if the block has none.
inline shared_heap* shared_heap_of(const void* block, slice_tag tag) noexcept
{
    if (tag == large_block)
        return pages().region().record_of(block).home;
    if (tag == mmap_block)
        return nullptr;
    return heap_slabs::of(tag).is_shared() ? &shared_heap::of(tag) : nullptr;
}
} // namespace memory_pool::np
