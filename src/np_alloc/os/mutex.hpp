// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A constant-initialized mutex that needs no C++ library.
///
/// Under contention, a thread spins for a few microseconds before it sleeps: see short_wait.hpp. (POSIX:
/// pthread_mutex_lock, which sleeps at once. Windows: AcquireSRWLockExclusive, which spins itself. std::mutex uses
/// pthread_mutex_lock, but may throw.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#if defined(_WIN32)
struct _RTL_SRWLOCK;
extern "C" {
__declspec(dllimport) void __stdcall AcquireSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) unsigned char __stdcall TryAcquireSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) void __stdcall ReleaseSRWLockExclusive(_RTL_SRWLOCK*);
}
#else
#include <memory_pool/os/short_wait.hpp>

#include "single_thread.hpp"

#include <pthread.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// A mutex. Use with base::lock_guard.
class MEMORY_POOL_CAPABILITY mutex : base::immovable<mutex>
{
public:
#if defined(_WIN32)
    void lock() noexcept MEMORY_POOL_ACQUIRE() { ::AcquireSRWLockExclusive(handle()); }
    bool try_lock() noexcept MEMORY_POOL_TRY_ACQUIRE(true) { return ::TryAcquireSRWLockExclusive(handle()) != 0; }
    void unlock() noexcept MEMORY_POOL_RELEASE() { ::ReleaseSRWLockExclusive(handle()); }

private:
    _RTL_SRWLOCK* handle() noexcept { return reinterpret_cast<_RTL_SRWLOCK*>(&state_); }

    void* state_ = nullptr; ///< SRWLOCK_INIT.
#else
    /// Effects: acquires the mutex, waiting as needed.
    void lock() noexcept MEMORY_POOL_ACQUIRE()
    {
        // In a single-threaded process, glibc's pthread_mutex_lock needs no atomic operation; pthread_mutex_trylock
        // does.
        if (is_single_threaded() ||
            (MEMORY_POOL_UNLIKELY(!try_lock()) && !try_for_a_while([this] { return try_lock(); })))
            (void)::pthread_mutex_lock(&state_);
    }

    /// Effects: acquires the mutex if it is free.
    /// Returns: true if the mutex was acquired.
    bool try_lock() noexcept MEMORY_POOL_TRY_ACQUIRE(true) { return ::pthread_mutex_trylock(&state_) == 0; }

    /// Preconditions: this thread holds the mutex.
    void unlock() noexcept MEMORY_POOL_RELEASE() { (void)::pthread_mutex_unlock(&state_); }

    /// For pthread condition variables.
    ::pthread_mutex_t& native() noexcept { return state_; }

private:
    ::pthread_mutex_t state_ = PTHREAD_MUTEX_INITIALIZER;
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
