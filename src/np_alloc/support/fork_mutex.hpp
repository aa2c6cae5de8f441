// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// np_alloc's locks, which a thread that forks holds during the fork.
///
/// The thread that forks takes all locks before the fork, and releases them afterwards, in the parent and in the child.
/// In between, it also runs fork handlers of other code, which may allocate. (Of the pthread_atfork handlers, the first
/// one registered runs last before the fork, and first after it.) At that time, the data behind the locks is consistent
/// and no other thread uses it, so the locks are no-ops in that thread.
///
/// Each thread counts the locks that it holds or waits for. So if a signal handler interrupts a call and ends the
/// process, the code that runs at exit can tell that it must not wait for locks. Each lock also knows its owner. A
/// handler that needs a lock of the thread that it interrupts would deadlock, so the lock reports the error and ends
/// the program.
///
///     lock:     in transition | os lock | owner = this thread           |
///     unlock:                   in transition | owner = none | os unlock |
///
/// A lock in transition may be held without an owner.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../os/priority_mutex.hpp"
#include "../os/standard_error.hpp"
#include "build_variant.hpp"
#include "internals.hpp"
#include "lock_rank.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace memory_pool::np {
/// True while this thread holds all locks, because it is about to fork or has just forked.
MEMORY_POOL_HIDDEN inline __thread bool this_thread_forks = false;

/// The number of locks that this thread holds or is about to take; one more while it holds all of them for a fork.
MEMORY_POOL_HIDDEN inline __thread std::uint32_t this_thread_locks = 0;

class fork_mutex;

/// The lock that this thread is about to take or to release.
MEMORY_POOL_HIDDEN inline __thread const fork_mutex* this_thread_transition = nullptr;

/// Effects: counts a lock of this thread that is not an np::fork_mutex. If this is its only lock, clears the
///   transition, which has ended.
inline void count_lock() noexcept
{
    if (this_thread_locks++ == 0)
        this_thread_transition = nullptr;
}

/// Counts as a lock of this thread during its lifetime.
class counted_lock : base::immovable<counted_lock>
{
public:
    counted_lock() noexcept { count_lock(); }
    ~counted_lock() { --this_thread_locks; }
};

/// Effects: reports that a signal handler needs a lock that its thread holds, and aborts. Async-signal-safe.
[[noreturn]] MEMORY_POOL_SLOW_PATH inline void report_reentrant_call() noexcept
{
    constexpr const char* text =
        "np_alloc: reentrant call: a signal handler allocates, frees or forks while it interrupts np_alloc in "
        "the same thread\n"
        "  remedy: call async-signal-safe functions only in signal handlers; malloc and free are not\n";
    os::write_to_standard_error(text, std::strlen(text));
    std::abort();
}

/// A lock whose lock() and unlock() are no-ops in a thread that forks. Use with base::lock_guard.
class MEMORY_POOL_CAPABILITY fork_mutex : base::immovable<fork_mutex>, lock_order<is_checked>
{
public:
    constexpr explicit fork_mutex(lock_rank rank) noexcept : lock_order(rank) {}

    void lock() noexcept MEMORY_POOL_ACQUIRE()
    {
        MEMORY_POOL_DELAY_POINT();
        if (MEMORY_POOL_UNLIKELY(this_thread_locks++ != 0)) {
            lock_further();
            return;
        }
        begin_transition();
        mutex_.lock();
        set_owner(this_thread());
        note(true);
    }

    /// Effects: acquires the lock if it is free, but never while this thread forks, because callers can do without the
    ///   lock.
    /// Returns: true if the lock was acquired.
    bool try_lock() noexcept MEMORY_POOL_TRY_ACQUIRE(true)
    {
        ++this_thread_locks;
        if (!this_thread_forks) {
            const fork_mutex* const interrupted = this_thread_transition;
            begin_transition();
            const bool is_taken = mutex_.try_lock();
            if (is_taken) {
                set_owner(this_thread());
                note(true);
            }
            this_thread_transition = interrupted;
            if (is_taken)
                return true;
        }
        --this_thread_locks;
        return false;
    }

    void unlock() noexcept MEMORY_POOL_RELEASE()
    {
        if (MEMORY_POOL_LIKELY(this_thread_locks == 1))
            release();
        else
            unlock_further();
        --this_thread_locks;
    }

    /// See base::mutex::assume_held.
    void assume_held() const noexcept MEMORY_POOL_ASSUMES_HELD(this) {}

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE()
    {
        if (MEMORY_POOL_UNLIKELY(!mutex_.try_lock()))
            wait(this_thread_transition);
        set_owner(this_thread());
        is_held_for_fork_ = true;
    }

    /// Effects: releases the lock. A no-op for a lock that a fork handler has created since lock_for_fork().
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE()
    {
        if (!is_held_for_fork_)
            return;
        is_held_for_fork_ = false;
        set_owner(nullptr);
        mutex_.unlock();
    }

private:
    /// Returns: an address that identifies the thread.
    static const void* this_thread() noexcept { return &this_thread_locks; }

    // A signal handler sees the transition from before the lock is taken until the owner is set, and from before the
    // owner is cleared until the lock is free. A thread without other locks has no earlier transition to restore.

    void begin_transition() noexcept
    {
        this_thread_transition = this;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    void set_owner(const void* owner) noexcept
    {
        owner_.store(owner, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        MEMORY_POOL_LOCK_POINT(*this, owner != nullptr);
    }

    /// Takes the lock for a thread that already holds or waits for a lock: another lock, or, in a signal handler, this
    /// one. Restores the interrupted transition.
    // Not analyzed: a no-op in the thread that forks.
    MEMORY_POOL_NOINLINE void lock_further() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        if (this_thread_forks)
            return;
        if (MEMORY_POOL_UNLIKELY(!is_in_order()))
            owner_.load(std::memory_order_relaxed) == this_thread() ? report_reentrant_call() : report_order();
        const fork_mutex* const interrupted = this_thread_transition;
        begin_transition();
        if (MEMORY_POOL_UNLIKELY(!mutex_.try_lock()))
            wait(interrupted);
        set_owner(this_thread());
        note(true);
        this_thread_transition = interrupted;
    }

    void release() noexcept MEMORY_POOL_RELEASE(mutex_)
    {
        begin_transition();
        note(false);
        set_owner(nullptr);
        mutex_.unlock();
    }

    // Not analyzed: see lock_further.
    MEMORY_POOL_NOINLINE void unlock_further() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        if (this_thread_forks)
            return;
        const fork_mutex* const interrupted = this_thread_transition;
        release();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        this_thread_transition = interrupted;
    }

    /// Waits for the lock. Reports a reentrant call if this thread owns the lock. If there is no owner yet, another
    /// thread soon becomes the owner, unless this thread holds the lock in an interrupted call.
    MEMORY_POOL_SLOW_PATH void wait(const fork_mutex* interrupted) noexcept MEMORY_POOL_ACQUIRE(mutex_)
    {
        constexpr std::uint64_t max_transition = 100'000'000; // In nanoseconds.
        if (interrupted == this) {
            const std::uint64_t begin = os::nanoseconds();
            while (owner_.load(std::memory_order_relaxed) == nullptr) {
                if (mutex_.try_lock())
                    return;
                if (os::nanoseconds() - begin > max_transition)
                    report_reentrant_call();
                os::sleep_for_a_moment();
            }
        }
        if (owner_.load(std::memory_order_relaxed) == this_thread())
            report_reentrant_call();
        mutex_.lock();
    }

    os::priority_mutex mutex_;
    std::atomic<const void*> owner_{nullptr}; ///< Written only by the thread that holds the lock.
    bool is_held_for_fork_ = false;
};
} // namespace memory_pool::np
