// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Sets the exit status of a process that is already exiting.
///
///     return from main, or exit(0)  ->  handlers and destructors, last first  ->  files flushed  ->  status 0
///                                                      |
///                                           end_with_status(7)  ->  remaining ones    ->  files flushed  ->  status 7
///
/// (In C and POSIX, a call of exit() from a handler that exit() runs is undefined behaviour. With glibc, that call
/// continues with the remaining handlers.)
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
/// Effects: ends the process with that status. With glibc, runs the remaining handlers and destructors. With other C
///   libraries, only flushes files.
/// Preconditions: called by a handler or destructor that runs because the process ends.
[[noreturn]] inline void end_with_status(int status) noexcept
{
#if defined(__GLIBC__)
    std::exit(status); // NOLINT(concurrency-mt-unsafe): called in the thread that is ending the process
#else
    (void)std::fflush(nullptr);
    std::_Exit(status);
#endif
}

/// Effects: registers a handler that ends the exiting process with `Status()`, as end_with_status does. With glibc, the
///   library of the caller may be unloaded before the exit; with other C libraries, unloading it ends the process.
/// Thread safety: any thread.
template <int (*Status)() noexcept>
void set_status_at_end() noexcept
{
#if defined(__GLIBC__)
    // A handler of std::atexit would run when its library is unloaded. The handler here is std::exit itself, which gets
    // the status as its argument. The address of std::exit is also the library handle, which matches no library.
    // (ThreadSanitizer would not treat nullptr as no library.)
    void* const again = reinterpret_cast<void*>(&std::exit);
    auto* const end = reinterpret_cast<void (*)(void*)>(again);
    (void)memory_pool_atexit_of(end, reinterpret_cast<void*>(static_cast<std::intptr_t>(Status())), again);
#else
    (void)std::atexit([] { end_with_status(Status()); });
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
