// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The statistics of a shared pool whose policy counts.
///
///     each thread counts in its cache; threads without a cache count here      allocations, deallocations, failures
///     all threads share one counter                                            live, which the peak needs
///
///     live = allocations - deallocations + refused <= peak
///
/// Thread safety: any thread may count; the pool's lock guards the other functions.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>
#include <memory_pool/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The counters behind pool_statistics, for many threads. `mine` is the cache of the calling thread, or nullptr.
class thread_counts
{
public:
    void add_allocation(thread_cache* mine) noexcept
    {
        add(mine, &cache_counts::allocations);
        note_peak(live_.fetch_add(1, std::memory_order_relaxed) + 1);
    }

    void add_deallocation(thread_cache* mine) noexcept
    {
        live_.fetch_sub(1, std::memory_order_relaxed);
        add(mine, &cache_counts::deallocations);
    }

    void add_failure(thread_cache* mine) noexcept { add(mine, &cache_counts::failures); }

    /// Effects: uncounts deallocations of foreign or free blocks.
    void refuse(std::size_t blocks) noexcept
    {
        if (MEMORY_POOL_LIKELY(blocks == 0))
            return;
        refused_ += blocks;
        note_peak(live_.fetch_add(blocks, std::memory_order_relaxed) + blocks);
    }

    /// Effects: counts the `in_use` blocks in use as freed.
    /// Preconditions: no other thread counts.
    void end_all(std::size_t in_use) noexcept
    {
        without_cache_.deallocations.fetch_add(in_use, std::memory_order_relaxed);
        live_.store(0, std::memory_order_relaxed);
    }

    /// Effects: corrects the count of blocks in use in the child of a fork: a lost thread may not have counted its last
    ///   operation.
    /// Preconditions: no other thread counts.
    void settle(const thread_caches<>& caches, std::size_t in_use) noexcept
    {
        const pool_statistics counted = sum(caches);
        const std::uint64_t counted_in_use = counted.allocations - counted.deallocations;
        without_cache_.deallocations.fetch_add(counted_in_use - in_use, std::memory_order_relaxed);
        live_.store(in_use, std::memory_order_relaxed);
        note_peak(in_use);
    }

    /// Effects: sets the peak to the number of blocks in use.
    void reset_peak() noexcept
    {
        peak_.store(0, std::memory_order_relaxed);
        note_peak(live_.load(std::memory_order_relaxed));
    }

    /// Returns: the sums of the counts here and in the caches; the other statistics are 0.
    pool_statistics sum(const thread_caches<>& caches) const noexcept
    {
        pool_statistics all;
        without_cache_.add_to(all);
        caches.for_each([&all](const thread_cache& cache) { cache.counts.add_to(all); });
        all.deallocations -= refused_;
        all.peak_in_use = peak_.load(std::memory_order_relaxed);
        return all;
    }

private:
    void add(thread_cache* mine, std::atomic<std::uint64_t> cache_counts::* counter) noexcept
    {
        if (mine != nullptr)
            add_as_owner(mine->counts.*counter);
        else
            (without_cache_.*counter).fetch_add(1, std::memory_order_relaxed);
    }

    void note_peak(std::size_t live) noexcept
    {
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        // A double free that was counted, but is not detected yet, may have made the count negative.
        const bool is_count = live <= std::numeric_limits<std::size_t>::max() / 2;
        while (is_count && live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed))
            continue;
    }

    std::size_t refused_ = 0;
    cache_counts without_cache_;
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> peak_{0};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
