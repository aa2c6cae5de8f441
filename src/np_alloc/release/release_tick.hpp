// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A thread's ticks: its checks for memory to return, even if its magazines serve every call.
///
///     debt:      ______/----------------------------------\______  dirty runs, sparse slabs
///     thread:      busy, busy, | few calls:  .   .    .   .    .   its calls
///     ticks on:      .....................................         frees take the slow path
///
/// A free that a magazine serves runs no code of the policy. So while ticks are on, every free takes the slow path (see
/// thread_cache.hpp). Ticks start when debt exceeds its previous peak, and stop when the debt is paid. Because ticks
/// slow a busy thread down, they also stop while its slow calls, which tick as well, are frequent. A burst of frees
/// raises the debt, so ticks stay on after the burst, when the thread may be idle.
///
/// Thread safety: none; use one object per thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "release_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace memory_pool::np {
/// Decides which frees of a thread check the clock and the debt.
class release_tick
{
public:
    bool is_on() const noexcept { return left_ != 0; }

    /// Returns: whether to turn ticks on, with `debt` in slices.
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
    /// Returns: whether this free checks the clock.
    bool is_due() noexcept { return --left_ == 0; }

    /// Effects: schedules the next check of the clock. In a burst, only some frees check the clock.
    /// Returns: whether to check for a fall as well; true for one of eight checks.
    bool look(std::uint64_t now) noexcept
    {
        frees_ += interval_;
        interval_ = now != std::exchange(looked_at_, now) ? 1 : std::min(2 * interval_, max_interval);
        left_ = interval_;
        return ++looks_ % 8 == 0;
    }

    /// Returns: whether a tick is due; if so, schedules the next one.
    bool is_time(std::uint64_t now) noexcept
    {
        if (now - ticked_at_ < tick_ms)
            return false;
        ticked_at_ = now;
        return true;
    }

    /// Returns: whether the thread has made no slow call for `milliseconds`; true once per such period.
    bool is_idle(std::uint64_t now, std::uint8_t slow_calls, std::uint64_t milliseconds) noexcept
    {
        if (slow_calls != std::exchange(last_slow_call_, slow_calls)) {
            idle_since_ = now;
            is_emptied_ = false;
        }
        return now - idle_since_ >= milliseconds && !std::exchange(is_emptied_, true);
    }

    /// Returns: whether ticks stay on. `slow_calls`: the number of the thread's slow calls, modulo 256.
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
        const bool is_busy = frees_ >= max_frees_of_idle;
        window_begin_ = now;
        slow_calls_ = slow_calls;
        frees_ = 0;
        if (!is_busy)
            return true;
        return ticks_anyway ? ++steady_windows_ < max_steady_windows : now - grew_at_ < max_busy_ms;
    }

    /// Effects: turns ticks off, until the debt clearly exceeds its peak.
    void stop(std::uint64_t now, std::size_t debt) noexcept
    {
        left_ = 0;
        stopped_at_ = now;
        max_debt_ = std::max(max_debt_, debt);
        begins_above_ = max_debt_ + max_debt_ / 8 + max_ignored_debt;
        max_held_ = 0;
        fallen_to_ = never;
    }

    /// Effects: forgets the peak of debt if ticks stopped at least `milliseconds` ago. If the peak were forgotten
    ///   sooner, ticks would be on most of the time in a busy program, where debt fluctuates.
    void forget(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        if (is_on() || now - stopped_at_ < milliseconds)
            return;
        max_debt_ = 0;
        begins_above_ = max_ignored_debt;
    }

    // The fall.

    /// Returns: whether it pays to count cached blocks, to find out whether the thread has fallen. `outstanding`: bytes
    ///   in use or cached, of `held` bytes of slabs.
    bool may_have_fallen(std::size_t outstanding, std::size_t held) noexcept
    {
        max_held_ = std::max(max_held_, held);
        return max_held_ >= min_held_to_fall && outstanding <= max_held_ / 4;
    }

    /// Returns: whether the thread, with `used` bytes in use, may be about to free its last blocks. True again each
    ///   time the thread has freed a third of its remaining bytes, because no call may follow the last free.
    bool has_fallen(std::size_t used) noexcept
    {
        if (used > max_held_ / (fallen_part / 2))
            fallen_to_ = never;
        if (used > std::min(max_held_ / fallen_part, fallen_to_ - fallen_to_ / 3) || fallen_to_ <= max_held_ / 1024)
            return false;
        fallen_to_ = used;
        fallen_from_ = max_held_;
        return true;
    }

    /// Returns: whether the thread uses a quarter of its peak again after a fall; true once for each fall.
    bool has_risen(std::size_t outstanding) noexcept
    {
        if (MEMORY_POOL_LIKELY(fallen_from_ == 0 || outstanding <= fallen_from_ / 4))
            return false;
        fallen_from_ = 0;
        return true;
    }

private:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    /// Maximum number of frees between two checks of the clock. An idle thread may take a second to free this many
    /// blocks.
    static constexpr std::uint32_t max_interval = 8;
    /// Window over which frees and slow calls are counted.
    static constexpr std::uint64_t window_ms = 2 * tick_ms;
    /// Maximum frees in a window for which the cost of ticks is negligible.
    static constexpr std::uint32_t max_frees_of_idle = 2'000;
    /// Slow calls in a window that make ticks at frees superfluous.
    static constexpr std::uint8_t min_slow_calls = 16;
    /// Windows without more debt after which ticks of a thread with frequent slow calls stop. A time limit instead
    /// could stop ticks during a burst of frees, while the scheduler runs another process.
    static constexpr std::uint32_t max_steady_windows = 3;
    /// Maximum duration of ticks in a busy thread without slow calls: by then, its debt is due.
    static constexpr std::uint64_t max_busy_ms = 3'000;

    std::uint32_t left_ = 0; ///< Frees until the next check.
    std::uint32_t interval_ = 0;
    std::uint32_t frees_ = 0; ///< In this window.
    std::uint32_t steady_windows_ = 0;
    std::uint8_t slow_calls_ = 0; ///< When this window began.
    std::uint8_t last_slow_call_ = 0;
    std::uint8_t looks_ = 0;
    bool is_emptied_ = false; ///< The thread's magazines were emptied since its last slow call.
    std::uint64_t idle_since_ = 0;
    std::uint64_t looked_at_ = 0;
    std::uint64_t ticked_at_ = 0;
    std::uint64_t window_begin_ = 0;
    std::uint64_t grew_at_ = 0; ///< When debt last rose above its peak.
    std::uint64_t stopped_at_ = 0;
    std::size_t max_debt_ = 0; ///< Peak since the last reset: see stop() and forget().
    std::size_t begins_above_ = max_ignored_debt;
    std::size_t max_held_ = 0;      ///< Bytes of slabs, at their peak since ticks stopped.
    std::size_t fallen_to_ = never; ///< Bytes in use at the last fall.
    std::size_t fallen_from_ = 0;   ///< Peak bytes of slabs before the last fall.
};
} // namespace memory_pool::np
