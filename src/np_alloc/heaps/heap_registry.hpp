// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How a thread gets a heap when it first needs one, and where that goes when the thread ends.
///
///     heap_registry:   heap_table    the heaps, and the memory they share
///                      heap_maintenance    drains, sweeps and purges on behalf of other threads
///                      fork_handlers       locks around a fork
///
/// The heap of a thread is never destroyed. When its thread ends, it is parked with its outstanding blocks; the next
/// new thread adopts it. A few parked heaps keep their magazines and free memory for that; the others have returned
/// both. Other threads still send it remote frees, and periodically drain those of parked and idle heaps, so that no
/// block waits for a thread that has ended or is idle.
///
/// A thread may free, and even allocate, after its end: in destructors of thread-local objects that run after ours.
/// Such calls use the fallback heap, which those threads share, with a lock; as do those of a thread whose end could
/// not be observed. A thread may also free for the first time then, as the C library frees what is left of other
/// threads: so its first blocks are sent to their heaps one by one, and a thread that only frees a few has no heap at
/// all.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/core/reports/byte_sampler.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/thread_end.hpp>

#include "../hardening/access_report.hpp"
#include "../hardening/sample_rate.hpp"
#include "../os/fault.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/call_sites.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "../support/output.hpp"
#include "fork_handlers.hpp"
#include "heap.hpp"
#include "heap_maintenance.hpp"
#include "heap_pages.hpp"
#include "heap_table.hpp"
#include "shared_heap.hpp"
#include "thread_cache.hpp"
#include "thread_heap.hpp"
#include "traced_heap.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace memory_pool::np {
/// What one thread has.
struct thread_state
{
    thread_cache cache;
    bool may_have_heap = true;   ///< Not when it has ended, nor before the loader has come to its thread-local storage.
    std::uint8_t slow_calls = 0; ///< Calls that were not done by its thread cache, modulo 256.
    std::uint8_t traced = 0;     ///< The number of its traced heap, counted from 1; 0 if it has none yet.
    std::uint8_t freed_without_heap = 0; ///< Blocks of others that it has freed without a heap, as long as it has none.
    std::uint32_t drains_done = 0;       ///< The last request to empty its cache that it has followed.
    bool is_sampling = false;            ///< Its call stack is being taken, which may allocate.
    bool answers_crossing = false;       ///< Of the soft limit: the program is being called, and may allocate.
    core::byte_sampler sampler;          ///< Of the profile.
    np_no_allocation_scope* no_allocation = nullptr; ///< Its innermost no-allocation scope.

    /// Returns: whether each allocation of this thread has to take the slow path.
    bool must_count() const noexcept
    {
        return the_profile.mean_bytes() != 0 || no_allocation != nullptr || cache.samples().are_near();
    }
};

class heap_registry;

/// Returns: the process-wide instance; never destroyed, as threads may end after everything else.
inline heap_registry& registry() noexcept;

/// The heaps of a process, and which thread has which.
class heap_registry : base::immovable<heap_registry>
{
public:
    heap_table& heaps() noexcept { return heaps_; }
    const heap_table& heaps() const noexcept { return heaps_; }
    page_heap& pages() noexcept { return heaps_.pages; }
    heap_maintenance& maintenance() noexcept { return maintenance_; }
    const fork_handlers& forks() const noexcept { return forks_; }

    // Heaps of threads.

    /// Effects: gives a thread that has none a heap: a parked one, or a new one.
    /// Returns: whether it has one now; not if it has ended, its end could not be observed, or there is no memory.
    bool attach(thread_state& thread) noexcept
    {
        if (!thread.may_have_heap || !heaps_.start())
            return false;
        if (!adopt(thread) && !make_heap(thread))
            return false;
        MEMORY_POOL_DELAY_POINT();
        if (const std::size_t mean = sample_bytes(); MEMORY_POOL_UNLIKELY(mean != 0))
            thread.cache.sample_every(mean);
        if (thread.must_count())
            thread.cache.start_counting();
        // Last, as this may allocate.
        if (thread_end_.ask(&thread))
            return true;
        park(thread); // Its end could not be observed.
        return false;
    }

    /// Effects: as attach(), for a thread that frees a block of another thread. Only after some such frees, as it may
    ///   do nothing else.
    bool attach_to_free(thread_state& thread) noexcept
    {
        constexpr std::uint8_t most_freed_without_heap = 32;
        if (thread.freed_without_heap == most_freed_without_heap || !thread.may_have_heap)
            return attach(thread);
        if (thread.freed_without_heap++ == 0) {
            thread.may_have_heap = false; // What is allocated for this is from the heap of threads that have ended.
            (void)thread_end_.ask(&thread);
            thread.may_have_heap = true;
        }
        return false;
    }

    /// Effects: parks the heap of a thread that ends. Its free memory goes back to the system now, except for a reserve
    ///   shared by all parked heaps: no thread may ever call again.
    void detach(thread_state& thread) noexcept
    {
        thread.may_have_heap = false;
        if (thread.cache.has_heap())
            park(thread);
    }

    /// Effects: is not told any more when threads end: the code that would be called may be gone then, as it is part of
    ///   a library that is closed. Threads go on with their heaps, and leave them behind.
    void stop_watching_threads() noexcept
    {
        thread_end_.stop();
        const base::lock_guard lock(heaps_.mutex);
        heaps_.threads.forget_threads_but(heap_of_this_thread());
    }

    /// Effects: gives a block back to the heap of a thread that it is from, for a thread that has no heap.
    void free_without_heap(slice_tag tag, void* block) noexcept
    {
        heap& to = heap::of(tag);
        to.send_one(block);
        (void)sent_without_heap_[tag & class_bits].fetch_add(1, std::memory_order_relaxed);
    }

    /// Returns: blocks of that class that were freed by threads without a heap, at thread exit. See
    ///   heap::sent_minus_received.
    std::uint32_t sent_without_heap(std::size_t size_class) const noexcept
    {
        return sent_without_heap_[size_class].load(std::memory_order_relaxed);
    }

    // Memory.

    /// Effects: gives all memory back to the system that is free: what this thread and heaps without a thread have,
    ///   what others have in their slabs, and free runs.
    /// Returns: how many bytes that was.
    std::size_t trim(thread_state& mine) noexcept
    {
        {
            misuse_list found;
            if (mine.cache.has_heap())
                mine.cache.put_all_back(found);
            const base::lock_guard lock(heaps_.mutex);
            heaps_.threads.trim(found);
            heaps_.for_each_shared_heap_and_internal([](shared_heap& each) { each.sweep_all(); });
        }
        return pages().source().trim();
    }

    // Call sites.

    /// Returns: the heap for blocks of a thread with allocation sites.
    traced_heap& traced_for(thread_state& thread) noexcept
    {
        if (thread.traced == 0) {
            has_traced_.store(true, std::memory_order_relaxed);
            thread.traced =
                static_cast<std::uint8_t>(1 + next_traced_.fetch_add(1, std::memory_order_relaxed) % traced_heap_count);
        }
        return heaps_.traced[thread.traced - 1U];
    }

    /// Returns: whether a block with an allocation site was ever asked for.
    bool has_traced() const noexcept { return has_traced_.load(std::memory_order_relaxed); }

    /// Effects: has blocks whose call sites are remembered from now on told from those that are in use.
    /// Returns: how many checkpoints there are now.
    checkpoint_count add_checkpoint() noexcept { return checkpoints_.fetch_add(1, std::memory_order_relaxed) + 1; }
    checkpoint_count checkpoints() const noexcept { return checkpoints_.load(std::memory_order_relaxed); }

    // Samples: see guarded_samples.hpp.

    /// Effects: samples one block for about that many bytes from now on; 0: none.
    void set_sample_bytes(std::size_t bytes) noexcept { sample_bytes_.store(bytes, std::memory_order_relaxed); }
    std::size_t sample_bytes() const noexcept { return sample_bytes_.load(std::memory_order_relaxed); }

    sample_rate& rate_of_samples() noexcept { return rate_of_samples_; }

    /// Effects: has accesses reported that the system refuses, to samples and to large blocks that were freed, if that
    ///   is not so yet; if it cannot be, there are no samples any more.
    /// Returns: whether it is so.
    bool watch_accesses() noexcept
    {
        if (MEMORY_POOL_LIKELY(accesses_are_watched_.load(std::memory_order_acquire)))
            return true;
        const base::lock_guard lock(heaps_.mutex);
        const bool are_watched = os::watch_faults(&report_wrong_access);
        accesses_are_watched_.store(are_watched, std::memory_order_release);
        if (!are_watched)
            set_sample_bytes(0);
        return are_watched;
    }

    /// Effects: ends that, and takes no samples any more: the code that would be called may be gone then.
    void stop_watching_accesses() noexcept
    {
        set_sample_bytes(0);
        const base::lock_guard lock(heaps_.mutex);
        if (accesses_are_watched_.exchange(false, std::memory_order_relaxed))
            os::stop_watching_faults();
    }

    // Around a fork.

    /// Effects: has the locks taken around each fork. To be called when the library is loaded: later, another thread
    ///   could fork while this one has a lock already. If there is no memory for that, says so: nothing else is wrong
    ///   then.
    /// Returns: whether there was.
    static bool prepare_for_fork() noexcept
    {
        if (os::at_fork([] { registry().forks_.before_fork(); }, [] { registry().forks_.after_fork(); },
                        [] { registry().forks_.after_fork_in_child(); }))
            return true;
        output(nullptr, nullptr)
            .print("np_alloc: there is no memory to be told of forks: the child of one may wait for ever for a lock\n"
                   "  remedy: call nothing but exec and _exit in the child\n");
        return false;
    }

private:
    /// Returns: whether thread ends can be observed: not if the system is out of memory, the program has used up the
    ///   keys, or thread-local storage is gone by then.
    bool hears_of_ends() noexcept MEMORY_POOL_REQUIRES(heaps_.mutex)
    {
        return os::thread_locals_outlive_destructors &&
               (thread_end_.has_started() ||
                thread_end_.start([](void* thread) { registry().detach(*static_cast<thread_state*>(thread)); }));
    }

    /// Effects: gives a thread a parked heap.
    /// Returns: whether there was one, and the end of the thread can be observed.
    bool adopt(thread_state& thread) noexcept
    {
        const base::lock_guard lock(heaps_.mutex);
        return hears_of_ends() && heaps_.threads.adopt(thread.cache);
    }

    /// Effects: gives a thread a new heap.
    /// Returns: whether there is memory for one, and the end of the thread can be observed.
    bool make_heap(thread_state& thread) noexcept
    {
        void* memory = nullptr;
        {
            const base::lock_guard lock(heaps_.mutex);
            memory = hears_of_ends() ? heaps_.threads.take_pages() : nullptr;
        }
        if (memory == nullptr)
            return false;
        // Without the lock: the system brings the pages now, and many threads may begin at once.
        thread_heap& made = heap_pages::make(memory, pages());
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(heaps_.mutex);
        heaps_.threads.add(made, thread.cache);
        return true;
    }

    /// Effects: has the heap of a thread wait for another one.
    void park(thread_state& thread) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        if (park_whole(thread))
            return;
        thread_heap& memory = thread.cache.heap();
        misuse_list found; // First, so that it is reported last, without the lock.
        heaps_.unlocked_threads().leave_empty(thread.cache, found);
        const base::lock_guard lock(heaps_.mutex);
        heaps_.threads.park(memory);
    }

    bool park_whole(thread_state& thread) noexcept
    {
        const base::lock_guard lock(heaps_.mutex);
        return heaps_.threads.park_whole(thread.cache);
    }

    heap_table heaps_;
    heap_maintenance maintenance_{heaps_, [] { return registry().maintenance_.work(); }};
    fork_handlers forks_{heaps_, maintenance_};
    std::atomic<bool> accesses_are_watched_{false};
    std::atomic<std::size_t> sample_bytes_{0};
    sample_rate rate_of_samples_;
    std::array<std::atomic<std::uint32_t>, class_count> sent_without_heap_{};
    os::thread_end thread_end_;
    std::atomic<checkpoint_count> checkpoints_{0};
    std::atomic<std::uint8_t> next_traced_{0};
    std::atomic<bool> has_traced_{false};
};

// Constant-initialised, so that nothing has to run before the first block is asked for, and never destroyed; hidden, so
// that it is found without the help of the loader.
MEMORY_POOL_HIDDEN extern heap_registry the_registry;

MEMORY_POOL_ALWAYS_INLINE heap_registry& registry() noexcept
{
    return the_registry;
}
} // namespace memory_pool::np
