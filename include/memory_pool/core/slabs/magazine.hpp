// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A magazine: an array of pointers to free blocks, used as a stack.
///
///     bottom            top              limit            end
///       |                |                 |               |
///       v                v                 v               v
///     +---+---+-...-+---+---+---+-...-+---+---+-...-+---+
///     | block pointers  |     empty        |  not used yet |
///     +---+---+-...-+---+---+---+-...-+---+---+-...-+---+
///
///     bottom <= top <= limit <= end, or closed: limit == nullptr
///
/// An array is faster than a list threaded through the blocks: pop and push do not access the block, so they never wait
/// for a cache miss on the block or for a store to it. (The name, and the idea of a layer of magazines, are from
/// Bonwick and Adams, "Magazines and Vmem", 2001.)
///
/// At `limit`, a push takes the slow path. The owner raises the limit in steps, so that it can occasionally check
/// whether adjacent blocks were freed in order, and take out a row of them: see step_of_row.
///
/// Thread safety: none. One thread owns a magazine.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/slabs/block_row.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: copies the `count` pointers below `top` to `blocks`, the topmost first, so that blocks of a slab come in
///   address order.
template <class T>
void copy_down(void* const* top, std::size_t count, T** blocks) noexcept
{
    for (std::size_t i = 0; i != count; ++i)
        blocks[i] = static_cast<T*>(*--top);
}

/// Effects: copies `count` pointers to blocks, except nullptr, to `out`, and calls `accepted(block)` for each.
/// Returns: the end of the copied pointers.
template <class T, class Accepted>
void** copy_up(T* const* blocks, std::size_t count, void** out, Accepted&& accepted) noexcept
{
    static_assert(sizeof(T*) == sizeof(void*), "all pointers to objects look the same");
    if (count != 0) // Otherwise, `blocks` may be nullptr.
        std::memcpy(out, blocks, count * sizeof(void*));
    void** const end = std::remove(out, out + count, nullptr);
    std::for_each(out, end, accepted);
    return end;
}

/// A stack of pointers to free blocks in an array provided by the caller.
class magazine : base::immovable<magazine>
{
public:
    /// Number of adjacent blocks in a row.
    static constexpr std::size_t row_length = 32;

    /// Returns: the suitable room of a magazine, in pointers, in front of `capacity` blocks, `stride` bytes apart.
    ///   `max_cached`: the maximum number of cached blocks; 0: the default.
    static constexpr std::size_t suitable_room(std::size_t capacity, std::size_t stride,
                                               std::size_t max_cached) noexcept
    {
        const std::size_t affordable = capacity * stride / (slab_bytes_per_magazine_byte * sizeof(void*));
        return std::min({std::max(affordable, small_enough_for_all), capacity,
                         max_cached != 0 ? std::max(max_cached, smallest_room) : largest_room});
    }

    /// Returns: the minimum room of a magazine in front of `capacity` blocks, when memory is short: an eighth of the
    ///   blocks, but at least 16 pointers, and at most the suitable room.
    static constexpr std::size_t min_room(std::size_t capacity, std::size_t stride, std::size_t max_cached) noexcept
    {
        return std::min(suitable_room(capacity, stride, max_cached), std::max(capacity / 8, smallest_room));
    }

    /// Effects: makes a closed magazine without an array: see `adopt`.
    magazine() noexcept = default;

    std::size_t size() const noexcept { return static_cast<std::size_t>(top_ - bottom_); }
    std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - bottom_); }
    bool empty() const noexcept { return top_ == bottom_; }

    /// Returns: the pointers, oldest first.
    void* const* blocks() const noexcept { return bottom_; }

    /// Returns: the array; nullptr if there is none.
    void** array() const noexcept { return bottom_; }

    /// Effects: takes out the pointer that was pushed last, into `block`.
    /// Returns: false if the magazine is empty.
    MEMORY_POOL_ALWAYS_INLINE bool pop(void*& block) noexcept
    {
        void** const top = top_;
        if (top == bottom_)
            return false;
        block = top[-1];
        top_ = top - 1;
        return true;
    }

    /// Effects: adds `block`, if there is room below the limit.
    /// Returns: false if there is no room.
    MEMORY_POOL_ALWAYS_INLINE bool push(void* block) noexcept
    {
        void** const top = top_;
        if (MEMORY_POOL_UNLIKELY(top >= limit_))
            return false;
        *top = block;
        top_ = top + 1;
        return true;
    }

    /// Effects: takes out up to `count` pointers, into `blocks`, in LIFO order.
    /// Returns: their number.
    template <class T>
    std::size_t pop(T** blocks, std::size_t count) noexcept
    {
        count = std::min(count, size());
        copy_down(top_, count, blocks);
        top_ -= count;
        return count;
    }

    /// Effects: adds up to `count` blocks, as many as there is room for below the limit, and calls `accepted(block)`
    ///   for each. Skips nullptr.
    /// Returns: the number of accepted pointers, including nullptr.
    template <class T, class Accepted>
    std::size_t push(T* const* blocks, std::size_t count, Accepted&& accepted) noexcept
    {
        count = limit_ != nullptr ? std::min(count, static_cast<std::size_t>(limit_ - top_)) : 0;
        top_ = copy_up(blocks, count, top_, accepted);
        return count;
    }

    /// Effects: sets the limit such that `count` pointers can be pushed, or as many as the array has room for.
    /// Returns: false if the array is full.
    bool open(std::size_t count) noexcept
    {
        limit_ = top_ + std::min(count, static_cast<std::size_t>(end_ - top_));
        return limit_ != top_;
    }

    /// Effects: rejects pushes until `open` is called, even if pops make room.
    void close() noexcept { limit_ = nullptr; }

    /// Returns: `stride` or `-stride`, if that is the distance from each of the last `row_length` blocks to the next;
    ///   else 0.
    std::ptrdiff_t step_of_row(std::size_t stride) const noexcept
    {
        if (size() < row_length)
            return 0;
        // Unsigned integers, which may wrap: the blocks may be of different slabs.
        const auto address = [this](std::size_t age) {
            return reinterpret_cast<std::uintptr_t>(top_[-static_cast<std::ptrdiff_t>(age)]);
        };
        const std::uintptr_t step = address(1) - address(2);
        if (step != stride && step != 0 - stride)
            return 0;
        for (std::size_t age = 2; age != row_length; ++age)
            if (address(age) - address(age + 1) != step)
                return 0;
        return static_cast<std::ptrdiff_t>(step);
    }

    /// Returns: the blocks that the last `row_length` pointers point to, as a row.
    /// Preconditions: `step` is the result of step_of_row, and not 0.
    block_row row(std::ptrdiff_t step) const noexcept
    {
        void* const first = *(top_ - row_length);
        return {static_cast<char*>(first), static_cast<char*>(top_[-1]) + step, step};
    }

    /// Effects: takes out the last `row_length` pointers.
    /// Returns: the blocks that they point to, as a row.
    /// Preconditions: as `row`.
    block_row take_row(std::ptrdiff_t step) noexcept
    {
        const block_row taken = row(step);
        top_ -= row_length;
        return taken;
    }

    /// Effects: removes the `count` oldest pointers.
    void forget_oldest(std::size_t count) noexcept
    {
        std::memmove(bottom_, bottom_ + count, (size() - count) * sizeof(void*));
        top_ -= count;
    }

    /// Effects: fills the magazine. `fetch(out, room)` writes up to `room` pointers to `out`, and returns their number.
    /// Preconditions: the magazine is empty.
    template <class Fetch>
    void fill(Fetch&& fetch) noexcept
    {
        top_ = bottom_ + fetch(bottom_, room());
    }

    /// Effects: moves the pointers into the array of `room` pointers at `array`. If `array` is nullptr, discards the
    ///   pointers. The caller owns the old array again.
    /// Preconditions: `room` is at least `size()`; 0 if `array` is nullptr.
    /// Postcondition: the magazine is closed.
    void adopt(void** array, std::size_t room) noexcept
    {
        const std::size_t kept = array != nullptr ? size() : 0;
        std::copy_n(bottom_, kept, array);
        bottom_ = array;
        top_ = array + kept;
        end_ = array + room;
        close();
    }

    /// Effects: discards all pointers.
    void clear() noexcept { top_ = bottom_; }

private:
    /// A large magazine takes at most one byte for this number of bytes in the slabs, so that all bookkeeping takes
    /// less than an eighth of their size.
    static constexpr std::size_t slab_bytes_per_magazine_byte = 10;

    /// Up to this capacity (4 KiB of pointers), the magazine has room for all blocks.
    static constexpr std::size_t small_enough_for_all = 512;

    /// In a smaller magazine, batches would be too small.
    static constexpr std::size_t smallest_room = 16;

    /// A larger magazine would evict other data from the L1 cache.
    static constexpr std::size_t largest_room = 4096;

    void** top_ = nullptr;
    void** bottom_ = nullptr;
    void** limit_ = nullptr;
    void** end_ = nullptr;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
