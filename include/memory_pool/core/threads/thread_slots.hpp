// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds the cache of a thread for a pool, at a fixed offset in thread-local storage.
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
    none, ///< No slots. The pool is registered only for its lock, which a fork needs.
    slow, ///< Looked up on each access.
    fast, ///< At a fixed offset, if the pool is among the first 64.
};

/// The slots of a pool in the tables of all threads. Construct this object last: registering makes the pool visible to
/// the fork handlers.
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

    /// Returns: the slot of this thread, or the slot that is always closed; nullptr if the slot belongs to another
    ///   pool.
    ///
    /// A shared library may have a separate registry, with separate numbers, and a pool may be made in one module and
    /// used in another. Code compiled for shared libraries therefore checks whether the slot belongs to this pool. Code
    /// compiled for executables need not check: for pools made elsewhere, it gets the slot that is always closed.
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

    /// Returns: the cache of this thread, or nullptr.
    thread_cache* existing_cache() const noexcept
    {
        const cache_slot* const slot = thread_registry::slot_of_this_thread(number_, are_fast_);
        // If another module made the pool, the number is from the registry of that module.
        return slot != nullptr && slot->pool == &pool_ ? slot->cache : nullptr;
    }

    /// Returns: the slot of this thread for `fill`; nullptr if the thread is ending, another module made the pool,
    ///   there is no memory, or there are too many pools.
    cache_slot* make_slot() const noexcept
    {
        if (&registry_ != &thread_registry::get())
            return nullptr;
        return thread_registry::make_slot_of_this_thread(number_, are_fast_);
    }

    /// Effects: gives the unused `cache` to this thread. Call `enlist` afterwards, without the pool's lock.
    void fill(cache_slot& slot, thread_cache& cache) const noexcept
    {
        cache.slot = &slot;
        cache.pool = &pool_;
        cache.thread = &this_thread_table;
        slot.cache = &cache;
        slot.pool = &pool_;
    }

    /// Effects: as thread_registry::attach.
    void enlist(thread_cache& cache) const noexcept { registry_.attach(cache); }

    /// Effects: as thread_registry::let_fork_pass.
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
    /// Preconditions: no thread uses the pool during the call. Threads that have used it may be ending. The pool's lock
    ///   is not held.
    template <class Cache>
    void take_from_threads(const thread_caches<Cache>& caches) noexcept
    {
        registry_.take_from_threads(pool_, [&caches](auto&& visit) { caches.for_each_in_use(visit); });
    }

    /// Effects: unregisters the pool, and unlinks its caches from their threads.
    /// Preconditions: no thread uses the pool any more. Threads that have used it may be ending.
    template <class Cache>
    void leave(const thread_caches<Cache>& caches) noexcept
    {
        registry_.leave(pool_, number_, [&caches](auto&& visit) { caches.for_each_in_use(visit); });
    }

    /// Effects: unregisters the pool, which has no caches.
    void leave() noexcept { leave(thread_caches<>()); }

private:
    /// Returns: the offset of the pool's slot in bytes; if that slot cannot be used, the offset of the slot that is
    ///   always closed.
    std::size_t offset_of_slot(bool may_be_used) const noexcept
    {
        const bool has_slot = may_be_used && are_fast_ && number_ < slots_in_a_page;
        return sizeof(cache_slot) * (has_slot ? number_ : thread_table::closed_slot);
    }

    thread_cached& pool_;
    thread_registry& registry_; ///< The registry of the module that made the pool.
    const std::size_t number_;  ///< The number of the pool in that registry.
    const bool are_fast_;
    const std::size_t offset_in_executable_;
    const std::size_t offset_in_library_;
};

/// Holds the lock of a registered pool.
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
    /// Preconditions: the lock is not held.
    void lock_again() MEMORY_POOL_ACQUIRE()
    {
        slots_.let_fork_pass();
        lock_.lock();
        ++pool_locks_of_this_thread;
    }

    /// Effects: releases the lock.
    /// Preconditions: the lock is held.
    void unlock() MEMORY_POOL_RELEASE()
    {
        lock_.unlock();
        --pool_locks_of_this_thread;
    }

    /// For std::condition_variable.
    std::unique_lock<std::mutex>& native() noexcept { return lock_; }

private:
    const thread_slots& slots_;
    const deferred_callbacks notes_; ///< Destroyed after the lock is released.
    std::unique_lock<std::mutex> lock_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
