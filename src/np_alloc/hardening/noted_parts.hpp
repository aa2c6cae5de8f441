// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// In which parts of the region the records of slices say something of free memory: that a page is guarded, or that bytes must be as
/// they were left. The records of all others need not be read: a run of many GiB, which nobody has touched, has a million of them,
/// and each lies in a page of its own.
///
///     parts of 32 slices:   |  0  |  1  |  0  |  0  | ...     a bit each: 64 KiB of them for 1 TiB
///
/// Thread safety: any thread, each for the slices that it has.
#pragma once

#include <memory_pool/base/arithmetic.hpp>

#include "../slices/region.hpp"
#include "../slices/runs.hpp"
#include "../support/own_pages.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
/// A bit for each part of one region.
class noted_parts
{
public:
    static constexpr std::size_t slices_of_part = slices_of_huge_page;

    constexpr noted_parts() noexcept = default;
    noted_parts(const noted_parts&) = delete;
    noted_parts& operator=(const noted_parts&) = delete;
    ~noted_parts() = default;

    /// Effects: makes room for that many slices, none of which is noted.
    /// Returns: false if there is no memory.
    bool start(std::size_t slices) noexcept
    {
        bytes_ = base::divide_round_up(slices, slices_of_word) * sizeof(word);
        words_ = static_cast<word*>(take_own_pages(bytes_));
        return words_ != nullptr;
    }

    /// Effects: gives the memory back.
    void stop() noexcept
    {
        give_own_pages(words_, bytes_);
        words_ = nullptr;
    }

    /// Effects: notes the part that a slice lies in. To be called before something is written to its record, so that the child of a fork
    ///   knows of it.
    void note(std::size_t slice) noexcept
    {
        word& its = words_[slice / slices_of_word];
        if ((its.load(std::memory_order_relaxed) & bit_of(slice)) == 0)
            its.fetch_or(bit_of(slice), std::memory_order_relaxed);
    }

    /// Effects: calls `visit(slice_number)` for each of the slices that lies in a noted part.
    /// Complexity: linear in those, and in the words that have the bits of the others.
    template <class Visit>
    void for_each(slice_number first, std::uint32_t count, Visit&& visit) const noexcept
    {
        for_each_part(first, count, [&visit](std::size_t begin, std::size_t end) {
            for (std::size_t slice = begin; slice != end; ++slice)
                visit(static_cast<slice_number>(slice));
        });
    }

    /// Effects: the same, and nothing is noted any more of parts that lie in those slices as a whole.
    template <class Visit>
    void take_each(slice_number first, std::uint32_t count, Visit&& visit) noexcept
    {
        for_each_part(first, count, [this, &visit](std::size_t begin, std::size_t end) {
            for (std::size_t slice = begin; slice != end; ++slice)
                visit(static_cast<slice_number>(slice));
            if (end - begin == slices_of_part)
                words_[begin / slices_of_word].fetch_and(~bit_of(begin), std::memory_order_relaxed);
        });
    }

private:
    using word = std::atomic<std::uint64_t>;
    static constexpr std::size_t slices_of_word = base::bits_per_word * slices_of_part;

    static constexpr std::uint64_t bit_of(std::size_t slice) noexcept
    {
        return std::uint64_t{1} << (slice / slices_of_part % base::bits_per_word);
    }

    /// Calls `visit(begin, end)` for the slices of each noted part that are among `count` from `first` on.
    template <class Visit>
    void for_each_part(slice_number first, std::uint32_t count, Visit&& visit) const noexcept
    {
        const std::size_t end = std::size_t{first} + count;
        for (std::size_t at = first; at < end;) {
            const std::uint64_t noted = words_[at / slices_of_word].load(std::memory_order_relaxed);
            if (noted == 0) {
                at = (at / slices_of_word + 1) * slices_of_word;
                continue;
            }
            const std::size_t next = std::min((at / slices_of_part + 1) * slices_of_part, end);
            if ((noted & bit_of(at)) != 0)
                visit(at, next);
            at = next;
        }
    }

    word* words_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Where blocks are not checked, there is nothing to note.
struct no_noted_parts
{
    static constexpr bool start(std::size_t) noexcept { return true; }
    constexpr void stop() const noexcept {}
};
} // namespace memory_pool::np
