// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The heap of a thread with its magazines, side by side in pages of its own: see heap_pages.hpp.
///
///     small magazines | heap | tops of magazines, while parked | ... | magazine of class 0 | magazine of class 1 | ...
///     <----------------------- two pages ----------------------> <-- a page or more each, when they have grown -->
///
///     magazine:   | block | block | not used | not used | full |     begins as magazine_bits says
///
/// A magazine begins small, and grows each time it was empty or full, so a thread that needs few blocks caches few. The
/// small ones of a few classes lie in front of the heap, so such a thread touches no page for them; when one becomes
/// too long for that, it moves to where all blocks that its class may cache have room. All magazines of a thread have
/// one share. When that is used up and a magazine needs more room, one that uses less than a quarter of its room
/// shrinks: see magazine_demand.hpp. When a thread ends, its magazines are emptied and begin anew, at once or, in the
/// reserve, when no other thread has adopted the heap for a while: see heap_list.hpp.
///
/// Thread safety: the thread that has the heap, or the holder of the lock of the lists if it is parked.
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
    /// Effects: makes a heap that keeps blocks of others in that outbox.
    thread_heap(page_heap& from, outbox& for_others) noexcept : slabs(from, for_others) { start_without_magazines(); }

    /// Returns: the heap of blocks whose slices have that tag.
    /// Preconditions: the heap is of a thread.
    static thread_heap& of(slice_tag tag) noexcept { return tagged(tag & ~class_bits); }

    /// Returns: the heap that has that tag.
    static thread_heap& tagged(slice_tag own) noexcept
    {
        return *reinterpret_cast<thread_heap*>(own - sizeof(thread_heap::small_magazines_));
    }

    /// Returns: the room of the magazine of a class, in blocks; 0 without a magazine.
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
                                 : reinterpret_cast<void**>(magazines_ + facts[size_class].magazine_begin);
    }

    /// Returns: where the magazine of a class ends when it is full.
    void** end(std::size_t size_class) noexcept { return begin(size_class) + room(size_class); }

    /// Effects: makes the magazine of a class, if there is none, or makes it larger, if it may be: it may begin
    ///   elsewhere then. Its blocks stay in it.
    /// Returns: whether it has room for more now.
    bool grow(std::size_t size_class) noexcept
    {
        const std::uint32_t before = room(size_class);
        const class_facts& its = facts[size_class];
        const std::size_t place = before != 0 ? place_of(size_class) : free_place();
        const std::uint32_t most = place != no_place && before < most_in_place ? most_in_place : its.most_room;
        // Powers of two, from 16 on: all blocks that a thread takes while a magazine grows then fit into it.
        const std::uint32_t twice = 2 * (before + before % 2);
        const std::uint32_t larger = std::min({std::max(twice, its.least_room), most, its.most_room});
        const std::size_t bytes = before != 0 ? std::size_t{larger - before} * its.block_bytes : 0;
        if (larger == before || (bytes != 0 && bytes_more_ + bytes > most_bytes_more()))
            return false;
        bytes_more_ += bytes;
        void** const from = begin(size_class);
        set_room(size_class, block_count{larger}, larger <= most_in_place ? place : no_place);
        if (begin(size_class) != from)
            std::memcpy(begin(size_class), from, before * sizeof(void*));
        return true;
    }

    /// Effects: shrinks the magazine of a class to a room of `smaller` blocks.
    /// Preconditions: it exists, and holds at most `smaller` blocks; `smaller` is not below least_room(size_class).
    void shrink(std::size_t size_class, block_count smaller) noexcept
    {
        bytes_more_ -= (room(size_class) - static_cast<std::size_t>(smaller)) * facts[size_class].block_bytes;
        set_room(size_class, smaller, place_of(size_class));
    }

    /// Effects: gives the memory of the magazines back to the system. Those of classes that the heap has slabs of stay,
    ///   as small as they are in the beginning: blocks may come back to them.
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

    /// Returns: the class to allocate the next block of `size_class` from, when none is cached. If there are many
    ///   heaps, a slab and a magazine of each class in each heap would be most of the memory, so the first blocks of a
    ///   class without a magazine come from a larger class: as many as one page of a slab of its own would hold.
    std::size_t class_to_allocate(std::size_t size_class) noexcept
    {
        constexpr std::size_t max_lent_bytes = 4096;
        constexpr std::size_t few_bytes = std::size_t{256} * 1024;
        if (!is_one_of_many || room(size_class) != 0 || slabs.outstanding_bytes() > few_bytes ||
            lent_[size_class] >= max_lent_bytes / facts[size_class].block_bytes)
            return size_class;
        ++lent_[size_class];
        return facts[size_class].coarse_class;
    }

    /// What stands in the word behind a magazine.
    static void* full_mark() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }

    /// Returns: whether the content of the magazines is known: not if the thread that had the heap is not in this
    ///   process, which is a fork, or its end could not be observed.
    /// Preconditions, thread safety: as `held`.
    bool is_known() const noexcept { return used_by != nullptr || is_parked; }

    /// Returns: blocks in the magazine of a class: how many there were at some moment, if a thread has the heap; 0 if
    ///   unknown.
    /// Preconditions: no thread gets the heap, or lets go of it, meanwhile.
    /// Thread safety: any thread.
    std::size_t held(std::size_t size_class) noexcept;

    /// Effects: calls `visit(const void* block)` for each block in the magazine of a class, as it was at some moment if
    ///   a thread has the heap. Such an address is only to be compared: it may be any.
    /// Preconditions, thread safety: as `held`.
    template <class Visit>
    void for_each_held(std::size_t size_class, Visit&& visit) noexcept
    {
        void** const first = begin(size_class);
        for (std::size_t i = 0, count = held(size_class); i != count; ++i)
            visit(read_from_outside(first + i));
    }

    /// Returns: the top of a magazine, as it was at some moment, if a thread has the heap; nullptr if there is none, or
    ///   it is unknown.
    /// Preconditions, thread safety: as `held`.
    void** top(std::size_t size_class) const noexcept;

    heap slabs;
    std::array<void**, class_count> tops{}; ///< While it is parked.
    bool is_parked = false;
    bool is_one_of_many = false; ///< There were many heaps when a thread got it.
    bool is_kept_whole = false;  ///< Parked in the reserve, with all its free memory.
    std::size_t bytes_kept = 0;  ///< Its bytes in the reserve.
    hardening_of_heap checks;
    magazine_demand demand; ///< Magazine use of its thread.
    // For maintenance, guarded by the lock of the lists.
    std::uint32_t owner_locks_seen = 0; ///< To see whether its thread comes for what others send it.
    std::uint64_t parked_at = 0;        ///< In milliseconds of the release clock.
    bool is_emptied = false;            ///< Its magazines, since it was parked.
    thread_cache* used_by = nullptr;    ///< While a thread has it.
    thread_heap* next = nullptr;        ///< In the list of all.
    thread_heap* next_parked = nullptr; ///< In that of those without a thread.

private:
    /// A race like that of thread_cache::top_from_outside.
    MEMORY_POOL_MAY_RACE static const void* read_from_outside(void* const volatile* place) noexcept { return *place; }

    /// The most blocks of a magazine in one of the places before the heap.
    static constexpr std::uint32_t most_in_place = magazine_place_bytes / sizeof(void*) - 1;
    /// Of a magazine that lies in none of them. (What lies before a magazine is read: so none is in the first.)
    static constexpr std::size_t no_place = 0;

    std::size_t place_of(std::size_t size_class) const noexcept
    {
        return magazines_of_[size_class].load(std::memory_order_relaxed) % magazine_places;
    }

    static constexpr std::uint32_t bit_of(std::size_t place) noexcept { return std::uint32_t{1} << place; }

    /// Returns: a place where no magazine is, or no_place.
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

    /// Returns: the most bytes of blocks by which all magazines together may grow.
    std::size_t most_bytes_more() const noexcept
    {
        constexpr std::size_t as_many_again_for = std::size_t{32} << 20;
        return base::saturating_multiply(the_options.get(np_option_thread_cache_bytes),
                                         1 + slabs.outstanding_bytes() / as_many_again_for);
    }

    /// For how many bytes of blocks the magazines have got room since each of them was made.
    std::size_t bytes_more_ = 0;
    /// For each class, blocks taken from a larger class instead, up to a few.
    std::array<std::uint8_t, class_count> lent_{};
    std::array<std::atomic<std::uint16_t>, class_count> magazines_of_; ///< Of each class: room * places + place.
    std::uint32_t free_places_ = 0; ///< A bit for each place before the heap where no magazine is.
    alignas(magazine_period) std::byte magazines_[all_magazines_bytes];
};
static_assert(alignof(thread_heap) <= 4096, "it lies at the beginning of a page");
static_assert(is_checked || sizeof(thread_heap) - all_magazines_bytes <= 2 * std::size_t{4096},
              "a thread touches two pages for its heap, and small magazines");
} // namespace memory_pool::np
