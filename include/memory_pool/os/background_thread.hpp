// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A thread of a library's own, which does something occasionally.
///
///     start  ->  work, wait, work, wait, ...  ->  stop                   wake: waits no longer
///
/// It handles no signals, as those are the program's. Memory is asked for by the system alone, when the thread is made,
/// so it can serve a library that is asked for memory.
///
/// (POSIX: pthread_create, pthread_cond_timedwait; Apple: pthread_cond_timedwait_relative_np. Windows: there is none.)
///
/// Thread safety: any thread, but for `forget_after_fork`.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/blocked_signals.hpp>
#include <memory_pool/os/mutex.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <cstdint>
#include <mutex>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// A thread that calls a function again and again.
class background_thread : base::immovable<background_thread>
{
public:
    /// Does what is to be done.
    /// Returns: after how many milliseconds it is to be called again.
    using work = std::uint64_t (*)();

#if defined(_WIN32)
    static bool start(work /*what*/) noexcept { return false; }
    static void stop() noexcept {}
    static void wake() noexcept {}
    static bool is_running() noexcept { return false; }
    static void forget_after_fork() noexcept {}
#else
    /// Effects: has the function called from now on, unless there is such a thread already.
    /// Returns: whether there is one; not if the system has no room for it.
    bool start(work what) noexcept
    {
        const std::lock_guard<mutex> control(control_);
        if (is_running_)
            return true;
        what_ = what;
        is_running_ = goes_on() || (use_monotonic_clock() && make_thread());
        return is_running_;
    }

    /// Effects: has it called no more. It is not at work any more when this returns, unless it is the one that calls
    ///   this: then whoever stops it next waits for its end.
    void stop() noexcept
    {
        ::pthread_t ended{};
        {
            const std::lock_guard<mutex> control(control_);
            if (!is_running_ && !has_stopped_itself_)
                return;
            is_running_ = false;
            tell([this] { is_wanted_ = false; });
            ended = thread_;
            has_stopped_itself_ = ::pthread_equal(ended, ::pthread_self()) != 0;
            if (has_stopped_itself_)
                return;
        }
        join(ended); // Without the lock: the thread may be in a function of the program, which starts or stops it, too.
    }

    /// Returns: whether there is such a thread, and nobody has told it to end.
    bool is_running() noexcept
    {
        const std::lock_guard<mutex> control(control_);
        return is_running_;
    }

    /// Effects: has it called soon, if there is such a thread.
    void wake() noexcept
    {
        tell([this] { is_woken_ = true; });
    }

    /// Effects: there is no such thread any more, as this is the child of a fork.
    /// Preconditions: it is, and there is no other thread.
    void forget_after_fork() noexcept { ::new (this) background_thread; }

private:
    /// What it does needs little; for what the program has in thread-local storage, which may be a part of it, that has
    /// to be enough, too.
    static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

    /// So that it does not wait longer when somebody sets the clock.
    bool use_monotonic_clock() noexcept
    {
        if (has_monotonic_clock_)
            return true;
#if defined(__APPLE__)
        has_monotonic_clock_ = true; // The wait is relative, so the clock of the day does not matter.
#else
        ::pthread_condattr_t attributes;
        if (::pthread_condattr_init(&attributes) != 0)
            return false;
        has_monotonic_clock_ = ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                               ::pthread_cond_init(&told_, &attributes) == 0;
        (void)::pthread_condattr_destroy(&attributes);
#endif
        return has_monotonic_clock_;
    }

    /// Effects: has a thread go on that has stopped itself, if it has not come to see that yet; if it has, waits for
    ///   its end.
    /// Returns: whether it goes on.
    bool goes_on() noexcept
    {
        if (!std::exchange(has_stopped_itself_, false))
            return false;
        (void)::pthread_mutex_lock(&state_);
        is_wanted_ = !has_ended_;
        (void)::pthread_mutex_unlock(&state_);
        if (is_wanted_)
            return true;
        join(thread_);
        return false;
    }

    /// One that was told to end, and has not come to see it yet, sees by `thread_` that this is another one.
    bool make_thread() noexcept
    {
        (void)::pthread_mutex_lock(&state_);
        const bool is_made = make_thread_without_signals();
        is_wanted_ = is_made;
        has_ended_ = false;
        (void)::pthread_mutex_unlock(&state_);
        return is_made;
    }

    /// A thread begins with the signals blocked that are blocked here.
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

    template <class Say>
    void tell(Say&& say) noexcept
    {
        (void)::pthread_mutex_lock(&state_);
        say();
        (void)::pthread_cond_signal(&told_);
        (void)::pthread_mutex_unlock(&state_);
    }

    static void* run(void* self) noexcept
    {
        static_cast<background_thread*>(self)->work_until_stopped();
        return nullptr;
    }

    /// Waits until that thread has ended, also if this one is to be cancelled, which would leave it half done.
    static void join(::pthread_t ended) noexcept
    {
        const uncancelled until_joined;
        (void)::pthread_join(ended, nullptr);
    }

    void work_until_stopped() noexcept
    {
        (void)::pthread_mutex_lock(&state_);
        while (is_wanted_here()) {
            is_woken_ = false;
            const work what = what_;
            (void)::pthread_mutex_unlock(&state_);
            const std::uint64_t milliseconds = what();
            (void)::pthread_mutex_lock(&state_);
            wait(milliseconds);
        }
        has_ended_ = has_ended_ || ::pthread_equal(thread_, ::pthread_self()) != 0;
        (void)::pthread_mutex_unlock(&state_);
    }

    bool is_wanted_here() const noexcept { return is_wanted_ && ::pthread_equal(thread_, ::pthread_self()) != 0; }

    void wait(std::uint64_t milliseconds) noexcept
    {
        const ::timespec end = after(milliseconds);
        while (is_wanted_here() && !is_woken_)
            if (!wait_until(end))
                return; // It is time.
    }

    /// Returns: whether the condition was signalled before `end` on the monotonic clock, or may have been.
    bool wait_until(const ::timespec& end) noexcept
    {
#if defined(__APPLE__)
        const ::timespec now = monotonic_time();
        ::timespec left{end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
        if (left.tv_nsec < 0) {
            left.tv_nsec += 1'000'000'000;
            --left.tv_sec;
        }
        return left.tv_sec >= 0 && ::pthread_cond_timedwait_relative_np(&told_, &state_, &left) == 0;
#else
        return ::pthread_cond_timedwait(&told_, &state_, &end) == 0;
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
        constexpr std::uint64_t most = std::uint64_t{24} * 60 * 60 * 1000;
        milliseconds = std::min(milliseconds, most);
        ::timespec time = monotonic_time();
        const long nanoseconds = time.tv_nsec + static_cast<long>(milliseconds % 1000) * 1'000'000;
        time.tv_sec += static_cast<::time_t>(milliseconds / 1000) + nanoseconds / 1'000'000'000;
        time.tv_nsec = nanoseconds % 1'000'000'000;
        return time;
    }

    mutex control_; ///< Of who starts and stops.
    bool is_running_ = false;
    bool has_stopped_itself_ = false; ///< And nobody has waited for its end yet.
    bool has_monotonic_clock_ = false;

    ::pthread_mutex_t state_ = PTHREAD_MUTEX_INITIALIZER; ///< Of what the thread is told.
    ::pthread_cond_t told_ = PTHREAD_COND_INITIALIZER;
    ::pthread_t thread_{}; ///< The last one that was made.
    work what_ = nullptr;
    bool is_wanted_ = false;
    bool is_woken_ = false;
    bool has_ended_ = false; ///< Or will, whatever it is told.
#endif
};
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
