// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The C library's stream list lock, which fork() takes.
///
/// Lock order: a thread in fflush(NULL) holds this lock while it waits for the lock of a stream, whose owner may be
/// waiting for malloc. So a fork handler of malloc must take this lock before its own locks, or it could deadlock. The
/// lock is recursive.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstdio> // __GLIBC__

#if defined(__GLIBC__)
// Exported by glibc, but not declared in its headers.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming): glibc's names
extern "C" {
void _IO_list_lock() __attribute__((weak));
void _IO_list_unlock() __attribute__((weak));
void _IO_list_resetlock() __attribute__((weak));
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: acquires the lock, if the C library has one.
inline void lock_stdio_list() noexcept
{
#if defined(__GLIBC__)
    if (_IO_list_lock != nullptr)
        _IO_list_lock();
#endif
}

/// Effects: releases the lock once.
/// Preconditions: this thread holds the lock.
inline void unlock_stdio_list() noexcept
{
#if defined(__GLIBC__)
    if (_IO_list_unlock != nullptr)
        _IO_list_unlock();
#endif
}

/// Effects: resets the lock to free, regardless of its recursion count. (In the child of a multithreaded process, glibc
///   has already reset the lock.)
/// Preconditions: this is the child of a fork, with a single thread.
inline void reset_stdio_list_lock() noexcept
{
#if defined(__GLIBC__)
    if (_IO_list_resetlock != nullptr)
        _IO_list_resetlock();
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
