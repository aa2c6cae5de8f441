// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How a thread finds its cache of one pool: at a fixed offset in thread-local storage.
///
///     table of this thread:  | slot 0 | slot 1 | ... | slot 63 | always closed |
///                            <- offset of the pool's number ->
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>

#include <cstddef>
#include <mutex>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The kind of slots of a pool.
enum class slot_kind
{
    none, ///< None: it is registered for its lock only, which a fork needs.
    slow, ///< Looked up on each access.
    fast, ///< At a fixed offset, if the pool is among the first 64.
};

/// The slots of one pool in the tables of all threads. Construct last: registering makes the pool visible to the fork
/// handlers.
class thread_slots : base::immovable<thread_slots>
{
public:
    /// Effects: registers `pool`.
    thread_slots(thread_cached& pool, slot_kind kind) noexcept
        : pool_(pool), registry_(thread_registry::get()), number_(registry_.enter(pool, kind != slot_kind::none)),
          are_fast_(kind == slot_kind::fast), offset_in_executable_(offset_of_slot(MEMORY_POOL_EXECUTABLE_CODE != 0)),
          offset_in_library_(offset_of_slot(true))
    {
    }

    /// Returns: the slot of this thread, or the slot that is always closed; or nullptr if it is that of another pool.
    ///
    /// A shared library may have a registry of its own, with numbers of its own, and a pool may be made in one module
    /// and used in another. Code compiled for shared libraries therefore checks whether the slot is this pool's. Code
    /// compiled for executables need not: pools made elsewhere direct it to the slot that is always closed.
    MEMORY_POOL_ALWAYS_INLINE cache_slot* slot() const noexcept
    {
        void* const table = this_thread_table.fast_slots;
#if MEMORY_POOL_EXECUTABLE_CODE
        return static_cast<cache_slot*>(base::address_past(table, offset_in_executable_));
#else
        auto* const slot = static_cast<cache_slot*>(base::address_past(table, offset_in_library_));
        return MEMORY_POOL_LIKELY(slot->pool == &pool_) ? slot : nullptr;
#endif
    }

    /// Returns: the cache of this thread, or nullptr if it has none.
    thread_cache* existing_cache() const noexcept
    {
        const cache_slot* const slot = thread_registry::slot_of_this_thread(number_, are_fast_);
        // In a pool that another module made, the number is that module's.
        return slot != nullptr && slot->pool == &pool_ ? slot->cache : nullptr;
    }

    /// Returns: the slot of this thread, to be filled; or nullptr if it cannot have one: the thread is ending, another
    ///   module made the pool, there is no memory, or there are too many pools.
    cache_slot* make_slot() const noexcept
    {
        if (&registry_ != &thread_registry::get())
            return nullptr;
        return thread_registry::make_slot_of_this_thread(number_, are_fast_);
    }

    /// Effects: makes the unused `cache` that of this thread. `enlist` has to follow, without the pool's lock.
    void fill(cache_slot& slot, thread_cache& cache) const noexcept
    {
        cache.slot = &slot;
        cache.pool = &pool_;
        cache.thread = &this_thread_table;
        slot.cache = &cache;
        slot.pool = &pool_;
    }

    /// Effects: notifies the pool when this thread ends.
    void enlist(thread_cache& cache) const noexcept { registry_.attach(cache); }

    /// Effects: waits for a fork pending in another thread: see thread_registry.
    void let_fork_pass() const noexcept { registry_.let_fork_pass(); }

    /// Effects: registers the pool again, if a fork has unregistered it.
    /// Preconditions: the pool's lock is held.
    void enter_again_if_left_out() const noexcept
    {
        if (MEMORY_POOL_LIKELY(!pool_.registered.is_left_out))
            return;
        registry_.enter_again(pool_, number_); // This is the child of a fork.
        if (pool_.registered.entry != nullptr)
            pool_.registered.entry->enter_again();
    }

    /// Effects: unlinks the caches of the pool from their threads.
    /// Preconditions: no thread uses the pool meanwhile. Threads that have used it may end at the same time. The pool's
    ///   lock is not held.
    template <class Cache>
    void take_from_threads(const thread_caches<Cache>& caches) noexcept
    {
        registry_.take_from_threads(pool_, [&caches](auto&& visit) { caches.for_each_in_use(visit); });
    }

    /// Effects: unregisters the pool, and unlinks its caches from their threads.
    /// Preconditions: no thread uses the pool any more. Threads that have used it may end at the same time.
    template <class Cache>
    void leave(const thread_caches<Cache>& caches) noexcept
    {
        registry_.leave(pool_, number_, [&caches](auto&& visit) { caches.for_each_in_use(visit); });
    }

    /// Effects: unregisters the pool, which has no caches.
    void leave() noexcept { leave(thread_caches<>()); }

private:
    /// In bytes. If the slot cannot be used, that of the slot that is always closed.
    std::size_t offset_of_slot(bool may_be_used) const noexcept
    {
        const bool has_slot = may_be_used && are_fast_ && number_ < slots_in_a_page;
        return sizeof(cache_slot) * (has_slot ? number_ : thread_table::closed_slot);
    }

    thread_cached& pool_;
    thread_registry& registry_; ///< That of the module that made the pool.
    const std::size_t number_;  ///< In the registry.
    const bool are_fast_;
    const std::size_t offset_in_executable_;
    const std::size_t offset_in_library_;
};

/// Holds the lock of a pool that is in the registry.
class MEMORY_POOL_SCOPED_CAPABILITY pool_lock
{
public:
    pool_lock(base::mutex& guarded, const thread_slots& of_pool) MEMORY_POOL_ACQUIRE(guarded)
        : slots_(of_pool), lock_(guarded.native(), std::defer_lock)
    {
        lock_again();
        slots_.enter_again_if_left_out();
    }
    ~pool_lock() MEMORY_POOL_RELEASE()
    {
        if (lock_.owns_lock())
            --pool_locks_of_this_thread;
    }

    /// Effects: acquires the lock.
    /// Preconditions: it is not held.
    void lock_again() MEMORY_POOL_ACQUIRE()
    {
        slots_.let_fork_pass();
        lock_.lock();
        ++pool_locks_of_this_thread;
    }

    /// Effects: releases the lock.
    /// Preconditions: it is held.
    void unlock() MEMORY_POOL_RELEASE()
    {
        lock_.unlock();
        --pool_locks_of_this_thread;
    }

    /// For std::condition_variable.
    std::unique_lock<std::mutex>& native() noexcept { return lock_; }

private:
    const thread_slots& slots_;
    const late_notes notes_; ///< Ends when the lock is released.
    std::unique_lock<std::mutex> lock_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
