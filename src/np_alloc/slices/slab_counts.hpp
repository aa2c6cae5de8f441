// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The number of slabs of each class in a heap, their carved bytes, and their occupancy.
///
///     free blocks of a class = slabs * capacity - outstanding blocks
///     mean                   = free blocks / slabs with free blocks
///
///     dense | ..... | mean | ..... | sparse: its blocks may move to denser slabs, if those have room for all of them
///
/// Thread safety: any thread may read bytes; everything else needs the heap lock.
#pragma once

#include "size_classes.hpp"
#include "slice_record.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The slabs of one heap.
class slab_counts
{
public:
    void add(std::size_t size_class) noexcept { add(slabs_[size_class], std::uint32_t{1}); }

    void remove(const slice_record& slab) noexcept
    {
        add(slabs_[slab.size_class], ~std::uint32_t{0});
        add(carved_bytes_[slab.size_class], std::size_t{0} - slab.carved_bytes());
    }

    /// Effects: counts bytes that were carved from a slab.
    void add_carved(std::size_t size_class, std::size_t bytes) noexcept { add(carved_bytes_[size_class], bytes); }

    /// Effects: counts slabs that now have free blocks; if `more` is negative, slabs that have become full.
    void add_listed(std::size_t size_class, block_count more) noexcept
    {
        listed_[size_class] += static_cast<std::uint32_t>(more);
    }

    /// Returns: slabs of that class with free blocks.
    std::uint32_t listed(std::size_t size_class) const noexcept { return listed_[size_class]; }

    /// Returns: bytes of slabs of that class.
    std::size_t bytes(std::size_t size_class) const noexcept
    {
        return std::size_t{slabs(size_class)} * class_info[size_class].slab_bytes;
    }

    /// Returns: bytes of the carved parts of slabs of that class: see slice_record.hpp.
    std::size_t carved_bytes(std::size_t size_class) const noexcept
    {
        return carved_bytes_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: whether a slab has at least, or at most, the mean number of free blocks. `outstanding`: outstanding
    ///   blocks of its class.
    bool is_sparse(const slice_record& slab, std::uint32_t outstanding) const noexcept
    {
        return of_all_like(slab) >= free_blocks(slab, outstanding);
    }
    bool is_dense(const slice_record& slab, std::uint32_t outstanding) const noexcept
    {
        return of_all_like(slab) <= free_blocks(slab, outstanding);
    }

    /// Returns: whether other slabs have enough free blocks for the outstanding blocks of this slab.
    bool has_room_elsewhere(const slice_record& slab, std::uint32_t outstanding) const noexcept
    {
        return listed(slab.size_class) >= 2 && free_blocks(slab, outstanding) >= slab.capacity;
    }

private:
    std::uint32_t slabs(std::size_t size_class) const noexcept
    {
        return slabs_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: free blocks in all slabs of the class.
    std::size_t free_blocks(const slice_record& slab, std::uint32_t outstanding) const noexcept
    {
        return std::size_t{slabs(slab.size_class)} * slab.capacity - outstanding;
    }

    /// Returns: the number of free blocks in all slabs of the class, if each slab with free blocks had as many as this
    ///   slab.
    std::size_t of_all_like(const slice_record& slab) const noexcept
    {
        return std::size_t{slab.free_count} * listed(slab.size_class);
    }

    /// Adds to a counter that only the holder of the lock changes.
    template <class Number>
    static void add(std::atomic<Number>& counter, Number more) noexcept
    {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint32_t>, class_count> slabs_{};
    std::array<std::uint32_t, class_count> listed_{};
    std::array<std::atomic<std::size_t>, class_count> carved_bytes_{};
};
} // namespace memory_pool::np
