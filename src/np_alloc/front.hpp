// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The way of most calls: what a thread has at hand of each class, without looking at a slab.
///
///     front, in thread-local storage:   heap | top of class 0 | top of class 1 | ...
///                                                   |
///     magazine of class 0:   | not used | nullptr | block | block | empty |     ends at a multiple of 1,024
///                                                 ^ bottom
///
///     empty: the word below top is nullptr        full: only if the low 10 bits of top are 0, after a push
///
/// A magazine begins small, and has its bottom further down each time it was empty or full. So a thread that needs a few blocks
/// holds on to a few.
///
/// To free a block, one load tells both whether it is this thread's and its class: the owner word of its slice, with this thread's
/// heap taken out of it bit by bit, is the class, or else far too large for one. A pointer from elsewhere, a misaligned one and
/// nullptr fail one comparison before that.
///
/// A thread that has no heap yet has tops that are all empty, and a heap that is nobody's; so there is no question whether it has
/// one.
///
/// Thread safety: each thread has a front of its own.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>

#include "backend.hpp"
#include "heap.hpp"
#include "options.hpp"
#include "sizes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
class front;

/// The heap of a thread that has none: no owner word has this address.
inline constexpr owner_word no_heap = class_bits + 1;

/// A heap and its magazines, in one run.
class heap_memory
{
public:
    /// Effects: makes magazines that are empty. If its memory is zeroed, that of magazines is not touched.
    heap_memory(backend& from, bool is_zeroed) noexcept : slabs(from)
    {
        for (std::size_t size_class = 0; size_class != class_count; ++size_class) {
            set_room(size_class, least_room(size_class));
            tops[size_class] = bottom(size_class);
            if (!is_zeroed)
                bottom(size_class)[-1] = nullptr;
        }
    }
    heap_memory(const heap_memory&) = delete;
    heap_memory& operator=(const heap_memory&) = delete;
    ~heap_memory() = default;

    /// Returns: blocks that the magazine of a class has room for now.
    /// Thread safety: any thread.
    std::uint32_t room(std::size_t size_class) const noexcept
    {
        return rooms_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: where the magazine of a class ends when it is full.
    void** end(std::size_t size_class) noexcept
    {
        return reinterpret_cast<void**>(arrays_ + facts[size_class].magazine_end);
    }

    /// Returns: where the magazine of a class begins.
    void** bottom(std::size_t size_class) noexcept { return end(size_class) - room(size_class); }

    /// Effects: makes the magazine of a class larger, if it may be. What is in it stays at the bottom.
    /// Returns: whether it is larger now.
    bool grow(std::size_t size_class, std::size_t held) noexcept
    {
        const std::uint32_t larger = std::min(2 * room(size_class), most_room(size_class));
        const std::size_t bytes = std::size_t{larger - room(size_class)} * facts[size_class].block_bytes;
        if (bytes == 0 || bytes_more_ + bytes > the_options.get(np_option_bytes_at_hand))
            return false;
        bytes_more_ += bytes;
        void** const blocks = bottom(size_class);
        set_room(size_class, larger);
        std::memmove(bottom(size_class), blocks, held * sizeof(void*));
        bottom(size_class)[-1] = nullptr;
        return true;
    }

    /// Returns: blocks in the magazine of a class: how many there were at some moment, if a thread is at work in the heap; 0 if
    ///   nobody knows, as the thread that had it is not in this process, which is a fork.
    /// Preconditions: no thread gets the heap, or lets go of it, meanwhile.
    /// Thread safety: any thread.
    std::size_t held(std::size_t size_class) noexcept;

    /// Returns: the end of a magazine, as it was at some moment, if a thread is at work in the heap; nullptr if nobody knows.
    /// Preconditions, thread safety: as `held`.
    void** top(std::size_t size_class) const noexcept;

    heap slabs;
    std::array<void**, class_count> tops; ///< While it is parked. (The word below each bottom is nullptr.)
    bool is_parked = false;
    front* used_by = nullptr;           ///< While a thread has it.
    heap_memory* next = nullptr;        ///< In the list of all.
    heap_memory* next_parked = nullptr; ///< In that of those without a thread.

private:
    void set_room(std::size_t size_class, std::uint32_t room) noexcept
    {
        rooms_[size_class].store(static_cast<std::uint16_t>(room), std::memory_order_relaxed);
    }

    /// For so many bytes of blocks all magazines have become larger.
    std::size_t bytes_more_ = 0;
    std::array<std::atomic<std::uint16_t>, class_count> rooms_;
    alignas(magazine_step) std::byte arrays_[all_magazines_bytes];
};
static_assert(alignof(heap_memory) <= slice_bytes, "it lies at the beginning of a slice");

/// What a thread has at hand.
class front
{
public:
    constexpr front() noexcept : tops_()
    {
        for (void**& top : tops_)
            top = none_at_hand();
    }
    front(const front&) = delete;
    front& operator=(const front&) = delete;
    ~front() = default;

    /// Effects: takes a block of that class, into `block`.
    /// Returns: whether there is one at hand.
    MEMORY_POOL_ALWAYS_INLINE bool pop(std::size_t size_class, void*& block) noexcept
    {
        void** const top = tops_[size_class];
        block = top[-1];
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return false;
        tops_[size_class] = top - 1;
        return true;
    }

    /// Effects: puts a block of that class at hand.
    /// Returns: whether there is room for another for certain. If not, make_room has to be called.
    MEMORY_POOL_ALWAYS_INLINE bool push(std::size_t size_class, void* block) noexcept
    {
        void** const top = tops_[size_class];
        *top = block;
        tops_[size_class] = top + 1;
        return MEMORY_POOL_LIKELY((reinterpret_cast<std::uintptr_t>(top + 1) & (magazine_step - 1)) != 0);
    }

    /// Returns: the class of a block whose slice has that word, if it is of this thread's heap; else something larger.
    MEMORY_POOL_ALWAYS_INLINE owner_word class_in(owner_word word) const noexcept { return word ^ heap_; }

    bool has_heap() const noexcept { return heap_ != no_heap; }

    heap_memory& memory() const noexcept { return *reinterpret_cast<heap_memory*>(heap_); }

    /// Effects: has the thread use that heap, and what is in its magazines.
    void use(heap_memory& memory) noexcept
    {
        heap_ = memory.slabs.word();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            tops_[size_class] = memory.tops[size_class];
    }

    /// Effects: posts what is kept for others, and leaves the heap as it is, with its magazines.
    /// Preconditions: has_heap().
    void leave() noexcept
    {
        memory().slabs.post_all();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class) {
            memory().tops[size_class] = tops_[size_class];
            tops_[size_class] = none_at_hand();
        }
        heap_ = no_heap;
    }

    /// Effects: brings blocks of that class from the heap, and takes one of them.
    /// Returns: it, or nullptr if there is no memory.
    /// Preconditions: has_heap(), and none is at hand.
    void* refill(std::size_t size_class) noexcept
    {
        heap_memory& from = memory();
        from.slabs.take_in();
        (void)from.grow(size_class, 0);
        void** const bottom = from.bottom(size_class);
        const std::uint32_t count = from.slabs.take(size_class, bottom, (from.room(size_class) + 1) / 2);
        if (count == 0) {
            tops_[size_class] = bottom;
            return nullptr;
        }
        tops_[size_class] = bottom + count - 1;
        return bottom[count - 1];
    }

    /// Effects: if a magazine is full, makes it larger, or puts the older half of it back into the heap.
    void make_room(std::size_t size_class) noexcept
    {
        if (top(size_class) != memory().end(size_class))
            return;
        const std::size_t all = held(size_class);
        if (memory().grow(size_class, all))
            tops_[size_class] = memory().bottom(size_class) + all;
        else
            flush(size_class, (all + 1) / 2);
    }

    /// Effects: puts all blocks back into the heap, and posts what is of others.
    /// Preconditions: has_heap().
    void put_all_back() noexcept
    {
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            flush(size_class, held(size_class));
        memory().slabs.post_all();
    }

    /// Returns: how many blocks of that class are at hand.
    /// Preconditions: has_heap().
    std::size_t held(std::size_t size_class) const noexcept
    {
        return static_cast<std::size_t>(top(size_class) - memory().bottom(size_class));
    }

    /// Returns: the end of a magazine.
    void** top(std::size_t size_class) const noexcept { return tops_[size_class]; }

    /// Returns: the end of a magazine, or what it was at some moment, if the thread is at work.
    ///
    /// Such a read is a race to the language, as the thread does not write with atomic operations: those cost two instructions
    /// more in each call of malloc and free (GCC 12). To every processor that this library is for, a pointer is read and written as a
    /// whole; what comes of it is only counted with, and never followed, but when the thread is known to be idle.
    /// Thread safety: any thread, as long as the one whose front this is does not end.
    MEMORY_POOL_MAY_RACE void** top_from_outside(std::size_t size_class) const noexcept
    {
        return *static_cast<void** const volatile*>(&tops_[size_class]);
    }

private:
    /// What a thread without a heap has at hand of each class.
    static constexpr void* nothing[1] = {nullptr};
    static constexpr void** none_at_hand() noexcept { return const_cast<void**>(nothing + 1); }

    /// Puts the oldest blocks back into the heap.
    void flush(std::size_t size_class, std::size_t count) noexcept
    {
        void** const bottom = memory().bottom(size_class);
        const std::size_t left = held(size_class) - count;
        memory().slabs.put(size_class, bottom, count);
        std::memmove(bottom, bottom + count, left * sizeof(void*));
        tops_[size_class] = bottom + left;
    }

    owner_word heap_ = no_heap;
    std::array<void**, class_count> tops_;
};

inline void** heap_memory::top(std::size_t size_class) const noexcept
{
    if (used_by != nullptr)
        return used_by->top_from_outside(size_class);
    return is_parked ? tops[size_class] : nullptr;
}

inline std::size_t heap_memory::held(std::size_t size_class) noexcept
{
    void** const end = top(size_class);
    if (end == nullptr)
        return 0;
    // While a magazine becomes larger, its end and its room do not fit together.
    const std::ptrdiff_t held = end - bottom(size_class);
    return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(held, 0, room(size_class)));
}
} // namespace memory_pool::np
