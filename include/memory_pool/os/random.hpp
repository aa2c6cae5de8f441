// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A random number that is unpredictable from outside of the process, for code that must not allocate.
///
/// (Linux: getrandom; Windows: rand_s; Apple and BSD: arc4random_buf; elsewhere, and before the system has enough
/// entropy: the address of a variable, the time, and a counter.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/clock.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(_WIN32)
// As declared by stdlib.h, which declares it only if _CRT_RAND_S is defined before its first inclusion.
extern "C" __declspec(dllimport) int __cdecl rand_s(unsigned* number);
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#define MEMORY_POOL_OS_HAS_ARC4RANDOM 1 ///< Is there arc4random_buf?
#include <stdlib.h>
#endif
#ifndef MEMORY_POOL_OS_HAS_ARC4RANDOM
#define MEMORY_POOL_OS_HAS_ARC4RANDOM 0 ///< Is there arc4random_buf?
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: a fresh number. errno is preserved.
/// Complexity: a system call.
inline std::uint64_t random_number() noexcept
{
    std::uint64_t number = 0;
#if defined(__linux__)
    // Not by the C library's function, which is a cancellation point.
    constexpr unsigned do_not_wait = 1;
    const int error_before = errno;
    const long received = ::syscall(SYS_getrandom, &number, sizeof number, do_not_wait);
    errno = error_before;
    if (received == static_cast<long>(sizeof number))
        return number;
#elif defined(_WIN32)
    unsigned high = 0;
    unsigned low = 0;
    if (::rand_s(&high) == 0 && ::rand_s(&low) == 0)
        return std::uint64_t{high} << 32U | low;
#elif MEMORY_POOL_OS_HAS_ARC4RANDOM
    ::arc4random_buf(&number, sizeof number);
#endif
#if MEMORY_POOL_OS_HAS_ARC4RANDOM
    return number;
#else
    static std::atomic<std::uint64_t> calls{0};
    number = reinterpret_cast<std::uintptr_t>(&number) ^ coarse_milliseconds() << 32U;
    return (number + calls.fetch_add(1, std::memory_order_relaxed)) * 0x9E37'79B9'7F4A'7C15U;
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
