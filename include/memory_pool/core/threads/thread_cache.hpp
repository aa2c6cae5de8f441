// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A thread cache: two magazines of a shared pool. The thread pops from the loaded magazine, and pushes to it.
///
///     slot, in thread-local storage:   top ----------+       floor --+              ceiling --------+
///                                                    v               v                              v
///     loaded magazine:                 | block | block | empty | ... |      previous: | full, or empty |
///
///     bottom <= top <= bottom + room;  open: floor == bottom, ceiling == bottom + room;  closed: every top is rejected
///
/// Any other thread may need the blocks: a bounded pool is exhausted only if no cache has a block. But a lock, or even
/// an atomic exchange, would cost the owner more than the rest of the operation. So the threads use an asymmetric
/// handshake:
///
///     owner:   take top out, leaving nullptr;  is it between floor and ceiling?  work;  put top back.
///     other:   close floor and ceiling;  barrier for the whole process;  wait until top is not nullptr.
///
/// Either the other thread sees that top is taken out, and waits, or the owner sees that the slot is closed, puts top
/// back and takes the lock. The owner compares the bounds anyway, so the handshake costs it one store. (The asymmetric
/// handshake is known from biased locking: Dice, Moir, Scherer, "Quickly Reacquirable Locks", 2003.)
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/atomic_bytes.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/threads/depot.hpp>
#include <memory_pool/os/short_wait.hpp>
#include <memory_pool/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
struct thread_cache;
struct thread_table;

/// The part of a thread's cache that every allocation uses. A zeroed slot is closed.
struct cache_slot
{
    std::atomic<void**> top{nullptr};     ///< nullptr: an operation of the owner is in flight, or there is no cache.
    std::atomic<void**> floor{nullptr};   ///< A top above it has a block below it.
    std::atomic<void**> ceiling{nullptr}; ///< A top below it has room.
    thread_cache* cache = nullptr;
    const void* pool = nullptr; ///< The pool of the slot.

    /// Effects: takes out a block, if the slot is open and has one.
    /// Returns: false if it did not take out a block.
    /// Thread safety: the owner only.
    MEMORY_POOL_ALWAYS_INLINE bool pop(void*& block) noexcept
    {
        void** const out = begin();
        if (MEMORY_POOL_UNLIKELY(!is_above(out, floor.load(std::memory_order_relaxed)))) {
            end(out);
            return false;
        }
        block = out[-1];
        end(out - 1);
        return true;
    }

    /// Effects: adds a block, if the slot is open and has room.
    /// Returns: false if it did not add the block.
    /// Thread safety: the owner only.
    MEMORY_POOL_ALWAYS_INLINE bool push(void* block) noexcept
    {
        void** const out = begin();
        if (MEMORY_POOL_UNLIKELY(!is_above(ceiling.load(std::memory_order_relaxed), out))) {
            end(out);
            return false;
        }
        *out = block;
        end(out + 1);
        return true;
    }

    // The bounds need no order with the contents of the array: only the owner opens a slot.

    /// Effects: takes top out. No other thread accesses the cache until `end`, unless the slot is closed.
    /// Thread safety: the owner only. The process barrier of the other side orders subsequent reads.
    MEMORY_POOL_ALWAYS_INLINE void** begin() noexcept
    {
        void** const out = top.load(std::memory_order_relaxed);
        top.store(nullptr, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        MEMORY_POOL_DELAY_POINT();
        return out;
    }

    /// Effects: as begin, but needs no process barrier on the other side.
    void** begin_slowly() noexcept
    {
        void** const out = top.exchange(nullptr, std::memory_order_seq_cst);
        MEMORY_POOL_DELAY_POINT();
        return out;
    }

    /// Effects: puts top back.
    MEMORY_POOL_ALWAYS_INLINE void end(void** new_top) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        top.store(new_top, std::memory_order_release);
    }

    bool is_open() const noexcept { return ceiling.load(std::memory_order_seq_cst) != nullptr; }

    /// Effects: opens the slot with the array at `bottom`.
    /// Preconditions: the slot is closed, and the caller is the owner.
    void open(void** bottom, std::size_t room) noexcept
    {
        top.store(bottom, std::memory_order_release);
        floor.store(bottom, std::memory_order_release);
        ceiling.store(bottom + room, std::memory_order_release);
    }

    /// Effects: replaces the array with the array at `bottom`, unless the slot is closed concurrently.
    /// Thread safety: the owner only, between begin and end.
    void reload(void** bottom, std::size_t room) noexcept
    {
        void** open_floor = floor.load(std::memory_order_relaxed);
        if (open_floor != closed_floor())
            floor.compare_exchange_strong(open_floor, bottom, std::memory_order_release, std::memory_order_relaxed);
        void** open_ceiling = ceiling.load(std::memory_order_relaxed);
        if (open_ceiling != nullptr)
            ceiling.compare_exchange_strong(open_ceiling, bottom + room, std::memory_order_release,
                                            std::memory_order_relaxed);
    }

    /// Effects: closes the slot. An operation in flight may still complete.
    /// Thread safety: any thread, one at a time.
    void close() noexcept
    {
        floor.store(closed_floor(), std::memory_order_relaxed);
        ceiling.store(nullptr, std::memory_order_seq_cst);
    }

    /// Effects: waits until no operation of the owner is in flight.
    /// Returns: top.
    /// Thread safety: any thread. The result stays valid if the slot is closed and the process barrier was issued.
    void** wait_for_top() const noexcept
    {
        for (os::short_wait wait;; wait.once_more())
            if (void** const out = top.load(std::memory_order_seq_cst))
                return out;
    }

    /// Effects: resets the slot.
    void reset() noexcept
    {
        top.store(nullptr, std::memory_order_relaxed);
        floor.store(nullptr, std::memory_order_relaxed);
        ceiling.store(nullptr, std::memory_order_relaxed);
        cache = nullptr;
        pool = nullptr;
    }

private:
    /// Compares integers: tops and bounds may point into different arrays.
    static bool is_above(void** a, void** b) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(a) > reinterpret_cast<std::uintptr_t>(b);
    }

    static void** closed_floor() noexcept { return reinterpret_cast<void**>(~std::uintptr_t{0}); }
};

/// The interface of a pool to the thread registry.
class thread_cached
{
public:
    /// Effects: moves the blocks in the cache of an ending thread to the pool.
    virtual void detach(thread_cache& cache) noexcept = 0;

    /// Effects: returns free memory to upstream under memory pressure, unless doing so could wait for a lock, call user
    ///   code, or release reserved capacity.
    virtual void trim_under_pressure() noexcept {}

    // For forks. The registry tries to lock the pool before a fork, and unlocks it afterwards. With the lock held,
    // quiesce closes and drains every cache. In the child, forget_other_threads removes lost threads: all except
    // `mine`, or all if `mine` is nullptr.
    virtual bool try_lock_for_fork() noexcept = 0;
    virtual void unlock_after_fork() noexcept = 0;
    virtual void quiesce() noexcept = 0;
    virtual void forget_other_threads(const thread_table* mine) noexcept = 0;

    /// The registry's data about a pool, guarded by the registry's lock.
    struct registration
    {
        const thread_table* maker = nullptr; ///< The thread that made the pool; nullptr: unknown.
        std::size_t detaching = 0;           ///< Threads in `detach` or `trim_under_pressure`.
        bool is_left_out = false;            ///< Unregistered by a fork: must enter again. See thread_registry.
        const reported* entry = nullptr;     ///< The entry in reports; constant.
    };
    registration registered;

protected:
    ~thread_cached() = default;
};

/// The counts of one thread for a pool.
struct cache_counts
{
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> deallocations{0};
    std::atomic<std::uint64_t> failures{0};

    void add_to(pool_statistics& sum) const noexcept
    {
        sum.allocations += allocations.load(std::memory_order_relaxed);
        sum.deallocations += deallocations.load(std::memory_order_relaxed);
        sum.failures += failures.load(std::memory_order_relaxed);
    }
};

/// Adds to a counter with a single writer and many readers.
inline void add_as_owner(std::atomic<std::uint64_t>& counter) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The cold part of a thread's cache.
struct alignas(cache_line_size) thread_cache
{
    cache_slot* slot = nullptr;
    thread_cached* pool = nullptr;
    thread_table* thread = nullptr;
    std::size_t shard = 0; ///< The home shard in the depot.

    // Written by the owner between `begin` and `end`; while the slot is closed, by the holder of the pool's lock.
    std::atomic<depot_magazine*> loaded{nullptr};
    std::atomic<depot_magazine*> previous{nullptr}; ///< Full or empty; nullptr until a second magazine is loaded.
    base::exchanged_bool previous_is_full{false};

    cache_counts counts; ///< Written by the owner.

    // Guarded by the pool's lock:
    thread_cache* next_in_pool = nullptr;
    thread_cache* previous_in_pool = nullptr;
    std::size_t share = 0; ///< The size of the next batch from the slabs.
    // Guarded by the registry's lock:
    thread_cache* next_in_thread = nullptr;
    thread_cache* previous_in_thread = nullptr;
};

/// The caches of one thread.
using caches_of_thread = base::intrusive_list<
    base::member_links<thread_cache, &thread_cache::next_in_thread, &thread_cache::previous_in_thread>>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
