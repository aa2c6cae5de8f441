// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When the memory of free runs goes back to the system.
///
///     decay:             a free run keeps its memory for decay_ms, as it costs a system call and a fault of each page
///                        to return it and get it again
///     pressure:          under memory pressure, the decay time is limited
///     eager purge:       when most memory is free, it keeps it for a moment only, and not at all if it is much: the
///                        program may be done, and never come here again
///     purge back-off:    when much of what was purged eagerly is needed again soon, no eager purge for ten decay times
///
/// Thread safety: decay_ms() and limit_decay_ms() any thread; the rest none, the owner of the runs holds a lock.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>

#include "../slices/region.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// What to purge: up to `most_runs` runs that have been free since `since`.
struct purge_plan
{
    std::uint64_t since = 0;
    std::size_t most_runs = 0;
};

/// Decides which free runs lose their memory, in milliseconds of the coarse clock.
class purge_policy
{
public:
    /// Up to that many free slices are purged by decay alone, however few are in use.
    static constexpr std::size_t most_dirty_for_nothing = (std::size_t{8} << 20) / slice_bytes;
    /// How long free runs keep their memory when most is free: two ticks of the clock.
    static constexpr std::uint64_t eager_decay_ms = 8;
    /// More free slices than that are then purged at once, if the peak was four times as many.
    static constexpr std::size_t most_dirty_for_a_moment = (std::size_t{56} << 20) / slice_bytes;
    /// Runs that are purged at a time then.
    static constexpr std::size_t most_eager_runs = 64;
    /// The same, if it purges at once: the run that was just freed, and may be the last, is the youngest.
    static constexpr std::size_t most_runs_of_much = 4096;
    /// When that many bytes were needed again soon after, eager purges back off.
    static constexpr std::size_t most_reused = std::size_t{4} << 20;

    /// As a decay: free runs keep their memory for ever.
    static constexpr std::uint64_t never_ms = NP_DECAY_NEVER;

    /// Returns: the decay time, or its limit if that is lower.
    std::uint64_t decay_ms() const noexcept
    {
        return std::min(decay_ms_.load(std::memory_order_relaxed), most_ms_.load(std::memory_order_relaxed));
    }

    /// Effects: limits the decay time from now on; never_ms: removes the limit.
    void limit_decay_ms(std::uint64_t most) noexcept
    {
        most_ms_.store(most < never_ms ? most : a_century_ms, std::memory_order_relaxed);
    }

    /// Effects: free runs keep their memory for that long from now on; 1,000 in the beginning. Ends a back-off.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        decay_ms_.store(milliseconds < never_ms ? milliseconds : a_century_ms, std::memory_order_relaxed);
        backs_off_until_ = 0;
        reused_ = 0;
    }

    /// Returns: what has been free since then is due.
    std::uint64_t due_since(std::uint64_t now) const noexcept { return before(now, decay_ms()); }

    /// Effects: notes that slices were taken, of which `purged_bytes` had no memory, and `used` are or were in use.
    void note_taken(std::size_t purged_bytes, std::size_t used, std::uint64_t now) noexcept
    {
        if (purged_bytes != 0 && used <= most_used_)
            note_reuse(purged_bytes, now);
        most_used_ = std::max(most_used_, used);
    }

    /// Returns: what to purge after a run was returned.
    template <class Runs>
    purge_plan after_return(const Runs& runs, std::uint64_t now) noexcept
    {
        const std::uint64_t since = due_since(now);
        if (MEMORY_POOL_LIKELY(!is_mostly_free(runs)) || !may_be_eager(now))
            return {since, runs.has_dirty_since(since) ? 1U : 0U};
        const bool is_much = runs.dirty() > most_dirty_for_a_moment && runs.used() / 4 >= most_dirty_for_a_moment;
        const std::uint64_t eager_since = is_much ? now : std::max(since, before(now, eager_decay_ms));
        if (!runs.has_dirty_since(eager_since))
            return {};
        purged_eagerly_at_ = now;
        return {eager_since, is_much ? most_runs_of_much : most_eager_runs};
    }

    /// Returns: whether memory that has just become free is purged at once.
    template <class Runs>
    bool purges_at_once(const Runs& runs, std::uint64_t now) noexcept
    {
        const bool is_due = is_mostly_free(runs) && may_be_eager(now);
        purged_eagerly_at_ = is_due ? now : purged_eagerly_at_;
        return is_due;
    }

private:
    /// In place of `never_ms`: longer than the clock runs, and not so long that a multiple of it overflows.
    static constexpr std::uint64_t a_century_ms = std::uint64_t{1} << 42;

    bool may_be_eager(std::uint64_t now) const noexcept { return now >= backs_off_until_ && decay_ms() < never_ms; }

    static constexpr std::uint64_t before(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        return now - std::min(now, milliseconds);
    }

    template <class Runs>
    static bool is_mostly_free(const Runs& runs) noexcept
    {
        return runs.dirty() > std::max(2 * runs.in_use(), most_dirty_for_nothing);
    }

    /// Notes that purged memory is needed again.
    void note_reuse(std::size_t bytes, std::uint64_t now) noexcept
    {
        if (now - purged_eagerly_at_ > decay_ms())
            return;
        reused_ += bytes;
        if (reused_ < most_reused)
            return;
        reused_ = 0;
        backs_off_until_ = now + 10 * decay_ms();
    }

    std::atomic<std::uint64_t> decay_ms_{1000};
    std::atomic<std::uint64_t> most_ms_{a_century_ms};
    std::uint64_t purged_eagerly_at_ = 0;
    std::uint64_t backs_off_until_ = 0;
    std::size_t reused_ = 0;
    std::size_t most_used_ = 0; ///< Peak of slices.
};
} // namespace memory_pool::np
