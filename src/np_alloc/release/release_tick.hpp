// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When a thread looks for memory to give back, even if its magazines serve every call.
///
///     debt:      ______/----------------------------------\______  dirty runs, sparse slabs
///     thread:      busy, busy, | few calls:  .   .    .   .    .   its calls
///     on:            .....................................         frees take the slow path
///
/// A free served by a magazine counts nothing, so the fast path must be disabled beforehand. While ticks are on, every
/// free of the thread takes the slow path: see thread_cache.hpp. They go on when debt exceeds its previous peak, and
/// off when it is gone. As they cost a busy thread time, they also go off while its slow calls come often: those tick,
/// too. A burst of frees raises the debt, so they stay on behind it, when the thread may be idle.
///
/// Thread safety: one per thread.
#pragma once

#include "release_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace memory_pool::np {
/// Decides which frees of a thread look at the clock, and at what it has.
class release_tick
{
public:
    bool is_on() const noexcept { return left_ != 0; }

    /// Returns: whether frees have to take the slow path, with that debt in slices.
    bool is_needed(std::size_t debt) const noexcept { return debt > begins_above_; }

    void start(std::uint64_t now, std::size_t debt) noexcept
    {
        left_ = interval_ = 1;
        looked_at_ = window_begin_ = grew_at_ = idle_since_ = now;
        frees_ = steady_windows_ = 0;
        max_debt_ = debt;
        begins_above_ = never;
    }

    /// Effects: counts a free.
    /// Returns: whether it has to look at the clock.
    bool is_due() noexcept { return --left_ == 0; }

    /// Effects: schedules the next free that looks at the clock; in a burst, only some do.
    /// Returns: whether this look should also look for a fall: one in eight.
    bool look(std::uint64_t now) noexcept
    {
        frees_ += interval_;
        interval_ = now != std::exchange(looked_at_, now) ? 1 : std::min(2 * interval_, max_interval);
        left_ = interval_;
        return ++looks_ % 8 == 0;
    }

    /// Returns: whether it is time for a tick; if so, the next one is due a while later.
    bool is_time(std::uint64_t now) noexcept
    {
        if (now - ticked_at_ < tick_ms)
            return false;
        ticked_at_ = now;
        return true;
    }

    /// Returns: whether the thread has made no slow call for `milliseconds`, so that its magazines serve all it needs:
    ///   once, until it has made another.
    bool is_idle(std::uint64_t now, std::uint8_t slow_calls, std::uint64_t milliseconds) noexcept
    {
        if (slow_calls != std::exchange(last_slow_call_, slow_calls)) {
            idle_since_ = now;
            is_emptied_ = false;
        }
        return now - idle_since_ >= milliseconds && !std::exchange(is_emptied_, true);
    }

    /// Returns: whether a thread with that debt goes on to tick at its frees. `slow_calls`: how many it has made,
    ///   modulo 256.
    bool goes_on(std::uint64_t now, std::size_t debt, std::uint8_t slow_calls) noexcept
    {
        if (debt <= max_ignored_debt)
            return false;
        if (debt > max_debt_ + max_debt_ / 32 + max_ignored_debt / 4) {
            max_debt_ = debt;
            grew_at_ = now;
            steady_windows_ = 0;
        }
        if (now - window_begin_ < window_ms)
            return true;
        const bool ticks_anyway = static_cast<std::uint8_t>(slow_calls - slow_calls_) >= min_slow_calls;
        const bool is_busy = frees_ >= max_frees_of_few;
        window_begin_ = now;
        slow_calls_ = slow_calls;
        frees_ = 0;
        if (!is_busy)
            return true;
        return ticks_anyway ? ++steady_windows_ < max_steady_windows : now - grew_at_ < max_busy_ms;
    }

    /// Effects: ends that. It begins again when the debt clearly exceeds the peak seen so far.
    void stop(std::uint64_t now, std::size_t debt) noexcept
    {
        left_ = 0;
        stopped_at_ = now;
        max_debt_ = debt > max_ignored_debt ? std::max(max_debt_, debt) : 0;
        begins_above_ = max_debt_ + max_debt_ / 8 + max_ignored_debt;
        max_held_ = 0;
        fallen_to_ = never;
    }

    /// Effects: forgets the peak if ticks went off at least `milliseconds` ago, so that debt starts them again. Not
    ///   sooner: debt fluctuates in a busy program, where they would be on most of the time.
    void forget(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        if (is_on() || now - stopped_at_ < milliseconds)
            return;
        max_debt_ = 0;
        begins_above_ = max_ignored_debt;
    }

    // The fall.

    /// Returns: whether so few of the `held` bytes of slabs, or of those that were held before the last falls, are
    ///   `outstanding` (in use or cached) that it pays to count the cached ones.
    bool may_have_fallen(std::size_t outstanding, std::size_t held) noexcept
    {
        max_held_ = std::max(max_held_, held);
        return max_held_ >= min_held_to_fall && outstanding <= max_held_ / 4;
    }

    /// Returns: whether the thread, which uses `used` bytes of its slabs, may be about to free its last blocks. True
    ///   again each time that a third of those is free, as there may be no call after the last one.
    bool has_fallen(std::size_t used) noexcept
    {
        if (used > max_held_ / (fallen_part / 2))
            fallen_to_ = never;
        if (used > std::min(max_held_ / fallen_part, fallen_to_ - fallen_to_ / 3) || fallen_to_ <= max_held_ / 1024)
            return false;
        fallen_to_ = used;
        return true;
    }

private:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    /// Frees between two looks at the clock. Few: once idle, a thread may take a second to free that many blocks.
    static constexpr std::uint32_t max_interval = 8;
    /// Its frees and slow calls are counted over this time.
    static constexpr std::uint64_t window_ms = 2 * tick_ms;
    /// A thread with fewer frees in that time loses nothing by ticks.
    static constexpr std::uint32_t max_frees_of_few = 2'000;
    /// A thread with that many slow calls in that time needs no ticks at its frees.
    static constexpr std::uint8_t min_slow_calls = 16;
    /// Such a thread stops to tick at its frees after that many of these times without more debt. (By the clock alone,
    /// a burst of frees would end with the processor given to another process.)
    static constexpr std::uint32_t max_steady_windows = 3;
    /// A busy thread without them ticks at its frees for so long: what it has to give back is due then.
    static constexpr std::uint64_t max_busy_ms = 3'000;

    std::uint32_t left_ = 0; ///< Frees until the next look.
    std::uint32_t interval_ = 0;
    std::uint32_t frees_ = 0; ///< In this window.
    std::uint32_t steady_windows_ = 0;
    std::uint8_t slow_calls_ = 0; ///< When it began.
    std::uint8_t last_slow_call_ = 0;
    std::uint8_t looks_ = 0;
    bool is_emptied_ = false; ///< Its magazines, since its last slow call.
    std::uint64_t idle_since_ = 0;
    std::uint64_t looked_at_ = 0;
    std::uint64_t ticked_at_ = 0;
    std::uint64_t window_begin_ = 0;
    std::uint64_t grew_at_ = 0; ///< When debt last rose above its peak.
    std::uint64_t stopped_at_ = 0;
    std::size_t max_debt_ = 0; ///< Peak since the last reset: see stop() and forget().
    std::size_t begins_above_ = max_ignored_debt;
    std::size_t max_held_ = 0;      ///< Bytes of slabs, at their peak since ticks went off.
    std::size_t fallen_to_ = never; ///< Bytes in use at the last fall.
};
} // namespace memory_pool::np
