// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Allocates and frees large blocks, which consist of whole slices.
///
///     without a heap:         a run; if the region has none, a block mapped outside of the region
///     of a shared heap:       a run in the list of that heap
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>

#include "../heaps/shared_heap.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "block_lookup.hpp"
#include "engine.hpp"
#include "memory_limits.hpp"
#include "profiling.hpp"

#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Result of a request for a large block.
struct large_allocation
{
    void* block;
    bool is_zeroed;
};

/// Effects: enables reports of accesses to the guards of a large block of `bytes`, if it has guards, and to the freed
///   block, if the block will be revoked.
inline void watch_if_large(std::size_t bytes) noexcept
{
    if (page_heap::checks_type::wants_guards() || large_runs::is_revoked_when_freed(bytes))
        (void)registry().watch_accesses();
}

/// Returns: a large block, in the shared heap `home` unless `home` is nullptr. If there is no memory, returns nullptr
///   without setting errno.
inline large_allocation take_large_block(std::size_t bytes, std::size_t alignment, shared_heap* home) noexcept
{
    const run taken = pages().large().take_large(bytes, alignment);
    if (taken.first == no_slice) {
        void* const direct = home == nullptr ? pages().take_mmap_block(bytes_in_large(bytes), alignment) : nullptr;
        count_allocation(direct, bytes);
        return {direct, true};
    }
    MEMORY_POOL_DELAY_POINT();
    if (home != nullptr)
        home->adopt_large(taken.first);
    void* const block = pages().large().begin_of_large(taken.first);
    if constexpr (is_checked)
        if (alignment > alignment_of_all)
            pages().checks().large_allocated_by(taken.first, allocated_by::aligned_alloc);
    count_allocation(block, bytes, home);
    if (clears_new_blocks() && !taken.is_zeroed) {
        os::clear_memory(block, bytes);
        return {block, true};
    }
    return {block, taken.is_zeroed};
}

/// Returns: as take_large_block, after a sweep if necessary. Sets errno if there is no memory.
MEMORY_POOL_NOINLINE inline large_allocation allocate_large(std::size_t bytes, std::size_t alignment,
                                                            shared_heap* home = nullptr) noexcept
{
    if (!registry().heaps().start())
        return {out_of_memory(), false};
    run_maintenance();
    watch_if_large(bytes);
    const std::uint32_t refusals = pages().source().limit().refusals();
    large_allocation made = take_large_block(bytes, alignment, home);
    // Empty slabs, or free runs that are too small, may be in the way.
    if (made.block == nullptr &&
        (pages().source().limit().refusals() != refusals || bytes <= pages().statistics().reserved) && sweep())
        made = take_large_block(bytes, alignment, home);
    if (made.block == nullptr)
        (void)out_of_memory();
    answer_if_crossed();
    return made;
}

/// Effects: frees the large block of the run that begins at `first`.
/// Returns: false if the block was already freed.
inline bool free_large(slice_index first) noexcept
{
    shared_heap* const home = pages().region().record(first).home;
    return home != nullptr ? home->free_large(first) : pages().large().give_large(first);
}

/// Returns: as allocate_large, a large block filled with zeros.
inline void* allocate_large_zeroed(std::size_t bytes, std::size_t alignment, shared_heap* home = nullptr) noexcept
{
    const large_allocation large = allocate_large(bytes, alignment, home);
    if (large.block != nullptr && !large.is_zeroed)
        os::clear_memory(large.block, bytes);
    return large.block;
}
} // namespace memory_pool::np
