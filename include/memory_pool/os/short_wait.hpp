// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Waiting for what another thread is in the middle of, and has done in a moment.
///
///     yield, yield, ... yield, sleep, sleep, ...      or relax, relax, ... where nobody else should run meanwhile
///
/// The other thread may have a lower priority, and yielding lets none of those run (SCHED_FIFO): so it sleeps after a
/// while. That is no cancellation point, where a thread might end with locks.
///
/// (Linux: nanosleep(2), by its number. Elsewhere it only yields.)
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>

#include <thread>

#if defined(__linux__) && defined(__LP64__)
#include <cerrno>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// Effects: does nothing for some nanoseconds, and lets the other half of a core have it meanwhile.
inline void relax() noexcept
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory"); // "yield" takes no time on most of them
#endif
}

/// Effects: sleeps for 50 microseconds; where there is no way to do so that is no cancellation point, lets others run.
inline void sleep_for_a_moment() noexcept
{
#if defined(__linux__) && defined(__LP64__) && defined(SYS_nanosleep)
    const int errno_before = errno;
    const ::timespec moment{0, 50'000};
    (void)::syscall(SYS_nanosleep, &moment, nullptr);
    errno = errno_before;
#else
    std::this_thread::yield();
#endif
}

/// One wait.
class short_wait
{
public:
    /// Effects: lets others run. To be called until what is waited for is so.
    void once_more() noexcept
    {
        if (yields_ != most_yields) {
            ++yields_;
            std::this_thread::yield();
        } else {
            sleep_for_a_moment();
        }
    }

private:
    static constexpr unsigned most_yields = 64;

    unsigned yields_ = 0;
};
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
