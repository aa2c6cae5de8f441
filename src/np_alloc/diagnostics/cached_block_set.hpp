// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The set of outstanding blocks that are not in use: cached by threads, in transit, or in quarantine.
///
///     marks of a slab:   | 0 | 1 | 0 | 0 | 1 | ...      a bit for each block, as in its record
///
/// The marks are in separate pages, so that the search does not change the heaps.
///
/// Thread safety: none; no other thread may be in a call.
#pragma once

#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../heaps/heap_registry.hpp"
#include "../heaps/shared_heap.hpp"
#include "../heaps/thread_cache.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../support/inconsistency.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool::np {
/// A bitmap of cached blocks.
class cached_block_set : base::immovable<cached_block_set>
{
public:
    explicit cached_block_set(heap_registry& all) noexcept : all_(all), memory_(all.pages().region()) {}
    ~cached_block_set() { drop_marks(); }

    /// Effects: marks exactly the blocks that are cached now.
    /// Returns: an inconsistency of a cached block or magazine, or a lack of memory for the marks.
    inconsistency find_all() noexcept
    {
        if (!get_marks())
            return {"no memory for the set of cached blocks", nullptr};
        inconsistency found;
        all_.heaps().for_each_heap([this, &found](auto& heap) {
            if (!found)
                found = this->find_in(heap); // `this->`, or clang considers the capture unused
        });
        return found;
    }

    /// Returns: whether block `number` of a slab is cached.
    bool has(slice_index slab, std::size_t number) const noexcept
    {
        return (word_of(slab, number) & base::bit_in_word(number)) != 0;
    }

    /// Returns: whether there was memory for marks.
    bool has_marks() const noexcept { return marks_ != nullptr; }

    /// Returns: the number of blocks of that class in transit.
    std::uint32_t in_transit(std::size_t size_class) const noexcept { return in_transit_[size_class]; }

private:
    static constexpr std::size_t words_of_slab = largest_capacity / base::bits_per_word;

    std::size_t bytes_of_marks() const noexcept { return slices_ * words_of_slab * sizeof(std::uint64_t); }

    void drop_marks() noexcept
    {
        give_metadata_pages(std::exchange(marks_, nullptr), bytes_of_marks());
        in_transit_ = {};
    }

    bool get_marks() noexcept
    {
        drop_marks();
        slices_ = memory_.committed();
        if (slices_ == 0)
            return true; // There are no blocks.
        marks_ = static_cast<std::uint64_t*>(take_metadata_pages(bytes_of_marks()));
        return marks_ != nullptr;
    }

    std::uint64_t& word_of(slice_index slab, std::size_t number) const noexcept
    {
        return marks_[position(slab) * words_of_slab + number / base::bits_per_word];
    }

    inconsistency find_in(thread_heap& heap) noexcept
    {
        if (!heap.is_known())
            return {};
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            if (const inconsistency found = find_in_magazine(heap, size_class))
                return found;
        inconsistency found;
        (void)heap.checks.quarantined.for_each([this, &found](std::size_t, const void* block) {
            found = mark(block);
            return !found;
        });
        if (found)
            return found;
        (void)heap.slabs.for_each_in_transit([this, &found](const void* block) {
            found = mark(block);
            if (!found)
                ++in_transit_[tag_of(block) & class_bits];
            return !found;
        });
        return found;
    }

    /// Shared heaps cache no blocks.
    static inconsistency find_in(const shared_heap&) noexcept { return {}; }

    inconsistency find_in_magazine(thread_heap& heap, std::size_t size_class) noexcept
    {
        void** const begin = heap.begin(size_class);
        void** const top = heap.top(size_class);
        if (top == nullptr)
            return {};
        if (top < begin || top > heap.end(size_class) || *heap.end(size_class) != thread_heap::full_mark())
            return {"a magazine is out of place", begin};
        for (void** each = begin; each != top; ++each) {
            if (const inconsistency found = mark(*each))
                return found;
            if ((tag_of(*each) & class_bits) != size_class)
                return {"a block is in the magazine of another size class", *each};
        }
        return {};
    }

    slice_tag tag_of(const void* block) const noexcept { return memory_.tag_of(block).load(std::memory_order_relaxed); }

    inconsistency mark(const void* block) noexcept
    {
        if (memory_.slices_before(block) >= slices_ || !is_of_slab(tag_of(block)))
            return {"a cached block is in no slab", block};
        const slice_index first = memory_.record_of(block).slab;
        if (position(first) >= slices_)
            return {"a cached block is in a slab outside of the region", block};
        const slice_record& slab = memory_.record(first);
        const std::size_t number =
            block_at(class_info[tag_of(block) & class_bits],
                     static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_.address(first)));
        if (number == no_block_there)
            return {"a cached block does not begin at a block boundary", block};
        if (!slab.is_outstanding(number))
            return {"a cached block is also free in its slab", block};
        if (has(first, number))
            return {"a block is cached twice", block};
        word_of(first, number) |= base::bit_in_word(number);
        return {};
    }

    heap_registry& all_;
    const page_heap::region_type& memory_;
    std::size_t slices_ = 0;
    std::uint64_t* marks_ = nullptr;
    std::array<std::uint32_t, class_count> in_transit_{};
};
} // namespace memory_pool::np
