// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The background thread. It works in short turns; other threads can pause it between turns.
///
///     turn, turn, turn ... pause ... turn, | rest ... | turn, turn, ...
///
/// Thread safety: any thread, except where noted.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../os/background_thread.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"

#include <atomic>
#include <cstdint>

namespace memory_pool::np {
/// True in the background thread during an excursion.
MEMORY_POOL_HIDDEN inline __thread bool this_thread_is_away = false;

/// The background thread and its turns.
class background_work : base::immovable<background_work>
{
public:
    /// Effects: starts a thread that calls a function repeatedly, unless the thread is already running.
    /// Returns: whether the thread is running.
    bool start(os::background_thread::work what) noexcept
    {
        const counted_lock counted;
        return thread_.start(what);
    }

    /// Effects: stops the thread.
    void stop() noexcept
    {
        const counted_lock counted;
        thread_.stop();
    }

    /// Returns: whether the thread is running.
    bool is_running() noexcept
    {
        const counted_lock counted;
        return thread_.is_running();
    }

    /// Effects: if the thread is running, makes it work soon.
    void wake() noexcept
    {
        const counted_lock counted;
        thread_.wake();
    }

    /// A period in which the thread may work. A turn is short, because other threads may wait for its end. During a
    /// turn, the thread never waits for a lock, because another thread may hold the lock while it ends the process and
    /// waits for this thread.
    class turn : base::immovable<turn>
    {
    public:
        explicit turn(background_work& of) noexcept
            : of_(of), has_lock_(of.turn_.try_lock()), is_on_(has_lock_ && of.rests_ == 0 && of.thread_.is_running())
        {
            if (is_on_)
                ++of.turns_;
        }
        ~turn()
        {
            if (has_lock_)
                of_.turn_.unlock();
        }

        /// Returns: whether the thread may work: false during a rest, and when the thread must end.
        bool is_on() const noexcept { return is_on_; }

    private:
        background_work& of_;
        bool has_lock_;
        bool is_on_;
    };

    /// A period in which the thread calls code outside of np_alloc. That code may wait for a fork, so the thread does
    /// not hold the lock of a turn. A rest waits for the end of an excursion.
    class excursion : base::immovable<excursion>
    {
    public:
        explicit excursion(background_work& of) noexcept : of_(of), is_on_(begin()) {}
        ~excursion()
        {
            if (is_on_)
                end();
        }

        /// Returns: whether the thread may call code outside of np_alloc.
        bool is_on() const noexcept { return is_on_; }

    private:
        bool begin() noexcept
        {
            const turn now(of_);
            if (now.is_on()) {
                of_.is_away_.store(true, std::memory_order_relaxed);
                this_thread_is_away = true;
            }
            return now.is_on();
        }

        void end() noexcept
        {
            this_thread_is_away = false;
            of_.is_away_.store(false, std::memory_order_release);
        }

        background_work& of_;
        bool is_on_;
    };

    /// A period in which the thread does no work, so that nothing changes while no other thread is in a call.
    class rest : base::immovable<rest>
    {
    public:
        explicit rest(background_work& of) noexcept : of_(of), is_needed_(of.is_running()) { (void)add(1); }
        ~rest() { (void)add(-1); }

        /// Effects: calls a function of the program, and lets the thread work during the call, because the function may
        ///   never return: it may throw or call longjmp.
        /// Returns: whether the thread worked during the call.
        template <class Function>
        bool interrupted_by(Function&& function) const
        {
            const std::uint64_t turns_before = add(-1);
            function();
            return add(1) != turns_before;
        }

    private:
        /// Returns: the number of turns so far.
        std::uint64_t add(int more) const noexcept
        {
            if (!is_needed_)
                return 0;
            const std::uint64_t turns = add_locked(more);
            for (os::short_wait wait; more > 0 && !this_thread_is_away && of_.is_away_.load(std::memory_order_acquire);)
                wait.once_more();
            return turns;
        }

        std::uint64_t add_locked(int more) const noexcept
        {
            const base::lock_guard lock(of_.turn_);
            of_.rests_ += more;
            return of_.turns_;
        }

        background_work& of_;
        bool is_needed_;
    };

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(turn_) { turn_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(turn_) { turn_.unlock_after_fork(); }

    /// Effects: forgets the thread and all rests.
    /// Preconditions: this is the child of a fork, which has one thread.
    void forget_after_fork() noexcept MEMORY_POOL_REQUIRES(turn_)
    {
        thread_.forget_after_fork();
        rests_ = 0;
        is_away_.store(false, std::memory_order_relaxed);
    }

private:
    fork_mutex turn_{lock_rank::background}; ///< Held during a turn.
    int rests_ MEMORY_POOL_GUARDED_BY(turn_) = 0;
    std::uint64_t turns_ MEMORY_POOL_GUARDED_BY(turn_) = 0;
    std::atomic<bool> is_away_{false}; ///< The thread is in an excursion.
    os::background_thread thread_;
};
} // namespace memory_pool::np
