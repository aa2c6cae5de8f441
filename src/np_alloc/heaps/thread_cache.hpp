// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The fast path: the cached blocks of a thread, by class, without access to a slab.
///
///     thread cache, in thread-local storage:   heap | top of class 0 | top of class 1 | ...
///                                                   |
///     magazine of class 0:   | block | block | not used | not used | full |     begins as magazine_bits says
///                                            ^ top
///
///     empty: only if top has none of the magazine_bits       full: the word at top says so
///
/// A block that is freed twice in a row is found at once: it is the one below top. (If none is cached, anything may
/// stand there: then `put` looks closer.) One that is freed twice otherwise is found when it goes back to its slab.
///
/// To free a block, one load tells both whether it is this thread's and its class: the tag of its slice, with this
/// thread's heap taken out of it bit by bit, is the class, or else far too large for one. A pointer from elsewhere, a
/// misaligned one and nullptr fail one comparison before that.
///
/// While free memory decays, every free must take the slow path, even if its magazine has room. So no slice tag
/// compares equal to this thread's heap on the fast path then: see release_tick.hpp.
///
/// While allocations are counted for a profile, every call must take the slow path. So all tops are nullptr on the fast
/// path then, and the slow paths have those that the heap keeps while it is parked; and frees are sent there as above.
///
/// A thread that has no heap yet has tops that are all nullptr, which is empty, and no_heap; so no branch asks whether
/// it has one. A magazine that was never needed is not there either, and its top is nullptr: there is no block of that
/// class to be freed to it. All of that also holds if everything is 0: so thread-local storage is while the loader
/// still works on it, and calls functions of the program that choose among others.
///
/// Thread safety: each thread has a thread cache of its own.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../hardening/sample_points.hpp"
#include "../release/release_tick.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "heap.hpp"
#include "thread_heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memory_pool::np {
/// The heap of a thread that has none: no slice tag has this address.
inline constexpr slice_tag no_heap = class_bits + 1;

/// The cached blocks of a thread.
class thread_cache : base::immovable<thread_cache>
{
public:
    /// Effects: takes a block of that class, into `block`.
    /// Returns: whether one is cached for certain. If not, get has to be called.
    MEMORY_POOL_ALWAYS_INLINE bool pop(std::size_t size_class, void*& block) noexcept
    {
        return pop_below(tops_[size_class], block);
    }

    /// Effects: as pop, on slow paths.
    MEMORY_POOL_ALWAYS_INLINE bool pop_slowly(std::size_t size_class, void*& block) noexcept
    {
        return pop_below(top_of(size_class), block);
    }

    /// Effects: caches a block of that class.
    /// Returns: whether there was room for it, and it was not the last that came back anyway. If not, put has to be
    ///   called.
    /// Preconditions: the block is of this thread's heap.
    MEMORY_POOL_ALWAYS_INLINE bool push(std::size_t size_class, void* block) noexcept
    {
        return push_at(tops_[size_class], block);
    }

    /// Effects: as push, on slow paths, for a block that may be of another heap, and if there is a magazine.
    MEMORY_POOL_ALWAYS_INLINE bool push_slowly(std::size_t size_class, void* block) noexcept
    {
        void**& top = top_of(size_class);
        if (top == nullptr || !push_at(top, block))
            return false;
        count_for_samples(size_class, block_count{1});
        return true;
    }

    /// Returns: the class of a block whose slice has that tag, if it is of this thread's heap; else something larger.
    MEMORY_POOL_ALWAYS_INLINE slice_tag class_in(slice_tag tag) const noexcept { return tag ^ heap_; }

    bool has_heap() const noexcept { return own_heap_ > no_heap; }

    /// Preconditions: has_heap().
    thread_heap& heap() const noexcept { return thread_heap::tagged(own_heap_); }

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

    /// Effects: sends the outbox, and leaves the heap as it is, with its magazines.
    /// Preconditions: has_heap().
    void leave() noexcept
    {
        heap().slabs.send_all();
        if (!is_counting_)
            hide_tops();
        is_counting_ = false;
        heap_ = own_heap_ = no_heap;
        first_to_stay_ = first_as_large_as_a_line;
        passed_ = 0;
        ticks_ = release_tick();
        samples_ = sample_points();
    }

    // While free memory decays, every free may have to take the slow path: see release_tick.hpp.

    /// Effects: sends every free to the slow path until stop_ticks(), also for blocks of other heaps that may stay.
    /// Preconditions: has_heap().
    void start_ticks(std::uint64_t now, std::size_t debt) noexcept
    {
        ticks_.start(now, debt);
        choose_path_of_frees();
    }

    void stop_ticks(std::uint64_t now, std::size_t debt) noexcept
    {
        ticks_.stop(now, debt);
        choose_path_of_frees();
    }

    release_tick& ticks() noexcept { return ticks_; }

    // Samples: every free takes the slow path, and near a sample, every allocation.

    /// Effects: has one block for that many bytes be a sample from now on; 0: none.
    void sample_every(std::size_t bytes) noexcept
    {
        samples_.restart(bytes);
        choose_path_of_frees();
    }

    sample_points& samples() noexcept { return samples_; }
    const sample_points& samples() const noexcept { return samples_; }

    // While allocations are counted, every call takes the slow path.

    bool is_counting() const noexcept { return is_counting_; }

    /// Effects: sends every call to the slow path until stop_counting().
    /// Preconditions: has_heap().
    void start_counting() noexcept
    {
        if (is_counting_)
            return;
        hide_tops();
        choose_path_of_frees();
    }

    /// Preconditions: has_heap().
    void stop_counting() noexcept
    {
        if (!std::exchange(is_counting_, false))
            return;
        std::copy(heap().tops.begin(), heap().tops.end(), tops_.begin());
        choose_path_of_frees();
    }

    /// Effects: takes a block of that class, and if none is cached, brings some from the heap before.
    /// Returns: it, or nullptr if there is no memory.
    /// Preconditions: has_heap().
    void* get(std::size_t size_class) noexcept
    {
        if (held(size_class) == 0)
            refill(size_class);
        return held(size_class) != 0 ? *--top_of(size_class) : nullptr;
    }

    /// Effects: caches a block of that class. If there is no room, makes the magazine larger, or puts the older half of
    ///   it back into the heap, before. If it is cached already, as the last that came back, reports that instead.
    /// Preconditions: has_heap().
    void put(std::size_t size_class, void* block) noexcept
    {
        misuse_list found;
        if (held(size_class) != 0 && top(size_class)[-1] == block) {
            report_misuse(error_kind::double_free, block, facts[size_class].block_bytes);
            return;
        }
        if (top(size_class) == nullptr)
            (void)grow(size_class);
        else if (top(size_class) == heap().end(size_class) && !grow_or_shrink_another(size_class, found))
            flush(size_class, block_count{(held(size_class) + 1) / 2}, found);
        *top_of(size_class)++ = block;
        count_for_samples(size_class, block_count{1});
    }

    /// Effects: called before a remote free: a batch is a block of this heap, so one like it may be freed here, by
    ///   mistake, also if none was ever allocated.
    /// Preconditions: has_heap().
    void expect_batches() noexcept
    {
        if (MEMORY_POOL_UNLIKELY(top(free_batch::size_class) == nullptr))
            (void)grow(free_batch::size_class);
    }

    /// Effects: notes that a small block was freed here that is of another heap, and goes back to that.
    void note_passed() noexcept
    {
        passed_ = std::min(passed_ + 1, many_passed);
        if (passed_ == many_passed)
            choose_path_of_frees();
    }

    /// Returns: whether blocks of that class may stay with this thread, of whatever heap they are; the thread may need
    ///   one like it soon. A small one may not, as others on its line of the cache are in use by the thread that it is
    ///   from; but if many were passed on to this thread, those probably are, too, and to send each home costs ten
    ///   times as much as to keep it.
    bool may_stay(std::size_t size_class) const noexcept { return size_class >= first_that_may_stay(); }

    /// Returns: whether blocks of that class may stay, and no tick sends frees to the slow path.
    bool stays_at_once(std::size_t size_class) const noexcept { return size_class >= first_to_stay_; }

    /// Effects: puts all blocks back into the heap, and sends the outbox. Misuse is added to a list.
    /// Preconditions: has_heap().
    void put_all_back(misuse_list& found) noexcept
    {
        if (!heap().checks.quarantined.is_empty())
            flush_quarantine(found);
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            flush(size_class, block_count{held(size_class)}, found);
        heap().slabs.send_all();
    }

    /// Effects: returns the cached blocks of that class to the heap, so that they pin no slab.
    /// Preconditions: has_heap().
    void put_back(std::size_t size_class) noexcept
    {
        misuse_list found;
        flush(size_class, block_count{held(size_class)}, found);
    }

    /// Returns: how many blocks of that class are cached.
    /// Preconditions: has_heap().
    std::size_t held(std::size_t size_class) const noexcept
    {
        return top(size_class) != nullptr ? static_cast<std::size_t>(top(size_class) - heap().begin(size_class)) : 0;
    }

    /// Returns: bytes of the cached blocks of all classes, and of those in rings of the quarantine.
    /// Preconditions: has_heap().
    std::size_t held_bytes() const noexcept
    {
        std::size_t bytes = heap().checks.quarantined.bytes_in_rings();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            bytes += held(size_class) * facts[size_class].block_bytes;
        return bytes;
    }

    /// Effects: swaps `block` with a random one of the next cached blocks of that class, so that the order is
    ///   unpredictable. Not with any cached block, as most are in no cache of the processor.
    template <class Random>
    void shuffle_in(std::size_t size_class, void*& block, Random& random) noexcept
    {
        constexpr std::size_t most_next = 64;
        if (const std::size_t count = held(size_class))
            std::swap(block, *(top(size_class) - 1 - random.below(std::min(count, most_next))));
    }

    /// Returns: where the next block of that class goes; nullptr if there is no magazine for it.
    void** top(std::size_t size_class) const noexcept
    {
        return MEMORY_POOL_UNLIKELY(is_counting_) ? heap().tops[size_class] : tops_[size_class];
    }

    /// Returns: the top of a magazine, or what it was at some moment, if the thread is in a call.
    ///
    /// Such a read is a race to the language, as the thread does not write with atomic operations: those cost two
    /// instructions more in each call of malloc and free (GCC 12). To every processor that this library is for, a
    /// pointer is read and written as a whole; what comes of it is only counted with, and never followed, but when the
    /// thread is known to be idle.
    /// Thread safety: any thread, as long as the one whose thread cache this is does not end.
    MEMORY_POOL_MAY_RACE void** top_from_outside(std::size_t size_class) const noexcept
    {
        if (*static_cast<const volatile bool*>(&is_counting_))
            return *static_cast<void** const volatile*>(&heap().tops[size_class]);
        return *static_cast<void** const volatile*>(&tops_[size_class]);
    }

private:
    MEMORY_POOL_ALWAYS_INLINE static bool pop_below(void**& top, void*& block) noexcept
    {
        void** const before = top;
        if (MEMORY_POOL_UNLIKELY((reinterpret_cast<std::uintptr_t>(before) & magazine_bits) == 0))
            return false;
        block = before[-1];
        top = before - 1;
        return true;
    }

    MEMORY_POOL_ALWAYS_INLINE static bool push_at(void**& top, void* block) noexcept
    {
        void** const before = top;
        if (MEMORY_POOL_UNLIKELY(*before == thread_heap::full_mark() || before[-1] == block))
            return false;
        *before = block;
        ++top;
        return true;
    }

    /// Returns: the top that slow paths use.
    void**& top_of(std::size_t size_class) noexcept
    {
        return MEMORY_POOL_UNLIKELY(is_counting_) ? heap().tops[size_class] : tops_[size_class];
    }

    /// Hands the tops over to the heap, so that all magazines are empty to the fast path.
    void hide_tops() noexcept
    {
        std::copy(tops_.begin(), tops_.end(), heap().tops.begin());
        is_counting_ = true; // Now, other threads look there.
        tops_.fill(nullptr);
    }

    void choose_path_of_frees() noexcept
    {
        const bool is_slow = ticks_.is_on() || is_counting_ || samples_.mean() != 0;
        heap_ = is_slow ? no_heap : own_heap_;
        first_to_stay_ = is_slow ? static_cast<std::uint32_t>(class_count) : first_that_may_stay();
    }

    /// Makes a magazine, or grows it: as thread_heap::grow.
    bool grow(std::size_t size_class) noexcept
    {
        const std::size_t count = held(size_class);
        const bool is_larger = heap().grow(size_class);
        top_of(size_class) = heap().begin(size_class) + count;
        return is_larger;
    }

    /// Grows a magazine that was empty or full. If the share is used up, another magazine may shrink for it.
    /// Returns: whether it has room for more now.
    MEMORY_POOL_ALWAYS_INLINE bool grow_or_shrink_another(std::size_t size_class, misuse_list& found) noexcept
    {
        heap().demand.note_miss(size_class);
        if (grow(size_class))
            return true;
        return heap().room(size_class) != facts[size_class].most_room && shrink_next(found) && grow(size_class);
    }

    /// Samples the next magazine. If it uses less than a quarter of its room, shrinks it to twice its use: the gap
    /// prevents oscillation. Returns: whether it shrank.
    MEMORY_POOL_ALWAYS_INLINE bool shrink_next(misuse_list& found) noexcept
    {
        const auto [size_class, swing] = heap().demand.sample([this](std::size_t sampled) { return held(sampled); });
        if (size_class == class_count || heap().room(size_class) <= std::max(4 * swing, facts[size_class].least_room))
            return false;
        const std::uint32_t smaller = std::max(2 * swing, facts[size_class].least_room);
        if (held(size_class) > smaller)
            flush(size_class, block_count{held(size_class) - smaller}, found);
        heap().shrink(size_class, block_count{smaller});
        return true;
    }

    /// Brings blocks from the heap to an empty magazine.
    void refill(std::size_t size_class) noexcept
    {
        misuse_list found;
        if (top(size_class) == nullptr)
            (void)grow(size_class);
        (void)grow_or_shrink_another(size_class, found);
        const heap::scoped_lock lock(heap().slabs, found);
        heap().slabs.drain();
        void** const begin = heap().begin(size_class);
        const std::uint32_t taken = heap().slabs.take(size_class, begin, (heap().room(size_class) + 1) / 2);
        top_of(size_class) = begin + taken;
        count_for_samples(size_class, block_count{taken});
    }

    /// Counts blocks that a magazine got.
    MEMORY_POOL_ALWAYS_INLINE void count_for_samples(std::size_t size_class, block_count more) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(samples_.approach(static_cast<std::size_t>(more) * facts[size_class].block_bytes)))
            start_counting();
    }

    /// Puts the blocks in quarantine back into the heap.
    void flush_quarantine(misuse_list& found) noexcept
    {
        const heap::scoped_lock lock(heap().slabs, found);
        heap().checks.quarantined.pop_all([this](std::size_t size_class, void* block) {
            heap().slabs.assume_held();
            heap().slabs.put(size_class, &block, 1);
        });
    }

    /// Puts the oldest blocks back into the heap.
    void flush(std::size_t size_class, block_count flushed, misuse_list& found) noexcept
    {
        const auto count = static_cast<std::size_t>(flushed);
        if (count == 0)
            return;
        expect_batches();
        const heap::scoped_lock lock(heap().slabs, found);
        void** const begin = heap().begin(size_class);
        const std::size_t left = held(size_class) - count;
        heap().slabs.put(size_class, begin, count);
        std::memmove(begin, begin + count, left * sizeof(void*));
        top_of(size_class) = begin + left;
        samples_.retreat(count * facts[size_class].block_bytes);
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
    bool is_counting_ = false; ///< Whether the heap has the tops.
    release_tick ticks_;
    sample_points samples_;
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
