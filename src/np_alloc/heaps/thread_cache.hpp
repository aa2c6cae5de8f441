// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The fast path: the cached blocks of a thread, by class, without access to a slab.
///
///     thread cache, in thread-local storage:   heap | top of class 0 | top of class 1 | ...
///                                                   |
///     magazine of class 0:   | block | block | not used | not used | full |     for its address, see magazine_bits
///                                            ^ top
///
///     empty: only if top has none of the magazine_bits       full: the word at top is full_mark()
///
/// free detects at once if the last freed block is freed again, because that block is just below top. (In an empty
/// magazine, the word below top may be anything; in that case, `put` checks.) Other double frees are detected when the
/// block returns to its slab.
///
/// free finds the owner and the class of a block with one load. The tag of the block's slice XOR the tag of this
/// thread's heap is the class, or, if another heap owns the block, a number far too large to be a class. A comparison
/// before the load rejects foreign pointers, misaligned pointers and nullptr.
///
/// While free memory decays, every free must take the slow path, even if its magazine has room. During that time, the
/// fast path compares slice tags with no_heap: see release_tick.hpp.
///
/// While allocations are counted for a profile, every call must take the slow path. During that time, all tops on the
/// fast path are nullptr. The slow paths use the tops in the heap, which are otherwise valid only while the heap is
/// parked. Frees take the slow path as described above.
///
/// A thread without a heap has no_heap, and each of its tops is nullptr, which means empty, so the fast paths need no
/// extra branch for this case. A magazine that was never needed does not exist, and its top is nullptr, too: no block
/// of its class can come back. All of this also holds while thread-local storage is zero, because the loader may still
/// be relocating and may call ifunc resolvers of the program.
///
/// Thread safety: none, except where noted; each thread has its own thread cache.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../hardening/guarded_sample_points.hpp"
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
/// The heap tag of a thread without a heap: no slice has this tag.
inline constexpr slice_tag no_heap = class_bits + 1;

/// The cached blocks of a thread.
class thread_cache : base::immovable<thread_cache>
{
public:
    /// Effects: takes a block of that class from the cache into `block`.
    /// Returns: true if a cached block was taken. Otherwise, call get().
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
    /// Returns: whether there was room and the block is not the last one cached. If not, call put().
    /// Preconditions: the block belongs to this thread's heap.
    MEMORY_POOL_ALWAYS_INLINE bool push(std::size_t size_class, void* block) noexcept
    {
        return push_at(tops_[size_class], block);
    }

    /// Effects: as push, on slow paths, if there is a magazine. The block may belong to another heap.
    MEMORY_POOL_ALWAYS_INLINE bool push_slowly(std::size_t size_class, void* block) noexcept
    {
        void**& top = top_of(size_class);
        if (top == nullptr || !push_at(top, block))
            return false;
        count_for_samples(size_class, block_count{1});
        return true;
    }

    /// Returns: the class of a block whose slice has that tag, if this thread's heap owns the block; otherwise a larger
    ///   number.
    MEMORY_POOL_ALWAYS_INLINE slice_tag class_in(slice_tag tag) const noexcept { return tag ^ heap_; }

    bool has_heap() const noexcept { return own_heap_ > no_heap; }

    /// Preconditions: has_heap().
    thread_heap& heap() const noexcept { return thread_heap::tagged(own_heap_); }

    /// Returns: whether the tag belongs to a slab of this thread's heap.
    bool owns(slice_tag tag) const noexcept { return (tag ^ own_heap_) < class_count; }

    /// Effects: attaches a heap, with the blocks in its magazines, to the thread.
    void use(thread_heap& memory) noexcept
    {
        heap_ = own_heap_ = memory.slabs.own_tag();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            tops_[size_class] = memory.tops[size_class];
        memory.demand.restart([this](std::size_t size_class) { return held(size_class); });
    }

    /// Effects: sends the batches in the outbox and detaches the heap, which keeps its magazines.
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
        samples_ = guarded_sample_points();
    }

    // While free memory decays, every free may have to take the slow path: see release_tick.hpp.

    /// Effects: sends every free to the slow path until stop_ticks(), including remote frees that could be cached.
    /// Preconditions: has_heap().
    void start_ticks(std::uint64_t now, std::size_t debt) noexcept
    {
        ticks_.start(now, debt);
        update_free_path();
    }

    void stop_ticks(std::uint64_t now, std::size_t debt) noexcept
    {
        ticks_.stop(now, debt);
        update_free_path();
    }

    release_tick& ticks() noexcept { return ticks_; }

    // Samples: every free takes the slow path, and near a sample, every allocation.

    /// Effects: samples one block per `bytes` bytes from now on; 0 disables samples.
    void sample_every(std::size_t bytes) noexcept
    {
        samples_.restart(bytes);
        update_free_path();
    }

    guarded_sample_points& samples() noexcept { return samples_; }
    const guarded_sample_points& samples() const noexcept { return samples_; }

    // While allocations are counted, every call takes the slow path.

    bool is_counting() const noexcept { return is_counting_; }

    /// Effects: sends every call to the slow path until stop_counting().
    /// Preconditions: has_heap().
    void start_counting() noexcept
    {
        if (is_counting_)
            return;
        hide_tops();
        update_free_path();
    }

    /// Preconditions: has_heap().
    void stop_counting() noexcept
    {
        if (!std::exchange(is_counting_, false))
            return;
        std::copy(heap().tops.begin(), heap().tops.end(), tops_.begin());
        update_free_path();
    }

    /// Effects: takes a block of that class, after refilling an empty magazine from the heap.
    /// Returns: the block, or nullptr if there is no memory.
    /// Preconditions: has_heap().
    void* get(std::size_t size_class) noexcept
    {
        if (held(size_class) == 0)
            refill(size_class);
        return held(size_class) != 0 ? *--top_of(size_class) : nullptr;
    }

    /// Effects: caches a block of that class. A full magazine first grows, or returns the older half of its blocks to
    ///   the heap. If the block is the last one cached, reports a double free instead.
    /// Preconditions: has_heap().
    void put(std::size_t size_class, void* block) noexcept
    {
        misuse_list found;
        if (held(size_class) != 0 && top(size_class)[-1] == block) {
            report_misuse(error_kind::double_free, block, class_info[size_class].block_bytes);
            return;
        }
        if (top(size_class) == nullptr)
            (void)grow(size_class);
        else if (top(size_class) == heap().end(size_class) && !grow_or_shrink_another(size_class, found))
            flush(size_class, block_count{(held(size_class) + 1) / 2}, found);
        *top_of(size_class)++ = block;
        count_for_samples(size_class, block_count{1});
    }

    /// Effects: creates the magazine for the class of batches, unless it exists. Call this before a remote free. A
    ///   batch is a block of this heap, so a program may free a batch by mistake even if the thread never allocated a
    ///   block of that class.
    /// Preconditions: has_heap().
    void expect_batches() noexcept
    {
        if (MEMORY_POOL_UNLIKELY(top(free_batch::size_class) == nullptr))
            (void)grow(free_batch::size_class);
    }

    /// Effects: records the remote free of a small block that returns to its heap.
    void note_passed() noexcept
    {
        passed_ = std::min(passed_ + 1, max_passed);
        if (passed_ == max_passed)
            update_free_path();
    }

    /// Returns: whether this cache may keep freed blocks of that class, whichever heap owns them, because this thread
    ///   may soon need one. At first, small blocks go back to their owner, whose thread uses other blocks on the same
    ///   cache line. After many remote frees, these other blocks are probably in this cache as well, so small blocks
    ///   stay, too, because a remote free costs ten times as much as caching.
    bool may_stay(std::size_t size_class) const noexcept { return size_class >= first_that_may_stay(); }

    /// Returns: whether blocks of that class may stay and the fast path of free caches them.
    bool stays_at_once(std::size_t size_class) const noexcept { return size_class >= first_to_stay_; }

    /// Effects: returns all cached blocks to the heap and sends the outbox. Adds misuse to a list.
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

    /// Returns: the number of cached blocks of that class.
    /// Preconditions: has_heap().
    std::size_t held(std::size_t size_class) const noexcept
    {
        return top(size_class) != nullptr ? static_cast<std::size_t>(top(size_class) - heap().begin(size_class)) : 0;
    }

    /// Returns: bytes of the cached blocks of all classes, and of the blocks in rings of the quarantine.
    /// Preconditions: has_heap().
    std::size_t held_bytes() const noexcept
    {
        std::size_t bytes = heap().checks.quarantined.bytes_in_rings();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            bytes += held(size_class) * class_info[size_class].block_bytes;
        return bytes;
    }

    /// Effects: swaps `block` with a random one of the next few cached blocks of that class, so that the order is
    ///   unpredictable. Only the next few, because blocks further down are probably not in the processor cache.
    template <class Random>
    void shuffle_in(std::size_t size_class, void*& block, Random& random) noexcept
    {
        constexpr std::size_t max_next = 64;
        if (const std::size_t count = held(size_class))
            std::swap(block, *(top(size_class) - 1 - random.below(std::min(count, max_next))));
    }

    /// Returns: the top of the magazine of that class; nullptr if there is none.
    void** top(std::size_t size_class) const noexcept
    {
        return MEMORY_POOL_UNLIKELY(is_counting_) ? heap().tops[size_class] : tops_[size_class];
    }

    /// Returns: the top of a magazine; a snapshot while its thread is in a call.
    ///
    /// In the language's terms, this is a data race: the thread does not write its tops with atomic operations, which
    /// would cost two more instructions in each call of malloc and free (GCC 12). All supported processors read and
    /// write a pointer as a whole. Callers use the result to count blocks, and dereference it only when the thread is
    /// known to be idle.
    /// Thread safety: any thread, as long as the thread that owns this cache has not ended.
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

    /// Moves the tops to the heap, so that all magazines look empty to the fast path.
    void hide_tops() noexcept
    {
        std::copy(tops_.begin(), tops_.end(), heap().tops.begin());
        is_counting_ = true; // From now on, other threads read the tops in the heap.
        tops_.fill(nullptr);
    }

    void update_free_path() noexcept
    {
        const bool is_slow = ticks_.is_on() || is_counting_ || samples_.mean() != 0;
        heap_ = is_slow ? no_heap : own_heap_;
        first_to_stay_ = is_slow ? static_cast<std::uint32_t>(class_count) : first_that_may_stay();
    }

    /// Makes or grows a magazine: as thread_heap::grow.
    bool grow(std::size_t size_class) noexcept
    {
        const std::size_t count = held(size_class);
        const bool is_larger = heap().grow(size_class);
        top_of(size_class) = heap().begin(size_class) + count;
        return is_larger;
    }

    /// Grows a magazine that was empty or full. At the byte limit, another magazine may shrink to make room.
    /// Returns: whether its room has grown.
    MEMORY_POOL_ALWAYS_INLINE bool grow_or_shrink_another(std::size_t size_class, misuse_list& found) noexcept
    {
        heap().demand.note_miss(size_class);
        if (grow(size_class))
            return true;
        return heap().room(size_class) != class_info[size_class].max_room && shrink_next(found) && grow(size_class);
    }

    /// Samples the next magazine. If it uses less than a quarter of its room, shrinks it to twice its use; the gap
    /// prevents oscillation. Returns: whether the magazine shrank.
    MEMORY_POOL_ALWAYS_INLINE bool shrink_next(misuse_list& found) noexcept
    {
        const auto [size_class, swing] = heap().demand.sample([this](std::size_t sampled) { return held(sampled); });
        if (size_class == class_count ||
            heap().room(size_class) <= std::max(4 * swing, class_info[size_class].min_room))
            return false;
        const std::uint32_t smaller = std::max(2 * swing, class_info[size_class].min_room);
        if (held(size_class) > smaller)
            flush(size_class, block_count{held(size_class) - smaller}, found);
        heap().shrink(size_class, block_count{smaller});
        return true;
    }

    /// Fills an empty magazine from the heap.
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

    /// Counts blocks that were added to a magazine.
    MEMORY_POOL_ALWAYS_INLINE void count_for_samples(std::size_t size_class, block_count more) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(
                samples_.approach(static_cast<std::size_t>(more) * class_info[size_class].block_bytes)))
            start_counting();
    }

    /// Returns the blocks in quarantine to the heap.
    void flush_quarantine(misuse_list& found) noexcept
    {
        const heap::scoped_lock lock(heap().slabs, found);
        heap().checks.quarantined.pop_all([this](std::size_t size_class, void* block) {
            heap().slabs.assume_held();
            heap().slabs.put(size_class, &block, 1);
        });
    }

    /// Returns the oldest blocks to the heap.
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
        samples_.retreat(count * class_info[size_class].block_bytes);
    }

    static constexpr std::uint32_t first_as_large_as_a_line = sizes::of(cache_line_size);
    static constexpr std::uint32_t max_passed = 1'024;

    std::uint32_t first_that_may_stay() const noexcept { return passed_ < max_passed ? first_as_large_as_a_line : 0; }

    /// The tag that the fast path of free compares; no_heap while every free takes the slow path.
    slice_tag heap_ = no_heap;
    std::array<void**, class_count> tops_{};
    std::uint32_t first_to_stay_ = first_as_large_as_a_line; ///< class_count: every free takes the slow path.
    std::uint32_t passed_ = 0;                               ///< Remote frees of small blocks, up to max_passed.
    slice_tag own_heap_ = no_heap;
    bool is_counting_ = false; ///< The tops are in the heap.
    release_tick ticks_;
    guarded_sample_points samples_;
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
    // While a magazine grows, its end may not match its room.
    const std::ptrdiff_t held = end - begin(size_class);
    return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(held, 0, room(size_class)));
}
} // namespace memory_pool::np
