// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The number of empty slabs of each class that a heap keeps for itself.
///
///     outstanding blocks of a class:   0 .. 10,000 .. 0 .. 10,000 .. 0 ..     again and again
///     empty slabs kept:                1              2              4        until the heap is maintained
///
/// Another thread may take a slab that returns to the page heap. That thread's processor then fetches each line of the
/// slab from the first processor's cache, so two threads that repeatedly allocate and free 10,000 blocks take twice the
/// time. A heap whose blocks are freed only once keeps one empty slab of a class.
///
/// Thread safety: the holder of the heap lock.
#pragma once

#include "../support/internals.hpp"
#include "size_classes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Counts of the empty slabs of one heap. Only slabs of one slice are counted and kept.
class empty_slabs
{
public:
    /// The maximum number of slabs to keep of a class: 8 MiB.
    static constexpr std::uint8_t max_kept = is_checked ? 1 : 128;

    /// Effects: counts a slab that has become empty and stays with the heap.
    void enter(std::size_t size_class) noexcept { count_[size_class] += counted(size_class); }

    /// Effects: uncounts a slab that is no longer empty or leaves the heap.
    void leave(std::size_t size_class) noexcept { count_[size_class] -= counted(size_class); }

    /// Returns: the number of empty slabs of a class.
    std::uint32_t count(std::size_t size_class) const noexcept { return count_[size_class]; }

    /// Returns: whether the heap keeps one more slab of that class, although other slabs have free blocks.
    bool has_room(std::size_t size_class) const noexcept
    {
        return counted(size_class) != 0 && kept_[size_class] > 1 && count_[size_class] < kept_[size_class];
    }

    /// Effects: records that a slab was returned to the page heap for lack of room.
    void note_given(std::size_t size_class) noexcept { was_given_[size_class] = true; }

    /// Effects: records that a slab was needed. If slabs of the class were returned before, keeps twice as many from
    ///   now on.
    void note_needed(std::size_t size_class) noexcept
    {
        if (was_given_[size_class] && kept_[size_class] < max_kept)
            kept_[size_class] = static_cast<std::uint8_t>(2 * kept_[size_class]);
        was_given_[size_class] = false;
    }

    /// Returns: the first class from `size_class` on with more than one empty slab, so that another class can use its
    ///   memory; class_count if there is none.
    std::size_t class_to_spare(std::size_t size_class) const noexcept
    {
        while (size_class != class_count && count_[size_class] <= 1)
            ++size_class;
        return size_class;
    }

    /// Effects: keeps one slab of each class from now on.
    void restart() noexcept { kept_ = ones(); }

private:
    using counts = std::array<std::uint8_t, class_count>;

    static constexpr counts ones() noexcept
    {
        counts all{};
        for (std::uint8_t& each : all)
            each = 1;
        return all;
    }

    static std::uint32_t counted(std::size_t size_class) noexcept { return slab_slices(size_class) == 1 ? 1 : 0; }

    std::array<std::uint32_t, class_count> count_{};
    counts kept_ = ones();
    std::array<bool, class_count> was_given_{};
};
} // namespace memory_pool::np
