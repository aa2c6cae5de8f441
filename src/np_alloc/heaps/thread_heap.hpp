// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The heap of a thread and its magazines, side by side in separate pages: see heap_pages.hpp.
///
///     small magazines | heap | tops of magazines, while parked | ... | magazine of class 0 | magazine of class 1 | ...
///     <----------------------- two pages ----------------------> <-- a page or more each, when they have grown -->
///
///     magazine:   | block | block | not used | not used | full |     for its address, see magazine_bits
///
/// A magazine begins small and grows each time it was empty or full, so a thread that needs few blocks caches few. The
/// small magazines of a few classes are in front of the heap, so a thread with only these touches no extra page for
/// magazines. A magazine that outgrows its place moves to the array of its class, which has room for all blocks that
/// the magazine may ever cache. All magazines of a thread share one byte limit. At the limit, when a magazine needs
/// more room, another magazine that uses less than a quarter of its room shrinks (see magazine_demand.hpp). When a
/// thread ends, its magazines are emptied and start over, either at once or, in the reserve, when no other thread has
/// adopted the heap for a while (see heap_list.hpp).
///
/// Thread safety: the thread that has the heap, or, while it is parked, the holder of the lock of the lists.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../hardening/heap_hardening.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "heap.hpp"
#include "magazine_demand.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
class thread_cache;

/// A heap and its magazines, side by side: see heap_pages.hpp.
class thread_heap : base::immovable<thread_heap>
{
    alignas(magazine_period) void* small_magazines_[magazine_places][magazine_place_bytes / sizeof(void*)];

public:
    /// Effects: makes a heap whose remote frees go through `for_others`.
    thread_heap(page_heap& from, outbox& for_others) noexcept : slabs(from, for_others) { start_without_magazines(); }

    /// Returns: the heap that owns the blocks of slices with that tag.
    /// Preconditions: the heap belongs to a thread.
    static thread_heap& of(slice_tag tag) noexcept { return tagged(tag & ~class_bits); }

    /// Returns: the heap with that tag.
    static thread_heap& tagged(slice_tag own) noexcept
    {
        return *reinterpret_cast<thread_heap*>(own - sizeof(thread_heap::small_magazines_));
    }

    /// Returns: the room of the magazine of a class, in blocks; 0 if there is no magazine.
    /// Thread safety: any thread.
    std::uint32_t room(std::size_t size_class) const noexcept
    {
        return magazines_of_[size_class].load(std::memory_order_relaxed) / magazine_places;
    }

    /// Returns: where the magazine of a class begins.
    void** begin(std::size_t size_class) noexcept
    {
        const std::size_t place = place_of(size_class);
        return place != no_place ? small_magazines_[place]
                                 : reinterpret_cast<void**>(magazines_ + class_info[size_class].magazine_begin);
    }

    /// Returns: where the magazine of a class ends.
    void** end(std::size_t size_class) noexcept { return begin(size_class) + room(size_class); }

    /// Effects: creates the magazine of a class, or enlarges it within the limits. The magazine may move but keeps its
    ///   blocks.
    /// Returns: whether its room has grown.
    bool grow(std::size_t size_class) noexcept
    {
        const std::uint32_t before = room(size_class);
        const size_class_info& info = class_info[size_class];
        const std::size_t place = before != 0 ? place_of(size_class) : free_place();
        const std::uint32_t limit = place != no_place && before < max_in_place ? max_in_place : info.max_room;
        // Powers of two from 16 on, so that all blocks that a thread takes while a magazine grows fit into it.
        const std::uint32_t twice = 2 * (before + before % 2);
        const std::uint32_t larger = std::min({std::max(twice, info.min_room), limit, info.max_room});
        const std::size_t bytes = before != 0 ? std::size_t{larger - before} * info.block_bytes : 0;
        if (larger == before || (bytes != 0 && bytes_more_ + bytes > max_bytes_more()))
            return false;
        bytes_more_ += bytes;
        void** const from = begin(size_class);
        set_room(size_class, block_count{larger}, larger <= max_in_place ? place : no_place);
        if (begin(size_class) != from)
            std::memcpy(begin(size_class), from, before * sizeof(void*));
        return true;
    }

    /// Effects: shrinks the magazine of a class to a room of `smaller` blocks.
    /// Preconditions: the magazine exists and has at most `smaller` blocks; `smaller` is at least min_room(size_class).
    void shrink(std::size_t size_class, block_count smaller) noexcept
    {
        bytes_more_ -= (room(size_class) - static_cast<std::size_t>(smaller)) * class_info[size_class].block_bytes;
        set_room(size_class, smaller, place_of(size_class));
    }

    /// Effects: returns the memory of the magazines to the system. Classes with slabs get a magazine of the initial
    ///   size, because their blocks may return.
    /// Preconditions: no thread uses the heap, its magazines are empty, and the caller holds the heap lock.
    void drop_magazines() noexcept
    {
        if (std::all_of(tops.begin(), tops.end(), [](void** top) { return top == nullptr; }))
            return;
        const auto address = reinterpret_cast<std::uintptr_t>(magazines_);
        const std::size_t to_page = base::round_up(address, os::page_size()) - address;
        (void)os::purge_memory(magazines_ + to_page, (sizeof magazines_ - to_page) / os::page_size() * os::page_size());
        bytes_more_ = 0;
        tops.fill(nullptr);
        lent_.fill(0);
        std::memset(small_magazines_, 0, sizeof small_magazines_);
        start_without_magazines();
        slabs.assume_held();
        slabs.for_each_slab([this](const slice_record& slab) {
            if (tops[slab.size_class] == nullptr && grow(slab.size_class))
                tops[slab.size_class] = begin(slab.size_class);
        });
    }

    /// Returns: the class from which to allocate the next block of `size_class` when none is cached. With many heaps, a
    ///   slab and a magazine of each class in each heap would take most of the memory. So the first blocks of a class
    ///   without a magazine come from a larger class: as many as one page of a slab would hold.
    std::size_t class_to_allocate(std::size_t size_class) noexcept
    {
        constexpr std::size_t max_lent_bytes = 4096;
        constexpr std::size_t few_bytes = std::size_t{256} * 1024;
        if (!is_one_of_many || room(size_class) != 0 || slabs.outstanding_bytes() > few_bytes ||
            lent_[size_class] >= max_lent_bytes / class_info[size_class].block_bytes)
            return size_class;
        ++lent_[size_class];
        return class_info[size_class].coarse_class;
    }

    /// The word behind a magazine, which marks its end.
    static void* full_mark() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }

    /// Returns: whether the content of the magazines is known. The content is unknown if the heap's thread did not
    ///   survive a fork, or if the end of that thread could not be observed.
    /// Preconditions, thread safety: as `held`.
    bool is_known() const noexcept { return used_by != nullptr || is_parked; }

    /// Returns: the number of blocks in the magazine of a class; a snapshot while a thread has the heap; 0 if unknown.
    /// Preconditions: no thread gets or leaves the heap during the call.
    /// Thread safety: any thread.
    std::size_t held(std::size_t size_class) noexcept;

    /// Effects: calls `visit(const void* block)` for each block in the magazine of a class, or in a snapshot of it
    ///   while a thread has the heap. The addresses may be stale, so `visit` may only compare them.
    /// Preconditions, thread safety: as `held`.
    template <class Visit>
    void for_each_held(std::size_t size_class, Visit&& visit) noexcept
    {
        void** const first = begin(size_class);
        for (std::size_t i = 0, count = held(size_class); i != count; ++i)
            visit(read_from_outside(first + i));
    }

    /// Returns: the top of a magazine; a snapshot while a thread has the heap; nullptr if there is no magazine, or its
    ///   content is unknown.
    /// Preconditions, thread safety: as `held`.
    void** top(std::size_t size_class) const noexcept;

    heap slabs;
    std::array<void**, class_count> tops{}; ///< While the heap is parked.
    bool is_parked = false;
    bool is_one_of_many = false; ///< Many heaps existed when a thread got this one.
    bool is_kept_whole = false;  ///< Parked in the reserve, with all its free memory.
    std::size_t bytes_kept = 0;  ///< The heap's bytes in the reserve.
    hardening_of_heap checks;
    magazine_demand demand; ///< Magazine use of its thread.
    // For maintenance, guarded by the lock of the lists.
    std::uint32_t owner_locks_seen = 0; ///< At the last visit; shows whether the thread drains its inbox.
    std::uint64_t parked_at = 0;        ///< In milliseconds of the release clock.
    bool is_emptied = false;            ///< The magazines were emptied since the heap was parked.
    thread_cache* used_by = nullptr;    ///< The cache of the heap's thread; nullptr if there is none.
    thread_heap* next = nullptr;        ///< In the list of all heaps.
    thread_heap* next_parked = nullptr; ///< In the list of parked heaps.

private:
    /// A data race, as in thread_cache::top_from_outside.
    MEMORY_POOL_MAY_RACE static const void* read_from_outside(void* const volatile* place) noexcept { return *place; }

    /// Largest room of a magazine in front of the heap.
    static constexpr std::uint32_t max_in_place = magazine_place_bytes / sizeof(void*) - 1;
    /// The place of magazines that are not in front of the heap. (The word before a magazine is read, so none is in
    /// place 0.)
    static constexpr std::size_t no_place = 0;

    std::size_t place_of(std::size_t size_class) const noexcept
    {
        return magazines_of_[size_class].load(std::memory_order_relaxed) % magazine_places;
    }

    static constexpr std::uint32_t bit_of(std::size_t place) noexcept { return std::uint32_t{1} << place; }

    /// Returns: a free place, or no_place.
    std::size_t free_place() const noexcept { return free_places_ != 0 ? base::lowest_bit(free_places_) : no_place; }

    void set_room(std::size_t size_class, block_count changed, std::size_t place) noexcept
    {
        if (room(size_class) != 0)
            *end(size_class) = nullptr;
        free_places_ = (free_places_ | bit_of(place_of(size_class))) & ~(bit_of(place) | bit_of(no_place));
        magazines_of_[size_class].store(
            static_cast<std::uint16_t>(static_cast<std::size_t>(changed) * magazine_places + place),
            std::memory_order_relaxed);
        *end(size_class) = full_mark();
    }

    void start_without_magazines() noexcept
    {
        for (std::atomic<std::uint16_t>& each : magazines_of_)
            each.store(0, std::memory_order_relaxed);
        free_places_ = (bit_of(magazine_places) - 1) & ~bit_of(no_place);
    }

    /// Returns: the upper bound for bytes_more_.
    std::size_t max_bytes_more() const noexcept
    {
        constexpr std::size_t as_many_again_for = std::size_t{32} << 20;
        return base::saturating_multiply(the_options.get(np_option_thread_cache_bytes),
                                         1 + slabs.outstanding_bytes() / as_many_again_for);
    }

    /// Bytes of blocks by which the magazines have grown since their creation.
    std::size_t bytes_more_ = 0;
    /// For each class, the number of blocks taken from a larger class instead, up to a few.
    std::array<std::uint8_t, class_count> lent_{};
    std::array<std::atomic<std::uint16_t>, class_count> magazines_of_; ///< By class: room * places + place.
    std::uint32_t free_places_ = 0; ///< One bit for each free place in front of the heap.
    alignas(magazine_period) std::byte magazines_[all_magazines_bytes];
};
static_assert(alignof(thread_heap) <= 4096, "it lies at the beginning of a page");
static_assert(is_checked || sizeof(thread_heap) - all_magazines_bytes <= 2 * std::size_t{4096},
              "a thread touches two pages for its heap, and small magazines");
} // namespace memory_pool::np
