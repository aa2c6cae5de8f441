// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Sparse slabs: see defrag.hpp.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "defrag.hpp"

#include <memory_pool/base/errors.hpp>
#include <memory_pool/np_alloc.h>

#include "../heaps/heap_slabs.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "engine.hpp"

#include <atomic>
#include <cstddef>
#include <mutex> // std::try_to_lock
#include <optional>

namespace memory_pool::np {
namespace {
/// Returns: whether blocks of a slice with that tag can move: all blocks of slabs, except blocks of 0 bytes and
///   internal blocks.
bool may_move(slice_tag tag) noexcept
{
    const slice_tag owner = tag & ~class_bits;
    return is_of_slab(tag) && owner != registry().heaps().internal.own_tag() &&
           owner != registry().heaps().zero_size.own_tag();
}

/// The heap that owns the slabs with a tag, locked if its lock is free. Thread safety analysis cannot follow a
/// try-lock, so the members tell the analysis that the lock is held.
class locked_heap
{
public:
    explicit locked_heap(slice_tag tag) noexcept : heap_(heap_slabs::of(tag)), lock_(heap_, found_, std::try_to_lock) {}

    bool is_in_sparse_slab(const void* block) const noexcept
    {
        heap_.assume_held();
        return lock_.is_on() && heap_.is_in_sparse_slab(block);
    }

    void* take_from_denser_slab(std::size_t size_class, const void* block) noexcept
    {
        heap_.assume_held();
        return is_in_sparse_slab(block) ? heap_.take_from_denser_slab(size_class, block) : nullptr;
    }

    /// Returns: whether the lock was free.
    bool put(std::size_t size_class, void* block) noexcept
    {
        heap_.assume_held();
        if (!lock_.is_on())
            return false;
        if (const std::optional<error_kind> wrong = heap_.put(size_class, block))
            heap_.report(*wrong, size_class, block);
        return true;
    }

private:
    misuse_list found_; // Declared before the lock, to report after its release.
    heap_slabs& heap_;
    const heap_slabs::scoped_lock lock_;
};
} // namespace

bool is_worth_moving(const void* block) noexcept
{
    const page_heap::region_type& all = pages().region();
    if (all.slices_before(block) >= all.committed())
        return false;
    const slice_tag tag = all.tag_of(block).load(std::memory_order_relaxed);
    return may_move(tag) && locked_heap(tag).is_in_sparse_slab(block);
}

void* take_for_moving(slice_tag tag, void* block) noexcept
{
    if (!may_move(tag))
        return nullptr;
    const std::size_t size_class = tag & class_bits;
    // Cached blocks of this thread would pin slabs that are otherwise empty.
    if (thread_cache& cache = this_thread.cache; cache.has_heap() && cache.held(size_class) != 0)
        cache.put_back(size_class);
    return locked_heap(tag).take_from_denser_slab(size_class, block);
}

void put_moved(slice_tag tag, void* block) noexcept
{
    if (!locked_heap(tag).put(tag & class_bits, block))
        plain_paths::free(block);
}
} // namespace memory_pool::np

namespace np = memory_pool::np;

extern "C" {
int np_defrag_hint(const void* block) noexcept
{
    return np::is_worth_moving(block) ? 1 : 0;
}

void* np_defrag_move(void* block) noexcept
{
    return np::move_to_denser_slab(block);
}
}
