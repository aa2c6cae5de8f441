// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The heap of a thread with its magazines, side by side in pages of its own: see heap_pages.hpp.
///
///     heap | tops of magazines, while parked | ... | magazine of class 0 | magazine of class 1 | ...
///
///     magazine:   | block | block | not used | not used | full |     begins at a multiple of 1,024
///
/// A magazine begins small, and grows each time it was empty or full, so a thread that needs few blocks caches few. All
/// magazines of a thread have one share. When that is used up and a magazine needs more room, one that uses less than
/// a quarter of its room shrinks: see magazine_demand.hpp. When a thread ends, its magazines are emptied and begin
/// anew, at once or, in the reserve, when no other thread has adopted the heap for a while: see heap_list.hpp.
///
/// Thread safety: the thread that has the heap, or the holder of the lock of the lists if it is parked.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../hardening/heap_hardening.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "heap.hpp"
#include "magazine_demand.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
class thread_cache;

/// When the next sample of the blocks of a heap is due. Counted is what is taken out of slabs, so it costs no call but
/// those that refill a magazine.
class sample_count
{
public:
    /// Effects: counts bytes of blocks that a magazine gets.
    void add(std::size_t bytes) noexcept { bytes_ += bytes; }

    /// Returns: whether `period` bytes have gone by with `bytes` more since the last sample; if so, those are the next.
    bool is_due(std::size_t bytes, std::size_t period) noexcept
    {
        if (bytes_ + bytes < period)
            return false;
        bytes_ = (bytes_ + bytes) % period;
        return true;
    }

private:
    std::size_t bytes_ = 0;
};

/// A heap and its magazines, side by side: see heap_pages.hpp.
class thread_heap : base::immovable<thread_heap>
{
public:
    explicit thread_heap(page_heap& from) noexcept : slabs(from)
    {
        for (std::atomic<std::uint16_t>& room : rooms_)
            room.store(0, std::memory_order_relaxed);
    }

    /// Returns: the heap of blocks whose slices have that tag.
    /// Preconditions: the heap is of a thread.
    static thread_heap& of(slice_tag tag) noexcept { return *reinterpret_cast<thread_heap*>(tag & ~class_bits); }

    /// Returns: the room of the magazine of a class, in blocks; 0 without a magazine.
    /// Thread safety: any thread.
    std::uint32_t room(std::size_t size_class) const noexcept
    {
        return rooms_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: where the magazine of a class begins.
    void** begin(std::size_t size_class) noexcept
    {
        return reinterpret_cast<void**>(magazines_ + facts[size_class].magazine_begin);
    }

    /// Returns: where the magazine of a class ends when it is full.
    void** end(std::size_t size_class) noexcept { return begin(size_class) + room(size_class); }

    /// Effects: makes the magazine of a class, if there is none, or makes it larger, if it may be. Its
    ///   blocks stay.
    /// Returns: whether it has room for more now.
    bool grow(std::size_t size_class) noexcept
    {
        const std::uint32_t before = room(size_class);
        const class_facts& its = facts[size_class];
        const std::uint32_t larger = std::min(std::max(2 * before, its.least_room), its.most_room);
        const std::size_t bytes = before != 0 ? std::size_t{larger - before} * its.block_bytes : 0;
        if (larger == before || (bytes != 0 && bytes_more_ + bytes > most_bytes_more()))
            return false;
        bytes_more_ += bytes;
        set_room(size_class, block_count{larger});
        return true;
    }

    /// Effects: shrinks the magazine of a class to a room of `smaller` blocks.
    /// Preconditions: it exists, and holds at most `smaller` blocks; `smaller` is not below least_room(size_class).
    void shrink(std::size_t size_class, block_count smaller) noexcept
    {
        bytes_more_ -= (room(size_class) - static_cast<std::size_t>(smaller)) * facts[size_class].block_bytes;
        set_room(size_class, smaller);
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
        for (std::atomic<std::uint16_t>& room : rooms_)
            room.store(0, std::memory_order_relaxed);
        slabs.assume_held();
        slabs.for_each_slab([this](const slice_record& slab) {
            if (tops[slab.size_class] == nullptr && grow(slab.size_class))
                tops[slab.size_class] = begin(slab.size_class);
        });
    }

    /// Returns: the class to allocate the next block of `size_class` from, when none is cached. If there are many
    ///   heaps, a slab and a magazine of each class in each heap would be most of the memory, so the first few blocks
    ///   of a class without a magazine come from a larger class.
    std::size_t class_to_allocate(std::size_t size_class) noexcept
    {
        constexpr std::uint8_t most_lent = 4;
        constexpr std::size_t few_bytes = std::size_t{256} * 1024;
        if (!is_one_of_many || room(size_class) != 0 || lent_[size_class] == most_lent ||
            slabs.outstanding_bytes() > few_bytes)
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
    sample_count samples;
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

    void set_room(std::size_t size_class, block_count room) noexcept
    {
        *end(size_class) = nullptr;
        rooms_[size_class].store(static_cast<std::uint16_t>(room), std::memory_order_relaxed);
        *end(size_class) = full_mark();
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
    std::array<std::atomic<std::uint16_t>, class_count> rooms_;
    alignas(magazine_step) std::byte magazines_[all_magazines_bytes];
};
static_assert(alignof(thread_heap) <= 4096, "it lies at the beginning of a page");
} // namespace memory_pool::np
