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

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__GLIBC__)
extern "C" int memory_pool_atexit_of(void (*function)(void*), void* argument, void* library) noexcept
    asm("__cxa_atexit");
#endif

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

/// Effects: has the process end with that status when it ends, in the same way. Where the C library is glibc, the
///   library of the caller may be unloaded before; elsewhere, that ends the process.
/// Thread safety: any thread.
template <int (*Status)() noexcept>
void set_status_at_end() noexcept
{
#if defined(__GLIBC__)
    // What std::atexit registers is called when its library is unloaded. This is a function of the C library, which has
    // its argument in the place of the other one; and of no library, which nullptr would not be to ThreadSanitizer.
    void* const again = reinterpret_cast<void*>(&std::exit);
    auto* const end = reinterpret_cast<void (*)(void*)>(again);
    (void)memory_pool_atexit_of(end, reinterpret_cast<void*>(static_cast<std::intptr_t>(Status())), again);
#else
    (void)std::atexit([] { end_with_status(Status()); });
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
