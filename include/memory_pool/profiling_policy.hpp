// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools with a sampling profiler: which call stacks allocated the blocks in use, and all blocks ever allocated.
///
///     memory_pool::object_pool<order, memory_pool::profiling_policy<>> orders(pool_options{}.with_name("orders"));
///     ...
///     memory_pool::dump_profile("/tmp/pools.pb.gz");        report/write_profile.hpp
///
/// A block of n bytes is a sample with the probability 1 - exp(-n / mean), and counts as 1 / that blocks.
///
/// With NP_LEAKS=1 or NP_LEAKS_EXIT=status in the environment, the blocks in use of such a pool are listed on stderr by
/// call site when it ends, before their objects are destroyed. Pools of reference-counted objects, which may outlive
/// them, list them if their policy reports that: profiling_policy<leak_reporting_policy<>>.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/blocks/pool_leaks.hpp>
#include <memory_pool/core/blocks/pool_profile.hpp>
#include <memory_pool/policies.hpp>

#include <atomic>
#include <cstddef>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Samples the blocks of pools.
struct profiling_observer
{
    /// Effects: as observing_policy requires.
    MEMORY_POOL_ALWAYS_INLINE static void allocated(const char* pool_name, const void* block,
                                                    std::size_t bytes) noexcept
    {
        detail::core::pool_profile::allocated(pool_name, block, bytes);
    }

    /// Effects: as observing_policy requires.
    MEMORY_POOL_ALWAYS_INLINE static void freed(const char* /*pool_name*/, const void* block) noexcept
    {
        detail::core::pool_profile::freed(block);
    }

    /// Effects: lists the blocks in use of a pool that ends, if it `is_leak` or the environment asks for it.
    template <class ForEachInUse>
    static void ended(const char* pool_name, std::size_t block_size, std::size_t count, bool is_leak,
                      ForEachInUse&& for_each_in_use) noexcept
    {
        if (is_leak || detail::core::lists_leaks())
            detail::core::list_leaks(pool_name, block_size, count, std::forward<ForEachInUse>(for_each_in_use));
    }
};

/// A policy for pools that are profiled, otherwise as `Policy`.
template <class Policy = default_policy>
using profiling_policy = observing_policy<profiling_observer, Policy>;

/// Effects: samples one block for each `mean` bytes that pools with a profiling_policy allocate, on average; 524,288
///   unless set. 1: each block, so figures are exact. 0: none; blocks that were sampled before are followed further on.
///   Other threads notice it when they have allocated 64 KiB more.
inline void set_profile_bytes(std::size_t mean) noexcept
{
    detail::core::pool_profile::set_mean(mean);
}

/// Returns: that number.
inline std::size_t profile_bytes() noexcept
{
    return detail::core::mean_of_pool_profile.load(std::memory_order_relaxed);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
