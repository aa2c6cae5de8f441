// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A thread that runs a function each time a signal arrives.
///
///     signal  ->  handler: sem_post  ->  thread: sem_wait, work, sem_wait, ...
///
/// The function does not run in the handler, so it may allocate memory and take locks. The thread itself blocks all
/// signals.
///
/// (POSIX: sigaction, signal, sem_post, pthread_create. Not supported: Windows, and Apple, which has no unnamed
/// semaphores.)
///
/// Thread safety: one thread at a time; the handler may run in any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/blocked_signals.hpp>

#if !defined(_WIN32) && !defined(__APPLE__)
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The thread for one signal. Except in tests, a started object must live until the process ends: a handler may be
/// about to wake the thread.
class signal_thread : base::immovable<signal_thread>
{
public:
    using work = void (*)(void* argument);

#if defined(_WIN32) || defined(__APPLE__)
    static constexpr int usual_signal = 0; ///< For reports.

    static bool is_on() noexcept { return false; }
    static bool start(int /*signal*/, work /*what*/, void* /*argument*/) noexcept { return false; }
    static void stop() noexcept {}
    static void forget_after_fork() noexcept {}
#else
    static constexpr int usual_signal = SIGUSR1; ///< For reports.

    ~signal_thread() { stop(); }

    bool is_on() const noexcept { return signal_ != 0; }

    /// Effects: starts the thread, which calls `what(argument)` for each signal of that number, one call at a time.
    ///   Several signals during a call may cause a single further call. Replaces the handler of the signal.
    /// Returns: whether the thread is started; if not, sets errno.
    /// Preconditions: the object was not started, or is stopped; no other signal_thread uses that signal.
    bool start(int signal, work what, void* argument) noexcept
    {
        if (signal < 1 || static_cast<std::size_t>(signal) >= max_signals) {
            errno = EINVAL;
            return false;
        }
        what_ = what;
        argument_ = argument;
        is_wanted_.store(true, std::memory_order_relaxed);
        if (!has_semaphore_ && ::sem_init(&arrived_, 0, 0) != 0)
            return false;
        has_semaphore_ = true;
        while (::sem_trywait(&arrived_) == 0) { // Drops posts by handlers after the last stop.
        }
        const int failure = make_thread();
        if (failure == 0 && install(signal))
            return true;
        if (failure == 0)
            end_thread();
        errno = failure != 0 ? failure : EINVAL;
        return false;
    }

    /// Effects: restores the previous handler, unless the program has replaced the handler since. Waits for a call in
    ///   progress, and ends the thread.
    void stop() noexcept
    {
        if (signal_ == 0)
            return;
        restore_handler();
        semaphore_of(signal_).store(nullptr, std::memory_order_relaxed);
        end_thread();
        signal_ = 0;
    }

    /// Effects: resets the state in the child of a fork, where the thread does not exist. The child ignores the signal.
    void forget_after_fork() noexcept
    {
        if (signal_ != 0)
            semaphore_of(signal_).store(nullptr, std::memory_order_relaxed);
        signal_ = 0;
    }

private:
    static constexpr std::size_t max_signals = 65;

    static std::atomic<::sem_t*>& semaphore_of(int signal) noexcept
    {
        static std::array<std::atomic<::sem_t*>, max_signals> semaphores{};
        return semaphores[static_cast<std::size_t>(signal)];
    }

    static void handle(int signal) noexcept
    {
        const int error_before = errno;
        if (::sem_t* const semaphore = semaphore_of(signal).load(std::memory_order_acquire))
            (void)::sem_post(semaphore);
        errno = error_before;
    }

    bool install(int signal) noexcept
    {
        semaphore_of(signal).store(&arrived_, std::memory_order_release);
        // Not by sigaction: its sa_handler is a macro that triggers -Wdisabled-macro-expansion, even in programs.
        if (::sigaction(signal, nullptr, &before_) != 0 || ::signal(signal, &handle) == SIG_ERR) {
            semaphore_of(signal).store(nullptr, std::memory_order_relaxed);
            return false;
        }
        signal_ = signal;
        return true;
    }

    void restore_handler() noexcept
    {
        struct ::sigaction now{};
        if (::sigaction(signal_, nullptr, &now) != 0)
            return;
        const bool is_mine = ::signal(signal_, &handle) == &handle;
        (void)::sigaction(signal_, is_mine ? &before_ : &now, nullptr);
    }

    int make_thread() noexcept
    {
        const blocked_signals inherited;
        return ::pthread_create(
            &thread_, nullptr,
            [](void* self) -> void* {
                static_cast<signal_thread*>(self)->work_until_stopped();
                return nullptr;
            },
            this);
    }

    void work_until_stopped()
    {
        for (;;) {
            while (::sem_wait(&arrived_) != 0) {
            }
            if (!is_wanted_.load(std::memory_order_acquire))
                return;
            what_(argument_);
        }
    }

    void end_thread() noexcept
    {
        is_wanted_.store(false, std::memory_order_release);
        (void)::sem_post(&arrived_);
        (void)::pthread_join(thread_, nullptr);
    }

    work what_ = nullptr;
    void* argument_ = nullptr;
    std::atomic<bool> is_wanted_{false};
    int signal_ = 0; ///< 0: not started.
    bool has_semaphore_ = false;
    ::sem_t arrived_{};
    ::pthread_t thread_{};
    struct ::sigaction before_{};
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
