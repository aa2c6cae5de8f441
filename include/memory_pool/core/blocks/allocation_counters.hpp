// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The counters of a pool for one thread. A pool that does not count pays nothing for them.
///
///     in_use = allocations - deallocations <= peak_in_use
///
/// Thread safety: none; the owning pool synchronizes.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The counters behind pool_statistics. Unless `Counts`, the class and its functions are empty: derive from it.
template <bool Counts>
class allocation_counters
{
public:
    void count_allocation() noexcept {}
    void count_deallocation() noexcept {}
    void count_deallocations(std::size_t) noexcept {}
    void uncount_deallocations(std::size_t) noexcept {}
    void count_failure() noexcept {}
};

template <>
class allocation_counters<true>
{
public:
    void count_allocation() noexcept
    {
        ++allocations_;
        if (in_use() > peak_in_use_)
            peak_in_use_ = in_use();
    }

    void count_deallocation() noexcept { ++deallocations_; }
    void count_deallocations(std::size_t blocks) noexcept { deallocations_ += blocks; }
    void count_failure() noexcept { ++failures_; }

    /// Effects: uncounts frees that the pool has rejected.
    void uncount_deallocations(std::size_t blocks) noexcept { deallocations_ -= blocks; }

    void reset_peak() noexcept { peak_in_use_ = in_use(); }

    pool_statistics read() const noexcept
    {
        pool_statistics statistics;
        statistics.allocations = allocations_;
        statistics.deallocations = deallocations_;
        statistics.failures = failures_;
        statistics.in_use = in_use();
        statistics.peak_in_use = peak_in_use_;
        return statistics;
    }

private:
    /// Not below 0, even after a double free has been counted but not detected yet.
    std::size_t in_use() const noexcept { return allocations_ < deallocations_ ? 0 : allocations_ - deallocations_; }

    std::uint64_t allocations_ = 0;
    std::uint64_t deallocations_ = 0;
    std::uint64_t failures_ = 0;
    std::size_t peak_in_use_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
