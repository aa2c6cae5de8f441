// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Age limits of free runs.
///
///     max age    decay_ms  ------------\                in use >= dirty
///                                       \               decay_ms * (in use / dirty)^2
///                0                       \__________    nearly all is free
///
/// Thread safety: any thread, except `after_return` and `note_taken`, which need the lock of the runs.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>

#include "early_release.hpp"
#include "release_policy.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A plan to purge up to `max_runs` runs that have been free since `since`.
struct purge_plan
{
    std::uint64_t since = 0;
    int max_runs = 0;
};

/// Decides which free runs to purge. Times are in milliseconds of the coarse clock.
class run_decay
{
public:
    /// The decay time that means free runs are never purged.
    static constexpr std::uint64_t never_ms = NP_DECAY_NEVER;

    /// Returns: the decay time, or its limit if the limit is lower.
    std::uint64_t decay_ms() const noexcept
    {
        return std::min(decay_ms_.load(std::memory_order_relaxed), max_ms_.load(std::memory_order_relaxed));
    }

    /// Effects: limits the decay time from now on; never_ms: removes the limit.
    void limit_decay_ms(std::uint64_t max) noexcept
    {
        max_ms_.store(max < never_ms ? max : a_century_ms, std::memory_order_relaxed);
    }

    /// Effects: sets the decay time, which is 1,000 ms initially. Ends a pause.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        decay_ms_.store(milliseconds < never_ms ? milliseconds : a_century_ms, std::memory_order_relaxed);
        early_.end_pause();
    }

    /// Returns: the latest time at which a dirty run that is due was freed.
    std::uint64_t due_since(std::uint64_t now) const noexcept { return now - std::min(now, decay_ms()); }

    /// Returns: the latest time at which a clean run whose discard is due was purged.
    std::uint64_t discard_due_since(std::uint64_t now) const noexcept
    {
        return std::min(due_since(now), now - std::min(now, min_age_to_discard_ms));
    }

    /// Returns: the runs to purge after the return of a run. Purges none early until the program has returned runs for
    ///   a while, at least one per tick, with more free memory than used memory.
    template <class Runs>
    purge_plan after_return(const Runs& runs, std::uint64_t now) noexcept
    {
        const std::uint64_t due = due_since(now);
        const std::uint64_t passed = now - std::min(now, returned_at_); // Threads may call out of order.
        returned_at_ = std::max(returned_at_, now);
        const bool is_much = MEMORY_POOL_UNLIKELY(runs.dirty() > std::max(runs.in_use(), max_unhurried_dirty));
        much_free_ms_ = is_much && passed <= tick_ms ? much_free_ms_ + passed : 0;
        if (MEMORY_POOL_LIKELY(!is_much) || !may_be_early(now))
            return {due, runs.has_dirty_since(due) ? 1 : 0};
        if (runs.dirty() > max_dirty_in_a_burst && runs.in_use() <= runs.dirty() / fallen_part)
            return {now, max_runs_at_fall};
        const std::uint64_t max_ms = std::max(max_age_ms(runs.in_use(), runs.dirty()), tick_ms);
        const std::uint64_t since = much_free_ms_ < min_much_free_ms ? due : std::max(due, now - std::min(now, max_ms));
        return {since, runs.has_dirty_since(since) ? max_runs_a_call : 0};
    }

    /// Effects: counts purged memory that is used again, unless the program grows beyond its peak of slices.
    void note_taken(std::size_t purged_bytes, std::size_t used, std::uint64_t now) noexcept
    {
        if (purged_bytes != 0 && used <= max_used_)
            early_.note_reuse(purged_bytes, now, decay_ms());
        max_used_ = std::max(max_used_, used);
    }

    /// Early release of runs.
    early_release& early() noexcept { return early_; }
    bool may_be_early(std::uint64_t now) const noexcept { return decay_ms() < never_ms && early_.may_be(now); }

private:
    /// Replaces `never_ms`: longer than any uptime, and small enough to multiply.
    static constexpr std::uint64_t a_century_ms = std::uint64_t{1} << 42;

    /// Preconditions: more slices are dirty than in use.
    std::uint64_t max_age_ms(std::size_t in_use, std::size_t dirty) const noexcept
    {
        constexpr std::uint64_t one = 256;
        const std::uint64_t part = in_use * one / dirty;
        return decay_ms() * part / one * part / one;
    }

    std::atomic<std::uint64_t> decay_ms_{1000};
    std::atomic<std::uint64_t> max_ms_{a_century_ms};
    early_release early_;
    std::size_t max_used_ = 0; ///< Peak of slices.
    std::uint64_t returned_at_ = 0;
    std::uint64_t much_free_ms_ = 0; ///< How long runs have been returned with more free memory than used memory.
};
} // namespace memory_pool::np
