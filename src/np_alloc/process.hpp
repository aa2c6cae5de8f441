// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All heaps of a process: how a thread gets one when it first needs it, and where it goes when the thread ends.
///
///     heaps:    A (thread 1)    B (thread 2)    C -> D (parked)    late (for threads that have ended)
///
/// A heap is never destroyed. When its thread ends, it is parked whole, with the blocks that are still in use; the next thread
/// that begins adopts it. Until then, others post to it as before.
///
/// A thread may free, and even allocate, when it has ended already: in destructors of thread-local objects that run after ours.
/// Such a call goes to a heap that all those threads share, with a lock.
///
/// Around a fork, the thread that forks has all locks, so runs and lists are in order in the child. The heaps of threads that are
/// not there are not: those may have been at work in them. They stay as they are, and are not adopted; their blocks may be used
/// and freed, but what is free there is lost to the child. Nor is anything taken in that was posted while the fork went on.
///
/// Locks, in the order in which they are taken: that of parked heaps, that of the late one, the backend's.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/thread_end.hpp>

#include "backend.hpp"
#include "front.hpp"
#include "heap.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace memory_pool::np
{
/// What one thread has, zeroed but for the heap that is nobody's.
struct thread_state
{
    front at_hand;
    bool has_ended = false;
};

/// All heaps.
class process
{
public:
    constexpr process() noexcept = default;
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process() = default;

    /// Returns: the one there is. It is never destroyed, as threads may end after everything else.
    static process& current() noexcept;

    /// Effects: gives a thread that has none a heap: a parked one, or a new one.
    /// Returns: whether it has one now; not if it has ended, or there is no memory.
    bool attach(thread_state& thread) noexcept
    {
        if (thread.has_ended || !start())
            return false;
        heap_memory* const memory = parked_or_new();
        if (memory == nullptr)
            return false;
        thread.at_hand.use(*memory);
        // Last, as this may allocate.
        (void)thread_end_.ask(&thread);
        return true;
    }

    /// Effects: parks the heap of a thread that ends.
    void detach(thread_state& thread) noexcept
    {
        thread.has_ended = true;
        if (!thread.at_hand.has_heap())
            return;
        heap_memory& memory = thread.at_hand.memory();
        thread.at_hand.leave();
        const std::lock_guard lock(mutex_);
        park(memory);
    }

    /// Effects: takes a block for a thread that has no heap.
    /// Returns: nullptr if there is no memory.
    void* take_late(std::size_t size_class) noexcept
    {
        if (!start())
            return nullptr;
        const std::lock_guard lock(late_mutex_);
        if (late_ == nullptr)
            late_ = new_heap();
        void* block = nullptr;
        return late_ != nullptr && late_->slabs.take(size_class, &block, 1) == 1 ? block : nullptr;
    }

    /// Effects: gives a block back to the heap it is from, for a thread that has none.
    static void put_late(heap& owner, void* block) noexcept { owner.post({block, block, 1}); }

    /// Effects: gives all memory back to the system that is free: what parked heaps have, and free runs.
    /// Returns: how many bytes that was.
    std::size_t trim() noexcept
    {
        {
            const std::scoped_lock locks(mutex_, late_mutex_);
            for_each_idle_heap([](heap& idle) {
                idle.take_in();
                idle.give_back_empty_slabs();
            });
        }
        return backend_.trim();
    }

    backend& memory() noexcept { return backend_; }

    /// Effects: reserves addresses, if that was not done yet.
    /// Returns: whether there are some.
    bool start() noexcept
    {
        if (MEMORY_POOL_LIKELY(is_started_.load(std::memory_order_acquire)))
            return true;
        const std::lock_guard lock(mutex_);
        if (is_started_.load(std::memory_order_relaxed))
            return true;
        if (!backend_.start(most_bytes))
            return false;
        // Without it, the heaps of threads that end are not adopted.
        (void)thread_end_.start([](void* thread) { current().detach(*static_cast<thread_state*>(thread)); });
        is_started_.store(true, std::memory_order_release);
        return true;
    }

    /// Effects: has the locks taken around each fork. To be called when the library is loaded: later, another thread could fork
    ///   while this one has a lock already.
    /// Returns: whether there was memory for that.
    static bool prepare_for_fork() noexcept
    {
        return os::at_fork([] { current().before_fork(); }, [] { current().after_fork(); },
                           [] { current().after_fork_in_child(); });
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{1} << 40;

    static heap_memory* of(heap* slabs) noexcept { return reinterpret_cast<heap_memory*>(slabs); }
    static heap_memory* next_parked(const heap_memory& each) noexcept { return of(each.slabs.next_parked); }

    heap_memory* parked_or_new() noexcept
    {
        const std::lock_guard lock(mutex_);
        if (heap_memory* const adopted = parked_) {
            parked_ = next_parked(*adopted);
            return adopted;
        }
        return new_heap();
    }

    // Around a fork.

    void before_fork() noexcept
    {
        mutex_.lock();
        late_mutex_.lock();
        // What is in order now need not be given up in the child.
        for_each_idle_heap([](heap& idle) { idle.take_in(); });
        if (heap* const mine = heap_of_this_thread())
            mine->take_in();
        backend_.lock();
    }

    void after_fork() noexcept
    {
        backend_.unlock();
        late_mutex_.unlock();
        mutex_.unlock();
    }

    void after_fork_in_child() noexcept
    {
        for_each_idle_heap([](heap& idle) { idle.forget_posted(); });
        if (heap* const mine = heap_of_this_thread())
            mine->forget_posted();
        after_fork();
    }

    /// Visits those that no thread has, with both locks held.
    template <class Visit>
    void for_each_idle_heap(Visit&& visit) noexcept
    {
        for (heap_memory* each = parked_; each != nullptr; each = next_parked(*each))
            visit(each->slabs);
        if (late_ != nullptr)
            visit(late_->slabs);
    }

    /// Returns: nullptr if it has none.
    static heap* heap_of_this_thread() noexcept;

    heap_memory* new_heap() noexcept
    {
        const run taken = backend_.take_bytes(sizeof(heap_memory), alignof(heap_memory));
        if (taken.first == no_slice)
            return nullptr;
        return ::new (backend_.memory().address(taken.first)) heap_memory(backend_);
    }

    void park(heap_memory& idle) noexcept
    {
        idle.slabs.next_parked = parked_ != nullptr ? &parked_->slabs : nullptr;
        parked_ = &idle;
    }

    std::mutex mutex_;
    std::mutex late_mutex_;
    std::atomic<bool> is_started_{false};
    heap_memory* parked_ = nullptr;
    heap_memory* late_ = nullptr;
    backend backend_;
    os::thread_end thread_end_;
};
} // namespace memory_pool::np
