// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The way of most calls: what a thread has at hand of each class, without looking at a slab.
///
///     thread cache, in thread-local storage:   heap | top of class 0 | top of class 1 | ...
///                                                   |
///     magazine of class 0:   | block | block | not used | not used | full |     begins at a multiple of 1,024
///                                            ^ top
///
///     empty: only if the low 10 bits of top are 0        full: the word at top says so
///
/// A block that is freed twice in a row is found at once: it is the one below top. (If none is at hand, anything may stand there:
/// then `put` looks closer.) One that is freed twice otherwise is found when it goes back to its slab.
///
/// A magazine begins small, and grows each time it was empty or full, so a thread that needs few blocks caches few. All
/// magazines of a thread have one share. When that is used up and a magazine needs more room, one that uses less than
/// a quarter of its room shrinks: see magazine_demand.hpp. When a thread ends, its magazines are emptied and begin
/// anew, at once or, in the reserve, when no other thread has adopted the heap for a while: see heap_list.hpp.
///
/// To free a block, one load tells both whether it is this thread's and its class: the tag of its slice, with this thread's
/// heap taken out of it bit by bit, is the class, or else far too large for one. A pointer from elsewhere, a misaligned one and
/// nullptr fail one comparison before that.
///
/// While free memory decays, every free must take the slow path, even if its magazine has room. So no slice tag
/// compares equal to this thread's heap on the fast path then: see decay_watch.hpp.
///
/// A thread that has no heap yet has tops that are all nullptr, which is empty, and a heap that is nobody's; so there is no question
/// whether it has one. A magazine that was never needed is not there either, and its top is nullptr: there is no block of that class
/// to be freed to it. All of that also holds if everything is 0: so thread-local storage is while the loader still works on it, and
/// calls functions of the program that choose among others.
///
/// Thread safety: each thread has a thread cache of its own.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../page_heap/decay_watch.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/sizes.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "heap.hpp"
#include "heap_checks.hpp"
#include "magazine_demand.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memory_pool::np
{
class thread_cache;

/// The heap of a thread that has none: no slice tag has this address.
inline constexpr slice_tag no_heap = class_bits + 1;

/// When the next sample of the blocks of a heap is due. Counted is what is taken out of slabs, so it costs no call but those that
/// refill a magazine.
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
class thread_heap
{
public:
    explicit thread_heap(page_heap& from) noexcept : slabs(from)
    {
        for (std::atomic<std::uint16_t>& room : rooms_)
            room.store(0, std::memory_order_relaxed);
    }
    thread_heap(const thread_heap&) = delete;
    thread_heap& operator=(const thread_heap&) = delete;
    ~thread_heap() = default;

    /// Returns: blocks that the magazine of a class has room for now; 0 if it is not there yet.
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

    /// Effects: makes the magazine of a class, if it is not there yet, or makes it larger, if it may be. What is in it stays.
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
        set_room(size_class, larger);
        return true;
    }

    /// Effects: shrinks the magazine of a class to a room of `smaller` blocks.
    /// Preconditions: it exists, and holds at most `smaller` blocks; `smaller` is not below least_room(size_class).
    void shrink(std::size_t size_class, std::uint32_t smaller) noexcept
    {
        bytes_more_ -= std::size_t{room(size_class) - smaller} * facts[size_class].block_bytes;
        set_room(size_class, smaller);
    }

    /// Effects: gives the memory of the magazines back to the system. Those of classes that the heap has slabs of stay, as small as they
    ///   are in the beginning: blocks may come back to them.
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

    /// Returns: whether somebody knows what is in the magazines: not if the thread that had the heap is not in this process, which is
    ///   a fork, or could not be told when it ends.
    /// Preconditions, thread safety: as `held`.
    bool is_known() const noexcept { return used_by != nullptr || is_parked; }

    /// Returns: blocks in the magazine of a class: how many there were at some moment, if a thread is at work in the heap; 0 if
    ///   nobody knows.
    /// Preconditions: no thread gets the heap, or lets go of it, meanwhile.
    /// Thread safety: any thread.
    std::size_t held(std::size_t size_class) noexcept;

    /// Returns: the top of a magazine, as it was at some moment, if a thread is at work in the heap; nullptr if there is none, or
    ///   nobody knows.
    /// Preconditions, thread safety: as `held`.
    void** top(std::size_t size_class) const noexcept;

    heap slabs;
    std::array<void**, class_count> tops{}; ///< While it is parked.
    bool is_parked = false;
    bool is_one_of_many = false; ///< There were many heaps when a thread got it.
    bool is_kept_whole = false;  ///< Parked in the reserve, with all its free memory.
    std::size_t bytes_kept = 0;  ///< Its bytes in the reserve.
    checks_of_heap checks;
    sample_count samples;
    magazine_demand demand; ///< Magazine use of its thread.
    // Of those who come by, to see whether its thread is idle.
    std::uint32_t owner_locks_seen = 0;
    std::uint64_t idle_since = 0; ///< In milliseconds of the coarse clock: when it was at work for the last time.
    bool is_quiet = false;        ///< Nothing but what others send comes into it, and nothing of theirs is kept in it.
    bool is_tidy = false;         ///< Nothing was put into it since it was tidied.
    bool is_purged = false;       ///< Its thread was not at work since pages of its slabs were given back.
    thread_cache* used_by = nullptr;    ///< While a thread has it.
    thread_heap* next = nullptr;        ///< In the list of all.
    thread_heap* next_parked = nullptr; ///< In that of those without a thread.

private:
    void set_room(std::size_t size_class, std::uint32_t room) noexcept
    {
        *end(size_class) = nullptr;
        rooms_[size_class].store(static_cast<std::uint16_t>(room), std::memory_order_relaxed);
        *end(size_class) = full_mark();
    }

    /// Returns: for so many bytes of blocks all magazines together may become larger.
    std::size_t most_bytes_more() const noexcept
    {
        constexpr std::size_t as_many_again_for = std::size_t{32} << 20;
        return base::saturating_multiply(the_options.get(np_option_thread_cache_bytes),
                                         1 + slabs.outstanding_bytes() / as_many_again_for);
    }

    /// For how many bytes of blocks the magazines have got room since each of them was made.
    std::size_t bytes_more_ = 0;
    /// For each class, blocks handed out from a larger class instead, up to a few.
    std::array<std::uint8_t, class_count> lent_{};
    std::array<std::atomic<std::uint16_t>, class_count> rooms_;
    alignas(magazine_step) std::byte magazines_[all_magazines_bytes];
};
static_assert(alignof(thread_heap) <= 4096, "it lies at the beginning of a page");

/// What a thread has at hand.
class thread_cache
{
public:
    constexpr thread_cache() noexcept = default;
    thread_cache(const thread_cache&) = delete;
    thread_cache& operator=(const thread_cache&) = delete;
    ~thread_cache() = default;

    /// Effects: takes a block of that class, into `block`.
    /// Returns: whether there is one at hand for certain. If not, get has to be called.
    MEMORY_POOL_ALWAYS_INLINE bool pop(std::size_t size_class, void*& block) noexcept
    {
        void** const top = tops_[size_class];
        if (MEMORY_POOL_UNLIKELY(reinterpret_cast<std::uintptr_t>(top) % magazine_step == 0))
            return false;
        block = top[-1];
        tops_[size_class] = top - 1;
        return true;
    }

    /// Effects: puts a block of that class at hand.
    /// Returns: whether there was room for it, and it was not the last that came back anyway. If not, put has to be called.
    /// Preconditions: the block is of this thread's heap.
    MEMORY_POOL_ALWAYS_INLINE bool push(std::size_t size_class, void* block) noexcept
    {
        void** const top = tops_[size_class];
        if (MEMORY_POOL_UNLIKELY(*top == thread_heap::full_mark() || top[-1] == block))
            return false;
        *top = block;
        ++tops_[size_class];
        return true;
    }

    /// Returns: the class of a block whose slice has that tag, if it is of this thread's heap; else something larger.
    MEMORY_POOL_ALWAYS_INLINE slice_tag class_in(slice_tag tag) const noexcept { return tag ^ heap_; }

    bool has_heap() const noexcept { return own_heap_ > no_heap; }

    /// Preconditions: has_heap().
    thread_heap& heap() const noexcept { return *reinterpret_cast<thread_heap*>(own_heap_); }

    /// Returns: whether a slice with that tag is part of a slab of this thread's heap.
    bool owns(slice_tag tag) const noexcept { return (tag ^ own_heap_) < class_count; }

    /// Effects: has the thread use that heap, and what is in its magazines.
    void use(thread_heap& memory) noexcept
    {
        heap_ = own_heap_ = memory.slabs.own_tag();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            tops_[size_class] = memory.tops[size_class];
        memory.demand.restart([this](std::size_t size_class) { return held(size_class); });
    }

    /// Effects: sends what is kept for others, and leaves the heap as it is, with its magazines.
    /// Preconditions: has_heap().
    void leave() noexcept
    {
        heap().slabs.send_all();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class) {
            heap().tops[size_class] = tops_[size_class];
            tops_[size_class] = nullptr;
        }
        heap_ = own_heap_ = no_heap;
        first_to_stay_ = first_as_large_as_a_line;
        passed_ = 0;
        watch_ = decay_watch();
    }

    // While free memory decays, every free may have to take the slow path: see decay_watch.hpp.

    /// Effects: sends every free to the slow path until stop_watch(), also for blocks of other heaps that may stay.
    /// Preconditions: has_heap().
    void start_watch(std::uint64_t now) noexcept
    {
        watch_.start(now);
        heap_ = no_heap;
        first_to_stay_ = class_count;
    }

    void stop_watch(std::uint64_t now, std::size_t dirty) noexcept
    {
        watch_.stop(now, dirty);
        heap_ = own_heap_;
        first_to_stay_ = first_that_may_stay();
    }

    decay_watch& watch() noexcept { return watch_; }

    /// Effects: takes a block of that class, and if none is at hand, brings some from the heap before.
    /// Returns: it, or nullptr if there is no memory.
    /// Preconditions: has_heap().
    void* get(std::size_t size_class) noexcept
    {
        if (held(size_class) == 0)
            refill(size_class);
        return held(size_class) != 0 ? *--tops_[size_class] : nullptr;
    }

    /// Effects: puts a block of that class at hand. If there is no room, makes the magazine larger, or puts the older half of it back
    ///   into the heap, before. If it is at hand, as the last that came back, reports that instead.
    /// Preconditions: has_heap().
    void put(std::size_t size_class, void* block) noexcept
    {
        misuse_list found;
        if (held(size_class) != 0 && top(size_class)[-1] == block) {
            report_misuse(error::double_free, block, facts[size_class].block_bytes);
            return;
        }
        if (top(size_class) == nullptr)
            make_magazine(size_class);
        else if (top(size_class) == heap().end(size_class) && !grow(size_class, found))
            flush(size_class, (held(size_class) + 1) / 2, found);
        *tops_[size_class]++ = block;
    }

    /// Effects: is to be called before something is kept for others: a batch is a block of this heap, so one like it may be freed here,
    ///   by mistake, also if none was ever allocated.
    /// Preconditions: has_heap().
    void expect_batches() noexcept
    {
        if (MEMORY_POOL_UNLIKELY(top(heap::batch_class) == nullptr))
            make_magazine(heap::batch_class);
    }

    /// Effects: notes that a small block was freed here that is of another heap, and goes back to that.
    void note_passed() noexcept
    {
        passed_ = std::min(passed_ + 1, many_passed);
        if (passed_ == many_passed && !watch_.is_on())
            first_to_stay_ = 0;
    }

    /// Returns: whether blocks of that class may stay with this thread, of whatever heap they are; the thread may need one like it soon.
    ///   A small one may not, as others on its line of the cache are in use by the thread that it is from; but if many were passed on
    ///   to this thread, those probably are, too, and to send each home costs ten times as much as to keep it.
    bool may_stay(std::size_t size_class) const noexcept { return size_class >= first_that_may_stay(); }

    /// Returns: whether blocks of that class may stay, and no watch sends frees to the slow path.
    bool stays_at_once(std::size_t size_class) const noexcept { return size_class >= first_to_stay_; }

    /// Effects: puts all blocks back into the heap, and sends what is of others. What is found wrong is added to a list.
    /// Preconditions: has_heap().
    void put_all_back(misuse_list& found) noexcept
    {
        if constexpr (is_checked)
            flush_quarantine(found);
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            flush(size_class, held(size_class), found);
        heap().slabs.send_all();
    }

    /// Returns: how many blocks of that class are at hand.
    /// Preconditions: has_heap().
    std::size_t held(std::size_t size_class) const noexcept
    {
        return top(size_class) != nullptr ? static_cast<std::size_t>(top(size_class) - heap().begin(size_class)) : 0;
    }

    /// Effects: has any of the blocks of that class at hand change places with `block`, so that nobody can tell which is next.
    template <class Random>
    void shuffle_in(std::size_t size_class, void*& block, Random& random) noexcept
    {
        if (const std::size_t count = held(size_class))
            std::swap(block, heap().begin(size_class)[random.below(count)]);
    }

    /// Returns: where the next block of that class goes; nullptr if there is no magazine for it.
    void** top(std::size_t size_class) const noexcept { return tops_[size_class]; }

    /// Returns: the top of a magazine, or what it was at some moment, if the thread is at work.
    ///
    /// Such a read is a race to the language, as the thread does not write with atomic operations: those cost two instructions
    /// more in each call of malloc and free (GCC 12). To every processor that this library is for, a pointer is read and written as a
    /// whole; what comes of it is only counted with, and never followed, but when the thread is known to be idle.
    /// Thread safety: any thread, as long as the one whose thread cache this is does not end.
    MEMORY_POOL_MAY_RACE void** top_from_outside(std::size_t size_class) const noexcept
    {
        return *static_cast<void** const volatile*>(&tops_[size_class]);
    }

private:
    void make_magazine(std::size_t size_class) noexcept
    {
        (void)heap().grow(size_class);
        tops_[size_class] = heap().begin(size_class);
    }

    /// Grows a magazine that was empty or full. If the share is used up, another magazine may shrink for it.
    /// Returns: whether it has room for more now.
    bool grow(std::size_t size_class, misuse_list& found) noexcept
    {
        thread_heap& its = heap();
        its.demand.note_miss(size_class);
        if (its.grow(size_class))
            return true;
        return its.room(size_class) != facts[size_class].most_room && shrink_next(found) && its.grow(size_class);
    }

    /// Samples the next magazine. If it uses less than a quarter of its room, shrinks it to twice its use: the gap
    /// prevents oscillation. Returns: whether it shrank.
    bool shrink_next(misuse_list& found) noexcept
    {
        const auto [size_class, swing] = heap().demand.sample([this](std::size_t sampled) { return held(sampled); });
        if (size_class == class_count || heap().room(size_class) <= std::max(4 * swing, facts[size_class].least_room))
            return false;
        const std::uint32_t smaller = std::max(2 * swing, facts[size_class].least_room);
        if (held(size_class) > smaller)
            flush(size_class, held(size_class) - smaller, found);
        heap().shrink(size_class, smaller);
        return true;
    }

    /// Brings blocks from the heap to an empty magazine.
    void refill(std::size_t size_class) noexcept
    {
        misuse_list found;
        if (top(size_class) == nullptr)
            make_magazine(size_class);
        (void)grow(size_class, found);
        const heap::scoped_lock lock(heap().slabs, found);
        heap().slabs.drain();
        void** const begin = heap().begin(size_class);
        const std::uint32_t taken = heap().slabs.take(size_class, begin, (heap().room(size_class) + 1) / 2);
        heap().samples.add(std::size_t{taken} * facts[size_class].block_bytes);
        tops_[size_class] = begin + taken;
    }

    /// Puts the blocks that wait back into the heap.
    void flush_quarantine(misuse_list& found) noexcept
    {
        const heap::scoped_lock lock(heap().slabs, found);
        heap().checks.quarantined.pop_all(
            [this](std::size_t size_class, void* block) { heap().slabs.put(size_class, &block, 1); });
    }

    /// Puts the oldest blocks back into the heap.
    void flush(std::size_t size_class, std::size_t count, misuse_list& found) noexcept
    {
        if (count == 0)
            return;
        expect_batches();
        const heap::scoped_lock lock(heap().slabs, found);
        void** const begin = heap().begin(size_class);
        const std::size_t left = held(size_class) - count;
        heap().slabs.put(size_class, begin, count);
        std::memmove(begin, begin + count, left * sizeof(void*));
        tops_[size_class] = begin + left;
    }

    static constexpr std::uint32_t first_as_large_as_a_line = sizes::of(cache_line_size);
    static constexpr std::uint32_t many_passed = 1'024;

    std::uint32_t first_that_may_stay() const noexcept { return passed_ < many_passed ? first_as_large_as_a_line : 0; }

    /// Compared by the fast path of free; no_heap while every free takes the slow path.
    slice_tag heap_ = no_heap;
    std::array<void**, class_count> tops_{};
    std::uint32_t first_to_stay_ = first_as_large_as_a_line; ///< class_count: every free takes the slow path.
    std::uint32_t passed_ = 0; ///< Small blocks of other heaps sent home, up to many_passed.
    slice_tag own_heap_ = no_heap;
    decay_watch watch_;
};

inline void** thread_heap::top(std::size_t size_class) const noexcept
{
    if (used_by != nullptr)
        return used_by->top_from_outside(size_class);
    return is_parked ? tops[size_class] : nullptr;
}

inline std::size_t thread_heap::held(std::size_t size_class) noexcept
{
    void** const end = top(size_class);
    if (end == nullptr)
        return 0;
    // While a magazine becomes larger, its end and its room do not fit together.
    const std::ptrdiff_t held = end - begin(size_class);
    return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(held, 0, room(size_class)));
}
} // namespace memory_pool::np
