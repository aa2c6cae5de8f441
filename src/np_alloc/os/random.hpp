// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Random numbers that other processes cannot predict, for code that must not allocate.
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
#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(_WIN32)
// As in stdlib.h, which declares rand_s only if _CRT_RAND_S is defined before the header is first included.
extern "C" __declspec(dllimport) int __cdecl rand_s(unsigned* number);
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#define MEMORY_POOL_OS_HAS_ARC4RANDOM 1 ///< Is there arc4random_buf?
#include <stdlib.h>
#endif
#ifndef MEMORY_POOL_OS_HAS_ARC4RANDOM
#define MEMORY_POOL_OS_HAS_ARC4RANDOM 0 ///< Is there arc4random_buf?
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Maximum number of values per call: 256 bytes, which getrandom delivers without interruption.
inline constexpr std::size_t max_drawn = 32;

/// Effects: stores `count` random numbers in `numbers`. errno is preserved.
/// Preconditions: `count` is at most max_drawn.
/// Complexity: a system call.
inline void draw_random_numbers(std::uint64_t* numbers, std::size_t count) noexcept
{
#if defined(__linux__)
    // The C library's function would be a cancellation point.
    constexpr unsigned do_not_wait = 1;
    const int error_before = errno;
    const long received = ::syscall(SYS_getrandom, numbers, count * sizeof *numbers, do_not_wait);
    errno = error_before;
    if (received == static_cast<long>(count * sizeof *numbers))
        return;
#elif MEMORY_POOL_OS_HAS_ARC4RANDOM
    ::arc4random_buf(numbers, count * sizeof *numbers);
#endif
#if !MEMORY_POOL_OS_HAS_ARC4RANDOM
    static std::atomic<std::uint64_t> calls{0};
    for (std::uint64_t* const end = numbers + count; numbers != end; ++numbers) {
#if defined(_WIN32)
        unsigned high = 0;
        unsigned low = 0;
        if (::rand_s(&high) == 0 && ::rand_s(&low) == 0) {
            *numbers = std::uint64_t{high} << 32U | low;
            continue;
        }
#endif
        *numbers = reinterpret_cast<std::uintptr_t>(&numbers) ^ coarse_milliseconds() << 32U;
        *numbers = (*numbers + calls.fetch_add(1, std::memory_order_relaxed)) * 0x9E37'79B9'7F4A'7C15U;
    }
#endif
}

/// Returns: a random number. errno is preserved.
/// Complexity: a system call.
inline std::uint64_t random_number() noexcept
{
    std::uint64_t number = 0;
    draw_random_numbers(&number, 1);
    return number;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
