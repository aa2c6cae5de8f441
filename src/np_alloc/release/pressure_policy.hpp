// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Decides when there is memory pressure, and how often to respond by returning free memory to the system.
///
///     signal:     a limit was reached since the last check, or processes stalled on memory a tenth of the time
///     pressure:   from a signal until ten seconds after the last one
///     pause:      from an answer to the next one: 100 ms; doubled, up to 10 s, by each answer that returns little, or
///                 finds half of the memory that the last answer returned in use again
///
/// Thread safety: none; use from one thread.
#pragma once

#include "../os/memory_cgroup.hpp"
#include "../support/internals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
/// Decides when to answer pressure. Times are milliseconds of one clock.
class pressure_policy
{
public:
    static constexpr std::uint64_t min_pause_ms = 100;
    static constexpr std::uint64_t max_pause_ms = 10'000;
    /// Pressure ends this long after the last signal.
    static constexpr std::uint64_t lasts_ms = 10'000;
    /// An answer that returns less than this, or less than this fraction of the reserved bytes, returns little.
    static constexpr std::size_t little_bytes = std::size_t{1} << 20;
    static constexpr std::size_t little_part = 64;
    /// The share of stalls is measured over at least this time.
    static constexpr std::uint64_t min_wait_window_ms = 100;

    /// Effects: resets to no pressure.
    void start(const std::optional<os::pressure_counts>& counts, std::uint64_t now) noexcept
    {
        *this = {};
        if (counts)
            note_counts(*counts, now);
    }

    /// Effects: records the kernel's totals.
    /// Returns: whether the new totals are a signal.
    bool note(const std::optional<os::pressure_counts>& counts, std::uint64_t now) noexcept
    {
        const bool is_signal = counts && events_ && (counts->events > *events_ || was_waited(*counts, now));
        if (is_signal) {
            is_pending_ = is_on_ = true;
            signalled_at_ = now;
        } else if (is_on_ && now - signalled_at_ >= lasts_ms) {
            is_on_ = is_pending_ = false;
            pause_ms_ = min_pause_ms;
            answer_ = {};
        }
        if (counts)
            note_counts(*counts, now);
        return is_signal;
    }

    /// Returns: whether there is pressure.
    bool is_on() const noexcept { return is_on_; }

    /// Returns: whether to answer now.
    bool is_due(std::uint64_t now) const noexcept { return is_pending_ && now >= earliest_answer(); }

    /// Returns: milliseconds until the next check: until an answer is due, but at most `max_ms`.
    std::uint64_t wait_ms(std::uint64_t now, std::uint64_t max_ms) const noexcept
    {
        if (!is_pending_)
            return max_ms;
        return std::min(max_ms, earliest_answer() - std::min(now, earliest_answer()));
    }

    /// Effects: records that `returned` bytes of `reserved` were returned to the OS.
    void note_answer(std::uint64_t now, std::size_t returned, std::size_t reserved) noexcept
    {
        const bool is_little = returned < std::max(little_bytes, reserved / little_part);
        pause_ms_ = is_little || is_taken_again(reserved) ? std::min(2 * pause_ms_, max_pause_ms) : min_pause_ms;
        answer_ = {now, returned, reserved - std::min(reserved, returned)};
        is_pending_ = false;
    }

private:
    struct answer
    {
        std::optional<std::uint64_t> at;
        std::size_t returned = 0;
        std::size_t reserved = 0; ///< Bytes after the answer.
    };

    bool is_long_enough(std::uint64_t now) const noexcept { return now - waits_looked_at_ >= min_wait_window_ms; }

    bool was_waited(const os::pressure_counts& counts, std::uint64_t now) const noexcept
    {
        constexpr std::uint64_t tenth = 10;
        if (!counts.waited_us || !waited_us_ || !is_long_enough(now))
            return false;
        const std::uint64_t waited_us = *counts.waited_us - std::min(*counts.waited_us, *waited_us_);
        return waited_us / 1000 * tenth >= now - waits_looked_at_;
    }

    void note_counts(const os::pressure_counts& counts, std::uint64_t now) noexcept
    {
        events_ = counts.events;
        if (!waited_us_ || is_long_enough(now)) {
            waited_us_ = counts.waited_us;
            waits_looked_at_ = now;
        }
    }

    bool is_taken_again(std::size_t reserved) const noexcept
    {
        return answer_.returned != 0 && reserved > answer_.reserved &&
               reserved - answer_.reserved >= answer_.returned / 2;
    }

    std::uint64_t earliest_answer() const noexcept { return answer_.at ? *answer_.at + pause_ms_ : 0; }

    std::optional<std::uint64_t> events_; ///< At the last check.
    std::optional<std::uint64_t> waited_us_;
    std::uint64_t waits_looked_at_ = 0;
    std::uint64_t signalled_at_ = 0;
    std::uint64_t pause_ms_ = min_pause_ms;
    answer answer_;
    bool is_on_ = false;
    bool is_pending_ = false; ///< A signal has not been answered yet.
};
} // namespace memory_pool::np
