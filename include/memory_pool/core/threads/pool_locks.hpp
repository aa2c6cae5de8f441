// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The number of locks of pools and resources that this thread holds. A thread that holds such a lock does not wait for
/// forks, and may use pools for one thread: such a pool is guarded by that lock.
///
/// Thread safety: one thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
inline thread_local std::size_t pool_locks_of_this_thread = 0;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
