// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Fork handlers, where fork() exists; and the process id.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: has `prepare` called before each fork, `in_parent` and `in_child` after it, in the thread that forks.
/// Returns: whether there was memory for that.
inline bool at_fork(void (*prepare)(), void (*in_parent)(), void (*in_child)()) noexcept
{
#if defined(_WIN32)
    static_cast<void>(prepare), static_cast<void>(in_parent), static_cast<void>(in_child);
    return true; // There is no fork.
#else
    return ::pthread_atfork(prepare, in_parent, in_child) == 0;
#endif
}

/// Returns: the number of this process; 0 where it cannot fork.
inline long process_number() noexcept
{
#if defined(_WIN32)
    return 0;
#else
    return ::getpid();
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
