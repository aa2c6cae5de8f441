// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Fork handlers, where fork() exists, and the process ID.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: registers `prepare` to run before each fork, and `in_parent` and `in_child` to run after it, in the forking
///   thread.
/// Returns: false if out of memory.
inline bool at_fork(void (*prepare)(), void (*in_parent)(), void (*in_child)()) noexcept
{
#if defined(_WIN32)
    static_cast<void>(prepare), static_cast<void>(in_parent), static_cast<void>(in_child);
    return true; // There is no fork.
#else
    return ::pthread_atfork(prepare, in_parent, in_child) == 0;
#endif
}

/// Returns: the ID of this process; 0 where fork() does not exist.
inline long process_number() noexcept
{
#if defined(_WIN32)
    return 0;
#else
    return ::getpid();
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
