// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A mutex whose holder gets the priority of a real-time thread that waits for it.
///
/// Otherwise, a preempted holder would run again only after all other threads of its priority had run, and the
/// real-time thread would wait for all of them.
///
///     state:      0                        free
///                 holder                   the number of a thread
///                 holder | FUTEX_WAITERS   real-time threads wait in the kernel (FUTEX_LOCK_PI), which hands the mutex
///                                          off to the first of them
///     sleepers:   1                        other threads may sleep (FUTEX_WAIT); they get no handoff, because each
///                                          would then wait for the previous one to be scheduled
///
/// Under contention, a thread spins before it sleeps: see short_wait.hpp. If the kernel refuses (a filter, an old
/// emulator) or mistakes another thread for the holder, a real-time thread sleeps like other threads. The child of a
/// fork must call forget_thread_number() and release the mutexes that its parent's thread held. If the child does
/// neither, as after clone(2), a real-time thread waits for `max_inherited_ms` once, and then the number is corrected.
///
/// (On systems other than Linux: os::mutex.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#if defined(__linux__)
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "single_thread.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#else
#include "mutex.hpp"
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
#if defined(__linux__)
/// The kernel's number for this thread; 0: unknown.
MEMORY_POOL_HIDDEN inline __thread std::uint32_t number_of_this_thread = 0;

/// Effects: in the child of a fork, forgets the number of this thread.
inline void forget_thread_number() noexcept
{
    number_of_this_thread = 0;
}

/// A mutex. Use with base::lock_guard.
class MEMORY_POOL_CAPABILITY priority_mutex : base::immovable<priority_mutex>
{
public:
    /// Effects: acquires the mutex, waiting as needed. errno is preserved.
    void lock() noexcept MEMORY_POOL_ACQUIRE()
    {
        if (MEMORY_POOL_UNLIKELY(!try_lock()))
            wait();
    }

    /// Effects: acquires the mutex if it is free.
    /// Returns: true if the mutex was acquired.
    bool try_lock() noexcept MEMORY_POOL_TRY_ACQUIRE(true)
    {
        const std::uint32_t mine = this_thread();
        if (is_single_threaded()) { // Needs no atomic operation.
            if (state_.load(std::memory_order_relaxed) != is_free)
                return false;
            state_.store(mine, std::memory_order_relaxed);
            return true;
        }
        std::uint32_t seen = is_free;
        return state_.compare_exchange_strong(seen, mine);
    }

    /// Preconditions: this thread holds the mutex.
    void unlock() noexcept MEMORY_POOL_RELEASE()
    {
        if (is_single_threaded()) {
            state_.store(is_free, std::memory_order_relaxed);
            return;
        }
        std::uint32_t seen = this_thread();
        if (MEMORY_POOL_UNLIKELY(!state_.compare_exchange_strong(seen, is_free)))
            hand_on();
        if (MEMORY_POOL_UNLIKELY(sleepers_.load() != 0))
            wake_one();
    }

private:
    static constexpr std::uint32_t is_free = 0;

    // As in linux/futex.h, which is not installed everywhere.
    static constexpr std::uint32_t number_bits = 0x3fff'ffff; // FUTEX_TID_MASK
    static constexpr std::uint32_t has_waiters = 0x8000'0000; // FUTEX_WAITERS
    enum class operation : int                                // All private to one process.
    {
        wait = 0 | 128,
        wake = 1 | 128,
        lock = 6 | 128,
        unlock = 7 | 128,
    };

    static std::uint32_t this_thread() noexcept
    {
        if (MEMORY_POOL_UNLIKELY(number_of_this_thread == 0))
            ask_for_number();
        return number_of_this_thread;
    }

    MEMORY_POOL_NOINLINE static void ask_for_number() noexcept
    {
        const int errno_before = errno;
        // If the kernel refuses the call, no thread has the resulting number.
        number_of_this_thread = static_cast<std::uint32_t>(::syscall(SYS_gettid)) & number_bits;
        errno = errno_before;
    }

    static long futex(std::atomic<std::uint32_t>& word, operation what, std::uint32_t value,
                      const ::timespec* until = nullptr) noexcept
    {
        static_assert(sizeof word == sizeof value);
        return ::syscall(SYS_futex, &word, static_cast<int>(what), value, until, nullptr, 0);
    }

    // Not analyzed, like hand_on(): the kernel acquires and releases the mutex.
    MEMORY_POOL_SLOW_PATH void wait() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        if (try_for_a_while([this] { return try_lock(); }))
            return;
        const int errno_before = errno;
        if (!is_real_time() || !inherit())
            sleep();
        errno = errno_before;
    }

    /// Waits until the mutex is free, and acquires it.
    void sleep() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        // Other threads may sleep, so a thread that has slept keeps this set when it gets the mutex, and later wakes
        // one of them.
        for (sleepers_.store(1); !try_lock(); sleepers_.store(1))
            (void)futex(sleepers_, operation::wait, 1);
    }

    void wake_one() noexcept
    {
        const int errno_before = errno;
        if (sleepers_.exchange(0) != 0)
            (void)futex(sleepers_, operation::wake, 1);
        errno = errno_before;
    }

    static bool is_real_time() noexcept
    {
        constexpr long deadline = 6; // SCHED_DEADLINE, which older headers do not define.
        // By system call, because musl's function always fails.
        const long policy = ::syscall(SYS_sched_getscheduler, 0);
        const long without_flag = policy & ~static_cast<long>(SCHED_RESET_ON_FORK);
        return policy >= 0 && (without_flag == SCHED_FIFO || without_flag == SCHED_RR || without_flag == deadline);
    }

    /// Lends this thread's priority to the holder until this thread gets the mutex.
    /// Returns: false if the kernel refuses, or the time is up.
    bool inherit() noexcept
    {
        constexpr std::uint64_t max_inherited_ms = 100; // Far longer than any thread holds the mutex.
        const std::uint64_t end = unix_milliseconds() + max_inherited_ms;
        const ::timespec until{static_cast<::time_t>(end / 1000), static_cast<long>(end % 1000 * 1'000'000)};
        const bool is_mine = futex(state_, operation::lock, 0, &until) == 0;
        (void)state_.load(); // Synchronizes with hand_on().
        return is_mine;
    }

    /// Hands the mutex off to the first waiting real-time thread. If there is none, this thread took the mutex under
    /// another number: before a fork.
    MEMORY_POOL_SLOW_PATH void hand_on() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        const int errno_before = errno;
        (void)state_.fetch_or(has_waiters);
        if (futex(state_, operation::unlock, 0) != 0) {
            forget_thread_number();
            state_.store(is_free);
        }
        errno = errno_before;
    }

    std::atomic<std::uint32_t> state_{is_free};
    std::atomic<std::uint32_t> sleepers_{0};
};
#else
inline void forget_thread_number() noexcept {}

using priority_mutex = mutex;
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
