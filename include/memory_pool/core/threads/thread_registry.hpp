// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The registry of pools and thread caches: for threads that end, pools that are destroyed and processes that fork.
///
///     thread_table (one a thread)      [ slot 0 | slot 1 | ... | slot 63 | always closed ]   + pages of 64 slots more
///                                           |        |
///                                        cache    cache     each also in the list of its pool
///
///     A pool has one number during its lifetime, which is the index of its slot in every thread's table.
///
/// So a thread finds its cache of a pool at an offset from its table. The first 64 live pools have their slots in
/// thread-local storage itself, the others (up to 4,096) in pages allocated on demand, where access is a little slower.
/// Pools beyond those have no caches, and pools beyond 16,384 are unknown to a fork.
///
/// The registry has a table of pools, not a list through them: in the child of a fork, pools on the stacks of lost
/// threads are gone without having left. These cannot be identified, so in the child every pool made by another thread
/// is unregistered until it is used there.
///
/// Locks: threads take the registry's last. A fork takes it first, and tries the others: meanwhile, threads that hold
/// no pool's lock wait, so that each pool's lock becomes free soon. See docs/locks.md.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/short_wait.hpp>
#include <memory_pool/os/thread_end.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Slots in a page, and in thread-local storage itself.
inline constexpr std::size_t slots_in_a_page = 64;
/// Pools beyond these have no caches.
inline constexpr std::size_t most_pools_with_slots = slots_in_a_page * 64;
/// Pools beyond these are not registered.
inline constexpr std::size_t most_pools = std::size_t{16} * 1024;

/// The caches of one thread. Zero-initialized, and without a destructor, so that accesses need no guard and are valid
/// until the very end of the thread.
struct thread_table
{
    /// The slot that is never opened.
    static constexpr std::size_t closed_slot = slots_in_a_page;

    cache_slot fast_slots[slots_in_a_page + 1];
    cache_slot*
        pages[most_pools_with_slots / slots_in_a_page]; ///< The first is for pools that cannot use `fast_slots`.
    caches_of_thread caches;
    bool has_ended; ///< No more caches are made.
};

// Accessed without a call by GCC and clang, as it has neither constructor nor destructor.
inline thread_local thread_table this_thread_table{};

/// All pools shared by threads.
class thread_registry
{
public:
    /// Returns: the process-wide instance. Never destroyed: threads may outlive static destructors.
    static thread_registry& get() noexcept
    {
        alignas(thread_registry) static std::byte memory[sizeof(thread_registry)];
        static auto* const registry = ::new (static_cast<void*>(memory)) thread_registry;
        return *registry;
    }

    /// Effects: registers a pool.
    /// Returns: its number, unique until it leaves; or most_pools, if none is left, or there is no memory. Unless it
    ///   `needs_slots`, a number without slots.
    std::size_t enter(thread_cached& pool, bool needs_slots = true) noexcept
    {
        thread_cached** group = nullptr; // Not from `new`, which may use such a pool, and not with the lock.
        std::size_t number = most_pools;
        while (!try_to_enter(pool, needs_slots ? 0 : most_pools_with_slots, group, number)) {
            group = static_cast<thread_cached**>(std::calloc(places_in_a_group, sizeof(thread_cached*)));
            if (group == nullptr)
                return most_pools;
        }
        std::free(group);
        return number;
    }

    /// Effects: registers a pool again that a fork has unregistered.
    void enter_again(thread_cached& pool, std::size_t number) noexcept
    {
        const base::lock_guard lock(mutex_);
        place_of(number) = &pool;
        pool.registered.is_left_out = false;
    }

    /// Effects: unregisters a pool, waits for threads that are detaching from it, and unlinks its caches from their
    ///   threads. `for_each_cache(visit)` calls `visit(cache)` for each cache in use.
    template <class ForEachCache>
    void leave(thread_cached& pool, std::size_t number, ForEachCache&& for_each_cache) noexcept
    {
        const base::lock_guard lock(mutex_);
        unlink_from_threads(pool, for_each_cache);
        if (number == most_pools)
            return;
        base::clear_bit(numbers_.data(), number);
        place_of(number) = nullptr;
    }

    /// Effects: waits for threads that are detaching from the pool, and unlinks its caches from their threads, as
    ///   `leave` does.
    template <class ForEachCache>
    void take_from_threads(thread_cached& pool, ForEachCache&& for_each_cache) noexcept
    {
        const base::lock_guard lock(mutex_);
        unlink_from_threads(pool, for_each_cache);
    }

    /// Returns: the slot of this thread for the pool of that number; or nullptr, if it is in a page that the thread
    ///   does not have, or the pool has none.
    static cache_slot* slot_of_this_thread(std::size_t number, bool may_be_in_table) noexcept
    {
        thread_table& table = this_thread_table;
        if (number < slots_in_a_page && may_be_in_table)
            return &table.fast_slots[number];
        if (number >= most_pools_with_slots)
            return nullptr;
        cache_slot* const page = table.pages[number / slots_in_a_page];
        return page == nullptr ? nullptr : &page[number % slots_in_a_page];
    }

    /// Effects: allocates the slot of this thread for the pool of that number, if needed.
    /// Returns: the slot; or nullptr, if the thread has ended, there is no memory for the page, or the pool has no
    ///   slot. Always nullptr where the thread's table would be destroyed before its caches can be detached.
    static cache_slot* make_slot_of_this_thread(std::size_t number, bool may_be_in_table) noexcept
    {
        thread_table& table = this_thread_table;
        if (!os::thread_locals_outlive_destructors || table.has_ended || number >= most_pools_with_slots)
            return nullptr;
        thread_local const thread_end end_of_this_thread;
        static_cast<void>(&end_of_this_thread); // naming it constructs it
        if (cache_slot* const slot = slot_of_this_thread(number, may_be_in_table))
            return slot;
        // Not from `new`, which may use such a pool.
        void* const page = std::calloc(slots_in_a_page, sizeof(cache_slot));
        if (page == nullptr)
            return nullptr;
        for (std::size_t i = 0; i != slots_in_a_page; ++i)
            ::new (static_cast<void*>(static_cast<cache_slot*>(page) + i)) cache_slot;
        table.pages[number / slots_in_a_page] = static_cast<cache_slot*>(page);
        return slot_of_this_thread(number, may_be_in_table);
    }

    /// Effects: trims all pools under pressure. The destruction of a pool that is being trimmed waits until that is
    ///   done.
    void trim_pools() noexcept
    {
        const base::lock_guard lock(mutex_);
        for_each_pool(most_pools, [this](std::size_t, thread_cached& pool) {
            mutex_.assume_held();
            trim_unlocked(pool);
            return true;
        });
    }

    /// Effects: if a fork is pending in another thread, waits until that has all locks, with a timeout. Call before
    ///   locking a pool: otherwise there may never be a moment at which all pools are unlocked.
    ///
    /// A thread that holds a pool's lock does not wait, as it needs further locks to release the first. The timeout is
    /// for a thread that holds a lock of the program that a pool's upstream needs.
    void let_fork_pass() const noexcept
    {
        if (MEMORY_POOL_UNLIKELY(forks_pending_.load(std::memory_order_relaxed) != 0))
            wait_for_fork();
    }

    /// Effects: notifies the pool when this thread ends.
    void attach(thread_cache& cache) noexcept
    {
        const base::lock_guard lock(mutex_);
        this_thread_table.caches.add_first(&cache);
    }

    /// A lock that a fork acquires after those of all pools, as threads that hold one of those may wait for it.
    struct inner_lock
    {
        void (*lock)() noexcept;
        void (*unlock)() noexcept;
        void (*unlock_in_child)() noexcept;
    };

    /// Effects: sets the inner lock; there is only one. `lock` lives until it is removed.
    void set_inner_lock(const inner_lock& lock) noexcept { inner_lock_.store(&lock, std::memory_order_release); }

    /// Effects: removes that lock, if it is still the one.
    void remove_inner_lock(const inner_lock& lock) noexcept
    {
        const base::lock_guard no_fork(mutex_);
        const inner_lock* known = &lock;
        (void)inner_lock_.compare_exchange_strong(known, nullptr, std::memory_order_relaxed);
    }

private:
    /// Its destructor runs when the thread ends.
    struct thread_end : base::immovable<thread_end>
    {
        ~thread_end() { get().end_thread(); }
    };

    thread_registry() noexcept
    {
        // Its fork handlers must be registered before these: a pool enters reports with its lock held, so a fork needs
        // the locks of pools first, and handlers before a fork run in reverse.
        (void)report_registry::get();
        // The first handler acquires the lock, and one of the other two releases it.
        (void)os::at_fork([]() MEMORY_POOL_ACQUIRE(get().mutex_) { get().before_fork(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork_in_child(); });
    }

    /// Releases the lock while it waits.
    template <class ForEachCache>
    void unlink_from_threads(const thread_cached& pool, ForEachCache& for_each_cache) noexcept
        MEMORY_POOL_REQUIRES(mutex_)
    {
        for (os::short_wait wait; pool.registered.detaching != 0;) {
            mutex_.unlock();
            wait.once_more();
            mutex_.lock();
        }
        for_each_cache([this](thread_cache& cache) {
            mutex_.assume_held();
            if (caches_of_thread::is_listed(&cache)) {
                unlink(cache);
                cache.slot->reset();
            }
        });
    }

    void unlink(thread_cache& cache) noexcept MEMORY_POOL_REQUIRES(mutex_) { cache.thread->caches.remove(&cache); }

    MEMORY_POOL_SLOW_PATH void wait_for_fork() const noexcept
    {
        if (pool_locks_of_this_thread != 0)
            return;
        // Waiting for a condition would not do: that is a cancellation point.
        const auto end = std::chrono::steady_clock::now() + patience_with_fork;
        os::short_wait wait;
        while (forks_pending_.load(std::memory_order_relaxed) != 0 && std::chrono::steady_clock::now() < end)
            wait.once_more();
    }

    /// Releases the lock during the call.
    void trim_unlocked(thread_cached& pool) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        ++pool.registered.detaching;
        mutex_.unlock();
        pool.trim_under_pressure();
        mutex_.lock();
        --pool.registered.detaching;
    }

    void end_thread() noexcept
    {
        thread_table& table = this_thread_table;
        table.has_ended = true;
        mutex_.lock();
        while (thread_cache* const cache = table.caches.first()) {
            unlink(*cache);
            thread_cached& pool = *cache->pool;
            ++pool.registered.detaching; // Its destructor waits for this.
            mutex_.unlock();
            pool.detach(*cache);
            mutex_.lock();
            --pool.registered.detaching;
        }
        mutex_.unlock();
        for (cache_slot*& page : table.pages) {
            std::free(page);
            page = nullptr;
        }
    }

    /// Acquires all locks. Pools may allocate from each other, and call the registry, with their locks held; so pool
    /// locks are only tried, and all are released if one is taken.
    void before_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_)
    {
        forks_pending_.fetch_add(1, std::memory_order_relaxed);
        for (os::short_wait wait;; wait.once_more()) {
            mutex_.lock();
            const std::size_t locked = lock_pools();
            if (locked == most_pools)
                break;
            unlock_pools(locked);
            mutex_.unlock();
        }
        forks_pending_.fetch_sub(1, std::memory_order_relaxed);
        for_each_pool(most_pools, [](std::size_t, thread_cached& pool) {
            pool.quiesce();
            return true;
        });
        locked_for_fork_ = inner_lock_.load(std::memory_order_acquire);
        if (locked_for_fork_ != nullptr)
            locked_for_fork_->lock();
    }

    void after_fork() noexcept MEMORY_POOL_RELEASE(mutex_)
    {
        if (locked_for_fork_ != nullptr)
            locked_for_fork_->unlock();
        unlock_pools(most_pools);
        mutex_.unlock();
    }

    void after_fork_in_child() noexcept MEMORY_POOL_RELEASE(mutex_)
    {
        if (locked_for_fork_ != nullptr)
            locked_for_fork_->unlock_in_child();
        forks_pending_.store(0, std::memory_order_relaxed); // Other threads may have had a fork pending, too.
        for_each_pool(most_pools, [](std::size_t, thread_cached& pool) {
            pool.registered.detaching = 0;
            pool.registered.is_left_out = pool.registered.maker != &this_thread_table;
            return true;
        });
        unlink_from_pools_left_out();
        for_each_pool(most_pools, [this](std::size_t number, thread_cached& pool) {
            mutex_.assume_held();
            const bool is_left_out = pool.registered.is_left_out;
            pool.forget_other_threads(is_left_out ? nullptr : &this_thread_table);
            pool.unlock_after_fork();
            if (is_left_out) {
                pool.registered.maker = nullptr;
                place_of(number) = nullptr;
            }
            return true;
        });
        mutex_.unlock();
    }

    /// Those pools may be gone when this thread ends.
    void unlink_from_pools_left_out() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        this_thread_table.caches.for_each([this](thread_cache* cache) {
            mutex_.assume_held();
            if (cache->pool->registered.is_left_out) {
                unlink(*cache);
                cache->slot->reset();
            }
        });
    }

    /// Returns: the number of the first pool whose lock is taken, or most_pools.
    std::size_t lock_pools() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return for_each_pool(most_pools, [](std::size_t, thread_cached& pool) { return pool.try_lock_for_fork(); });
    }

    /// Unlocks the pools whose numbers are below `end`.
    void unlock_pools(std::size_t end) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        for_each_pool(end, [](std::size_t, thread_cached& pool) {
            pool.unlock_after_fork();
            return true;
        });
    }

    /// Visits the pools whose numbers are below `end`, until `visit` returns false.
    /// Returns: the number it was called with then, or `end`.
    template <class Visit>
    std::size_t for_each_pool(std::size_t end, Visit&& visit) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        std::size_t number = 0;
        while ((number = base::find_bit<true>(numbers_.data(), number, end)) != end) {
            if (thread_cached* const pool = place_of(number); pool != nullptr && !visit(number, *pool))
                return number;
            ++number;
        }
        return end;
    }

    /// Effects: registers a pool, and sets its number, if one is left. Where its group of places is missing, takes
    ///   `group` for that.
    /// Returns: false if that is nullptr.
    bool try_to_enter(thread_cached& pool, std::size_t first, thread_cached**& group, std::size_t& number) noexcept
    {
        const base::lock_guard lock(mutex_);
        const std::size_t found = base::find_bit<false>(numbers_.data(), first, most_pools);
        if (found == most_pools)
            return true;
        thread_cached**& places = groups_[found / places_in_a_group];
        if (places == nullptr)
            places = std::exchange(group, nullptr);
        if (places == nullptr)
            return false;
        number = found;
        base::set_bit(numbers_.data(), number);
        place_of(number) = &pool;
        pool.registered.maker = &this_thread_table;
        return true;
    }

    thread_cached*& place_of(std::size_t number) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return groups_[number / places_in_a_group][number % places_in_a_group];
    }

    static constexpr std::size_t places_in_a_group = 256;
    static constexpr std::chrono::milliseconds patience_with_fork{250};

    base::mutex mutex_;
    std::atomic<const inner_lock*> inner_lock_{nullptr};
    const inner_lock* locked_for_fork_ MEMORY_POOL_GUARDED_BY(mutex_) = nullptr;
    std::atomic<std::size_t> forks_pending_{0}; ///< Forking threads that do not hold all locks yet.
    /// Set bit: in use.
    std::array<std::uint64_t, base::words_for(most_pools)> numbers_ MEMORY_POOL_GUARDED_BY(mutex_){};
    /// Places by number, allocated when one of them is needed; nullptr in a place: unregistered.
    std::array<thread_cached**, most_pools / places_in_a_group> groups_ MEMORY_POOL_GUARDED_BY(mutex_){};
};

/// Fork handlers run before a fork in reverse order of registration, and after it in order. Ours are registered at
/// startup, so that handlers of the program may use pools.
MEMORY_POOL_NOINLINE inline void prepare_forks_of_pools() noexcept
{
    static_cast<void>(thread_registry::get());
}
inline const bool fork_is_prepared = (prepare_forks_of_pools(), true);
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
