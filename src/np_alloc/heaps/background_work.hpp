// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a thread of the library's own does, in short turns, between which others may have it rest.
///
///     turn, turn, turn ... pause ... turn, | rest ... | turn, turn, ...
///
/// Thread safety: any thread, but where it is said.
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
/// Whether this is the background thread, in an excursion.
MEMORY_POOL_HIDDEN inline __thread bool this_thread_is_away = false;

/// Work in the background.
class background_work : base::immovable<background_work>
{
public:
    /// Effects: has a thread of its own call a function again and again.
    /// Returns: whether there is such a thread.
    bool start(os::background_thread::work what) noexcept
    {
        const counted_lock counted;
        return thread_.start(what);
    }

    /// Effects: ends that.
    void stop() noexcept
    {
        const counted_lock counted;
        thread_.stop();
    }

    /// Returns: whether there is such a thread.
    bool is_running() noexcept
    {
        const counted_lock counted;
        return thread_.is_running();
    }

    /// Effects: has it work soon, if there is such a thread.
    void wake() noexcept
    {
        const counted_lock counted;
        thread_.wake();
    }

    /// A time in which the thread may work: short, as others may wait for its end. It never waits for a lock itself:
    /// another thread may end the process while it holds one, and wait for this one.
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

        /// Returns: whether it may work; not while it rests, or has to end.
        bool is_on() const noexcept { return is_on_; }

    private:
        background_work& of_;
        bool has_lock_;
        bool is_on_;
    };

    /// A time in which the thread calls code beyond np_alloc, which may wait for a fork, so it does not hold the lock
    /// of a turn. A rest waits for its end.
    class excursion : base::immovable<excursion>
    {
    public:
        explicit excursion(background_work& of) noexcept : of_(of), is_on_(begin()) {}
        ~excursion()
        {
            if (is_on_)
                end();
        }

        /// Returns: whether it may call it.
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

    /// A time in which the thread does nothing, so that nothing changes while no other thread is in a call.
    class rest : base::immovable<rest>
    {
    public:
        explicit rest(background_work& of) noexcept : of_(of), is_needed_(of.is_running()) { (void)add(1); }
        ~rest() { (void)add(-1); }

        /// Effects: calls a function of the program, and lets the thread work meanwhile: the function may never come
        ///   back, as it throws, or leaves by a long jump.
        /// Returns: whether the thread did work.
        template <class Function>
        bool interrupted_by(Function&& function) const
        {
            const std::uint64_t turns_before = add(-1);
            function();
            return add(1) != turns_before;
        }

    private:
        /// Returns: how often the thread has worked so far.
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

    /// Effects: there is no such thread any more, and no rest.
    /// Preconditions: this is the child of a fork, which has one thread.
    void forget_after_fork() noexcept MEMORY_POOL_REQUIRES(turn_)
    {
        thread_.forget_after_fork();
        rests_ = 0;
        is_away_.store(false, std::memory_order_relaxed);
    }

private:
    fork_mutex turn_{lock_rank::background}; ///< Held while it works.
    int rests_ MEMORY_POOL_GUARDED_BY(turn_) = 0;
    std::uint64_t turns_ MEMORY_POOL_GUARDED_BY(turn_) = 0;
    std::atomic<bool> is_away_{false}; ///< In an excursion.
    os::background_thread thread_;
};
} // namespace memory_pool::np
