// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Limits on np_statistics::bytes_reserved of the process: bytes of slabs, large blocks, blocks outside of the region,
/// and free runs with memory.
///
///     0 .............................. soft limit ......................... hard limit
///                                      |  when it is crossed: free memory   |  nothing more is handed out
///                                      |  is returned, the callback called  |
///
/// The page heap asks admits() before it hands out memory, and calls note() whenever the count changes. Sweeps and
/// callbacks need other locks, or none: see engine/memory_limits.hpp.
///
/// Thread safety: none; the page heap has a lock. is_crossed(), take_crossing() and refusals(): any thread.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A function of the program.
struct soft_limit_callback
{
    void (*function)(std::size_t bytes, void* argument) = nullptr;
    void* argument = nullptr;
    std::size_t bytes = 0; ///< What is reserved when it is called.
};

/// The limits of a process.
class memory_limit : base::immovable<memory_limit>
{
public:
    /// Effects: sets both limits; 0: there is none.
    void set(std::size_t hard_bytes, std::size_t soft_bytes) noexcept
    {
        hard_bytes_ = hard_bytes;
        is_above_ = is_above_ && soft_bytes == soft_bytes_; // To be above a new one is to cross it.
        soft_bytes_ = soft_bytes;
    }

    void set_callback(const soft_limit_callback& callback) noexcept { callback_ = callback; }

    /// Returns: whether there is a hard limit.
    bool is_hard() const noexcept { return hard_bytes_ != 0; }

    /// Returns: whether `more` bytes may be handed out on top of `bytes`.
    bool admits(std::size_t bytes, std::size_t more) const noexcept
    {
        return hard_bytes_ == 0 || (bytes <= hard_bytes_ && more <= hard_bytes_ - bytes);
    }

    /// Effects: counts a refusal of that many bytes, unless they are more than the limit itself.
    void note_refused(std::size_t bytes) noexcept
    {
        if (bytes <= hard_bytes_)
            refusals_.fetch_add(1, std::memory_order_relaxed);
    }

    /// Effects: notes how many bytes are reserved now.
    void note(std::size_t bytes) noexcept
    {
        const bool is_above = is_above_soft(bytes);
        if (is_above && !is_above_)
            is_crossed_.store(true, std::memory_order_relaxed);
        is_above_ = is_above;
    }

    /// Returns: the callback, if `bytes` is above the soft limit; otherwise a null one.
    soft_limit_callback callback_for(std::size_t bytes) const noexcept
    {
        return is_above_soft(bytes) ? soft_limit_callback{callback_.function, callback_.argument, bytes}
                                    : soft_limit_callback{};
    }

    /// Returns: whether the soft limit was crossed since the last take_crossing().
    bool is_crossed() const noexcept { return is_crossed_.load(std::memory_order_relaxed); }

    /// Returns: the same, to one caller for each crossing.
    bool take_crossing() noexcept { return is_crossed_.exchange(false, std::memory_order_relaxed); }

    /// Returns: how many refusals there were, modulo 2^32; also of what was granted after a purge.
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
