// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Exchanges the loaded magazine of a thread, without a lock, when it is empty or full.
///
///     take:   loaded is empty  ->  swap with previous, if that is full;  else get a full magazine from the depot
///     put:    loaded is full   ->  swap with previous, if that is empty; else get an empty magazine from the depot
///
///     blocks in a cache = top - bottom + (previous is full ? room : 0)
///
/// With two magazines, a thread that alternately allocates and frees at the edge of a magazine does not use the depot
/// each time.
///
/// Thread safety: as documented at each function. By default, functions with a cache argument are for the owner thread
/// of the cache, or, while the cache is closed, for the holder of the pool's lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/magazine.hpp>
#include <memory_pool/core/threads/depot.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The depot of a pool, and the operations of caches on it.
class magazine_exchange
{
public:
    /// Returns: the capacity of magazines, in pointers, for a pool of up to `limit` blocks, `stride` bytes apart.
    ///   `max_cached`: the maximum number of blocks that a thread caches; 0: the default.
    ///
    /// Blocks that share a cache line go into one magazine when they are first allocated, so that no two threads write
    /// to one line. Exceptions: blocks move between threads, or a bounded pool runs low and a thread gets less than a
    /// full magazine.
    static std::size_t suitable_room(std::size_t stride, std::size_t limit, std::size_t max_cached) noexcept
    {
        std::size_t room = std::clamp(bytes_in_a_magazine / stride, smallest_room, largest_room);
        room = std::min(room, std::max(smallest_room, limit / 16));
        if (max_cached != 0)
            room = std::min(room, std::max(smallest_room, max_cached / 2)); // A thread has two magazines.
        return stride % cache_line_size == 0 ? room : base::round_up(room, 8);
    }

    /// Effects: makes an exchange without magazines, for magazines of `room` pointers each. `has_barrier`: the result
    ///   of has_process_barrier().
    magazine_exchange(std::size_t room, bool has_barrier, std::pmr::memory_resource* upstream) noexcept
        : depot_(room, upstream), has_barrier_(has_barrier)
    {
    }

    /// Returns: the capacity of a magazine, in pointers.
    std::size_t room() const noexcept { return depot_.room(); }

    std::size_t bytes_reserved() const noexcept { return depot_.bytes_reserved(); }

    /// Returns: whether a process barrier is available. After the barrier, the owner of a closed cache sees that the
    ///   cache is closed.
    bool has_barrier() const noexcept { return has_barrier_; }

    // Magazines. These functions require the pool's lock.

    /// Effects: provides full magazines for all blocks, two magazines for each cache, and one for each exchange in
    ///   flight, so that a thread that frees blocks finds an empty magazine. (If there is none, because one is in
    ///   transit between threads or upstream was out of memory, the blocks go to the slabs.)
    /// Throws: exceptions of upstream; the magazines allocated so far stay.
    void provide(std::size_t blocks, std::size_t caches) { depot_.provide(needed(blocks, caches)); }

    /// Returns: whether the cache has a loaded magazine.
    static bool is_equipped(const thread_cache& cache) noexcept { return magazine_in(cache.loaded) != nullptr; }

    /// Effects: loads an empty magazine into the cache, if the cache has no magazine and the depot has an empty one.
    /// Returns: is_equipped(cache).
    bool equip(thread_cache& cache) noexcept
    {
        if (!is_equipped(cache))
            cache.loaded.store(depot_.pop_empty(cache.shard), std::memory_order_relaxed);
        return is_equipped(cache);
    }

    /// Effects: opens an empty cache.
    /// Preconditions: the cache is closed and equipped, and belongs to the calling thread.
    void open(thread_cache& cache) const noexcept { cache.slot->open(bottom_of(cache), room()); }

    /// Effects: takes the magazines out of the caches, and returns to upstream the magazines that `provide` would not
    ///   need for `blocks` blocks and these caches.
    /// Preconditions: every cache is closed and empty, and no operation on a cache is in flight: see depot.hpp.
    void shrink(std::size_t blocks, const thread_caches<>& caches) noexcept
    {
        unload(caches);
        depot_.shrink(needed(blocks, caches.made()));
    }

    /// Effects: as `shrink`, but returns all magazines to upstream.
    void release(const thread_caches<>& caches) noexcept
    {
        unload(caches);
        depot_.shrink(0);
    }

    // Bulk forms, for the owner thread of the cache.

    /// Effects: takes up to `count` blocks out of the cache, into `blocks`. If the loaded magazine is empty, exchanges
    ///   it first.
    /// Returns: their number; 0 if the cache and the depot are empty, or the cache is closed.
    template <class T>
    std::size_t take(thread_cache& cache, T** blocks, std::size_t count) noexcept
    {
        cache_slot& slot = *cache.slot;
        void** top = slot.begin_slowly();
        std::size_t taken = 0;
        if (slot.is_open()) {
            if (top == bottom_of(cache) && load_full(cache)) {
                top = bottom_of(cache) + room();
                slot.reload(bottom_of(cache), room());
            }
            taken = std::min(count, static_cast<std::size_t>(top - bottom_of(cache)));
            copy_down(top, taken, blocks);
            top -= taken;
        }
        slot.end(top);
        return taken;
    }

    /// Effects: puts up to `count` blocks into the cache. If the loaded magazine is full, exchanges it first. Skips
    ///   nullptr. Calls `accepted(block)` before the block can be allocated again.
    /// Returns: the number of accepted pointers, including nullptr; 0 if the cache is closed, or there is no empty
    ///   magazine.
    template <class T, class Accepted>
    std::size_t put(thread_cache& cache, T* const* blocks, std::size_t count, Accepted&& accepted) noexcept
    {
        cache_slot& slot = *cache.slot;
        void** top = slot.begin_slowly();
        std::size_t done = 0;
        if (slot.is_open()) {
            if (top == bottom_of(cache) + room() && load_empty(cache)) {
                top = bottom_of(cache);
                slot.reload(top, room());
            }
            done = std::min(count, static_cast<std::size_t>(bottom_of(cache) + room() - top));
            top = copy_up(blocks, done, top, accepted);
        }
        slot.end(top);
        return done;
    }

    // One block.

    /// Effects: takes a block out of the cache, after an exchange of magazines if needed.
    /// Returns: the block; nullptr if the cache and the depot are empty, or the cache is closed.
    void* take(thread_cache& cache) noexcept
    {
        void* block = nullptr;
        // The fast path for slots in pages, which shared_store::take_cached does not use.
        if (!has_barrier_ || !cache.slot->pop(block))
            (void)take(cache, &block, 1);
        return block;
    }

    /// Effects: puts a block into the cache, after an exchange of magazines if needed.
    /// Returns: false if the cache is closed, or there is no empty magazine.
    bool put(thread_cache& cache, void* block) noexcept
    {
        return (has_barrier_ && cache.slot->push(block)) || put(cache, &block, 1, [](void*) {}) != 0;
    }

    // All blocks.

    /// Returns: the start of the array of the loaded magazine.
    /// Preconditions: the cache is equipped.
    static void** bottom_of(const thread_cache& cache) noexcept { return magazine_in(cache.loaded)->pointers(); }

    /// Effects: calls `put(blocks, count)` for the blocks of a closed cache with the top `top`, and empties the cache.
    template <class Put>
    void empty(thread_cache& cache, void** top, Put&& put) const noexcept
    {
        void** const bottom = bottom_of(cache);
        put(bottom, static_cast<std::size_t>(top - bottom));
        if (cache.previous_is_full.exchange(false, std::memory_order_relaxed))
            put(magazine_in(cache.previous)->pointers(), room());
    }

    /// Effects: empties a full magazine of the depot, if there is one, and calls `put(blocks, count)` for its blocks.
    /// Returns: whether there was one.
    /// Thread safety: any thread.
    template <class Put>
    bool empty_one_of_depot(Put&& put) noexcept
    {
        depot_magazine* const full = depot_.pop_full(0);
        if (full == nullptr)
            return false;
        put(full->pointers(), room());
        depot_.push_empty(full->number, full); // to any shard
        return true;
    }

    /// Returns: the number of blocks in a cache; approximate while its owner is active.
    /// Thread safety: any thread.
    std::size_t blocks_in(const thread_cache& cache) const noexcept
    {
        const auto top = reinterpret_cast<std::uintptr_t>(cache.slot->wait_for_top());
        const auto bottom = reinterpret_cast<std::uintptr_t>(bottom_of(cache));
        // The top and the bottom may be inconsistent while the owner exchanges magazines.
        const std::size_t loaded = std::min((top - bottom) / sizeof(void*), room());
        return loaded + (cache.previous_is_full.load(std::memory_order_relaxed) ? room() : 0);
    }

    /// Returns: the number of blocks in the depot; approximate while other threads are active.
    /// Thread safety: any thread.
    std::size_t blocks_in_depot() const noexcept { return depot_.full_count() * room(); }

private:
    /// Usual total size of the blocks in a magazine.
    static constexpr std::size_t bytes_in_a_magazine = std::size_t{32} * 1024;
    /// Minimum and maximum number of blocks in a magazine.
    static constexpr std::size_t smallest_room = 4;
    static constexpr std::size_t largest_room = 256;

    std::size_t needed(std::size_t blocks, std::size_t caches) const noexcept
    {
        return blocks / room() + 1 + 3 * caches;
    }

    static void unload(const thread_caches<>& caches) noexcept
    {
        caches.for_each([](thread_cache& cache) {
            cache.loaded.store(nullptr, std::memory_order_relaxed);
            cache.previous.store(nullptr, std::memory_order_relaxed);
        });
    }

    static depot_magazine* magazine_in(const std::atomic<depot_magazine*>& place) noexcept
    {
        return place.load(std::memory_order_relaxed);
    }

    /// Makes `incoming` the loaded magazine, and the loaded magazine the previous one.
    static void load(thread_cache& cache, depot_magazine* incoming, bool loaded_is_full) noexcept
    {
        cache.previous.store(magazine_in(cache.loaded), std::memory_order_relaxed);
        cache.previous_is_full.store(loaded_is_full, std::memory_order_relaxed);
        cache.loaded.store(incoming, std::memory_order_relaxed);
    }

    /// Loads a full magazine. Returns: false if there is none.
    bool load_full(thread_cache& cache) noexcept
    {
        depot_magazine* full = magazine_in(cache.previous);
        if (!cache.previous_is_full.load(std::memory_order_relaxed)) {
            depot_magazine* const empty = full;
            full = depot_.pop_full(cache.shard);
            if (full == nullptr)
                return false;
            if (empty != nullptr)
                depot_.push_empty(cache.shard, empty);
        }
        load(cache, full, false);
        return true;
    }

    /// Loads an empty magazine. Returns: false if there is none.
    bool load_empty(thread_cache& cache) noexcept
    {
        depot_magazine* empty = magazine_in(cache.previous);
        const bool is_full = cache.previous_is_full.load(std::memory_order_relaxed);
        if (is_full || empty == nullptr) {
            depot_magazine* const full = empty;
            empty = depot_.pop_empty(cache.shard);
            if (empty == nullptr)
                return false;
            if (is_full)
                depot_.push_full(cache.shard, full);
        }
        load(cache, empty, true);
        return true;
    }

    depot depot_;
    const bool has_barrier_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
