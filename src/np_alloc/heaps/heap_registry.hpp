// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How a thread gets a heap when it first needs one, and what happens to the heap when the thread ends.
///
///     heap_registry:   heap_table          the heaps, and the memory they share
///                      heap_maintenance    drains, sweeps and purges on behalf of other threads
///                      fork_handlers       locks around a fork
///
/// The heap of a thread is never destroyed. When the thread ends, its heap is parked with its outstanding blocks, and
/// the next new thread adopts it. A few parked heaps keep their magazines and free memory for the next thread; the
/// others return both. Other threads still send remote frees to parked and idle heaps, and drain these heaps
/// periodically, so no block waits for a thread that has ended or is idle.
///
/// After the library has seen the end of a thread, later destructors of thread-local objects may still free and even
/// allocate. Threads in that state share the fallback heap, which has a lock. So do threads whose end cannot be
/// observed. A thread may even make its first call in that state, when the C library frees memory of other threads. So
/// the first remote frees of a thread go to their heaps one by one, and a thread that makes only a few frees never gets
/// a heap.
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
#include "../hardening/guarded_sample_rate.hpp"
#include "../os/fault.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/call_sites.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "../support/output.hpp"
#include "call_site_heap.hpp"
#include "fork_handlers.hpp"
#include "heap.hpp"
#include "heap_maintenance.hpp"
#include "heap_pages.hpp"
#include "heap_table.hpp"
#include "shared_heap.hpp"
#include "thread_cache.hpp"
#include "thread_heap.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace memory_pool::np {
/// The state of one thread.
struct thread_state
{
    thread_cache cache;
    bool may_have_heap = true;           ///< False once the thread has ended, and while it registers its end handler.
    std::uint8_t slow_calls = 0;         ///< Calls that its thread cache did not serve, modulo 256.
    std::uint8_t call_site_heap = 0;     ///< The number of its call-site heap, from 1; 0 if there is none yet.
    std::uint8_t freed_without_heap = 0; ///< Remote frees before the thread got a heap, up to a few.
    std::uint32_t drains_done = 0;       ///< The last drain request that the thread has answered.
    bool is_sampling = false;            ///< The thread is capturing its call stack, which may allocate.
    bool answers_crossing = false;       ///< The thread is in the soft-limit callback, which may allocate.
    core::byte_sampler sampler;          ///< The sampler of the profile.
    np_no_allocation_scope* no_allocation = nullptr; ///< Its innermost no-allocation scope.

    /// Returns: whether each allocation of this thread has to take the slow path.
    bool must_count() const noexcept
    {
        return the_profile.mean_bytes() != 0 || no_allocation != nullptr || cache.samples().are_near();
    }
};

class heap_registry;

/// Returns: the process-wide instance. It is never destroyed, because threads may outlive static objects.
inline heap_registry& registry() noexcept;

/// The heaps of a process, and the assignment of heaps to threads.
class heap_registry : base::immovable<heap_registry>
{
public:
    heap_table& heaps() noexcept { return heaps_; }
    const heap_table& heaps() const noexcept { return heaps_; }
    page_heap& pages() noexcept { return heaps_.pages; }
    heap_maintenance& maintenance() noexcept { return maintenance_; }
    const fork_handlers& forks() const noexcept { return forks_; }

    // Heaps of threads.

    /// Effects: gives a heap to a thread without one: a parked heap, or a new one.
    /// Returns: whether the thread now has a heap. It has none if it has ended, its end cannot be observed, or there is
    ///   no memory.
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
        // Last, because this may allocate.
        if (thread_end_.ask(&thread))
            return true;
        park(thread); // Its end cannot be observed.
        return false;
    }

    /// Effects: as attach(), for a thread that frees a block of another thread. A no-op for its first few frees,
    ///   because the thread may make no other calls.
    bool attach_to_free(thread_state& thread) noexcept
    {
        constexpr std::uint8_t max_freed_without_heap = 32;
        if (thread.freed_without_heap == max_freed_without_heap || !thread.may_have_heap)
            return attach(thread);
        if (thread.freed_without_heap++ == 0) {
            thread.may_have_heap = false; // Allocations of this call use the fallback heap.
            (void)thread_end_.ask(&thread);
            thread.may_have_heap = true;
        }
        return false;
    }

    /// Effects: parks the heap of a thread that ends. Because no later call may follow, returns its free memory to the
    ///   system if most is free, except for a reserve that all parked heaps share.
    void detach(thread_state& thread) noexcept
    {
        thread.may_have_heap = false;
        if (thread.cache.has_heap())
            park(thread);
    }

    /// Effects: stops observing thread ends, because the library, with the function to call, may be about to be
    ///   unloaded. Threads keep their heaps, and abandon them when they end.
    void stop_watching_threads() noexcept
    {
        thread_end_.stop();
        const base::lock_guard lock(heaps_.mutex);
        heaps_.threads.forget_threads_but(heap_of_this_thread());
    }

    /// Effects: sends a block to its heap, from a thread without a heap.
    void free_without_heap(slice_tag tag, void* block) noexcept
    {
        heap& to = heap::of(tag);
        to.send_one(block);
        (void)sent_without_heap_[tag & class_bits].fetch_add(1, std::memory_order_relaxed);
    }

    /// Returns: the number of blocks of that class freed by threads without a heap. See heap::sent_minus_received.
    std::uint32_t sent_without_heap(std::size_t size_class) const noexcept
    {
        return sent_without_heap_[size_class].load(std::memory_order_relaxed);
    }

    // Memory.

    /// Effects: returns all free memory to the system: cached blocks of this thread and of parked heaps, free memory in
    ///   all slabs, and free runs.
    /// Returns: the number of bytes.
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

    /// Returns: the call-site heap of a thread.
    call_site_heap& call_site_heap_of(thread_state& thread) noexcept
    {
        if (thread.call_site_heap == 0) {
            has_call_sites_.store(true, std::memory_order_relaxed);
            thread.call_site_heap = static_cast<std::uint8_t>(1 + next_traced_.fetch_add(1, std::memory_order_relaxed) %
                                                                      call_site_heap_count);
        }
        return heaps_.call_site_heaps[thread.call_site_heap - 1U];
    }

    /// Returns: whether a block with a call site was ever requested.
    bool has_call_sites() const noexcept { return has_call_sites_.load(std::memory_order_relaxed); }

    /// Effects: starts a checkpoint: later blocks with call sites are distinguishable from earlier blocks.
    /// Returns: the number of checkpoints.
    checkpoint_count add_checkpoint() noexcept { return checkpoints_.fetch_add(1, std::memory_order_relaxed) + 1; }
    checkpoint_count checkpoints() const noexcept { return checkpoints_.load(std::memory_order_relaxed); }

    // Samples: see guarded_samples.hpp.

    /// Effects: samples about one block per `bytes` bytes from now on; 0 disables samples.
    void set_sample_bytes(std::size_t bytes) noexcept { sample_bytes_.store(bytes, std::memory_order_relaxed); }
    std::size_t sample_bytes() const noexcept { return sample_bytes_.load(std::memory_order_relaxed); }

    guarded_sample_rate& rate_of_samples() noexcept { return rate_of_samples_; }

    /// Effects: starts reporting invalid accesses to samples and to freed large blocks, unless reporting has already
    ///   started. If that fails, disables samples.
    /// Returns: whether accesses are watched.
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

    /// Effects: stops watching accesses and disables samples, because the fault handler may be about to be unloaded.
    void stop_watching_accesses() noexcept
    {
        set_sample_bytes(0);
        const base::lock_guard lock(heaps_.mutex);
        if (accesses_are_watched_.exchange(false, std::memory_order_relaxed))
            os::stop_watching_faults();
    }

    // Around a fork.

    /// Effects: registers handlers that take all locks around each fork. Call this when the library is loaded; later,
    ///   another thread could fork while this thread holds a lock. Prints a message if there is no memory; everything
    ///   else still works.
    /// Returns: false if there is no memory.
    static bool prepare_for_fork() noexcept
    {
        if (os::at_fork([] { registry().forks_.before_fork(); }, [] { registry().forks_.after_fork(); },
                        [] { registry().forks_.after_fork_in_child(); }))
            return true;
        output(nullptr, nullptr)
            .print("np_alloc: no memory to register fork handlers: the child of a fork may deadlock on a lock\n"
                   "  remedy: call nothing but exec and _exit in the child\n");
        return false;
    }

private:
    /// Returns: whether thread ends can be observed. This requires memory, a free thread-specific key, and a system
    ///   that destroys thread-local storage only after calling the key's destructor.
    bool hears_of_ends() noexcept MEMORY_POOL_REQUIRES(heaps_.mutex)
    {
        return os::thread_locals_outlive_destructors &&
               (thread_end_.has_started() ||
                thread_end_.start([](void* thread) { registry().detach(*static_cast<thread_state*>(thread)); }));
    }

    /// Effects: gives a parked heap to a thread.
    /// Returns: whether there was a parked heap and the end of the thread can be observed.
    bool adopt(thread_state& thread) noexcept
    {
        const base::lock_guard lock(heaps_.mutex);
        return hears_of_ends() && heaps_.threads.adopt(thread.cache);
    }

    /// Effects: gives a new heap to a thread.
    /// Returns: whether there is memory for a heap and the end of the thread can be observed.
    bool make_heap(thread_state& thread) noexcept
    {
        void* memory = nullptr;
        {
            const base::lock_guard lock(heaps_.mutex);
            memory = hears_of_ends() ? heaps_.threads.take_pages() : nullptr;
        }
        if (memory == nullptr)
            return false;
        // Without the lock, because this touches the pages for the first time, and many threads may start at once.
        thread_heap& made = heap_pages::make(memory, pages());
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(heaps_.mutex);
        heaps_.threads.add(made, thread.cache);
        return true;
    }

    /// Effects: parks the heap of a thread for another thread.
    void park(thread_state& thread) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        if (park_whole(thread))
            return;
        thread_heap& memory = thread.cache.heap();
        misuse_list found; // Declared before the lock: reports after its release.
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
    guarded_sample_rate rate_of_samples_;
    std::array<std::atomic<std::uint32_t>, class_count> sent_without_heap_{};
    os::thread_end thread_end_;
    std::atomic<checkpoint_count> checkpoints_{0};
    std::atomic<std::uint8_t> next_traced_{0};
    std::atomic<bool> has_call_sites_{false};
};

// Constant-initialized, so that the first allocation needs no initialization, and never destroyed. Hidden, so that
// access to it needs no relocation by the loader.
MEMORY_POOL_HIDDEN extern heap_registry the_registry;

MEMORY_POOL_ALWAYS_INLINE heap_registry& registry() noexcept
{
    return the_registry;
}
} // namespace memory_pool::np
