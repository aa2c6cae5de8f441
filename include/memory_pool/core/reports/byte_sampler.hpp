// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Selects the allocations of a thread to sample, by bytes: a Poisson process.
///
///     bytes allocated:   |----A----|-B-|------------C------------|--D--|-E-|
///     points:                  x                    x    x                     at exponential distances
///     samples:                 A                    C
///
/// A block of s bytes is a sample with probability p = 1 - exp(-s / mean), and stands for 1 / p blocks of its size.
/// An all-zero sampler is valid: it has not begun.
///
/// Thread safety: one per thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Returns: the natural logarithm of a normal number above 0, with an error of at most 1e-12. Does not use libm because
///   a C program may not be linked with it.
inline double natural_logarithm(double number) noexcept
{
    constexpr double of_2 = 0.693147180559945309417;
    constexpr double root_of_2 = 1.41421356237309504880;
    int exponent = 0;
    for (; number > root_of_2; number /= 2)
        ++exponent;
    for (; number < root_of_2 / 2; number *= 2)
        --exponent;
    const double ratio = (number - 1) / (number + 1); // log(number) = 2 * artanh(ratio)
    double sum = 0;
    for (int power = 17; power > 0; power -= 2)
        sum = sum * ratio * ratio + 1.0 / power;
    return 2 * ratio * sum + exponent * of_2;
}

/// Returns: 1 - exp(-number).
/// Preconditions: `number` is not negative.
inline double one_minus_exp_of_minus(double number) noexcept
{
    constexpr double all_but_1 = 64;
    if (number > all_but_1)
        return 1;
    int halvings = 0;
    for (; number > 1.0 / 64; number /= 2)
        ++halvings;
    double sum = 0; // number - number^2 / 2! + number^3 / 3! - ...
    for (int factor = 7; factor > 0; --factor)
        sum = number / factor * (1 - sum);
    for (; halvings != 0; --halvings)
        sum *= 2 - sum;
    return sum;
}

/// Returns: the number of blocks that a sample of `bytes` stands for.
inline double weight_of_sample(std::size_t bytes, std::size_t mean) noexcept
{
    return 1 / one_minus_exp_of_minus(static_cast<double>(bytes) / static_cast<double>(mean));
}

/// Counts the bytes that a thread allocates, and selects samples.
class byte_sampler
{
public:
    constexpr byte_sampler() noexcept = default;

    /// Effects: seeds the random numbers with `seed`, which is not 0.
    constexpr explicit byte_sampler(std::uint64_t seed) noexcept : state_(seed) {}

    /// Returns: whether to sample a block of `bytes`. If `mean` is 0, there are no samples.
    MEMORY_POOL_ALWAYS_INLINE bool is_due(std::size_t bytes, std::size_t mean) noexcept
    {
        const bool may_be = may_be_due(bytes);
        return MEMORY_POOL_UNLIKELY(may_be || mean != mean_) && is_due_slowly(bytes, mean);
    }

    /// Effects: counts a block of `bytes`.
    /// Returns: whether the caller must call is_due_slowly for the block. Does not notice a new mean, unlike is_due.
    MEMORY_POOL_ALWAYS_INLINE bool may_be_due(std::size_t bytes) noexcept
    {
        left_ -= static_cast<std::int64_t>(bytes);
        return left_ < 0;
    }

    /// Returns: as is_due. `max_step`: the maximum number of bytes before may_be_due returns true again.
    MEMORY_POOL_NOINLINE bool is_due_slowly(std::size_t bytes, std::size_t mean,
                                            std::int64_t max_step = std::numeric_limits<std::int64_t>::max()) noexcept
    {
        if (mean == 0) {
            mean_ = 0;
            left_ = max_step;
            return false;
        }
        if (mean != mean_) {
            mean_ = mean;
            left_ = -static_cast<std::int64_t>(bytes);
            behind_ = distance();
        }
        while (left_ < 0 && behind_ != 0)
            move_on(max_step);
        if (left_ >= 0)
            return false;
        left_ = 0;
        behind_ = distance();
        move_on(max_step);
        return true;
    }

    /// Effects: makes may_be_due return true for the next block.
    void notice_mean() noexcept
    {
        behind_ += left_;
        left_ = 0;
    }

    /// Returns: whether a block of `bytes` is certainly not a sample. If so, the caller must call pass for the block.
    MEMORY_POOL_ALWAYS_INLINE bool may_pass(std::size_t bytes, std::size_t mean) const noexcept
    {
        return left_ >= static_cast<std::int64_t>(bytes) && mean == mean_;
    }

    MEMORY_POOL_ALWAYS_INLINE void pass(std::size_t bytes) noexcept { left_ -= static_cast<std::int64_t>(bytes); }

    /// Returns: the bytes until the next sample, if the sampler has begun.
    std::int64_t left() const noexcept { return left_ + behind_; }

private:
    void move_on(std::int64_t max_step) noexcept
    {
        const std::int64_t step = std::min(behind_, max_step);
        left_ += step;
        behind_ -= step;
    }

    /// Returns: an exponentially distributed random number. The sequence is reproducible if the threads of a program
    ///   begin in the same order in each run.
    std::int64_t distance() noexcept
    {
        static std::atomic<std::uint64_t> samplers{0};
        if (state_ == 0)
            state_ = 0x9E37'79B9'7F4A'7C15U * (2 * samplers.fetch_add(1, std::memory_order_relaxed) + 1);
        state_ ^= state_ << 13U; // xorshift64*: Marsaglia, Vigna
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        const std::uint64_t bits = (state_ * 0x2545'F491'4F6C'DD1DU) >> 11U;
        constexpr double two_to_53 = 9007199254740992.0;
        const double uniform = (static_cast<double>(bits) + 1) / two_to_53; // above 0, at most 1
        constexpr double limit = 4611686018427387904.0;                     // 2^62, which leaves room for sums
        return static_cast<std::int64_t>(std::min(-natural_logarithm(uniform) * static_cast<double>(mean_), limit));
    }

    std::int64_t left_ = 0;
    std::size_t mean_ = 0;
    std::uint64_t state_ = 0;
    std::int64_t behind_ = 0; ///< Bytes until the next sample, beyond `left_`.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
