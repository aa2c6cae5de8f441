// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Watches for memory pressure on the background thread.
///
///     background thread:   wait -> check -> (an answer is due) -> heap_maintenance returns memory -> note_answer
///     program:             descriptor(): readable after each answer
///
/// Thread safety: any thread, except for the members of the background thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../os/event_counter.hpp"
#include "../os/memory_cgroup.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "pressure_policy.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
/// Totals for the statistics.
struct pressure_statistics
{
    std::size_t signals;
    std::size_t answers;
    std::size_t bytes_returned;
};

/// Watches the memory of the control group.
class pressure_watch : base::immovable<pressure_watch>
{
public:
    /// Intervals between checks, with and without pressure. A change of memory.events wakes the background thread at
    /// once, but stalls do not.
    static constexpr std::uint64_t pressed_tick_ms = 250;
    static constexpr std::uint64_t tick_ms = 1000;

    /// Effects: starts to watch the control group in `directory`; nullptr: the group of the process. A no-op if there
    ///   is no such group.
    void start(const char* directory) noexcept
    {
        const base::lock_guard lock(mutex_);
        // While the watch is on, only the background thread reopens wake_up_.
        const bool is_there = (is_on() || wake_up_.open()) && group_.open(directory);
        if (is_there)
            policy_.start(group_.read(), os::coarse_milliseconds());
        state_.store(is_there ? np_pressure_none : np_pressure_unknown, std::memory_order_relaxed);
        is_on_.store(is_there, std::memory_order_relaxed);
    }

    /// Effects: stops watching.
    void stop() noexcept
    {
        const base::lock_guard lock(mutex_);
        state_.store(np_pressure_off, std::memory_order_relaxed);
        is_on_.store(false, std::memory_order_relaxed);
        group_.close();
    }

    np_pressure state() const noexcept { return state_.load(std::memory_order_relaxed); }

    /// Returns: whether a group is watched.
    bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }

    /// Returns: whether there is pressure.
    bool is_pressed() const noexcept { return state() == np_pressure_some; }

    pressure_statistics statistics() const noexcept
    {
        return {signals_.load(std::memory_order_relaxed), answers_.load(std::memory_order_relaxed),
                bytes_returned_.load(std::memory_order_relaxed)};
    }

    /// Effects: ends the current or next wait of the background thread.
    void interrupt() noexcept
    {
        const base::lock_guard lock(mutex_);
        wake_up_.signal();
    }

    /// Effects: opens a descriptor that is readable after each answer, unless it is open.
    /// Returns: the descriptor; -1 if there is none.
    int descriptor() noexcept
    {
        const base::lock_guard lock(mutex_);
        return answered_.open() ? answered_.number() : -1;
    }

    /// Returns: the descriptor of memory.events; -1 if there is none.
    int events_descriptor() noexcept
    {
        const base::lock_guard lock(mutex_);
        return group_.descriptor();
    }

    // For the background thread, which never blocks on a lock.

    /// Effects: waits until memory.events changes, the next check is due, or interrupt() was called; at most `max_ms`.
    void wait(std::uint64_t max_ms) noexcept
    {
        int events = -1;
        std::uint64_t milliseconds = std::min(max_ms, is_pressed() ? pressed_tick_ms : tick_ms);
        if (mutex_.try_lock()) {
            const base::lock_guard lock(mutex_, base::adopt_lock);
            (void)wake_up_.open(); // The program may have closed it.
            events = group_.descriptor();
            milliseconds = policy_.wait_ms(os::coarse_milliseconds(), milliseconds);
        }
        wake_up_.wait(events, static_cast<int>(milliseconds));
    }

    /// Returns: whether to answer now.
    bool look() noexcept
    {
        if (!mutex_.try_lock())
            return false;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        if (!is_on())
            return false;
        const std::uint64_t now = os::coarse_milliseconds();
        const std::optional<os::pressure_counts> counts = group_.read();
        if (!counts) {
            look_for_group(now);
            return false;
        }
        signals_.fetch_add(policy_.note(counts, now) ? 1 : 0, std::memory_order_relaxed);
        state_.store(policy_.is_on() ? np_pressure_some : np_pressure_none, std::memory_order_relaxed);
        return policy_.is_due(now);
    }

    /// Effects: records that `returned` bytes of `reserved` were returned to the OS, and signals the program.
    void note_answer(std::size_t returned, std::size_t reserved) noexcept
    {
        answers_.fetch_add(1, std::memory_order_relaxed);
        bytes_returned_.fetch_add(returned, std::memory_order_relaxed);
        while (!mutex_.try_lock()) {
            if (!is_on())
                return; // The thread that holds the lock may be joining this one.
            os::sleep_for_a_moment();
        }
        const base::lock_guard lock(mutex_, base::adopt_lock);
        answered_.signal();
        policy_.note_answer(os::coarse_milliseconds(), returned, reserved);
    }

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock_after_fork(); }

    /// Effects: stops watching in the child of a fork, which shares the descriptors with its parent until this call.
    void forget_after_fork() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        state_.store(np_pressure_off, std::memory_order_relaxed);
        is_on_.store(false, std::memory_order_relaxed);
        group_.close();
        wake_up_.close();
        answered_.close();
    }

private:
    /// Looks for the group again after its removal: the process is, or will be, in another group.
    void look_for_group(std::uint64_t now) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const bool is_there = group_.open_again();
        policy_.start(is_there ? group_.read() : std::nullopt, now);
        state_.store(is_there ? np_pressure_none : np_pressure_unknown, std::memory_order_relaxed);
    }

    fork_mutex mutex_{lock_rank::pressure};
    os::memory_cgroup group_ MEMORY_POOL_GUARDED_BY(mutex_);
    pressure_policy policy_ MEMORY_POOL_GUARDED_BY(mutex_);
    os::event_counter wake_up_;  ///< Wakes the background thread.
    os::event_counter answered_; ///< Signals the program.
    std::atomic<np_pressure> state_{np_pressure_off};
    std::atomic<bool> is_on_{false}; ///< Stays true while the group is temporarily missing.
    std::atomic<std::size_t> signals_{0};
    std::atomic<std::size_t> answers_{0};
    std::atomic<std::size_t> bytes_returned_{0};
};
} // namespace memory_pool::np
