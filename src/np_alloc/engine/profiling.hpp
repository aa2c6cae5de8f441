// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which blocks are samples of the profile, and where they are from.
///
///     small, of a thread:   counted on the slow path, where all calls are (thread_cache.hpp); a sample is from the
///                           heap of samples, so that each free of one takes the slow path, which notifies the
///                           profile
///     of a heap, large:     counted when they were allocated, and a sample is what it is: their frees are slow anyway
///
/// Resizing a small block in place changes the size of a sample. For a large block it counts as a free and an
/// allocation, as if it had moved.
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
/// Effects: has one block for that many bytes sampled from now on, in the mean; 0: none. Other threads begin or end
///   with it at their next slow call.
void set_profile_bytes(std::size_t bytes) noexcept;

/// While this thread takes its call stack, nothing that it allocates is a sample: the unwinder may allocate.
class sampling_scope : base::immovable<sampling_scope>
{
public:
    sampling_scope() noexcept { this_thread.is_sampling = true; }
    ~sampling_scope() { this_thread.is_sampling = false; }
};

/// Effects: adds a block to the profile, as allocated by the calls of this thread. `home`: its shared heap, which
///   notifies the profile when it is freed; nullptr for a block of none.
void add_to_profile(const void* block, std::size_t bytes, std::size_t mean, shared_heap* home) noexcept;

/// Returns: a sample of a block of that class; nullptr if there is no memory for it.
void* allocate_sample(std::size_t size_class, std::size_t bytes, std::size_t mean) noexcept;

/// Returns: whether an allocation of that many bytes by this thread is a sample.
MEMORY_POOL_ALWAYS_INLINE bool is_sample(std::size_t bytes, std::size_t mean) noexcept
{
    return this_thread.sampler.is_due(std::max<std::size_t>(bytes, 1), mean);
}

/// Effects: samples a block that bypassed the magazines, if a sample is due.
inline void sample_if_due(const void* block, std::size_t bytes, shared_heap* home) noexcept
{
    const std::size_t mean = the_profile.mean_bytes();
    if (MEMORY_POOL_UNLIKELY(mean != 0) && is_sample(bytes, mean))
        add_to_profile(block, bytes, mean, home);
}

/// Effects: counts a block that bypassed the magazines, for the profile and for the scope of this thread. nullptr is
///   ignored.
inline void count_allocation(const void* block, std::size_t bytes, shared_heap* home = nullptr) noexcept
{
    if (block == nullptr)
        return;
    sample_if_due(block, bytes, home);
    note_if_forbidden(bytes);
}

/// Returns: whether a small block is a sample, and must not get into a magazine.
inline bool is_sample(const void* block) noexcept
{
    const slice_tag tag = tag_of(block);
    return !is_of_slab(tag) || (tag & ~class_bits) == registry().heaps().profiled.own_tag();
}
} // namespace memory_pool::np
