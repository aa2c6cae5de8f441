// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library's background thread, which runs a function periodically.
///
///     start  ->  work, wait, work, wait, ...  ->  stop                   wake: ends the wait
///
/// The thread blocks all signals, leaving them to the program's threads. Memory is allocated only when the thread is
/// created, by the system's library, so an allocator can use this class.
///
/// (POSIX: pthread_create, pthread_cond_timedwait; Apple: pthread_cond_timedwait_relative_np. Windows: not supported.)
///
/// Thread safety: any thread, except `forget_after_fork`.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/blocked_signals.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include "mutex.hpp"

#include <cstdint>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// A thread that calls a function periodically.
class background_thread : base::immovable<background_thread>
{
public:
    /// The periodic function.
    /// Returns: milliseconds until the next call.
    using work = std::uint64_t (*)();

#if defined(_WIN32)
    static bool start(work /*what*/) noexcept { return false; }
    static void stop() noexcept {}
    static void wake() noexcept {}
    static bool is_running() noexcept { return false; }
    static void forget_after_fork() noexcept {}
#else
    /// Effects: starts the thread, unless it is running.
    /// Returns: whether the thread is running; false if the system cannot create it.
    bool start(work what) noexcept
    {
        const base::lock_guard control(control_);
        if (is_running_)
            return true;
        call_from_now_on(what);
        is_running_ = goes_on() || (use_monotonic_clock() && make_thread());
        return is_running_;
    }

    /// Effects: stops the thread and waits for its end. If the thread itself calls stop(), that call does not wait, but
    ///   the next call does.
    void stop() noexcept
    {
        ::pthread_t ended{};
        {
            const base::lock_guard control(control_);
            if (!is_running_ && !has_stopped_itself_)
                return;
            is_running_ = false;
            set(&background_thread::is_wanted_, false);
            ended = thread_;
            has_stopped_itself_ = ::pthread_equal(ended, ::pthread_self()) != 0;
            if (has_stopped_itself_)
                return;
        }
        join(ended); // Without the lock: the function may call start or stop.
    }

    /// Returns: whether the thread has been started and not stopped.
    bool is_running() noexcept
    {
        const base::lock_guard control(control_);
        return is_running_;
    }

    /// Effects: if the thread is running, makes it call the function soon.
    void wake() noexcept { set(&background_thread::is_woken_, true); }

    /// Effects: resets the state in the child of a fork, where the thread does not exist.
    /// Preconditions: this is the child of a fork, with a single thread.
    void forget_after_fork() noexcept { ::new (static_cast<void*>(this)) background_thread; }

private:
    /// The function needs little stack, but thread-local storage of the program may be on the stack as well.
    static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

    void call_from_now_on(work what) noexcept
    {
        const base::lock_guard lock(state_);
        what_ = what;
    }

    /// Setting the system clock must not prolong the wait.
    bool use_monotonic_clock() noexcept MEMORY_POOL_REQUIRES(control_)
    {
        if (has_monotonic_clock_)
            return true;
#if defined(__APPLE__)
        has_monotonic_clock_ = true; // The wait is relative.
#else
        ::pthread_condattr_t attributes;
        if (::pthread_condattr_init(&attributes) != 0)
            return false;
        has_monotonic_clock_ = ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                               ::pthread_cond_init(&changed_, &attributes) == 0;
        (void)::pthread_condattr_destroy(&attributes);
#endif
        return has_monotonic_clock_;
    }

    /// Effects: resumes a thread that has stopped itself but has not noticed yet; otherwise waits for its end.
    /// Returns: whether the thread was resumed.
    bool goes_on() noexcept MEMORY_POOL_REQUIRES(control_)
    {
        if (!std::exchange(has_stopped_itself_, false))
            return false;
        {
            const base::lock_guard lock(state_);
            is_wanted_ = !has_ended_;
            if (is_wanted_)
                return true;
        }
        join(thread_);
        return false;
    }

    /// A stopped thread that has not noticed yet will see in `thread_` that another thread has replaced it.
    bool make_thread() noexcept MEMORY_POOL_REQUIRES(control_)
    {
        const base::lock_guard lock(state_);
        const bool is_made = make_thread_without_signals();
        is_wanted_ = is_made;
        has_ended_ = false;
        return is_made;
    }

    /// A new thread inherits the signal mask.
    bool make_thread_without_signals() noexcept
    {
        const blocked_signals blocked;
        return make_thread_with(stack_bytes) || ::pthread_create(&thread_, nullptr, &run, this) == 0;
    }

    bool make_thread_with(std::size_t stack) noexcept
    {
        ::pthread_attr_t attributes;
        if (::pthread_attr_init(&attributes) != 0)
            return false;
        const bool is_made = ::pthread_attr_setstacksize(&attributes, stack) == 0 &&
                             ::pthread_create(&thread_, &attributes, &run, this) == 0;
        (void)::pthread_attr_destroy(&attributes);
        return is_made;
    }

    void set(bool background_thread::* flag, bool value) noexcept
    {
        const base::lock_guard lock(state_);
        this->*flag = value;
        (void)::pthread_cond_signal(&changed_);
    }

    static void* run(void* self) noexcept
    {
        static_cast<background_thread*>(self)->work_until_stopped();
        return nullptr;
    }

    /// Joins the thread with cancellation disabled.
    static void join(::pthread_t ended) noexcept
    {
        const uncancelled until_joined;
        (void)::pthread_join(ended, nullptr);
    }

    void work_until_stopped() noexcept
    {
        const base::lock_guard lock(state_);
        while (is_wanted_here()) {
            is_woken_ = false;
            const work what = what_;
            state_.unlock();
            const std::uint64_t milliseconds = what();
            state_.lock();
            wait(milliseconds);
        }
        has_ended_ = has_ended_ || ::pthread_equal(thread_, ::pthread_self()) != 0;
    }

    bool is_wanted_here() const noexcept MEMORY_POOL_REQUIRES(state_)
    {
        return is_wanted_ && ::pthread_equal(thread_, ::pthread_self()) != 0;
    }

    void wait(std::uint64_t milliseconds) noexcept MEMORY_POOL_REQUIRES(state_)
    {
        const ::timespec end = after(milliseconds);
        while (is_wanted_here() && !is_woken_)
            if (!wait_until(end))
                return; // Timed out.
    }

    /// Returns: whether the condition was signalled before `end` on the monotonic clock, or may have been.
    bool wait_until(const ::timespec& end) noexcept MEMORY_POOL_REQUIRES(state_)
    {
#if defined(__APPLE__)
        const ::timespec now = monotonic_time();
        ::timespec left{end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
        if (left.tv_nsec < 0) {
            left.tv_nsec += 1'000'000'000;
            --left.tv_sec;
        }
        return left.tv_sec >= 0 && ::pthread_cond_timedwait_relative_np(&changed_, &state_.native(), &left) == 0;
#else
        return ::pthread_cond_timedwait(&changed_, &state_.native(), &end) == 0;
#endif
    }

    static ::timespec monotonic_time() noexcept
    {
        ::timespec time{};
        (void)::clock_gettime(CLOCK_MONOTONIC, &time);
        return time;
    }

    static ::timespec after(std::uint64_t milliseconds) noexcept
    {
        constexpr std::uint64_t max_milliseconds = std::uint64_t{24} * 60 * 60 * 1000;
        milliseconds = std::min(milliseconds, max_milliseconds);
        ::timespec time = monotonic_time();
        const long nanoseconds = time.tv_nsec + static_cast<long>(milliseconds % 1000) * 1'000'000;
        time.tv_sec += static_cast<::time_t>(milliseconds / 1000) + nanoseconds / 1'000'000'000;
        time.tv_nsec = nanoseconds % 1'000'000'000;
        return time;
    }

    mutex control_; ///< Serializes start and stop.
    bool is_running_ MEMORY_POOL_GUARDED_BY(control_) = false;
    bool has_stopped_itself_ MEMORY_POOL_GUARDED_BY(control_) = false; ///< And has not been joined yet.
    bool has_monotonic_clock_ MEMORY_POOL_GUARDED_BY(control_) = false;

    mutex state_;
    ::pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
    ::pthread_t thread_{}; ///< The last thread created. Written with both locks held, read with either.
    work what_ MEMORY_POOL_GUARDED_BY(state_) = nullptr;
    bool is_wanted_ MEMORY_POOL_GUARDED_BY(state_) = false;
    bool is_woken_ MEMORY_POOL_GUARDED_BY(state_) = false;
    bool has_ended_ MEMORY_POOL_GUARDED_BY(state_) = false; ///< Or will certainly end.
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
