// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Sparse slabs: see defrag.hpp.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "defrag.hpp"

#include <memory_pool/np_alloc.h>

#include "../heaps/heap.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "engine.hpp"

#include <atomic>
#include <cstddef>
#include <mutex> // std::try_to_lock

namespace memory_pool::np {
namespace {
/// Returns: whether blocks of a slice with that tag can move: those of slabs, but of 0 bytes, and what the program does
///   not know of.
bool may_move(slice_tag tag) noexcept
{
    const slice_tag owner = tag & ~class_bits;
    return is_of_slab(tag) && owner != registry().internal().own_tag() && owner != registry().zero_size().own_tag();
}

/// Effects: calls `act(heap&)` with the lock of the heap that slabs with that tag are of, if it is free.
/// Returns: what that returns; or nothing else, but its default.
template <class Act>
auto with_heap_of(slice_tag tag, Act&& act) noexcept
{
    heap& its = heap::of(tag);
    misuse_list found; // First, so that it is reported last, without the lock.
    const heap::scoped_lock lock(its, found, std::try_to_lock);
    its.assume_held();
    return lock.is_on() ? act(its) : decltype(act(its)){};
}
} // namespace

bool is_worth_moving(const void* block) noexcept
{
    const page_heap::region_type& all = pages().region();
    if (all.slices_before(block) >= all.committed())
        return false;
    const slice_tag tag = all.tag_of(block).load(std::memory_order_relaxed);
    return may_move(tag) && with_heap_of(tag, [block](heap& its) {
               its.assume_held();
               return its.is_in_sparse_slab(block);
           });
}

void* take_for_moving(slice_tag tag, void* block) noexcept
{
    if (!may_move(tag))
        return nullptr;
    const std::size_t size_class = tag & class_bits;
    // What this thread has cached would keep slabs in use that are empty otherwise.
    if (thread_cache& cache = this_thread.cache; cache.has_heap() && cache.held(size_class) != 0)
        cache.put_back(size_class);
    return with_heap_of(tag, [=](heap& its) {
        its.assume_held();
        return its.is_in_sparse_slab(block) ? its.take_from_denser_slab(size_class, block) : nullptr;
    });
}

void put_moved(slice_tag tag, void* block) noexcept
{
    const bool is_put = with_heap_of(tag, [=](heap& its) mutable {
        its.assume_held();
        its.put(tag & class_bits, &block, 1);
        return true;
    });
    if (!is_put)
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
