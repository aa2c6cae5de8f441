// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When a thread looks for free memory whose decay is over, though its magazines serve all its calls.
///
///     dirty:    ______/----------------------------------\______      free runs that have memory
///     thread:   busy, busy, | idle:  .   .    .   .    .   .   .      its calls
///     watch:         on .....................................off      each free comes by, and looks at the clock now and then
///
/// A magazine that serves a call counts nothing, so calls that come by the heap must be chosen before. While a watch is on, each free of
/// the thread does: see front.hpp. It begins when there is more dirty memory than before, and ends with that memory; or, as it costs a
/// busy program time, when very many came by and dirty memory did not become more: such a program has other calls that come by.
///
/// Thread safety: each thread has its own.
#pragma once

#include "../slices/region.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np
{
/// Which calls of free look for memory that is due.
class decay_watch
{
public:
    /// So much dirty memory is not looked for.
    static constexpr std::size_t most_ignored = (std::size_t{1} << 20) / slice_bytes;

    bool is_on() const noexcept { return left_ != 0; }

    /// Returns: whether it is to begin, with that many dirty slices.
    bool is_needed(std::size_t dirty) const noexcept { return dirty > begins_above_; }

    void start(std::uint64_t now) noexcept
    {
        left_ = interval_ = 1;
        calls_ = 0;
        looked_at_ = window_begin_ = idle_since_ = now;
        is_tidy_ = false;
        begins_above_ = never;
    }

    /// Effects: counts a free.
    /// Returns: whether it has to look at the clock.
    bool is_due() noexcept { return --left_ == 0; }

    /// Effects: chooses which free looks next: when many come at once, not each of them. So many slices are dirty now.
    /// Returns: whether time has passed since the last look, so that memory may be due.
    bool look(std::uint64_t now, std::size_t dirty) noexcept
    {
        calls_ += interval_;
        most_dirty_ = std::max(most_dirty_, dirty);
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

    /// Returns: whether the thread has freed no more than a few blocks at a time for so many milliseconds.
    bool is_idle(std::uint64_t now, std::uint64_t milliseconds) const noexcept
    {
        return now - idle_since_ >= milliseconds;
    }

    /// Returns: whether the heap of an idle thread has given back all it has to; not if the thread was busy since.
    bool is_tidy() const noexcept { return is_tidy_; }
    void set_tidy(bool is_tidy) noexcept { is_tidy_ = is_tidy; }

    /// Returns: whether it goes on, with that many dirty slices now.
    bool goes_on(std::uint64_t now, std::size_t dirty) noexcept
    {
        if (dirty <= most_ignored && is_tidy_)
            return false;
        if (now - window_begin_ < window)
            return true;
        const bool is_busy = calls_ >= many_calls;
        const bool is_more = most_dirty_ > clearly_more_than(most_before_);
        most_before_ = most_dirty_;
        calls_ = 0;
        window_begin_ = now;
        return !is_busy || is_more;
    }

    /// Effects: ends it. It begins again when clearly more is dirty than while it was on.
    void stop(std::uint64_t now, std::size_t dirty) noexcept
    {
        left_ = 0;
        stopped_at_ = now;
        most_dirty_ = dirty > most_ignored ? std::max(most_dirty_, dirty) : 0;
        begins_above_ = most_dirty_ != 0 ? clearly_more_than(most_dirty_) : most_ignored;
        most_before_ = most_dirty_;
    }

    /// Effects: has it begin again if there is any, when it ended so many milliseconds ago. Not sooner, even if there is none now: what
    ///   is dirty comes and goes in a busy program, in which it would be on most of the time.
    void forget(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        if (is_on() || now - stopped_at_ < milliseconds)
            return;
        most_dirty_ = most_before_ = 0;
        begins_above_ = most_ignored;
    }

private:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    /// What is dirty becomes more and less in a busy program.
    static constexpr std::size_t clearly_more_than(std::size_t dirty) noexcept
    {
        return dirty + dirty / 8 + most_ignored;
    }

    /// Few, as they may take a second when it becomes idle.
    static constexpr std::uint32_t longest_interval = 8;
    static constexpr std::uint64_t window = 8; ///< In milliseconds.
    static constexpr std::uint32_t many_calls = 1'000;

    std::uint32_t left_ = 0; ///< Frees until the next look.
    std::uint32_t interval_ = 0;
    std::uint32_t calls_ = 0; ///< In this window.
    std::uint64_t looked_at_ = 0;
    std::uint64_t window_begin_ = 0;
    std::uint64_t idle_since_ = 0;
    std::uint64_t stopped_at_ = 0;
    bool is_tidy_ = false;
    std::size_t most_dirty_ = 0;  ///< That was ever seen, but see forget().
    std::size_t most_before_ = 0; ///< The same, when this window began.
    std::size_t begins_above_ = most_ignored;
};
} // namespace memory_pool::np
