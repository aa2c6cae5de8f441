// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A mutex whose holder gets the priority of a real-time thread that waits for it.
///
/// Without that, a holder that was preempted runs again when all other threads of its priority have had their turn,
/// and a real-time thread waits for all of them.
///
///     state:      0                        free
///                 holder                   the number of a thread
///                 holder | FUTEX_WAITERS   real-time threads wait in the kernel (FUTEX_LOCK_PI), which hands it to
///                                          the first of them
///     sleepers:   1                        other threads may sleep (FUTEX_WAIT): with a lock that is handed on, each
///                                          would wait for the one before to be scheduled
///
/// Under contention, a thread spins before it sleeps: see short_wait.hpp. Where the kernel refuses (a filter, an old
/// emulator) or takes another thread for the holder, a real-time thread sleeps as the others do. The child of a fork
/// calls forget_thread_number(), and releases what its parent's thread held; if it does neither, as clone(2) was
/// called, a real-time thread waits for `max_inherited_ms` once, and the number is corrected.
///
/// (Elsewhere than in Linux: os::mutex.)
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
/// The number that the kernel knows this thread by; 0: not asked yet.
MEMORY_POOL_HIDDEN inline __thread std::uint32_t number_of_this_thread = 0;

/// Effects: has the kernel asked again, in the child of a fork.
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
        if (is_single_threaded()) { // It needs no atomic operation.
            if (state_.load(std::memory_order_relaxed) != is_free)
                return false;
            state_.store(mine, std::memory_order_relaxed);
            return true;
        }
        std::uint32_t seen = is_free;
        return state_.compare_exchange_strong(seen, mine);
    }

    /// Preconditions: this thread holds it.
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
    enum class operation : int                                // All for one process.
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
        // If it is refused, the kernel finds no such thread later.
        number_of_this_thread = static_cast<std::uint32_t>(::syscall(SYS_gettid)) & number_bits;
        errno = errno_before;
    }

    static long futex(std::atomic<std::uint32_t>& word, operation what, std::uint32_t value,
                      const ::timespec* until = nullptr) noexcept
    {
        static_assert(sizeof word == sizeof value);
        return ::syscall(SYS_futex, &word, static_cast<int>(what), value, until, nullptr, 0);
    }

    // Not analyzed, like hand_on(): the kernel acquires and releases it.
    MEMORY_POOL_SLOW_PATH void wait() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        if (try_for_a_while([this] { return try_lock(); }))
            return;
        const int errno_before = errno;
        if (!is_real_time() || !inherit())
            sleep();
        errno = errno_before;
    }

    /// Waits until it is free, and acquires it.
    void sleep() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        // Others may sleep, too: a thread that has slept leaves this set when it gets the mutex, and wakes one later.
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
        // By its number, as musl's function always fails.
        const long policy = ::syscall(SYS_sched_getscheduler, 0);
        const long class_of_it = policy & ~static_cast<long>(SCHED_RESET_ON_FORK);
        return policy >= 0 && (class_of_it == SCHED_FIFO || class_of_it == SCHED_RR || class_of_it == deadline);
    }

    /// Has the kernel give this thread's priority to the holder, and then the mutex to this thread.
    /// Returns: whether it did.
    bool inherit() noexcept
    {
        constexpr std::uint64_t max_inherited_ms = 100; // Far longer than anyone holds it.
        const std::uint64_t end = unix_milliseconds() + max_inherited_ms;
        const ::timespec until{static_cast<::time_t>(end / 1000), static_cast<long>(end % 1000 * 1'000'000)};
        const bool is_mine = futex(state_, operation::lock, 0, &until) == 0;
        (void)state_.load(); // Acquires what hand_on() has released.
        return is_mine;
    }

    /// Gives the mutex to the first of the real-time threads that wait for it. If there is none, the number of this
    /// thread was another when it took the mutex: before a fork.
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
