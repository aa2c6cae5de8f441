// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Opens and closes the thread caches of a shared pool. Owns the lock, the queue of waiting threads, and the pool's
/// handlers for the thread registry.
///
///     allocate, free:    cache open -> no lock   closed -> the lock; opened unless a thread waits or visits all blocks
///     need all blocks:   every cache is closed, and drained into the slabs
///
/// A caller that needs all blocks closes every cache first (see core/threads/thread_cache.hpp). Until a thread reopens
/// its cache under the lock, the thread moves each block with the lock held. So a bounded pool can allocate its last
/// block, a trim finds all free memory, and a fork finds the pool consistent. While a thread waits, no cache is opened,
/// so a thread that frees a block notices the waiter. Without waiters, this costs nothing.
///
/// Thread safety: any thread, unless documented otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/blocks/cached_slabs.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/slabs/block_queries.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/core/threads/fork_tracked_operation.hpp>
#include <memory_pool/core/threads/magazine_exchange.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>
#include <memory_pool/core/threads/pressure_trim.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_counts.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/core/threads/thread_slots.hpp>
#include <memory_pool/core/threads/wait_queue.hpp>
#include <memory_pool/os/process_barrier.hpp>

#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The lock of a pool, and the caches that it guards.
class cache_revocation : base::immovable<cache_revocation>
{
public:
    /// Effects: makes a pool without slabs. If free blocks are filled to detect misuse, there are no caches.
    cache_revocation(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
                     const pool_identity& identity, std::pmr::memory_resource* upstream)
        : may_cache(!options.fills_free_blocks),
          exchange(magazine_exchange::suitable_room(layout.stride(), limit, options.max_cached_blocks),
                   os::has_process_barrier(), upstream),
          cached(layout, limit, options, identity, upstream, exchange, counts),
          slots_of_threads(handlers_, !may_cache               ? slot_kind::none
                                      : exchange.has_barrier() ? slot_kind::fast
                                                               : slot_kind::slow)
    {
        cached.slabs.log_misuse_to(&misuse_);
    }

    /// Preconditions: no thread uses the pool any more. Threads that have used the pool may be ending.
    ~cache_revocation() { slots_of_threads.leave(cached.caches); }

    /// Holds the lock. After releasing it, reports the misuse found in this scope.
    class MEMORY_POOL_SCOPED_CAPABILITY locked
    {
    public:
        explicit locked(const cache_revocation& store) MEMORY_POOL_ACQUIRE(store.mutex)
            : store_(store), lock_(store.mutex, store.slots_of_threads)
        {
        }
        ~locked() MEMORY_POOL_RELEASE() { report(); }

        /// Effects: reports the misuse found so far. Releases the lock during the report.
        // Not analyzed: the analysis attributes the lock to this guard, not to the nested one.
        void report_early() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
        {
            if (report())
                lock_.lock_again();
        }

        /// For std::condition_variable.
        std::unique_lock<std::mutex>& native() noexcept { return lock_.native(); }

    private:
        /// If misuse was found, releases the lock and reports it. Returns: whether misuse was found.
        // Not analyzed: see report_early.
        bool report() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
        {
            if (MEMORY_POOL_LIKELY(store_.misuse_.empty()))
                return false;
            const base::misuse_log found = std::exchange(store_.misuse_, {});
            lock_.unlock();
            found.report(store_.slabs().identity().name);
            return true;
        }

        const cache_revocation& store_;
        pool_lock lock_;
    };

    /// A waiter that is in the queue during its lifetime.
    struct queued_waiter : waiter
    {
        /// Preconditions: the lock is held, here and in the destructor.
        explicit queued_waiter(cache_revocation& owner) noexcept : store(owner) { store.queue.add_last(this); }
        ~queued_waiter()
        {
            store.queue.remove(this);
            if (block != nullptr) // Served, but the thread was cancelled, or the clock has thrown.
                store.put_unused(block);
        }

        cache_revocation& store;
    };

    /// Keeps the caches closed during its lifetime.
    class suspension : public fork_tracked_operation
    {
    public:
        explicit suspension(cache_revocation& store) noexcept : store_(store)
        {
            const locked lock(store_);
            store_.suspensions_.enter(*this);
            store_.cached.gather();
        }
        ~suspension()
        {
            const locked lock(store_);
            store_.suspensions_.leave(*this);
        }

    private:
        cache_revocation& store_;
    };

    /// A trim in flight, with the chunks that it is returning to upstream.
    struct trimming : fork_tracked_operation
    {
        slab_store::detached_chunks detached;
    };

    // These functions need no lock.

    /// Returns: a block; nullptr if there is no cache, the cache is closed, or the cache and the depot are empty.
    void* take_without_lock(thread_cache* cache) noexcept { return cache != nullptr ? exchange.take(*cache) : nullptr; }

    /// Returns: false if there is no cache, the cache is closed, or the depot has no empty magazine.
    bool put_without_lock(thread_cache* cache, void* block) noexcept
    {
        return cache != nullptr && exchange.put(*cache, block);
    }

    // Caches.

    /// Returns: the cache; nullptr if the pool does not cache, the thread is ending, or upstream is out of memory.
    thread_cache* cache_of_this_thread() noexcept
    {
        thread_cache* cache = slots_of_threads.existing_cache();
        if (cache == nullptr)
            (void)base::succeeds([&] { cache = attach(); });
        return cache;
    }

    /// As cache_of_this_thread, for a thread without a cache, but propagates exceptions of upstream.
    MEMORY_POOL_SLOW_PATH thread_cache* attach()
    {
        cache_slot* const slot = may_cache ? slots_of_threads.make_slot() : nullptr;
        if (slot == nullptr)
            return nullptr;
        thread_cache* cache = nullptr;
        {
            const locked lock(*this);
            if (is_abandoned)
                return nullptr;
            cache = &cached.begin_cache();
            slots_of_threads.fill(*slot, *cache);
            (void)open(*cache);
        }
        slots_of_threads.enlist(*cache);
        return cache;
    }

    /// Opens the cache of the calling thread, if allowed. Returns: whether the cache is open.
    bool open(thread_cache& cache) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        if (cache.slot->is_open())
            return true;
        if (!suspensions_.empty() || !queue.empty() || is_abandoned)
            return false;
        return cached.open_equipped(cache);
    }

    void* take_locked(thread_cache* cache) MEMORY_POOL_REQUIRES(mutex)
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (void* const block = take_free(cache))
            return block;
        while (cached.slabs.may_grow() && try_to_enlarge())
            if (void* const block = take_free(cache))
                return block;
        cached.close_caches();
        if (void* const block = take_free(cache))
            return block;
        while (cached.slabs.may_grow()) {
            enlarge(); // Unlike try_to_enlarge, propagates exceptions of upstream.
            if (void* const block = take_free(cache))
                return block;
        }
        return nullptr;
    }

    /// If free blocks are filled, marks the block as in use. Needs the lock, so that a fork finds each block either
    /// free or in use.
    void* marked(void* block) const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        if (MEMORY_POOL_LIKELY(may_cache) || block == nullptr)
            return block;
        if (!checks_of(cached.slabs.chunks()).is_untouched(block))
            cached.slabs.report_misuse(error_kind::write_after_free, block);
        checks_of(cached.slabs.chunks()).mark_in_use(block);
        return block;
    }

    void put_locked(thread_cache* cache, void* block) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (!queue.empty()) {
            // Not to a waiter directly: the bits of the slabs validate the block.
            cached.put_into_slabs(&block, 1);
            serve_queue();
            return;
        }
        if (cache == nullptr || !open(*cache) || !cached.put_or_spill(*cache, block))
            cached.put_into_slabs(&block, 1);
    }

    template <class Grow>
    void grow(Grow&& grow_slabs) MEMORY_POOL_REQUIRES(mutex)
    {
        grow_slabs();
        // Without magazines, freed blocks go to the slabs.
        (void)base::succeeds([this] {
            mutex.assume_held();
            cached.provide_magazines();
        });
        serve_queue();
    }

    /// Removes every chunk without blocks in use from the slabs, and returns magazines that the remaining chunks do not
    /// need.
    slab_store::detached_chunks detach_free() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        cached.gather();
        cached.slabs.give_back_inherited();
        slab_store::detached_chunks detached = cached.slabs.detach_free();
        exchange.shrink(cached.slabs.capacity(), cached.caches); // No cache is open.
        return detached;
    }

    /// Only for constant members of the slabs, which need no lock.
    const slab_store& slabs() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { return cached.slabs; }

    /// Effects: sets the entry of this pool in reports. In the child of a fork, the first use of a pool that another
    ///   thread made adds its entry again.
    void enter_again_with(const reported& entry) noexcept { handlers_.registered.entry = &entry; }

    mutable base::mutex mutex;
    const bool may_cache;
    magazine_exchange exchange;
    thread_counts counts;
    cached_slabs cached MEMORY_POOL_GUARDED_BY(mutex);
    wait_queue queue MEMORY_POOL_GUARDED_BY(mutex);
    fork_tracked_operations<trimming> trimmings MEMORY_POOL_GUARDED_BY(mutex);
    bool is_abandoned MEMORY_POOL_GUARDED_BY(mutex) = false;
    bool has_reserve MEMORY_POOL_GUARDED_BY(mutex) = false; ///< The program has reserved capacity.
    bool has_lost_threads MEMORY_POOL_GUARDED_BY(mutex) = false;

private:
    /// Tracks whether one or several threads have used the pool.
    class users
    {
    public:
        void add(const thread_table* thread) noexcept
        {
            are_several_ = are_several_ || (first_ != nullptr && first_ != thread);
            first_ = thread;
        }

        bool may_be_other_than(const thread_table* thread) const noexcept
        {
            return are_several_ || (first_ != nullptr && first_ != thread);
        }

    private:
        const thread_table* first_ = nullptr;
        bool are_several_ = false;
    };

    /// Takes a block from the depot or the slabs, and refills the cache if it may be open.
    void* take_free(thread_cache* cache) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        if (!queue.empty())
            return nullptr; // Waiters come first.
        if (cache == nullptr || !open(*cache))
            return take_one();
        return cached.take_or_fill(*cache);
    }

    /// Takes a block for a thread without a cache.
    void* take_one() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        return may_cache && suspensions_.empty() ? cached.take_next() : cached.slabs.take_one_late();
    }

    /// Frees the block of a waiter that was served but has given up.
    void put_unused(void* block) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        if (!may_cache)
            checks_of(cached.slabs.chunks()).mark_free(block);
        put_locked(nullptr, block);
    }

    void enlarge() MEMORY_POOL_REQUIRES(mutex)
    {
        grow([this] {
            mutex.assume_held();
            cached.slabs.enlarge();
        });
    }

    bool try_to_enlarge() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        return base::succeeds([this] {
            mutex.assume_held();
            enlarge();
        });
    }

    void serve_queue() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        while (!queue.empty()) {
            void* const block = take_one();
            if (block == nullptr)
                return;
            queue.serve(marked(block));
        }
    }

    /// The callbacks of the registry. A separate object: the vptr of a base class would change during construction and
    /// destruction of the pool, when ending or forking threads may call it.
    class handlers final : public thread_cached
    {
    public:
        explicit handlers(cache_revocation& owner) noexcept : owner_(owner) {}

        void detach(thread_cache& cache) noexcept override { owner_.detach(cache); }
        void trim_under_pressure() noexcept override { owner_.trim_under_pressure(); }
        bool try_lock_for_fork() noexcept override MEMORY_POOL_TRY_ACQUIRE(true, owner_.mutex)
        {
            return owner_.mutex.try_lock();
        }
        void unlock_after_fork() noexcept override MEMORY_POOL_RELEASE(owner_.mutex) { owner_.mutex.unlock(); }
        void quiesce() noexcept override MEMORY_POOL_REQUIRES(owner_.mutex) { owner_.cached.gather(); }
        void forget_other_threads(const thread_table* mine) noexcept override MEMORY_POOL_REQUIRES(owner_.mutex)
        {
            owner_.forget_other_threads(mine);
        }

    private:
        cache_revocation& owner_;
    };

    void detach(thread_cache& cache) noexcept
    {
        const locked lock(*this);
        cache_slot& slot = *cache.slot;
        if (slot.is_open())
            cached.empty(cache, slot.wait_for_top());
        slot.reset();
        cached.caches.put(cache); // The unused cache keeps its magazines and counts.
    }

    /// Trims only if upstream is thread-safe, no user code would run, and the program has reserved no capacity. The
    /// next thread that releases the lock reports misuse found here.
    void trim_under_pressure() noexcept
    {
        const bool is_plain =
            slabs().chunks().listener() == nullptr && *slabs().chunks().upstream() == *std::pmr::new_delete_resource();
        if (!is_plain || slabs().chunks().is_bounded() || !mutex.try_lock())
            return;
        const base::lock_guard lock(mutex, base::adopt_lock);
        if (has_reserve || is_abandoned || !queue.empty())
            return;
        ++pool_locks_of_this_thread; // Upstream may use a pool.
        cached.slabs.chunks().give_back(detach_free());
        --pool_locks_of_this_thread;
    }

    void forget_other_threads(const thread_table* mine) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        has_lost_threads = has_lost_threads || users_without_cache_.may_be_other_than(&this_thread_table);
        cached.caches.for_each_in_use([&](thread_cache& cache) {
            mutex.assume_held();
            has_lost_threads = has_lost_threads || cache.thread != &this_thread_table;
            if (cache.thread != mine) {
                caches_of_thread::forget(&cache);
                cached.caches.put(cache);
            }
        });
        queue.clear();
        suspensions_.forget_other_threads([](const suspension&) {});
        trimmings.forget_other_threads([this](const trimming& lost) {
            mutex.assume_held();
            cached.slabs.inherit(lost.detached);
        });
        counts.settle(cached.caches, cached.slabs.outstanding());
    }

    mutable base::misuse_log misuse_ MEMORY_POOL_GUARDED_BY(mutex);
    fork_tracked_operations<suspension> suspensions_ MEMORY_POOL_GUARDED_BY(mutex);
    users users_without_cache_ MEMORY_POOL_GUARDED_BY(mutex);
    handlers handlers_{*this};

public:
    // Declared last: registering makes the pool visible to the fork handlers.
    thread_slots slots_of_threads;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
