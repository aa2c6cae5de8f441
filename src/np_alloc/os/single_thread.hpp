// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Checks whether the process has a single thread.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

#if defined(__linux__)
#include <sys/stat.h>
#endif

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: true if the process certainly has a single thread; false if the system cannot tell.
///
/// (glibc 2.32 and later: __libc_single_threaded.)
inline bool is_single_threaded() noexcept
{
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/// Returns: as is_single_threaded(), but also true if all other threads have ended.
/// Complexity: a system call.
inline bool has_one_thread() noexcept
{
    if (is_single_threaded())
        return true;
#if defined(__linux__)
    // The directory has three links if there is one thread: one for that thread, one for itself, one for its parent.
    constexpr std::size_t links_for_one = 3;
    struct ::stat tasks;
    return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == links_for_one;
#else
    return false;
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
