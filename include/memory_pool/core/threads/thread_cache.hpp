// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a thread keeps of a pool that it shares with others: two magazines, of which it pops from and pushes to one.
///
///     slot, in thread-local storage:   top ----------+       floor --+              ceiling --------+
///                                                    v               v                              v
///     loaded magazine:                 | block | block | empty | ... |      previous: | full, or empty |
///
///     bottom <= top <= bottom + room;  open: floor == bottom, ceiling == bottom + room;  closed: no top passes
///
/// Any other thread may have to take the blocks: before a bounded pool says that it is exhausted, it looks everywhere.
/// But a lock, or even an atomic exchange, would cost the owner more than all the rest. So the two shake hands as
/// follows.
///
///     owner:   take top out, leaving nullptr;  is it between floor and ceiling?  work;  put top back.
///     other:   close floor and ceiling;  barrier for the whole process;  wait until top is not nullptr.
///
/// Either the other one sees that top is out, and waits; or the owner sees that the slot is closed, puts top back and
/// takes the way through the lock. The bounds have to be asked anyway, so all this costs the owner is one store. (The
/// asymmetric handshake is known from biased locking: Dice, Moir, Scherer, "Quickly Reacquirable Locks", 2003.)
///
/// Thread safety: as said at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/statistics.hpp>
#include <memory_pool/core/threads/depot.hpp>
#include <memory_pool/os/short_wait.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
struct thread_cache;
struct thread_table;

/// The part of a thread's cache that every allocation needs. Zeroed, it is closed.
struct cache_slot
{
    std::atomic<void**> top{nullptr};     ///< nullptr: the owner is at work, or there is no cache.
    std::atomic<void**> floor{nullptr};   ///< Tops above it have a block below them.
    std::atomic<void**> ceiling{nullptr}; ///< Tops below it have room.
    thread_cache* cache = nullptr;
    const void* pool = nullptr; ///< Whose slot it is.

    /// Effects: takes a block out, if the slot is open and has one.
    /// Thread safety: its owner only.
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
    /// Thread safety: its owner only.
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

    // The bounds need no order with what is in the array: only the owner opens a slot.

    /// Effects: takes top out. Nobody else touches the cache until `end`, unless the slot is closed.
    /// Thread safety: its owner only. What is read next needs the barrier of the other side to be in order.
    MEMORY_POOL_ALWAYS_INLINE void** begin() noexcept
    {
        void** const out = top.load(std::memory_order_relaxed);
        top.store(nullptr, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        MEMORY_POOL_DELAY_POINT();
        return out;
    }

    /// Effects: as begin, but also where the system has no barrier for the whole process.
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

    /// Effects: makes the array at `bottom` the loaded one.
    /// Preconditions: the slot is closed, and the caller is its owner.
    void open(void** bottom, std::size_t room) noexcept
    {
        top.store(bottom, std::memory_order_release);
        floor.store(bottom, std::memory_order_release);
        ceiling.store(bottom + room, std::memory_order_release);
    }

    /// Effects: makes the array at `bottom` the loaded one instead, unless the slot is closed meanwhile.
    /// Thread safety: its owner only, between begin and end.
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

    /// Effects: lets nothing pass any more. What was under way may still end.
    /// Thread safety: any thread; one at a time.
    void close() noexcept
    {
        floor.store(closed_floor(), std::memory_order_relaxed);
        ceiling.store(nullptr, std::memory_order_seq_cst);
    }

    /// Returns: where top is, as soon as the owner is not at work.
    /// Thread safety: any thread. What it says stays true if the slot is closed and the barrier was passed.
    void** wait_for_top() const noexcept
    {
        for (os::short_wait wait;; wait.once_more())
            if (void** const out = top.load(std::memory_order_seq_cst))
                return out;
    }

    /// Effects: makes it as new.
    void reset() noexcept
    {
        top.store(nullptr, std::memory_order_relaxed);
        floor.store(nullptr, std::memory_order_relaxed);
        ceiling.store(nullptr, std::memory_order_relaxed);
        cache = nullptr;
        pool = nullptr;
    }

private:
    /// Tops and bounds may be in different arrays, where only integers compare.
    static bool is_above(void** a, void** b) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(a) > reinterpret_cast<std::uintptr_t>(b);
    }

    static void** closed_floor() noexcept { return reinterpret_cast<void**>(~std::uintptr_t{0}); }
};

/// A pool as the threads that use it see it.
class thread_cached
{
public:
    /// Effects: takes back what the cache of a thread that ends holds.
    virtual void detach(thread_cache& cache) noexcept = 0;

    // Around a fork: a lock that may be tried; to be called with it, close every cache and take back what they hold;
    // and in the child, forget the threads that do not exist there; all but `mine`, or all if that is nullptr.
    virtual bool try_lock_for_fork() noexcept = 0;
    virtual void unlock_after_fork() noexcept = 0;
    virtual void quiesce() noexcept = 0;
    virtual void forget_other_threads(const thread_table* mine) noexcept = 0;

    /// What the registry keeps about a pool, with its own lock held.
    struct registration
    {
        const thread_table* maker = nullptr; ///< The thread that made it; nullptr: not known.
        std::size_t detaching = 0;           ///< Threads that end and are about to call `detach`.
        bool is_left_out = false;            ///< By a fork: it has to enter again. See thread_registry.
    };
    registration registered;

protected:
    ~thread_cached() = default;
};

/// What a thread has done with a pool.
struct cache_counts
{
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> deallocations{0};
    std::atomic<std::uint64_t> failed{0};

    void add_to(pool_statistics& sum) const noexcept
    {
        sum.allocations += allocations.load(std::memory_order_relaxed);
        sum.deallocations += deallocations.load(std::memory_order_relaxed);
        sum.failed += failed.load(std::memory_order_relaxed);
    }
};

/// Adds to a counter that only its owner writes to, and others read.
inline void add_as_owner(std::atomic<std::uint64_t>& counter) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The rest of a thread's cache.
struct alignas(cache_line_size) thread_cache
{
    cache_slot* slot = nullptr;
    thread_cached* pool = nullptr;
    thread_table* thread = nullptr;
    std::size_t shard = 0; ///< Of the depot.

    // Written by the owner between `begin` and `end`, or by whoever has the pool's lock while the slot is closed.
    std::atomic<depot_magazine*> loaded{nullptr};
    std::atomic<depot_magazine*> previous{nullptr}; ///< Full or empty, nothing between; nullptr until there were two.
    std::atomic<bool> previous_is_full{false};

    bool is_in_thread = false; ///< Guarded by the registry's lock. Here, where there is room for it.

    cache_counts counts; ///< By the owner.

    // Guarded by the pool's lock:
    thread_cache* next_in_pool = nullptr;
    thread_cache* previous_in_pool = nullptr;
    std::size_t share = 0; ///< How many blocks it may take at once, next time.
    // Guarded by the registry's lock:
    thread_cache* next_in_thread = nullptr;
    thread_cache* previous_in_thread = nullptr;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
