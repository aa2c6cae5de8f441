// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Marks the parts of the region whose slice records may show a guard page or poisoned bytes in free memory. The
/// records of other parts need not be read. An untouched run of 64 GiB has a million records, each on its own pages.
///
///     parts of 32 slices:   |  0  |  1  |  0  |  0  | ...     one bit each: 64 KiB for 1 TiB
///
/// Thread safety: any thread, for slices that the thread owns.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../slices/region.hpp"
#include "../slices/slice_index.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// One bit for each part of a region.
class written_records : base::immovable<written_records>
{
public:
    static constexpr std::size_t slices_of_part = slices_of_huge_page;

    /// Effects: allocates the bits for `slices` slices, all of them clear.
    /// Returns: false if out of memory.
    bool start(std::size_t slices) noexcept
    {
        bytes_ = base::divide_round_up(slices, slices_of_word) * sizeof(word);
        words_ = static_cast<word*>(take_metadata_pages(bytes_));
        return words_ != nullptr;
    }

    /// Effects: frees the bits.
    void stop() noexcept
    {
        give_metadata_pages(words_, bytes_);
        words_ = nullptr;
    }

    /// Effects: notes the part that contains `slice`. Call this before writing to the slice's record, so that the child
    ///   of a fork sees the note.
    void note(slice_index slice) noexcept
    {
        word& bits = words_[position(slice) / slices_of_word];
        if ((bits.load(std::memory_order_relaxed) & bit_of(slice)) == 0)
            bits.fetch_or(bit_of(slice), std::memory_order_relaxed);
    }

    /// Effects: calls `visit(slice_index)` for each of the `count` slices from `first` on that lie in noted parts.
    /// Complexity: linear in the slices visited, and in the words that hold the bits.
    template <class Visit>
    void for_each(slice_index first, std::uint32_t count, Visit&& visit) const noexcept
    {
        for_each_part(first, count, [&visit](slice_index begin, slice_index end) {
            for (slice_index slice = begin; slice != end; ++slice)
                visit(slice);
        });
    }

    /// Effects: calls `visit(slice_index begin, slice_index end)` for each noted part, with its slices in the range.
    ///   Clears the bits of parts that lie entirely in the range.
    /// Complexity: as for_each.
    template <class Visit>
    void take_rows(slice_index first, std::uint32_t count, Visit&& visit) noexcept
    {
        for_each_part(first, count, [this, &visit](slice_index begin, slice_index end) {
            visit(begin, end);
            if (end - begin == slices_of_part)
                words_[position(begin) / slices_of_word].fetch_and(~bit_of(begin), std::memory_order_relaxed);
        });
    }

private:
    using word = std::atomic<std::uint64_t>;
    static constexpr std::size_t slices_of_word = base::bits_per_word * slices_of_part;

    static constexpr std::uint64_t bit_of(slice_index slice) noexcept
    {
        return std::uint64_t{1} << (position(slice) / slices_of_part % base::bits_per_word);
    }

    /// Calls `visit(begin, end)` for the slices of each noted part within the `count` slices from `first` on.
    template <class Visit>
    void for_each_part(slice_index first, std::uint32_t count, Visit&& visit) const noexcept
    {
        const std::size_t end = position(first + count);
        for (std::size_t at = position(first); at < end;) {
            const std::uint64_t noted = words_[at / slices_of_word].load(std::memory_order_relaxed);
            if (noted == 0) {
                at = (at / slices_of_word + 1) * slices_of_word;
                continue;
            }
            const std::size_t next = std::min((at / slices_of_part + 1) * slices_of_part, end);
            if ((noted & bit_of(slice_at(at))) != 0)
                visit(slice_at(at), slice_at(next));
            at = next;
        }
    }

    word* words_ = nullptr;
    std::size_t bytes_ = 0;
};
} // namespace memory_pool::np
