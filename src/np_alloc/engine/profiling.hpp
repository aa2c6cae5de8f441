// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Selects the profile samples and their heaps.
///
///     small, of a thread:      counted on the slow path, which all calls take (thread_cache.hpp). A profile sample
///                              comes from a heap of its own, so that its free takes the slow path, which notifies the
///                              profile.
///     of a heap, or large:     counted at the allocation. Any block can be a profile sample: its free is slow anyway.
///
/// Resizing a small block in place changes the size of its profile sample. Resizing a large block counts as a free and
/// an allocation, as if the block had moved.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../heaps/shared_heap.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/internals.hpp"
#include "allocation_scopes.hpp"
#include "block_lookup.hpp"
#include "engine.hpp"

#include <algorithm>
#include <cstddef>

namespace memory_pool::np {
/// Effects: makes about one block per `bytes` bytes a profile sample from now on; 0 disables samples. Other threads
///   follow at their next slow call.
void set_profile_bytes(std::size_t bytes) noexcept;

/// While this thread captures its call stack, none of its allocations becomes a profile sample or a guarded sample: the
/// unwinder may allocate.
class sampling_scope : base::immovable<sampling_scope>
{
public:
    sampling_scope() noexcept { this_thread.is_sampling = true; }
    ~sampling_scope() { this_thread.is_sampling = false; }
};

/// Effects: adds a block to the profile, with the call stack of this thread. `home`: the shared heap of the block,
///   which notifies the profile when the block is freed; nullptr if there is none.
void add_to_profile(const void* block, std::size_t bytes, std::size_t mean, shared_heap* home) noexcept;

/// Returns: a block of that class that is a profile sample; nullptr if there is no memory.
void* allocate_sample(std::size_t size_class, std::size_t bytes, std::size_t mean) noexcept;

/// Returns: whether an allocation of `bytes` by this thread is a profile sample.
MEMORY_POOL_ALWAYS_INLINE bool is_sample(std::size_t bytes, std::size_t mean) noexcept
{
    return this_thread.sampler.is_due(std::max<std::size_t>(bytes, 1), mean);
}

/// Effects: makes a block that bypassed the magazines a profile sample, if one is due.
inline void sample_if_due(const void* block, std::size_t bytes, shared_heap* home) noexcept
{
    const std::size_t mean = the_profile.mean_bytes();
    if (MEMORY_POOL_UNLIKELY(mean != 0) && is_sample(bytes, mean))
        add_to_profile(block, bytes, mean, home);
}

/// Effects: counts a block that bypassed the magazines, for the profile and for this thread's no-allocation scope.
///   No-op for nullptr.
inline void count_allocation(const void* block, std::size_t bytes, shared_heap* home = nullptr) noexcept
{
    if (block == nullptr)
        return;
    sample_if_due(block, bytes, home);
    note_if_forbidden(bytes);
}

/// Returns: whether a small block is a profile sample or a guarded sample, which must not enter a magazine.
inline bool is_sample(const void* block) noexcept
{
    const slice_tag tag = tag_of(block);
    return !is_of_slab(tag) || (tag & ~class_bits) == registry().heaps().profiled.own_tag();
}
} // namespace memory_pool::np
