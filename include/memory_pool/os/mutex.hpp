// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A lock that is there before anything has run, and that needs no C++ library.
///
/// (POSIX: pthread_mutex_lock; Windows: AcquireSRWLockExclusive. std::mutex is the former, but may throw.)
///
/// Thread safety: any thread.
#pragma once

#if defined(_WIN32)
struct _RTL_SRWLOCK;
extern "C" {
__declspec(dllimport) void __stdcall AcquireSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) unsigned char __stdcall TryAcquireSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) void __stdcall ReleaseSRWLockExclusive(_RTL_SRWLOCK*);
}
#else
#include <pthread.h>
#endif

namespace memory_pool::os
{
/// A lock: at most one thread has it. To be used with std::lock_guard.
class mutex
{
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() = default;

#if defined(_WIN32)
    void lock() noexcept { ::AcquireSRWLockExclusive(handle()); }
    bool try_lock() noexcept { return ::TryAcquireSRWLockExclusive(handle()) != 0; }
    void unlock() noexcept { ::ReleaseSRWLockExclusive(handle()); }

private:
    _RTL_SRWLOCK* handle() noexcept { return reinterpret_cast<_RTL_SRWLOCK*>(&state_); }

    void* state_ = nullptr; ///< SRWLOCK_INIT.
#else
    /// Effects: waits until no other thread has it, and takes it.
    void lock() noexcept { (void)::pthread_mutex_lock(&state_); }

    /// Effects: takes it if nobody has it.
    /// Returns: whether this thread has it now.
    bool try_lock() noexcept { return ::pthread_mutex_trylock(&state_) == 0; }

    /// Preconditions: this thread has it.
    void unlock() noexcept { (void)::pthread_mutex_unlock(&state_); }

private:
#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
    ::pthread_mutex_t state_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; // tries again a few times before it sleeps
#else
    ::pthread_mutex_t state_ = PTHREAD_MUTEX_INITIALIZER;
#endif
#endif
};
} // namespace memory_pool::os
