// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The arenas of one resource shared by threads. Each thread fills its own arena; any thread may free any block.
///
///     thread:  slot -> arena_cache -> current arena      the owner moves the cursor and the floor with plain stores
///     all:     any arena -> balance                      a remote free is one atomic operation on the balance
///     lock:    free arenas, upstream, large blocks       used if an arena is full or empty, or a block is large
///
///     bytes in use in an arena = cursor - floor + balance
///
/// The balance of a current arena is at most 0: remote frees decrement it. When the owner leaves the arena, it adds
/// cursor - floor to the balance in one step. From then on, the thread that brings the balance to 0 has freed the last
/// block, and frees the arena.
///
/// Thread safety: any thread, unless stated otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/resources/arena.hpp>
#include <memory_pool/core/resources/arena_checks.hpp>
#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/core/resources/arena_store.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>
#include <memory_pool/core/threads/thread_slots.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An arena filled by one thread. Any thread may free its blocks.
struct alignas(cache_line_size) shared_arena : arena_links<shared_arena>
{
    std::atomic<std::byte*> cursor{nullptr}; ///< Written by the owner thread, read for statistics.
    std::atomic<std::byte*> floor{nullptr};  ///< Written by the owner thread, read for statistics.
    /// On its own cache line because other threads write it while the owner allocates.
    alignas(cache_line_size) std::atomic<std::ptrdiff_t> balance{0};

    std::size_t bytes_in_use() const noexcept
    {
        return static_cast<std::size_t>(by_owner() + balance.load(std::memory_order_relaxed));
    }

    void reset(std::byte* start) noexcept
    {
        cursor.store(start, std::memory_order_relaxed);
        floor.store(start, std::memory_order_relaxed);
        balance.store(0, std::memory_order_relaxed);
    }

    /// Returns: bytes allocated minus bytes freed by the owner.
    std::ptrdiff_t by_owner() const noexcept
    {
        return cursor.load(std::memory_order_relaxed) - floor.load(std::memory_order_relaxed);
    }

    /// Effects: subtracts `bytes` from the balance: freed bytes or, when the owner leaves, the negated bytes in use.
    /// Returns: whether the arena is empty now. If so, the caller must free it.
    bool settle(std::ptrdiff_t bytes) noexcept { return balance.fetch_sub(bytes, std::memory_order_acq_rel) == bytes; }
};

/// The cache of a thread.
struct arena_cache : thread_cache
{
    /// Written by the owner. nullptr if the thread fills no arena.
    std::atomic<shared_arena*> current{nullptr};
};

/// Arenas for several threads.
class shared_arenas final : private thread_cached
{
public:
    using arena_type = shared_arena;
    using store_type = arena_store<shared_arena>;

    static constexpr bool is_shared = true;

    shared_arenas(const arena_options& options, bool checks, std::pmr::memory_resource* upstream)
        : store_(options, checks, upstream), large_(upstream), slots_(*this, slot_kind::fast)
    {
    }

    /// Preconditions: no thread uses the resource. Threads that have used the resource may end at the same time.
    ~shared_arenas()
    {
        slots_.leave(caches_);
        caches_.free_all(store_.upstream());
    }

    /// Returns: the arena that this thread fills, or nullptr.
    MEMORY_POOL_ALWAYS_INLINE shared_arena* current() const noexcept
    {
        const cache_slot* const slot = slots_.slot();
        if (MEMORY_POOL_UNLIKELY(slot == nullptr || slot->cache == nullptr))
            return current_slowly();
        return current_of(*slot->cache).load(std::memory_order_relaxed);
    }

    /// Effects: allocates a block of `extent` bytes from this thread's current arena.
    /// Returns: the block; nullptr if there is no current arena, or not enough room in it.
    MEMORY_POOL_ALWAYS_INLINE std::byte* bump(std::size_t extent, std::size_t alignment) noexcept
    {
        shared_arena* const from = current();
        return MEMORY_POOL_LIKELY(from != nullptr) ? bump(*from, extent, alignment) : nullptr;
    }

    /// Effects: allocates a block from an arena with room, which becomes this thread's current arena if the thread has
    ///   a cache.
    /// Preconditions: the block fits into an arena.
    /// Throws: as arena_store::take.
    std::byte* bump_in_next(std::size_t extent, std::size_t alignment)
    {
        arena_cache* const cache = cache_of_this_thread();
        pool_lock lock(mutex_, slots_);
        // Threads without a cache fill a common arena.
        std::atomic<shared_arena*>& filled = cache != nullptr ? cache->current : common_;
        leave_if_empty(filled); // Other threads may have freed all of its blocks.
        if (shared_arena* const left =
                filled.load(std::memory_order_relaxed)) // The common arena, or an ended thread's arena, may have room.
            if (std::byte* const block = bump(*left, extent, alignment))
                return block;
        if (!store_.has_free())
            leave_unfilled_arenas();
        if (!store_.may_take()) {
            lock.unlock();
            store().throw_exhausted();
        }
        shared_arena& next = store_.take(this);
        leave(filled);
        filled.store(&next, std::memory_order_relaxed);
        return bump(next, extent, alignment);
    }

    /// Effects: frees a block.
    /// Returns: false, without effects, if this thread fills the arena and has fewer than `extent` bytes in use there.
    /// Preconditions: the block is in `home`.
    MEMORY_POOL_ALWAYS_INLINE bool take_back(shared_arena& home, std::byte* block, std::size_t extent) noexcept
    {
        if (&home == current())
            return take_back_as_owner(home, block, extent);
        if (home.settle(static_cast<std::ptrdiff_t>(extent)))
            put(home);
        return true;
    }

    void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        const pool_lock lock(mutex_, slots_);
        return large_.allocate(bytes, alignment);
    }

    /// Effects: frees a large block.
    /// Returns: false, without effects, if `block` is not a large block.
    bool deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        const pool_lock lock(mutex_, slots_);
        return large_.deallocate(block, bytes, alignment);
    }

    void reserve(std::size_t count)
    {
        store().check_count(count);
        const pool_lock lock(mutex_, slots_);
        store_.reserve(count);
    }

    /// Effects: returns chunks whose arenas are all free to upstream. The arena that this thread fills counts as free
    ///   if it is empty.
    std::size_t trim() noexcept
    {
        arena_cache* const mine = existing_cache();
        const pool_lock lock(mutex_, slots_);
        if (mine != nullptr)
            leave_if_empty(mine->current);
        leave_unfilled_arenas();
        return store_.trim();
    }

    /// Effects: frees all blocks. Returns all memory to upstream, unless `keeps_arenas`.
    /// Preconditions: no other thread uses the resource.
    void forget_blocks(bool keeps_arenas) noexcept
    {
        if (!keeps_arenas)
            slots_.take_from_threads(caches_of_idle());
        const pool_lock lock(mutex_, slots_);
        common_.store(nullptr, std::memory_order_relaxed);
        caches_.for_each([](arena_cache& cache) { cache.current.store(nullptr, std::memory_order_relaxed); });
        large_.release();
        if (keeps_arenas) {
            store_.clear();
        } else {
            store_.release();
            caches_.free_all(store_.upstream());
        }
    }

    /// Returns: the result of `look(const store_type&)`, called with the lock held.
    template <class Look>
    auto with_store(Look&& look) const
    {
        const pool_lock lock(mutex_, slots_);
        return look(store_);
    }

    /// Returns: whether `address` lies in an arena or a large block.
    bool contains(const void* address) const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        return store_.contains(address) || large_.contains(address);
    }

    /// Returns: the result of `look(const arena_checks<shared_arena>&)`, called with the lock held.
    template <class Look>
    auto with_checks(Look&& look) const
    {
        const pool_lock lock(mutex_, slots_);
        return look(arena_checks<shared_arena>(store_, large_));
    }

    /// Effects: as enter_again_with of shared_store.
    void enter_again_with(const reported& entry) noexcept { registered.entry = &entry; }

    /// Returns: the store, for its constant members, which need no lock.
    const store_type& store() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { return store_; }

    std::size_t bytes_in_use() const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        std::size_t sum = large_.bytes_in_use();
        store_.for_each_arena([&sum](const shared_arena& each) { sum += each.bytes_in_use(); });
        return sum;
    }

    std::size_t bytes_reserved() const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        return store_.bytes_reserved() + large_.bytes_reserved() + caches_.bytes();
    }

    /// Returns: the number of arenas without bytes in use.
    std::size_t free_arenas() const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        std::size_t count = store_.free_count();
        for_each_current([&](const shared_arena& filled) { count += std::size_t{filled.bytes_in_use() == 0}; });
        return count;
    }

    /// Returns: bytes in arenas that are neither in use nor available to the next allocations.
    std::size_t bytes_wasted() const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        std::size_t sum = 0;
        store_.for_each_arena([&](shared_arena& each) {
            const std::size_t in_use = each.bytes_in_use();
            if (in_use != 0)
                sum += static_cast<std::size_t>(store().end_of(each) - store().start_of(each)) - in_use;
        });
        for_each_current([&](shared_arena& filled) {
            const auto rest =
                static_cast<std::size_t>(store().end_of(filled) - filled.cursor.load(std::memory_order_relaxed));
            if (filled.bytes_in_use() != 0)
                sum -= std::min(sum, rest); // The owner may have allocated since the first loop.
        });
        return sum;
    }

    /// Returns: whether the invariants above hold.
    /// Preconditions: no other thread uses the resource.
    bool verify() const noexcept
    {
        const pool_lock lock(mutex_, slots_);
        bool all_agree = store_.verify();
        store_.for_each_arena([&](shared_arena& each) {
            const std::byte* const cursor = each.cursor.load(std::memory_order_relaxed);
            const std::byte* const floor = each.floor.load(std::memory_order_relaxed);
            all_agree = all_agree && store().start_of(each) <= floor && floor <= cursor &&
                        cursor <= store().end_of(each) && each.bytes_in_use() <= store().largest_extent() &&
                        (!each.is_free || each.bytes_in_use() == 0);
        });
        for_each_current([&](const shared_arena& filled) {
            all_agree = all_agree && !filled.is_free && filled.balance.load(std::memory_order_relaxed) <= 0;
        });
        return all_agree;
    }

private:
    static std::atomic<shared_arena*>& current_of(thread_cache& cache) noexcept
    {
        return static_cast<arena_cache&>(cache).current;
    }

    /// For resources whose slots lie in pages, or that another module created.
    MEMORY_POOL_SLOW_PATH shared_arena* current_slowly() const noexcept
    {
        const arena_cache* const mine = existing_cache();
        return mine != nullptr ? mine->current.load(std::memory_order_relaxed) : nullptr;
    }

    arena_cache* existing_cache() const noexcept { return static_cast<arena_cache*>(slots_.existing_cache()); }

    /// Preconditions: no other thread allocates from the arena.
    MEMORY_POOL_ALWAYS_INLINE std::byte* bump(shared_arena& from, std::size_t extent,
                                              std::size_t alignment) const noexcept
    {
        std::byte* const cursor = from.cursor.load(std::memory_order_relaxed);
        // Cursors are multiples of the granule.
        const std::size_t skipped = alignment > arena_granule ? distance_to_multiple(cursor, alignment) : 0;
        if (MEMORY_POOL_UNLIKELY(skipped + extent > static_cast<std::size_t>(store().end_of(from) - cursor)))
            return nullptr;
        // Cursor first: an observer, such as the child of a fork, must never see a floor above the cursor.
        from.cursor.store(cursor + skipped + extent, std::memory_order_relaxed);
        if (alignment > arena_granule && skipped != 0)
            from.floor.store(from.floor.load(std::memory_order_relaxed) + skipped, std::memory_order_relaxed);
        return cursor + skipped;
    }

    MEMORY_POOL_ALWAYS_INLINE bool take_back_as_owner(shared_arena& home, std::byte* block, std::size_t extent) noexcept
    {
        std::byte* cursor = home.cursor.load(std::memory_order_relaxed);
        std::byte* floor = home.floor.load(std::memory_order_relaxed);
        if (block + extent == cursor) {
            cursor = block;
            if (MEMORY_POOL_UNLIKELY(floor > cursor))
                return false;
            home.cursor.store(cursor, std::memory_order_relaxed);
        } else {
            floor += extent;
            if (MEMORY_POOL_UNLIKELY(floor > cursor))
                return false;
            home.floor.store(floor, std::memory_order_relaxed);
        }
        // Remote frees take effect when the owner leaves the arena.
        if (cursor == floor)
            restart(home);
        return true;
    }

    /// Rewinds the cursor and the floor to the start.
    /// Preconditions: cursor == floor. This implies that there were no remote frees.
    MEMORY_POOL_ALWAYS_INLINE void restart(shared_arena& empty) const noexcept
    {
        std::byte* const start = store().start_of(empty);
        empty.floor.store(start, std::memory_order_relaxed); // Floor first: see bump.
        empty.cursor.store(start, std::memory_order_relaxed);
    }

    MEMORY_POOL_NOINLINE void put(shared_arena& empty) noexcept
    {
        const pool_lock lock(mutex_, slots_);
        store_.put(empty);
    }

    void leave_if_empty(std::atomic<shared_arena*>& filled) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const shared_arena* const current = filled.load(std::memory_order_relaxed);
        if (current != nullptr && current->bytes_in_use() == 0)
            leave(filled);
    }

    /// Leaves empty arenas that no thread with a cache fills.
    void leave_unfilled_arenas() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        leave_if_empty(common_);
        caches_.for_each_unused([this](arena_cache& cache) {
            mutex_.assume_held();
            leave_if_empty(cache.current);
        });
    }

    /// Detaches an arena, if any, from the thread that fills it. Moves the arena's bytes in use into the balance.
    void leave(std::atomic<shared_arena*>& filled) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        shared_arena* const left = filled.exchange(nullptr, std::memory_order_relaxed);
        if (left == nullptr)
            return;
        const std::ptrdiff_t in_use = left->by_owner();
        left->floor.store(left->cursor.load(std::memory_order_relaxed), std::memory_order_relaxed);
        if (left->settle(-in_use))
            store_.put(*left);
    }

    /// Visits the arenas that are being filled.
    template <class Visit>
    void for_each_current(Visit&& visit) const MEMORY_POOL_REQUIRES(mutex_)
    {
        if (shared_arena* const filled = common_.load(std::memory_order_relaxed))
            visit(*filled);
        caches_.for_each([&](const arena_cache& cache) {
            if (shared_arena* const filled = cache.current.load(std::memory_order_relaxed))
                visit(*filled);
        });
    }

    // Caches.

    /// Preconditions: no thread uses the resource. Ending threads unlink their caches under the registry's lock.
    const thread_caches<arena_cache>& caches_of_idle() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        return caches_;
    }

    /// Returns nullptr if the thread cannot have a cache.
    arena_cache* cache_of_this_thread() noexcept
    {
        arena_cache* const existing = existing_cache();
        return existing != nullptr ? existing : attach();
    }

    MEMORY_POOL_SLOW_PATH arena_cache* attach() noexcept
    {
        cache_slot* const slot = slots_.make_slot();
        if (slot == nullptr)
            return nullptr;
        arena_cache* cache = nullptr;
        {
            const pool_lock lock(mutex_, slots_);
            const auto begin = [&] {
                mutex_.assume_held();
                cache = &caches_.unused(store().upstream());
            };
            if (!base::succeeds(begin))
                return nullptr;
            caches_.take_unused();
            slots_.fill(*slot, *cache);
        }
        slots_.enlist(*cache);
        return cache;
    }

    // Called by the registry.

    void detach(thread_cache& cache) noexcept override
    {
        const pool_lock lock(mutex_, slots_);
        auto& left = static_cast<arena_cache&>(cache);
        leave_if_empty(left.current); // Otherwise the next owner of the cache continues to fill the arena.
        left.slot->reset();
        caches_.put(left);
    }

    bool try_lock_for_fork() noexcept override MEMORY_POOL_TRY_ACQUIRE(true, mutex_) { return mutex_.try_lock(); }
    void unlock_after_fork() noexcept override MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock(); }
    void quiesce() noexcept override {}

    void forget_other_threads(const thread_table* mine) noexcept override MEMORY_POOL_REQUIRES(mutex_)
    {
        caches_.for_each_in_use([&](arena_cache& cache) {
            mutex_.assume_held();
            if (cache.thread == mine)
                return;
            caches_of_thread::forget(&cache);
            leave(cache.current);
            caches_.put(cache);
        });
        free_what_others_were_about_to();
    }

    /// Frees empty arenas. A lost thread may have freed the last block of an arena, but not the arena.
    void free_what_others_were_about_to() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        store_.for_each_arena([this](shared_arena& each) {
            mutex_.assume_held();
            bool is_lost = !each.is_free && each.bytes_in_use() == 0;
            for_each_current([&](const shared_arena& filled) { is_lost = is_lost && &filled != &each; });
            if (is_lost)
                store_.put(each);
        });
    }

    mutable base::mutex mutex_;
    store_type store_ MEMORY_POOL_GUARDED_BY(mutex_);
    oversized_blocks large_ MEMORY_POOL_GUARDED_BY(mutex_);
    thread_caches<arena_cache> caches_ MEMORY_POOL_GUARDED_BY(mutex_);
    /// The arena that threads without a cache fill.
    std::atomic<shared_arena*> common_ MEMORY_POOL_GUARDED_BY(mutex_){nullptr};
    thread_slots slots_; // Declared last: registering makes the resource visible to the fork handlers.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
