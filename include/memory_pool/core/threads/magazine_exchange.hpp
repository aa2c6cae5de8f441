// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a thread does without a lock when its loaded magazine is empty, or full: it exchanges it for another.
///
///     take:   loaded is empty  ->  the previous one, if that is full;  or a full one of the depot, for an empty one
///     put:    loaded is full   ->  the previous one, if that is empty; or an empty one of the depot, for a full one
///
///     blocks in a cache = top - bottom + (previous is full ? room : 0)
///
/// So a thread that goes to and fro about the edge of a magazine does not come to the depot each time.
///
/// Thread safety: as said at each function; what takes a cache and says nothing is for its owner, or for whoever has
/// the pool's lock while the cache is closed.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/threads/depot.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// The depot of a pool, and how caches use it.
class magazine_exchange
{
public:
    /// Returns: for how many pointers a magazine should have room in a pool of up to `limit` blocks, `stride` bytes
    ///   apart, of which a thread is to keep no more than `most`, if that is not 0.
    ///
    /// Blocks that share a cache line are in one magazine when they are handed out first, so that two threads do not
    /// write to one line unless they pass blocks on; or a bounded pool runs out, where a thread gets less than a
    /// magazine full.
    static std::size_t suitable_room(std::size_t stride, std::size_t limit, std::size_t most) noexcept
    {
        std::size_t room = std::clamp(bytes_in_a_magazine / stride, smallest_room, largest_room);
        room = std::min(room, std::max(smallest_room, limit / 16));
        if (most != 0)
            room = std::min(room, std::max(smallest_room, most / 2)); // A thread has two.
        return stride % cache_line_size == 0 ? room : base::round_up(room, 8);
    }

    /// Effects: makes an exchange without magazines, for some that have room for `room` pointers each. `has_barrier`
    ///   says whether the system has one for the whole process.
    magazine_exchange(std::size_t room, bool has_barrier, std::pmr::memory_resource* upstream) noexcept
        : depot_(room, upstream), has_barrier_(has_barrier)
    {
    }

    /// Returns: for how many pointers a magazine has room.
    std::size_t room() const noexcept { return depot_.room(); }

    std::size_t bytes_reserved() const noexcept { return depot_.bytes_reserved(); }

    // Magazines. With the pool's lock.

    /// Effects: sees to it that there are as many magazines as it takes for all blocks to be in full ones, two for each
    ///   cache, and one for each that is just exchanging: so one who gives blocks back finds an empty one. (If not, as
    ///   one may be on its way between two threads, or upstream had no memory, blocks go to the slabs.)
    /// Throws: what upstream throws; what was allocated so far is usable.
    void provide(std::size_t blocks, std::size_t caches) { depot_.provide(blocks / room() + 1 + 3 * caches); }

    /// Returns: whether the cache has a magazine to load.
    static bool is_equipped(const thread_cache& cache) noexcept { return magazine_in(cache.loaded) != nullptr; }

    /// Effects: gets the cache an empty magazine to load, if it has none, and there is one.
    /// Returns: whether it has one now.
    bool equip(thread_cache& cache) noexcept
    {
        if (!is_equipped(cache))
            cache.loaded.store(depot_.pop_empty(cache.shard), std::memory_order_relaxed);
        return is_equipped(cache);
    }

    /// Effects: opens a cache, which is empty.
    /// Preconditions: it is closed, and equipped; the caller is its owner.
    void open(thread_cache& cache) const noexcept { cache.slot->open(bottom_of(cache), room()); }

    /// Effects: returns all magazines to upstream.
    /// Preconditions: every cache is closed and empty, and no other thread uses the pool.
    void release(const thread_caches<>& caches) noexcept
    {
        caches.for_each([](thread_cache& cache) {
            cache.loaded.store(nullptr, std::memory_order_relaxed);
            cache.previous.store(nullptr, std::memory_order_relaxed);
        });
        depot_.release();
    }

    // One block. By the owner of the cache.

    /// Effects: takes a block out of the cache, after an exchange of magazines if need be.
    /// Returns: it; nullptr if the cache and the depot are empty, or the cache is closed.
    void* take(thread_cache& cache) noexcept
    {
        void* block = nullptr;
        // For a slot in a page, where shared_store::take_cached does not look, that is as fast as it can be.
        return has_barrier_ && cache.slot->pop(block) ? block : take_slowly(cache);
    }

    /// Effects: the same, by the way that works with any slot.
    void* take_slowly(thread_cache& cache) noexcept
    {
        cache_slot& slot = *cache.slot;
        void** top = slot.begin_slowly();
        void* block = nullptr;
        if (slot.is_open()) {
            if (top == bottom_of(cache) && load_full(cache)) {
                top = bottom_of(cache) + room();
                slot.reload(bottom_of(cache), room());
            }
            if (top != bottom_of(cache))
                block = *--top;
        }
        slot.end(top);
        return block;
    }

    /// Effects: puts a block into the cache, after an exchange of magazines if need be.
    /// Returns: whether it did; not if the cache is closed, or there is no empty magazine.
    bool put(thread_cache& cache, void* block) noexcept
    {
        return (has_barrier_ && cache.slot->push(block)) || put_slowly(cache, block);
    }

    /// Effects: the same, by the way that works with any slot.
    bool put_slowly(thread_cache& cache, void* block) noexcept
    {
        cache_slot& slot = *cache.slot;
        void** top = slot.begin_slowly();
        bool pushed = false;
        if (slot.is_open()) {
            if (top == bottom_of(cache) + room() && load_empty(cache)) {
                top = bottom_of(cache);
                slot.reload(top, room());
            }
            if (top != bottom_of(cache) + room()) {
                *top++ = block;
                pushed = true;
            }
        }
        slot.end(top);
        return pushed;
    }

    // All blocks.

    /// Returns: where the array of the loaded magazine begins.
    /// Preconditions: the cache is equipped.
    static void** bottom_of(const thread_cache& cache) noexcept { return magazine_in(cache.loaded)->pointers(); }

    /// Effects: calls `put(blocks, count)` for what is in a cache that is closed, whose top is `top`. It is empty then.
    template <class Put>
    void empty(thread_cache& cache, void** top, Put&& put) const noexcept
    {
        void** const bottom = bottom_of(cache);
        put(bottom, static_cast<std::size_t>(top - bottom));
        if (cache.previous_is_full.exchange(false, std::memory_order_relaxed))
            put(magazine_in(cache.previous)->pointers(), room());
    }

    /// Effects: calls `put(blocks, count)` for what is in a full magazine of the depot, if there is one. It is empty
    ///   then.
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

    /// Returns: how many blocks a cache has; approximate while its owner is active.
    /// Thread safety: any thread.
    std::size_t blocks_in(const thread_cache& cache) const noexcept
    {
        const auto top = reinterpret_cast<std::uintptr_t>(cache.slot->wait_for_top());
        const auto bottom = reinterpret_cast<std::uintptr_t>(bottom_of(cache));
        // If the owner exchanges magazines right now, these two need not belong together.
        const std::size_t loaded = std::min((top - bottom) / sizeof(void*), room());
        return loaded + (cache.previous_is_full.load(std::memory_order_relaxed) ? room() : 0);
    }

    /// Returns: how many blocks the depot has; approximate while other threads are active.
    /// Thread safety: any thread.
    std::size_t blocks_in_depot() const noexcept { return depot_.full_count() * room(); }

private:
    /// A magazine holds so many bytes of blocks ...
    static constexpr std::size_t bytes_in_a_magazine = std::size_t{32} * 1024;
    /// ... but no fewer blocks than this, and no more than that.
    static constexpr std::size_t smallest_room = 4;
    static constexpr std::size_t largest_room = 256;

    static depot_magazine* magazine_in(const std::atomic<depot_magazine*>& place) noexcept
    {
        return place.load(std::memory_order_relaxed);
    }

    /// Makes `incoming` the loaded magazine, and the loaded one the previous.
    static void load(thread_cache& cache, depot_magazine* incoming, bool loaded_is_full) noexcept
    {
        cache.previous.store(magazine_in(cache.loaded), std::memory_order_relaxed);
        cache.previous_is_full.store(loaded_is_full, std::memory_order_relaxed);
        cache.loaded.store(incoming, std::memory_order_relaxed);
    }

    /// Returns: whether there was a full one.
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

    /// Returns: whether there was an empty one.
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
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
