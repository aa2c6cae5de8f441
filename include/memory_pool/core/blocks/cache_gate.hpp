// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When the caches of a pool shared by threads may be open: the lock, the queue of waiting threads, and the pool's
/// handlers for the thread registry.
///
///     a thread comes:    cache open -> no lock   closed -> the lock; opened unless a thread waits or visits all blocks
///     all are needed:    every cache is closed, and drained into the slabs
///
/// A caller that needs all blocks closes every cache first (see core/threads/thread_cache.hpp). Until a thread reopens
/// its cache under the lock, each block moves with the lock held. That is how a bounded pool hands out all it has,
/// trimming sees what is free, a fork finds everything in order, and a thread that frees a block notices a waiter:
/// while there is one, no cache is opened. Without waiters, it costs nothing.
///
/// Thread safety: any thread, but for what says otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/core/blocks/cached_slabs.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/core/threads/in_flight.hpp>
#include <memory_pool/core/threads/pressure_trim.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/core/threads/thread_slots.hpp>
#include <memory_pool/core/threads/wait_queue.hpp>

#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The lock of a pool, and the caches behind it. shared_store adds the operations.
class cache_gate : protected cached_slabs
{
protected:
    cache_gate(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
               const pool_identity& identity, std::pmr::memory_resource* upstream)
        : cached_slabs(layout, limit, options, identity, upstream), slots_(handlers_, !may_cache_    ? slot_kind::none
                                                                                      : has_barrier_ ? slot_kind::fast
                                                                                                     : slot_kind::slow)
    {
        slabs_.log_misuse_to(&misuse_);
    }

    /// Preconditions: no thread uses the pool any more. Threads that have used it may end at the same time.
    ~cache_gate() { slots_.leave(caches_); }

    /// Holds the lock, and reports the misuse found meanwhile after releasing it.
    class MEMORY_POOL_SCOPED_CAPABILITY locked
    {
    public:
        explicit locked(const cache_gate& store) MEMORY_POOL_ACQUIRE(store.mutex_)
            : store_(store), lock_(store.mutex_, store.slots_)
        {
        }
        ~locked() MEMORY_POOL_RELEASE() { report(); }

        /// Effects: reports the misuse found so far, with the lock released meanwhile.
        // Not analyzed: the analysis attributes the lock to this guard, not to the nested one.
        void report_early() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
        {
            if (report())
                lock_.lock_again();
        }

        /// For std::condition_variable.
        std::unique_lock<std::mutex>& native() noexcept { return lock_.native(); }

    private:
        /// Releases the lock and reports the misuse found, if any.
        /// Returns: whether it did.
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

        const cache_gate& store_;
        pool_lock lock_;
    };

    /// Whether one or several threads have used the pool.
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

    /// A waiter, queued during its lifetime.
    struct queued_waiter : waiter
    {
        /// Preconditions: the lock is held, here and when it ends.
        explicit queued_waiter(cache_gate& its_store) noexcept : store(its_store) { store.queue_.add_last(this); }
        ~queued_waiter()
        {
            store.queue_.remove(this);
            if (block != nullptr) // Served, but then the thread was cancelled, or the clock threw.
                store.put_unused(block);
        }

        cache_gate& store;
    };

    /// Keeps the caches closed.
    class suspension : public in_flight
    {
    public:
        explicit suspension(cache_gate& store) noexcept : store_(store)
        {
            const locked lock(store_);
            store_.suspensions_.enter(*this);
            store_.gather();
        }
        ~suspension()
        {
            const locked lock(store_);
            store_.suspensions_.leave(*this);
        }

    private:
        cache_gate& store_;
    };

    /// A trim in flight: chunks to be returned to upstream.
    struct trimming : in_flight
    {
        slab_store::detached_chunks detached;
    };

    // Caches.

    /// Returns: nullptr if it cannot have one: the pool does not cache, the thread is ending, or upstream is out of
    ///   memory.
    thread_cache* cache_of_this_thread() noexcept
    {
        thread_cache* cache = slots_.existing_cache();
        if (cache == nullptr)
            (void)base::succeeds([&] { cache = attach(); });
        return cache;
    }

    /// As cache_of_this_thread, for a thread without a cache, but throws what upstream throws.
    MEMORY_POOL_SLOW_PATH thread_cache* attach()
    {
        cache_slot* const slot = may_cache_ ? slots_.make_slot() : nullptr;
        if (slot == nullptr)
            return nullptr;
        thread_cache* cache = nullptr;
        {
            const locked lock(*this);
            if (is_abandoned_)
                return nullptr;
            cache = &begin_cache();
            slots_.fill(*slot, *cache);
            (void)open(*cache);
        }
        slots_.enlist(*cache);
        return cache;
    }

    /// Opens the cache of the calling thread, if allowed.
    /// Returns: whether it is open.
    bool open(thread_cache& cache) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (cache.slot->is_open())
            return true;
        if (!suspensions_.empty() || !queue_.empty() || is_abandoned_)
            return false;
        return open_equipped(cache);
    }

    void* take_locked(thread_cache* cache) MEMORY_POOL_REQUIRES(mutex_)
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (void* const block = take_free(cache))
            return block;
        while (slabs_.may_grow() && try_to_enlarge())
            if (void* const block = take_free(cache))
                return block;
        close_caches();
        if (void* const block = take_free(cache))
            return block;
        while (slabs_.may_grow()) {
            enlarge(); // This time, exceptions of upstream propagate.
            if (void* const block = take_free(cache))
                return block;
        }
        return nullptr;
    }

    /// Takes a block from the depot or the slabs, and refills the cache if it may be open.
    void* take_free(thread_cache* cache) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (!queue_.empty())
            return nullptr; // Free blocks are for the waiters.
        if (cache == nullptr || !open(*cache))
            return take_one();
        return take_or_fill(*cache);
    }

    /// Takes a block for a thread without a cache.
    void* take_one() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return may_cache_ && suspensions_.empty() ? take_next() : slabs_.take_one_late();
    }

    /// If free blocks are filled, marks the block as in use. Under the lock, so that a fork finds each block either
    /// free or in use.
    void* marked(void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_LIKELY(may_cache_) || block == nullptr)
            return block;
        if (!slabs_.checks().is_untouched(block))
            slabs_.report_misuse(error_kind::write_after_free, block);
        slabs_.checks().mark_in_use(block);
        return block;
    }

    /// Puts back a block handed to a waiter that has given up.
    void put_unused(void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (!may_cache_)
            slabs_.checks().mark_free(block);
        put_locked(nullptr, block);
    }

    void put_locked(thread_cache* cache, void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (!queue_.empty()) {
            // Through the slabs, whose bits validate the block: no cache is open.
            put_into_slabs(&block, 1);
            serve_queue();
            return;
        }
        if (cache == nullptr || !open(*cache) || !put_or_spill(*cache, block))
            put_into_slabs(&block, 1);
    }

    void enlarge() MEMORY_POOL_REQUIRES(mutex_)
    {
        grow([this] {
            mutex_.assume_held();
            slabs_.enlarge();
        });
    }

    bool try_to_enlarge() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return base::succeeds([this] {
            mutex_.assume_held();
            enlarge();
        });
    }

    template <class Grow>
    void grow(Grow&& grow_slabs) MEMORY_POOL_REQUIRES(mutex_)
    {
        grow_slabs();
        // Without magazines, freed blocks go to the slabs.
        (void)base::succeeds([this] {
            mutex_.assume_held();
            provide_magazines();
        });
        serve_queue();
    }

    void serve_queue() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        while (!queue_.empty()) {
            void* const block = take_one();
            if (block == nullptr)
                return;
            queue_.serve(marked(block));
        }
    }

    /// The registry's callbacks. A separate object: a base class of the pool would change its vptr during
    /// construction and destruction, when threads that end or fork may call it.
    class handlers final : public thread_cached
    {
    public:
        explicit handlers(cache_gate& gate) noexcept : gate_(gate) {}

        void detach(thread_cache& cache) noexcept override { gate_.detach(cache); }
        void trim_under_pressure() noexcept override { gate_.trim_under_pressure(); }
        bool try_lock_for_fork() noexcept override MEMORY_POOL_TRY_ACQUIRE(true, gate_.mutex_)
        {
            return gate_.mutex_.try_lock();
        }
        void unlock_after_fork() noexcept override MEMORY_POOL_RELEASE(gate_.mutex_) { gate_.mutex_.unlock(); }
        void quiesce() noexcept override MEMORY_POOL_REQUIRES(gate_.mutex_) { gate_.gather(); }
        void forget_other_threads(const thread_table* mine) noexcept override MEMORY_POOL_REQUIRES(gate_.mutex_)
        {
            gate_.forget_other_threads(mine);
        }

    private:
        cache_gate& gate_;
    };

    void detach(thread_cache& cache) noexcept
    {
        const locked lock(*this);
        cache_slot& slot = *cache.slot;
        if (slot.is_open())
            empty(cache, slot.wait_for_top());
        slot.reset();
        caches_.put(cache); // The cache keeps its magazines and counts.
    }

    /// Removes every chunk in which no block is in use from the slabs, and returns magazines that are not needed for
    /// the others.
    slab_store::detached_chunks detach_free() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        gather();
        slabs_.give_back_inherited();
        slab_store::detached_chunks detached = slabs_.detach_free();
        exchange_.shrink(slabs_.capacity(), caches_); // No cache is open.
        return detached;
    }

    /// Only if upstream is thread-safe, no user code runs, and the program has not asked for a reserve. Misuse that is
    /// found meanwhile is reported by the next thread that releases the lock.
    void trim_under_pressure() noexcept
    {
        const bool is_plain = slabs().listener() == nullptr && *slabs().upstream() == *std::pmr::new_delete_resource();
        if (!is_plain || slabs().is_bounded() || !mutex_.try_lock())
            return;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        if (has_reserve_ || is_abandoned_ || !queue_.empty())
            return;
        ++this_thread_table.locks_held; // Upstream may use a pool.
        slabs_.give_back(detach_free());
        --this_thread_table.locks_held;
    }

    void forget_other_threads(const thread_table* mine) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        has_lost_threads_ = has_lost_threads_ || users_without_cache_.may_be_other_than(&this_thread_table);
        caches_.for_each_in_use([&](thread_cache& cache) {
            mutex_.assume_held();
            has_lost_threads_ = has_lost_threads_ || cache.thread != &this_thread_table;
            if (cache.thread != mine) {
                caches_of_thread::forget(&cache);
                caches_.put(cache);
            }
        });
        queue_.clear();
        suspensions_.forget_other_threads([](const suspension&) {});
        trimmings_.forget_other_threads([this](const trimming& lost) {
            mutex_.assume_held();
            slabs_.inherit(lost.detached);
        });
        counts_.settle(caches_, slabs_.handed_out());
    }

    mutable base::misuse_log misuse_ MEMORY_POOL_GUARDED_BY(mutex_);
    all_in_flight<suspension> suspensions_ MEMORY_POOL_GUARDED_BY(mutex_);
    all_in_flight<trimming> trimmings_ MEMORY_POOL_GUARDED_BY(mutex_);
    bool is_abandoned_ MEMORY_POOL_GUARDED_BY(mutex_) = false;
    bool has_reserve_ MEMORY_POOL_GUARDED_BY(mutex_) = false; ///< The program has asked for a capacity.
    users users_without_cache_ MEMORY_POOL_GUARDED_BY(mutex_);
    bool has_lost_threads_ MEMORY_POOL_GUARDED_BY(mutex_) = false;
    wait_queue queue_ MEMORY_POOL_GUARDED_BY(mutex_);
    handlers handlers_{*this};
    // Declared last: registering makes the pool visible to the fork handlers.
    thread_slots slots_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
