// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Limits on np_statistics::bytes_reserved of the process: bytes of slabs, large blocks, blocks outside of the region,
/// and free runs with memory.
///
///     0 .............................. soft limit ......................... hard limit
///                                      |  crossing it returns free memory   |  allocations
///                                      |  and calls the callback            |  fail
///
/// The page heap calls admits() before it allocates, and note() whenever the count changes. Sweeps need other locks,
/// and callbacks must run without locks: see engine/memory_limits.hpp.
///
/// Thread safety: any thread may call is_crossed(), take_crossing() and refusals(). Other members need the lock of the
///   page heap.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A function of the program that the library calls above the soft limit.
struct soft_limit_callback
{
    void (*function)(std::size_t bytes, void* argument) = nullptr;
    void* argument = nullptr;
    std::size_t bytes = 0; ///< Bytes reserved at the time of the call.
};

/// The limits of a process.
class memory_limit : base::immovable<memory_limit>
{
public:
    /// Effects: sets both limits; 0 means no limit.
    void set(std::size_t hard_bytes, std::size_t soft_bytes) noexcept
    {
        hard_bytes_ = hard_bytes;
        is_above_ = is_above_ && soft_bytes == soft_bytes_; // Being above a new limit counts as crossing it.
        soft_bytes_ = soft_bytes;
    }

    void set_callback(const soft_limit_callback& callback) noexcept { callback_ = callback; }

    /// Returns: whether there is a hard limit.
    bool is_hard() const noexcept { return hard_bytes_ != 0; }

    /// Returns: whether `more` bytes may be allocated on top of `bytes`.
    bool admits(std::size_t bytes, std::size_t more) const noexcept
    {
        return hard_bytes_ == 0 || (bytes <= hard_bytes_ && more <= hard_bytes_ - bytes);
    }

    /// Effects: counts a refused request for `bytes`, unless the request alone exceeds the limit.
    void note_refused(std::size_t bytes) noexcept
    {
        if (bytes <= hard_bytes_)
            refusals_.fetch_add(1, std::memory_order_relaxed);
    }

    /// Effects: updates the number of reserved bytes.
    void note(std::size_t bytes) noexcept
    {
        const bool is_above = is_above_soft(bytes);
        if (is_above && !is_above_)
            is_crossed_.store(true, std::memory_order_relaxed);
        is_above_ = is_above;
    }

    /// Returns: the callback, if `bytes` is above the soft limit; otherwise a null callback.
    soft_limit_callback callback_for(std::size_t bytes) const noexcept
    {
        return is_above_soft(bytes) ? soft_limit_callback{callback_.function, callback_.argument, bytes}
                                    : soft_limit_callback{};
    }

    /// Returns: whether the soft limit was crossed since the last take_crossing().
    bool is_crossed() const noexcept { return is_crossed_.load(std::memory_order_relaxed); }

    /// Returns: whether the soft limit was crossed; true for one caller per crossing.
    bool take_crossing() noexcept { return is_crossed_.exchange(false, std::memory_order_relaxed); }

    /// Returns: the number of refusals, modulo 2^32, including requests that were granted after a purge.
    std::uint32_t refusals() const noexcept { return refusals_.load(std::memory_order_relaxed); }

private:
    bool is_above_soft(std::size_t bytes) const noexcept { return soft_bytes_ != 0 && bytes > soft_bytes_; }

    std::size_t hard_bytes_ = 0;
    std::size_t soft_bytes_ = 0;
    soft_limit_callback callback_;
    bool is_above_ = false; ///< Above the soft limit at the last note().
    std::atomic<bool> is_crossed_{false};
    std::atomic<std::uint32_t> refusals_{0};
};
} // namespace memory_pool::np
