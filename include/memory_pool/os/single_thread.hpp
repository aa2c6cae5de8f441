// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Whether a process has other threads.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: true if the process certainly has a single thread; false also where the system cannot tell.
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
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
