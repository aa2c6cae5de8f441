// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Whether the lists, counts and metadata of the slabs of a heap are consistent.
///
/// Thread safety: none; the heap lock is free, and no thread takes it.
#pragma once

#include "../slices/size_classes.hpp"
#include "../slices/slab.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/inconsistency.hpp"
#include "heap_slabs.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Walks the slabs of a heap.
class heap_verifier
{
public:
    explicit heap_verifier(const heap_slabs& verified) noexcept : its_(verified) {}

    /// Returns: what is wrong with the slabs, the lists of them, and the counts of outstanding blocks.
    /// Preconditions: the heap lock is free.
    /// Complexity: linear in bits of slabs.
    inconsistency verify() const noexcept
    {
        its_.assume_held();
        std::array<std::uint32_t, class_count> outstanding{};
        std::array<std::uint32_t, class_count> with_blocks{};
        slice_number previous = no_slice;
        for (slice_number each = its_.first_slab_; each != no_slice; each = its_.record(each).next_in_heap) {
            if (const inconsistency found = verify(each))
                return found;
            const slice_record& slab = its_.record(each);
            if (slab.previous_in_heap != previous)
                return {"the list of slabs of a heap is torn at a slab", slab.begin};
            previous = each;
            outstanding[slab.size_class] += slab.capacity - slab.free_count;
            with_blocks[slab.size_class] += slab.is_listed ? 1 : 0;
        }
        std::size_t bytes = 0;
        for (std::size_t number = 0; number != class_count; ++number) {
            if (outstanding[number] != its_.outstanding(number))
                return {"the outstanding-block count of a heap does not match its slabs", &its_};
            bytes += std::size_t{outstanding[number]} * facts[number].block_bytes;
            if (const inconsistency found = verify_list(number, with_blocks[number]))
                return found;
        }
        return bytes == its_.outstanding_bytes()
                   ? inconsistency{}
                   : inconsistency{"the outstanding-byte count of a heap does not match its slabs", &its_};
    }

private:
    /// Returns: what is wrong with what should be one of its slabs.
    inconsistency verify(slice_number first) const noexcept
    {
        if (first >= its_.region().committed())
            return {"the list of slabs of a heap leads out of memory", &its_};
        const slice_record& slab = its_.record(first);
        const slice_tag tag = its_.region().tag(first).load(std::memory_order_relaxed);
        const std::size_t size_class = tag & class_bits;
        if ((tag & ~class_bits) != its_.own_tag() || size_class >= class_count)
            return {"the list of slabs of a heap leads to a slab that is not its own", its_.region().address(first)};
        if (!slab.is_slab_of(first, its_.region().address(first), size_class))
            return {"slab metadata is inconsistent", its_.region().address(first)};
        for (slice_number slice = first; slice != first + slab_slices(size_class); ++slice)
            if (its_.region().tag(slice).load(std::memory_order_relaxed) != tag || its_.record(slice).slab != first)
                return {"a slice is not tagged as part of its slab", its_.region().address(slice)};
        if (!slab.is_valid())
            return {"the free count of a slab does not match its bitmap", slab.begin};
        if (slab.is_listed != slab.has_blocks())
            return {"a slab with free blocks is not listed, or one without is", slab.begin};
        return {};
    }

    /// Returns: what is wrong with the list of slabs of that class that have free blocks, of which there are `count`.
    inconsistency verify_list(std::size_t size_class, std::uint32_t count) const noexcept
    {
        its_.assume_held();
        slice_number previous = no_slice;
        for (slice_number each = its_.with_blocks_[size_class]; each != no_slice; each = its_.record(each).next_slab) {
            if (const inconsistency found = verify(each))
                return found;
            const slice_record& slab = its_.record(each);
            if (slab.size_class != size_class || !slab.is_listed || slab.previous_slab != previous)
                return {"the list of slabs with free blocks is torn at a slab", slab.begin};
            previous = each;
            --count;
        }
        return count == 0 ? inconsistency{} : inconsistency{"a slab with free blocks is missing in its list", &its_};
    }

    const heap_slabs& its_;
};

/// Returns: what is wrong with the slabs of a heap, the lists of them, and the counts of outstanding blocks.
/// Complexity: linear in bits of slabs.
inline inconsistency verify(const heap_slabs& heap) noexcept
{
    return heap_verifier(heap).verify();
}
} // namespace memory_pool::np
