// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When a thread checks for free memory past its decay, even if its magazines serve every call.
///
///     returnable:    ______/----------------------------------\______  dirty runs, mostly free slabs
///     thread:        busy, busy, | idle:  .   .    .   .    .   .   .      its calls
///     watch:              on .....................................off      frees take the slow path
///
/// A free served by a magazine counts nothing, so the fast path must be disabled beforehand. While a watch is on, every
/// free of the thread takes the slow path: see thread_cache.hpp. A watch begins when returnable memory exceeds its
/// previous peak, and ends when that memory is gone. As it costs a busy program time, it also ends after many calls
/// without growth of returnable memory: such a program has other calls that reach the heap. But a burst of frees does
/// not end it, as the thread may be idle right after.
///
/// Thread safety: one per thread.
#pragma once

#include "../slices/region.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// Decides which frees check for memory that is due.
class decay_watch
{
public:
    /// Dirty memory up to this size does not start a watch.
    static constexpr std::size_t most_ignored = (std::size_t{1} << 20) / slice_bytes;

    bool is_on() const noexcept { return left_ != 0; }

    /// Returns: whether a watch should begin at that many returnable slices.
    bool is_needed(std::size_t returnable) const noexcept { return returnable > begins_above_; }

    /// Effects: begins a watch. `outstanding`: outstanding bytes of the thread's heap.
    void start(std::uint64_t now, std::size_t outstanding) noexcept
    {
        left_ = interval_ = 1;
        looked_at_ = idle_since_ = now;
        begin_window(now, outstanding);
        is_tidy_ = false;
        begins_above_ = never;
        drained_at_ = never;
    }

    /// Effects: counts a free.
    /// Returns: whether it has to check the clock.
    bool is_due() noexcept { return --left_ == 0; }

    /// Effects: schedules the next free that checks the clock; in a burst, only some do.
    /// Returns: whether time has passed since the last check, so that memory may be due.
    bool look(std::uint64_t now) noexcept
    {
        const bool has_paused = now - looked_at_ >= window;
        calls_ = has_paused ? 0 : calls_ + interval_;
        const bool has_time_passed = now != looked_at_;
        if (!has_time_passed && interval_ == longest_interval) {
            idle_since_ = now;
            is_tidy_ = false;
        }
        interval_ = has_time_passed ? 1 : std::min(2 * interval_, longest_interval);
        left_ = interval_;
        looked_at_ = now;
        return has_time_passed;
    }

    /// Returns: whether the thread has freed only a few blocks at a time for `milliseconds`.
    bool is_idle(std::uint64_t now, std::uint64_t milliseconds) const noexcept
    {
        return now - idle_since_ >= milliseconds;
    }

    /// Returns: whether the idle thread's heap has returned all it can. False if the thread was busy since.
    bool is_tidy() const noexcept { return is_tidy_; }
    void set_tidy(bool is_tidy) noexcept { is_tidy_ = is_tidy; }

    /// Returns: whether so few of the `held` bytes of slabs are `outstanding` (in use or cached) that it pays to count
    ///   the cached ones. Once in 64 frees.
    bool may_be_drained(std::size_t outstanding, std::size_t held) noexcept
    {
        constexpr std::size_t least_held = std::size_t{8} << 20;
        constexpr std::uint32_t period = 64 / longest_interval;
        return held >= least_held && outstanding <= held / 4 && ++drain_looks_ % period == 0;
    }

    /// Returns: whether the thread, which uses `used` of `held` bytes of its slabs, is about to free its last blocks:
    ///   its cached blocks should not pin the slabs then. True again each time that is halved, as there may be no call
    ///   after the last one.
    bool is_drained(std::size_t used, std::size_t held) noexcept
    {
        if (used > std::min(held / 64, drained_at_ / 2) || drained_at_ == 0)
            return false;
        drained_at_ = used;
        return true;
    }

    /// Returns: whether the watch continues, with `returnable` slices and `outstanding` bytes.
    bool goes_on(std::uint64_t now, std::size_t returnable, std::size_t outstanding) noexcept
    {
        if (returnable <= most_ignored && is_tidy_)
            return false;
        most_returnable_ = std::max(most_returnable_, returnable);
        if (now - window_begin_ < window)
            return true;
        const bool is_busy = calls_ >= many_calls;
        const bool is_more = most_returnable_ > clearly_more_than(most_before_);
        const bool is_burst = outstanding + calls_ * least_freed < outstanding_before_;
        begin_window(now, outstanding);
        return !is_busy || is_more || is_burst;
    }

    /// Effects: ends the watch. It begins again when returnable memory clearly exceeds the peak seen so far.
    void stop(std::uint64_t now, std::size_t returnable) noexcept
    {
        left_ = 0;
        stopped_at_ = now;
        most_returnable_ = returnable > most_ignored ? std::max(most_returnable_, returnable) : 0;
        begins_above_ = most_returnable_ != 0 ? clearly_more_than(most_returnable_) : most_ignored;
        most_before_ = most_returnable_;
    }

    /// Effects: forgets the peak if the watch ended at least `milliseconds` ago, so that returnable memory restarts it.
    ///   Not sooner: returnable memory fluctuates in a busy program, where the watch would be on most of the time.
    void forget(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        if (is_on() || now - stopped_at_ < milliseconds)
            return;
        most_returnable_ = most_before_ = 0;
        begins_above_ = most_ignored;
    }

private:
    void begin_window(std::uint64_t now, std::size_t outstanding) noexcept
    {
        window_begin_ = now;
        calls_ = 0;
        most_before_ = most_returnable_;
        outstanding_before_ = outstanding;
    }

    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    /// Dirty memory fluctuates in a busy program.
    static constexpr std::size_t clearly_more_than(std::size_t returnable) noexcept
    {
        return returnable + returnable / 8 + most_ignored;
    }

    /// Small: once idle, a thread may take a second to free that many blocks.
    static constexpr std::uint32_t longest_interval = 8;
    static constexpr std::uint64_t window = 8; ///< In milliseconds.
    static constexpr std::uint32_t many_calls = 1'000;
    static constexpr std::size_t least_freed = 8; ///< Bytes per free in a burst; low, as magazines absorb some frees.

    std::uint32_t left_ = 0; ///< Frees until the next check.
    std::uint32_t interval_ = 0;
    std::uint32_t calls_ = 0; ///< In this window.
    std::uint64_t looked_at_ = 0;
    std::uint64_t window_begin_ = 0;
    std::uint64_t idle_since_ = 0;
    std::uint64_t stopped_at_ = 0;
    bool is_tidy_ = false;
    std::size_t most_returnable_ = 0;    ///< Peak since the last reset: see stop() and forget().
    std::size_t most_before_ = 0;        ///< The peak when this window began.
    std::size_t outstanding_before_ = 0; ///< In bytes, when this window began.
    std::size_t begins_above_ = most_ignored;
    std::size_t drained_at_ = never; ///< Bytes in use when it was last drained, in this watch.
    std::uint32_t drain_looks_ = 0;
};
} // namespace memory_pool::np
