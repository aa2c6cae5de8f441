// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Selects the guarded samples among the allocations of a thread, by bytes.
///
///     counted:   blocks that enter magazines: 31/32 of the mean        | allocations: 1/32    | sample
///                refill, free    free  free                            | malloc    malloc       malloc
///
/// An allocation from a magazine runs no code that could count it. But each block entered its magazine earlier, from a
/// slab or by a free, and both paths are slow. So the first part of the distance, up to the near point, is counted in
/// blocks that enter magazines. The last part is counted in allocations, which then take the slow path. The probability
/// that a block is a guarded sample therefore depends only on its size, whatever the program's allocation pattern.
///
/// Thread safety: none; each thread has its own object.
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
/// Counts bytes up to the next guarded sample.
class guarded_sample_points
{
public:
    /// Effects: makes about one block per `mean` bytes a guarded sample from now on; 0 disables samples.
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

    /// Returns: whether allocations must be counted.
    bool are_near() const noexcept { return is_near_; }

    /// Effects: counts blocks that enter a magazine.
    /// Returns: whether allocations must be counted from now on.
    MEMORY_POOL_ALWAYS_INLINE bool approach(std::size_t bytes) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(is_near_)) {
            bytes_ahead_ += bytes;
            return false;
        }
        return MEMORY_POOL_UNLIKELY(sampler_.may_be_due(bytes)) && come_near(bytes);
    }

    /// Effects: uncounts blocks that left a magazine without being allocated.
    void retreat(std::size_t bytes) noexcept
    {
        if (is_near_)
            bytes_ahead_ -= std::min(bytes_ahead_, bytes);
        else if (mean_ != 0)
            sampler_.pass(std::size_t{0} - bytes);
    }

    /// Returns: whether an allocation of `bytes` is certainly no guarded sample. If so, the caller must call pass().
    bool may_pass(std::size_t bytes) const noexcept
    {
        return !is_near_ || bytes_to_skip_ >= bytes || (bytes_to_skip_ == 0 && sampler_.may_pass(bytes, near_mean()));
    }

    /// Effects: counts an allocation for which may_pass() was true.
    void pass(std::size_t bytes) noexcept
    {
        if (is_near_)
            sampler_.pass(count_past_near_point(bytes));
    }

    /// Effects: counts an allocation of `bytes`.
    /// Returns: whether the allocation is a guarded sample.
    bool is_due(std::size_t bytes) noexcept
    {
        if (!is_near_ || !sampler_.is_due(count_past_near_point(bytes), near_mean()))
            return false;
        is_near_ = far_mean() == 0;
        draw();
        if (!is_near_ && bytes_ahead_ != 0) // These bytes are in magazines.
            (void)approach(std::exchange(bytes_ahead_, 0U));
        return true;
    }

private:
    /// Lower bound of near_mean(): the bytes of a few hundred small blocks, so that their order does not matter.
    static constexpr std::size_t min_near_mean = 8192;
    static constexpr std::size_t near_part = 32;

    std::size_t near_mean() const noexcept { return std::min(mean_, std::max(mean_ / near_part, min_near_mean)); }
    std::size_t far_mean() const noexcept { return mean_ - near_mean(); }

    /// Begins a new distance.
    void draw() noexcept { (void)sampler_.is_due_slowly(0, is_near_ ? near_mean() : far_mean()); }

    /// Returns: the bytes of an allocation that are behind the near point. A refill has already counted the bytes
    ///   before it.
    std::size_t count_past_near_point(std::size_t bytes) noexcept
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
    std::size_t bytes_ahead_ = 0;   ///< Counted beyond the near point but not allocated yet.
    std::size_t bytes_to_skip_ = 0; ///< Still to be allocated before the near point.
    bool is_near_ = false;
    core::byte_sampler sampler_;
};
} // namespace memory_pool::np
