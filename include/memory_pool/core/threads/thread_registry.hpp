// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The registry of pools and thread caches, for the end of threads, the destruction of pools, and forks.
///
///     thread_table (one per thread)    [ slot 0 | slot 1 | ... | slot 63 | always closed ]   + pages of 64 more slots
///                                           |        |
///                                        cache    cache     each also in the list of its pool
///
///     A pool has one number during its lifetime: the index of its slot in the table of every thread.
///
/// A thread therefore finds its cache for a pool at an offset from its table. The first 64 live pools have their slots
/// in thread-local storage itself. Other pools, up to a total of 4,096, have them in pages allocated on demand, with
/// slightly slower access. Pools beyond 4,096 have no caches, and pools beyond 16,384 are unknown to a fork.
///
/// The registry has a table of pools, not a list through them: in the child of a fork, pools on the stacks of lost
/// threads are gone without having been unregistered. The registry cannot identify these pools, so the child
/// unregisters every pool made by another thread, until the pool is used there.
///
/// Lock order: threads take the lock of the registry last. A fork takes it first, and then tries the other locks.
/// Threads that hold no lock of a pool wait until the fork has all locks, so that each lock becomes free soon. See
/// docs/locks.md.
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
/// Number of slots in a page, and in thread-local storage itself.
inline constexpr std::size_t slots_in_a_page = 64;
/// Number of pools that can have caches.
inline constexpr std::size_t max_pools_with_slots = slots_in_a_page * 64;
/// Number of pools that can be registered.
inline constexpr std::size_t max_pools = std::size_t{16} * 1024;

/// The caches of one thread. Zero-initialized, without a destructor, so that accesses need no guard, and are valid
/// until the very end of the thread.
struct thread_table
{
    /// The index of the slot that is never opened.
    static constexpr std::size_t closed_slot = slots_in_a_page;

    cache_slot fast_slots[slots_in_a_page + 1];
    /// The first page is for pools that cannot use `fast_slots`.
    cache_slot* pages[max_pools_with_slots / slots_in_a_page];
    caches_of_thread caches;
    bool has_ended; ///< If set, the thread gets no more caches.
};

// GCC and clang access it without a call, because it has neither a constructor nor a destructor.
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
    /// Returns: the number of the pool, unique until the pool leaves. Unless `needs_slots`, the number has no slots.
    ///   max_pools if no number is left, or out of memory.
    std::size_t enter(thread_cached& pool, bool needs_slots = true) noexcept
    {
        thread_cached** group = nullptr; // Not allocated by `new`, which may use a pool, nor with the lock held.
        std::size_t number = max_pools;
        while (!try_to_enter(pool, needs_slots ? 0 : max_pools_with_slots, group, number)) {
            group = static_cast<thread_cached**>(std::calloc(places_in_a_group, sizeof(thread_cached*)));
            if (group == nullptr)
                return max_pools;
        }
        std::free(group);
        return number;
    }

    /// Effects: registers a pool again after a fork has unregistered it.
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
        if (number == max_pools)
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

    /// Returns: the slot of this thread for the pool with that number; nullptr if the slot is in a page that the thread
    ///   does not have, or the pool has no slots.
    static cache_slot* slot_of_this_thread(std::size_t number, bool may_be_in_table) noexcept
    {
        thread_table& table = this_thread_table;
        if (number < slots_in_a_page && may_be_in_table)
            return &table.fast_slots[number];
        if (number >= max_pools_with_slots)
            return nullptr;
        cache_slot* const page = table.pages[number / slots_in_a_page];
        return page == nullptr ? nullptr : &page[number % slots_in_a_page];
    }

    /// Effects: allocates the slot of this thread for the pool with that number, if needed.
    /// Returns: the slot; nullptr if the thread has ended, there is no memory for the page, or the pool has no slots.
    ///   Always nullptr on platforms that destroy the table of a thread before its caches can be detached.
    static cache_slot* make_slot_of_this_thread(std::size_t number, bool may_be_in_table) noexcept
    {
        thread_table& table = this_thread_table;
        if (!os::thread_locals_outlive_destructors || table.has_ended || number >= max_pools_with_slots)
            return nullptr;
        thread_local const thread_end end_of_this_thread;
        static_cast<void>(&end_of_this_thread); // Constructs the object.
        if (cache_slot* const slot = slot_of_this_thread(number, may_be_in_table))
            return slot;
        // Not allocated by `new`, which may use a pool.
        void* const page = std::calloc(slots_in_a_page, sizeof(cache_slot));
        if (page == nullptr)
            return nullptr;
        for (std::size_t i = 0; i != slots_in_a_page; ++i)
            ::new (static_cast<void*>(static_cast<cache_slot*>(page) + i)) cache_slot;
        table.pages[number / slots_in_a_page] = static_cast<cache_slot*>(page);
        return slot_of_this_thread(number, may_be_in_table);
    }

    /// Effects: trims all pools under pressure. The destructor of a pool waits for the end of its trim.
    void trim_pools() noexcept
    {
        const base::lock_guard lock(mutex_);
        for_each_pool(max_pools, [this](std::size_t, thread_cached& pool) {
            mutex_.assume_held();
            trim_unlocked(pool);
            return true;
        });
    }

    /// Effects: if a fork is pending in another thread, waits until that thread has all locks, for 250 ms at most. Call
    ///   this before locking a pool: otherwise, there may never be a moment at which all pools are unlocked.
    ///
    /// A thread that holds the lock of a pool does not wait: it may need further locks before it can release that
    /// lock. The timeout is for a thread that holds a lock of the program that the upstream of a pool needs.
    void let_fork_pass() const noexcept
    {
        if (MEMORY_POOL_UNLIKELY(forks_pending_.load(std::memory_order_relaxed) != 0))
            wait_for_fork();
    }

    /// Effects: adds the cache to this thread, which detaches it from the pool when it ends.
    void attach(thread_cache& cache) noexcept
    {
        const base::lock_guard lock(mutex_);
        this_thread_table.caches.add_first(&cache);
    }

    /// A lock that a fork acquires after the locks of all pools, because a thread that holds the lock of a pool may
    /// wait for it.
    struct inner_lock
    {
        void (*lock)() noexcept;
        void (*unlock)() noexcept;
        void (*unlock_in_child)() noexcept;
    };

    /// Effects: sets the inner lock; there is only one. `lock` must live until it is removed.
    void set_inner_lock(const inner_lock& lock) noexcept { inner_lock_.store(&lock, std::memory_order_release); }

    /// Effects: removes the inner lock, if it is still `lock`.
    void remove_inner_lock(const inner_lock& lock) noexcept
    {
        const base::lock_guard no_fork(mutex_);
        const inner_lock* known = &lock;
        (void)inner_lock_.compare_exchange_strong(known, nullptr, std::memory_order_relaxed);
    }

private:
    /// A thread-local object, whose destructor runs when the thread ends.
    struct thread_end : base::immovable<thread_end>
    {
        ~thread_end() { get().end_thread(); }
    };

    thread_registry() noexcept
    {
        // The fork handlers of reports must be registered first: a pool enters reports with its lock held, so a fork
        // needs the locks of pools first, and `prepare` handlers run in reverse order.
        (void)report_registry::get();
        // The first handler acquires the lock. One of the other two releases it.
        (void)os::at_fork([]() MEMORY_POOL_ACQUIRE(get().mutex_) { get().before_fork(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork_in_child(); });
    }

    /// Waits for threads in `detach`, with the lock released; then unlinks the caches of the pool.
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
        // Not a condition variable, because waiting for one is a cancellation point.
        const auto end = std::chrono::steady_clock::now() + patience_with_fork;
        os::short_wait wait;
        while (forks_pending_.load(std::memory_order_relaxed) != 0 && std::chrono::steady_clock::now() < end)
            wait.once_more();
    }

    /// Trims a pool, with the lock released during the trim.
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
            ++pool.registered.detaching; // The destructor of the pool waits until it is 0.
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

    /// Acquires all locks. Pools may allocate from each other, and call the registry, with their locks held. This
    /// function therefore only tries to lock the pools; if another thread holds a lock, it releases all locks and
    /// starts again.
    void before_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_)
    {
        forks_pending_.fetch_add(1, std::memory_order_relaxed);
        for (os::short_wait wait;; wait.once_more()) {
            mutex_.lock();
            const std::size_t locked = lock_pools();
            if (locked == max_pools)
                break;
            unlock_pools(locked);
            mutex_.unlock();
        }
        forks_pending_.fetch_sub(1, std::memory_order_relaxed);
        for_each_pool(max_pools, [](std::size_t, thread_cached& pool) {
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
        unlock_pools(max_pools);
        mutex_.unlock();
    }

    void after_fork_in_child() noexcept MEMORY_POOL_RELEASE(mutex_)
    {
        if (locked_for_fork_ != nullptr)
            locked_for_fork_->unlock_in_child();
        forks_pending_.store(0, std::memory_order_relaxed); // Lost threads may have had pending forks, too.
        for_each_pool(max_pools, [](std::size_t, thread_cached& pool) {
            pool.registered.detaching = 0;
            pool.registered.is_left_out = pool.registered.maker != &this_thread_table;
            return true;
        });
        unlink_from_pools_left_out();
        for_each_pool(max_pools, [this](std::size_t number, thread_cached& pool) {
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

    /// Unlinks the caches of this thread from pools that are left out: these pools may be gone when the thread ends.
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

    /// Tries to lock all pools. Returns: the number of the first pool whose lock is taken; max_pools if all are locked.
    std::size_t lock_pools() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return for_each_pool(max_pools, [](std::size_t, thread_cached& pool) { return pool.try_lock_for_fork(); });
    }

    /// Unlocks the pools with numbers below `end`.
    void unlock_pools(std::size_t end) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        for_each_pool(end, [](std::size_t, thread_cached& pool) {
            pool.unlock_after_fork();
            return true;
        });
    }

    /// Visits the pools with numbers below `end`, until `visit` returns false. Returns: the number of the pool for
    /// which `visit` returned false, or `end`.
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

    /// Registers a pool, and sets `number`, if a number is left. Uses `group` if the group of places for that number is
    /// missing.
    /// Returns: false if a group is needed, but `group` is nullptr.
    bool try_to_enter(thread_cached& pool, std::size_t first, thread_cached**& group, std::size_t& number) noexcept
    {
        const base::lock_guard lock(mutex_);
        const std::size_t found = base::find_bit<false>(numbers_.data(), first, max_pools);
        if (found == max_pools)
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
    /// A set bit is a number in use.
    std::array<std::uint64_t, base::words_for(max_pools)> numbers_ MEMORY_POOL_GUARDED_BY(mutex_){};
    /// Groups of places for pools, by number, allocated on demand; nullptr in a place: unregistered.
    std::array<thread_cached**, max_pools / places_in_a_group> groups_ MEMORY_POOL_GUARDED_BY(mutex_){};
};

/// Registers fork handlers at startup, so that fork handlers of the program may use pools: `prepare` handlers run in
/// reverse order of registration, and the others in order.
MEMORY_POOL_NOINLINE inline void prepare_forks_of_pools() noexcept
{
    static_cast<void>(thread_registry::get());
}
inline const bool fork_is_prepared = (prepare_forks_of_pools(), true);
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
