// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How many locks of pools and resources this thread holds: while it holds one, it waits for no fork, and pools allow
/// any thread, as their user is the one that holds the lock.
///
/// Thread safety: one thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
inline thread_local std::size_t pool_locks_of_this_thread = 0;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
