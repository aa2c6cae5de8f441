// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Waiting for another thread to complete a short operation.
///
///     yield, yield, ... yield, sleep, sleep, ...      or relax, relax, ... where no other thread should be scheduled
///
/// The other thread may have a lower priority. Under SCHED_FIFO, yielding does not let such a thread run, so a waiting
/// thread sleeps after 64 yields. This sleep is not a cancellation point: a cancelled thread would end with locks held.
///
/// For a lock that is soon released, a thread spins for about 20 microseconds before it sleeps. A system call of the
/// lock's owner takes no longer. While the waiting thread sleeps, another thread may be scheduled, and need memory that
/// would have been freed a moment later.
///
/// (Linux: nanosleep(2), by its system call number. Elsewhere, a waiting thread only yields.)
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/clock.hpp>

#include <cstdint>

#if defined(__linux__)
#include <sched.h> // <thread> is slow to compile
#else
#include <thread>
#endif
#if defined(__linux__) && defined(__LP64__)
#include <cerrno>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: pauses briefly, and leaves the core to the other hardware thread.
inline void relax() noexcept
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory"); // "yield" is a no-op on most ARM cores
#endif
}

/// Effects: lets another thread run.
inline void yield() noexcept
{
#if defined(__linux__)
    (void)::sched_yield();
#else
    std::this_thread::yield();
#endif
}

/// Effects: sleeps for 50 microseconds; only yields where every sleep is a cancellation point.
inline void sleep_for_a_moment() noexcept
{
#if defined(__linux__) && defined(__LP64__) && defined(SYS_nanosleep)
    const int errno_before = errno;
    const ::timespec moment{0, 50'000};
    (void)::syscall(SYS_nanosleep, &moment, nullptr);
    errno = errno_before;
#else
    yield();
#endif
}

/// Effects: calls `try_lock()` until it returns true, for about 20 microseconds at most.
/// Returns: the result of the last call.
template <class TryLock>
MEMORY_POOL_NOINLINE bool try_for_a_while(TryLock&& try_lock) noexcept
{
    constexpr std::uint64_t max_ns = 20'000; // Measured with 50 threads on 2 cores; see docs/performance.md.
    constexpr int max_rounds = 500;          // In case the clock does not advance.
    const std::uint64_t start = nanoseconds();
    for (int round = 0; round != max_rounds && nanoseconds() - start < max_ns; ++round) {
        for (int i = 0; i != 8; ++i)
            relax();
        if (try_lock())
            return true;
    }
    return false;
}

/// The state of one wait.
class short_wait
{
public:
    /// Effects: waits for a moment. Repeat the call until the condition holds.
    void once_more() noexcept
    {
        if (yields_ != max_yields) {
            ++yields_;
            yield();
        } else {
            sleep_for_a_moment();
        }
    }

private:
    static constexpr unsigned max_yields = 64;

    unsigned yields_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
