// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A number that nobody outside of the process can know, for code that may not allocate.
///
/// (Linux: getrandom; elsewhere, and before the system has gathered enough: the address of a variable, and the time.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/clock.hpp>

#include <cerrno>
#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// Returns: such a number, another one each time. errno stays as it is.
/// Complexity: a system call.
inline std::uint64_t random_number() noexcept
{
    std::uint64_t number = 0;
#if defined(__linux__)
    // Not by the function of the C library, where a thread may be cancelled.
    constexpr unsigned do_not_wait = 1;
    const int error_before = errno;
    const long received = ::syscall(SYS_getrandom, &number, sizeof number, do_not_wait);
    errno = error_before;
    if (received == static_cast<long>(sizeof number))
        return number;
#endif
    number = reinterpret_cast<std::uintptr_t>(&number) ^ coarse_milliseconds() << 32U;
    return number * 0x9E37'79B9'7F4A'7C15U;
}
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
