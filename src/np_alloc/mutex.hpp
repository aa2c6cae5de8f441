// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The locks of np_alloc, around which a process may fork.
///
/// The thread that forks takes all of them before, and lets go of them afterwards, in the parent and in the child. Between that,
/// functions of others run in it (pthread_atfork calls those that were registered first last before the fork, and first after it),
/// and they may allocate. As what the locks guard is in order then, and nobody else comes to it, the thread passes them.
///
/// Each thread counts the locks that it has, or waits for: so a process knows that it is ended by a handler of a signal which has come
/// in the middle of a call, when it must not wait for them.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/mutex.hpp>

#include <cstdint>

#include <mutex> // std::lock_guard

namespace memory_pool::np
{
/// Whether this thread has all locks, as it is about to fork, or has just done so.
MEMORY_POOL_HIDDEN inline __thread bool this_thread_forks = false;

/// How many locks this thread has, or is about to have.
MEMORY_POOL_HIDDEN inline __thread std::uint32_t this_thread_locks = 0;

/// As long as it lives, this thread counts as one with a lock.
class counted_lock
{
public:
    counted_lock() noexcept { ++this_thread_locks; }
    counted_lock(const counted_lock&) = delete;
    counted_lock& operator=(const counted_lock&) = delete;
    ~counted_lock() { --this_thread_locks; }
};

/// A lock, which the thread that forks passes. To be used with std::lock_guard.
class mutex
{
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() = default;

    void lock() noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        ++this_thread_locks;
        if (MEMORY_POOL_LIKELY(!this_thread_forks))
            mutex_.lock();
    }

    /// Returns: whether it was to be had at once. Not while this thread forks: it is for what can wait.
    bool try_lock() noexcept
    {
        ++this_thread_locks;
        if (!this_thread_forks && mutex_.try_lock())
            return true;
        --this_thread_locks;
        return false;
    }

    void unlock() noexcept
    {
        if (MEMORY_POOL_LIKELY(!this_thread_forks))
            mutex_.unlock();
        --this_thread_locks;
    }

    // Around a fork.

    void lock_for_fork() noexcept
    {
        mutex_.lock();
        is_held_for_fork_ = true;
    }

    /// Effects: lets go of it. It may be new, if a handler has made what it guards.
    void unlock_after_fork() noexcept
    {
        if (!is_held_for_fork_)
            return;
        is_held_for_fork_ = false;
        mutex_.unlock();
    }

private:
    os::mutex mutex_;
    bool is_held_for_fork_ = false;
};
} // namespace memory_pool::np
