// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Keeps the heaps usable when the process forks.
///
/// The thread that forks holds all locks, so runs and lists are consistent in the child. The other threads do not exist
/// in the child. Their heaps may be inconsistent, because these threads may have been in the middle of a call, so these
/// heaps stay as they are and are not adopted. Their blocks may be used and freed, but their free memory is lost to the
/// child. The child does not drain remote frees that were sent during the fork.
///
/// Thread safety: the thread that forks.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/blocked_signals.hpp>

#include "../os/priority_mutex.hpp"
#include "../os/single_thread.hpp"
#include "../os/stdio_lock.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "heap.hpp"
#include "heap_maintenance.hpp"
#include "heap_table.hpp"
#include "thread_heap.hpp"

namespace memory_pool::np {
/// Returns: the heap of this thread; nullptr if the thread has none.
thread_heap* heap_of_this_thread() noexcept;

/// Locks around a fork, and the state that the child discards.
class fork_handlers : base::immovable<fork_handlers>
{
public:
    constexpr fork_handlers(heap_table& heaps, heap_maintenance& maintenance) noexcept
        : heaps_(heaps), maintenance_(maintenance)
    {
    }

    /// Returns: whether this is the child of a fork, which may have lost blocks in transit.
    bool is_forked() const noexcept { return is_forked_; }

    /// Returns: whether this is the child of a process that may have had other threads in the middle of a call.
    bool may_have_lost_threads() const noexcept { return may_have_lost_threads_; }

    /// A signal handler may fork while its thread is in fork(). Only the outermost fork takes the locks.
    void before_fork() noexcept
    {
        if (this_thread_forks) {
            ++nested_forks_;
            return;
        }
        the_profile.gate().close();
        drain_before_fork();
        // A signal handler that forks between these calls would make its child release a lock that it does not hold.
        const os::blocked_signals blocked;
        os::lock_stdio_list(); // First, because of the lock order: see stdio_lock.hpp.
        lock_for_fork();
    }

    void after_fork() noexcept
    {
        if (nested_forks_ != 0) {
            --nested_forks_;
            return;
        }
        const os::blocked_signals blocked;
        unlock_after_fork();
        os::unlock_stdio_list();
        the_profile.gate().open();
    }

    /// The child of a nested fork is still inside the outer forks and holds their locks.
    // Not analyzed: lock_for_fork() acquired the locks before the fork.
    void after_fork_in_child() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        const os::blocked_signals blocked;
        is_forked_ = true;
        the_profile.gate().reset();
        may_have_lost_threads_ = may_have_lost_threads_ || !is_single_threaded_;
        heaps_.pages.source().finish_purges();
        maintenance_.forget_after_fork();
        for_each_quiet_heap([](heap& each) { each.forget_incoming(); });
        heaps_.threads.forget_threads_but(heap_of_this_thread());
        heaps_.threads.discard_random_numbers();
        os::reset_stdio_list_lock();
        if (nested_forks_ != 0) {
            --nested_forks_;
            os::lock_stdio_list();
        } else {
            unlock_after_fork();
        }
        os::forget_thread_number(); // Last, because this thread took the locks under its old number.
    }

private:
    /// Effects: calls `action(heap&)` for each heap that no other thread uses.
    template <class Action>
    void for_each_quiet_heap(Action&& action) noexcept MEMORY_POOL_REQUIRES(heaps_.mutex)
    {
        heaps_.threads.for_each_parked([&action](thread_heap& each) { action(each.slabs); });
        if (thread_heap* const mine = heap_of_this_thread())
            action(mine->slabs);
    }

    /// Effects: drains remote frees that the child would otherwise lose. Call this before the fork takes the locks:
    ///   draining reports errors, and an error handler may wait for a thread that needs one of the locks.
    void drain_before_fork() noexcept
    {
        misuse_list found;
        const os::blocked_signals blocked; // A signal handler that forks would deadlock on this lock.
        const base::lock_guard lock(heaps_.mutex);
        for_each_quiet_heap([&found](heap& each) {
            const heap::scoped_lock lock_of_heap(each, found);
            (void)each.drain();
        });
    }

    // Not analyzed, like unlock_after_fork(): this function acquires all locks, and unlock_after_fork() releases them.
    void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        count_lock();
        maintenance_.lock_for_fork();
        heaps_.lock_for_fork();
        is_single_threaded_ = os::is_single_threaded();
        the_profile.mutex().lock_for_fork();
        heaps_.pages.source().lock_for_fork();
        this_thread_forks = true;
    }

    void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        this_thread_forks = false;
        heaps_.pages.source().unlock_after_fork();
        the_profile.mutex().unlock_after_fork();
        heaps_.unlock_after_fork();
        maintenance_.unlock_after_fork();
        --this_thread_locks;
    }

    heap_table& heaps_;
    heap_maintenance& maintenance_;
    bool is_forked_ = false;
    bool is_single_threaded_ = false; ///< Valid while this thread forks.
    unsigned nested_forks_ = 0;       ///< Forks by signal handlers, inside of the fork that holds the locks.
    bool may_have_lost_threads_ = false;
};
} // namespace memory_pool::np
