// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A coarse clock for ages, an exact clock, and the time of day.
///
/// (Linux: CLOCK_MONOTONIC_COARSE, which takes a few nanoseconds to read; CLOCK_MONOTONIC and CLOCK_REALTIME, which
/// take longer. On most machines, reading them takes no system call. Elsewhere: the clocks of the standard library.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstdint>

#if defined(__linux__)
#include <time.h>
#else
#include <chrono>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: milliseconds since some time before the program began; monotonic. May be a few milliseconds behind.
inline std::uint64_t coarse_milliseconds() noexcept
{
#if defined(__linux__)
    ::timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
#else
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
#endif
}

/// Returns: nanoseconds since some time before the program began; monotonic.
inline std::uint64_t nanoseconds() noexcept
{
#if defined(__linux__)
    ::timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
#else
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
#endif
}

/// Returns: milliseconds since 1970, UTC, by the clock of the system.
inline std::uint64_t unix_milliseconds() noexcept
{
#if defined(__linux__)
    ::timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
#else
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
