// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Counters of the allocations that pass through a memory resource.
///
///     in_use = allocations - deallocations <= peak_in_use          bytes_in_use <= peak_bytes_in_use
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/statistics.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: makes `peak` at least `value`.
inline void raise(std::atomic<std::size_t>& peak, std::size_t value) noexcept
{
    std::size_t highest = peak.load(std::memory_order_relaxed);
    while (highest < value && !peak.compare_exchange_weak(highest, value, std::memory_order_relaxed)) {
    }
}

/// The counters of resource_statistics. They do not order other memory accesses.
class resource_counters
{
public:
    void count_allocation(std::size_t bytes) noexcept
    {
        allocations_.fetch_add(1, std::memory_order_relaxed);
        // Release: `read` counts the allocation of each chunk that it counts as in use.
        raise(peak_in_use_, in_use_.fetch_add(1, std::memory_order_release) + 1);
        raise(peak_bytes_in_use_, bytes_in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    }

    void count_deallocation(std::size_t bytes) noexcept
    {
        in_use_.fetch_sub(1, std::memory_order_relaxed);
        bytes_in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    }

    void count_failure() noexcept { failures_.fetch_add(1, std::memory_order_relaxed); }

    /// Effects: resets the peaks to the chunks and bytes in use.
    void reset_peak() noexcept
    {
        peak_in_use_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        peak_bytes_in_use_.store(bytes_in_use(), std::memory_order_relaxed);
    }

    std::size_t bytes_in_use() const noexcept { return bytes_in_use_.load(std::memory_order_relaxed); }

    /// Returns: the statistics. While other threads count, the values are from different moments, but the relations
    ///   above hold.
    resource_statistics read() const noexcept
    {
        resource_statistics statistics;
        statistics.in_use = in_use_.load(std::memory_order_acquire);
        statistics.allocations = allocations_.load(std::memory_order_relaxed);
        statistics.deallocations = statistics.allocations - statistics.in_use;
        statistics.failures = failures_.load(std::memory_order_relaxed);
        statistics.bytes_in_use = bytes_in_use();
        statistics.peak_in_use = std::max(peak_in_use_.load(std::memory_order_relaxed), statistics.in_use);
        statistics.peak_bytes_in_use =
            std::max(peak_bytes_in_use_.load(std::memory_order_relaxed), statistics.bytes_in_use);
        return statistics;
    }

private:
    std::atomic<std::uint64_t> allocations_{0};
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::size_t> in_use_{0};
    std::atomic<std::size_t> peak_in_use_{0};
    std::atomic<std::size_t> bytes_in_use_{0};
    std::atomic<std::size_t> peak_bytes_in_use_{0};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
