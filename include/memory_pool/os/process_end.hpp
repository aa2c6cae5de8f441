// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Sets the exit status of a process that is already exiting.
///
///     return from main, or exit(0)  ->  handlers and destructors, last first  ->  files flushed  ->  status 0
///                                                      |
///                                           end_with_status(7)  ->  the rest of them  ->  files flushed  ->  status 7
///
/// (POSIX and C leave open what exit() does if it is called again by what it has called; glibc goes on where it was.)
///
/// Thread safety: only for the thread that ends the process.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstdio>
#include <cstdlib>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: ends the process with that status. Handlers and destructors that have not run yet do, where the C library
///   is glibc; elsewhere, files are flushed, and nothing else.
/// Preconditions: it is called by a handler or a destructor that is run because the process ends.
[[noreturn]] inline void end_with_status(int status) noexcept
{
#if defined(__GLIBC__)
    std::exit(status); // NOLINT(concurrency-mt-unsafe): the thread that ends the process is the one that does it again
#else
    (void)std::fflush(nullptr);
    std::_Exit(status);
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
