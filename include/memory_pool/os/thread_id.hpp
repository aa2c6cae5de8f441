// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The number of a thread, for comparisons and reports.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstdint>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <atomic>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: the number of this thread, never 0: on Linux, the number that debuggers and /proc show; elsewhere, threads
///   are numbered in the order of their first calls. Unlike a std::thread::id, the number is not soon reused for
///   another thread, and it is unchanged in the child of a fork.
/// Complexity: O(1); a system call the first time.
inline std::uint64_t thread_number() noexcept
{
#if defined(__linux__)
    static thread_local const auto number = static_cast<std::uint64_t>(::syscall(SYS_gettid));
#else
    static std::atomic<std::uint64_t> last{0};
    static thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
#endif
    return number;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
