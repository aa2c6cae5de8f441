// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which allocations of a thread are samples, by bytes.
///
///     counted:   blocks that get into magazines: 31/32 of the mean     | allocations: 1/32    | sample
///                refill, free    free  free                            | malloc    malloc       malloc
///
/// A block that a magazine hands out runs no code that could count it. But each block that is handed out got into the
/// magazine before: from a slab, or freed by the program, on slow paths both. So those are counted at first. The last
/// part of the distance is counted in allocations, which take the slow path then: so each block is a sample with a
/// probability that depends on its size alone, whatever the pattern of the program.
///
/// Thread safety: one per thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/byte_sampler.hpp>

#include "../os/random.hpp"
#include "../support/internals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool::np {
/// Counts bytes up to the next sample.
class sample_points
{
public:
    /// Effects: has one block for `mean` bytes be a sample from now on; 0: none.
    void restart(std::size_t mean) noexcept
    {
        mean_ = mean;
        bytes_ahead_ = 0;
        bytes_to_skip_ = 0;
        sampler_ = mean != 0 ? core::byte_sampler(os::random_number() | 1) : core::byte_sampler();
        is_near_ = mean != 0 && far_mean() == 0;
        draw();
    }

    std::size_t mean() const noexcept { return mean_; }

    /// Returns: whether allocations have to be counted.
    bool are_near() const noexcept { return is_near_; }

    /// Effects: counts blocks that a magazine gets.
    /// Returns: whether from now on, allocations have to be counted.
    MEMORY_POOL_ALWAYS_INLINE bool approach(std::size_t bytes) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(is_near_)) {
            bytes_ahead_ += bytes;
            return false;
        }
        return MEMORY_POOL_UNLIKELY(sampler_.may_be_due(bytes)) && come_near(bytes);
    }

    /// Effects: counts blocks that left a magazine, but were not handed out.
    void retreat(std::size_t bytes) noexcept
    {
        if (is_near_)
            bytes_ahead_ -= std::min(bytes_ahead_, bytes);
        else if (mean_ != 0)
            sampler_.pass(std::size_t{0} - bytes);
    }

    /// Returns: whether an allocation of that many bytes is certainly no sample. If so, pass has to be called for it.
    bool may_pass(std::size_t bytes) const noexcept
    {
        return !is_near_ || bytes_to_skip_ >= bytes || (bytes_to_skip_ == 0 && sampler_.may_pass(bytes, near_mean()));
    }

    void pass(std::size_t bytes) noexcept
    {
        if (is_near_)
            sampler_.pass(handed_out(bytes));
    }

    /// Effects: counts an allocation of that many bytes.
    /// Returns: whether it is a sample.
    bool is_due(std::size_t bytes) noexcept
    {
        if (!is_near_ || !sampler_.is_due(handed_out(bytes), near_mean()))
            return false;
        is_near_ = far_mean() == 0;
        draw();
        if (!is_near_ && bytes_ahead_ != 0) // These are in magazines.
            (void)approach(std::exchange(bytes_ahead_, 0U));
        return true;
    }

private:
    /// Bytes counted in allocations, in the mean: those of a few hundred small blocks, whatever their order.
    static constexpr std::size_t min_near_mean = 8192;
    static constexpr std::size_t near_part = 32;

    std::size_t near_mean() const noexcept { return std::min(mean_, std::max(mean_ / near_part, min_near_mean)); }
    std::size_t far_mean() const noexcept { return mean_ - near_mean(); }

    /// Begins a new distance.
    void draw() noexcept { (void)sampler_.is_due_slowly(0, is_near_ ? near_mean() : far_mean()); }

    /// Returns: how many bytes of an allocation count: not those before the point that was come near to, which a refill
    ///   has counted at once.
    std::size_t handed_out(std::size_t bytes) noexcept
    {
        const std::size_t skipped = std::min(bytes, bytes_to_skip_);
        bytes_to_skip_ -= skipped;
        bytes_ahead_ -= std::min(bytes_ahead_, bytes - skipped);
        return bytes - skipped;
    }

    MEMORY_POOL_NOINLINE bool come_near(std::size_t bytes) noexcept
    {
        const std::int64_t left = sampler_.left();
        if (!sampler_.is_due_slowly(bytes, far_mean()))
            return false;
        bytes_ahead_ = static_cast<std::size_t>(-left);
        bytes_to_skip_ = bytes - bytes_ahead_;
        is_near_ = true;
        draw();
        return true;
    }

    std::size_t mean_ = 0;
    std::size_t bytes_ahead_ = 0;   ///< Counted beyond the point that was come near to, and not handed out yet.
    std::size_t bytes_to_skip_ = 0; ///< Up to that point.
    bool is_near_ = false;
    core::byte_sampler sampler_;
};
} // namespace memory_pool::np
