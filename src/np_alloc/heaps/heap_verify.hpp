// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Checks that the lists, counts and metadata of the slabs of a heap are consistent.
///
/// Thread safety: none; no thread holds the heap lock or takes it during the walk.
#pragma once

#include <memory_pool/base/intrusive_list.hpp>

#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/inconsistency.hpp"
#include "../support/internals.hpp"
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
    explicit heap_verifier(const heap_slabs& verified) noexcept : heap_(verified) {}

    /// Returns: the first inconsistency found in the slabs, their lists, and the counts of outstanding blocks.
    /// Preconditions: the heap lock is free.
    /// Complexity: linear in bits of slabs.
    inconsistency verify() const noexcept
    {
        heap_.assume_held();
        std::array<std::uint32_t, class_count> outstanding{};
        std::array<std::uint32_t, class_count> with_blocks{};
        std::array<std::uint32_t, class_count> empty{};
        std::array<std::size_t, class_count> slab_bytes{};
        std::array<std::size_t, class_count> carved_bytes{};
        const auto count = [&](const slice_record& slab) {
            outstanding[slab.size_class] += slab.capacity - slab.free_count;
            with_blocks[slab.size_class] += slab.has_blocks() ? 1U : 0U;
            empty[slab.size_class] += slab.is_empty() && class_info[slab.size_class].slices == 1 ? 1U : 0U;
            slab_bytes[slab.size_class] += class_info[slab.size_class].slab_bytes;
            carved_bytes[slab.size_class] += slab.carved_bytes();
            return true;
        };
        if (const inconsistency found = verify(heap_.slabs_, heap_slabs::links_in_heap{heap_.region()},
                                               "the list of slabs of a heap is broken at a slab", count))
            return found;
        std::size_t bytes = 0;
        for (std::size_t number = 0; number != class_count; ++number) {
            if (outstanding[number] != heap_.outstanding(number))
                return {"the outstanding-block count of a heap does not match its slabs", &heap_};
            if (slab_bytes[number] != heap_.counts().bytes(number) ||
                carved_bytes[number] != heap_.counts().carved_bytes(number))
                return {"the counts of slabs of a heap, or of their carved bytes, do not match its slabs", &heap_};
            if (empty[number] != heap_.empty_.count(number))
                return {"the count of empty slabs of a heap does not match its slabs", &heap_};
            bytes += std::size_t{outstanding[number]} * class_info[number].block_bytes;
            if (with_blocks[number] != heap_.counts().listed(number))
                return {"the count of slabs with free blocks does not match the slabs", &heap_};
            const auto count_listed = [&](const slice_record& slab) {
                --with_blocks[number];
                return slab.size_class == number;
            };
            if (const inconsistency found =
                    verify(heap_.with_blocks_[number], heap_slabs::links_in_class{heap_.region()},
                           "the list of slabs with free blocks is broken at a slab", count_listed))
                return found;
            if (with_blocks[number] != 0)
                return {"a slab with free blocks is missing from its list", &heap_};
        }
        return bytes == heap_.outstanding_bytes()
                   ? inconsistency{}
                   : inconsistency{"the outstanding-byte count of a heap does not match its slabs", &heap_};
    }

private:
    /// Returns: the inconsistency, if any, of an entry in the list of slabs.
    inconsistency verify(slice_index first) const noexcept
    {
        if (!heap_.region().is_committed(first))
            return {"the list of slabs of a heap leads to uncommitted memory", &heap_};
        const slice_record& slab = heap_.record(first);
        const slice_tag tag = heap_.region().tag(first).load(std::memory_order_relaxed);
        const std::size_t size_class = tag & class_bits;
        if ((tag & ~class_bits) != heap_.own_tag() || size_class >= class_count)
            return {"the list of slabs of a heap leads to a slab that is not its own", heap_.region().address(first)};
        if (!slab.is_slab_of(first, heap_.region().address(first), size_class))
            return {"slab metadata is inconsistent", heap_.region().address(first)};
        for (slice_index slice = first; slice != first + slab_slices(size_class); ++slice)
            if (heap_.region().tag(slice).load(std::memory_order_relaxed) != tag || heap_.record(slice).slab != first)
                return {"a slice is not tagged as part of its slab", heap_.region().address(slice)};
        if (!slab.is_valid())
            return {"the free count of a slab does not match its bitmap", slab.begin};
        if (slab.carved_end < slab.begin || slab.carved_bytes() > class_info[size_class].slab_bytes)
            return {"the carved part of a slab is not in the slab", slab.begin};
        if (slab.is_listed() != slab.has_blocks())
            return {"the list of slabs with free blocks lacks a slab, or contains a full slab", slab.begin};
        return {};
    }

    /// Returns: the first inconsistency in a list of slabs; `torn` if the list's forward and backward links disagree,
    ///   or if `is_right(const slice_record&)` is false for a slab.
    template <class Links, class IsRight>
    inconsistency verify(const base::intrusive_list<Links>& list, const Links& links, const char* torn,
                         IsRight&& is_right) const noexcept
    {
        inconsistency found{torn, &heap_};
        const auto is_valid = [&](slice_index each) {
            if (const inconsistency wrong = verify(each)) {
                found = wrong;
                return false;
            }
            found.where = heap_.record(each).begin;
            return is_right(heap_.record(each));
        };
        return list.is_linked(is_valid, links) ? inconsistency{} : found;
    }

    const heap_slabs& heap_;
};

/// Returns: the first inconsistency found in the slabs of a heap, their lists, and the counts of outstanding blocks.
/// Complexity: linear in bits of slabs.
inline inconsistency verify(const heap_slabs& heap) noexcept
{
    return heap_verifier(heap).verify();
}
} // namespace memory_pool::np
