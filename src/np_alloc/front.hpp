// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The way of most calls: what a thread has at hand of each class, without looking at a slab.
///
///     front, in thread-local storage:   heap | top of class 0 | top of class 1 | ...
///                                                   |
///     magazine of class 0:        | block | block | empty | ... |      ends at a multiple of 1,024
///
///     empty: the low bits of top, as many as the array has, are zero      full: the low 10 bits are, after a push
///
/// To free a block, one load tells both whether it is this thread's and its class: the owner word of its slice, with this thread's
/// heap taken out of it bit by bit, is the class, or else far too large for one. A pointer from elsewhere, a misaligned one and
/// nullptr fail one comparison before that.
///
/// A thread that has no heap yet has tops of nullptr, which are empty, and a heap that is nobody's; so there is no question
/// whether it has one.
///
/// Thread safety: each thread has a front of its own.
#pragma once

#include <memory_pool/base/config.hpp>

#include "backend.hpp"
#include "heap.hpp"
#include "sizes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
/// The heap of a thread that has none: no owner word has this address.
inline constexpr owner_word no_heap = class_bits + 1;

/// A heap and the arrays of its magazines, in one run.
struct heap_memory
{
    explicit heap_memory(backend& from) noexcept : slabs(from) {}

    heap slabs;
    alignas(magazine_bytes) std::byte magazines[class_count * magazine_bytes];

    /// Returns: where the array of a class begins.
    void** bottom(std::size_t size_class) noexcept
    {
        return reinterpret_cast<void**>(magazines + (size_class + 1) * magazine_bytes - magazine_bytes_of(size_class));
    }
};
static_assert(alignof(heap_memory) <= slice_bytes, "it lies at the beginning of a slice");

/// What a thread has at hand.
class front
{
public:
    constexpr front() noexcept = default;
    front(const front&) = delete;
    front& operator=(const front&) = delete;
    ~front() = default;

    /// Effects: takes a block of that class, into `block`.
    /// Returns: whether there is one at hand.
    MEMORY_POOL_ALWAYS_INLINE bool pop(std::size_t size_class, void*& block) noexcept
    {
        void** const top = tops_[size_class];
        if (MEMORY_POOL_UNLIKELY((reinterpret_cast<std::uintptr_t>(top) & (magazine_bytes_of(size_class) - 1)) == 0))
            return false;
        block = top[-1];
        tops_[size_class] = top - 1;
        return true;
    }

    /// Effects: puts a block of that class at hand.
    /// Returns: whether there is room for another.
    MEMORY_POOL_ALWAYS_INLINE bool push(std::size_t size_class, void* block) noexcept
    {
        void** const top = tops_[size_class];
        *top = block;
        tops_[size_class] = top + 1;
        return MEMORY_POOL_LIKELY((reinterpret_cast<std::uintptr_t>(top + 1) & (magazine_bytes - 1)) != 0);
    }

    /// Returns: the class of a block whose slice has that word, if it is of this thread's heap; else something larger.
    MEMORY_POOL_ALWAYS_INLINE owner_word class_in(owner_word word) const noexcept { return word ^ heap_; }

    bool has_heap() const noexcept { return heap_ != no_heap; }

    heap_memory& memory() const noexcept { return *reinterpret_cast<heap_memory*>(heap_); }

    /// Effects: has the thread use that heap, whose magazines are empty.
    void use(heap_memory& memory) noexcept
    {
        heap_ = memory.slabs.word();
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            tops_[size_class] = memory.bottom(size_class);
    }

    /// Effects: brings blocks of that class from the heap, and takes one of them.
    /// Returns: it, or nullptr if there is no memory.
    /// Preconditions: has_heap(), and none is at hand.
    void* refill(std::size_t size_class) noexcept
    {
        void** const bottom = memory().bottom(size_class);
        const std::uint32_t count = memory().slabs.take(size_class, bottom, refill_count(size_class));
        if (count == 0)
            return nullptr;
        tops_[size_class] = bottom + count - 1;
        return bottom[count - 1];
    }

    /// Effects: puts the older half of the blocks of that class back into the heap.
    void flush_half(std::size_t size_class) noexcept { flush(size_class, held(size_class) / 2); }

    /// Effects: tidies up, and has no heap any more.
    /// Preconditions: has_heap().
    void leave() noexcept
    {
        tidy();
        heap_ = no_heap;
        tops_ = {};
    }

    /// Effects: puts all blocks back into the heap, posts what is of others, takes in what others have posted, and gives back slabs
    ///   that are empty then.
    /// Preconditions: has_heap().
    void tidy() noexcept
    {
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            flush(size_class, held(size_class));
        memory().slabs.post_all();
        memory().slabs.take_in();
        memory().slabs.give_back_empty_slabs();
    }

    /// Returns: how many blocks of that class are at hand.
    std::size_t held(std::size_t size_class) const noexcept
    {
        return has_heap() ? static_cast<std::size_t>(tops_[size_class] - memory().bottom(size_class)) : 0;
    }

private:
    void flush(std::size_t size_class, std::size_t count) noexcept
    {
        void** const bottom = memory().bottom(size_class);
        const std::size_t left = held(size_class) - count;
        for (std::size_t i = 0; i != count; ++i)
            memory().slabs.put(bottom[i]);
        std::memmove(bottom, bottom + count, left * sizeof(void*));
        tops_[size_class] = bottom + left;
    }

    owner_word heap_ = no_heap;
    std::array<void**, class_count> tops_{};
};
} // namespace memory_pool::np
