// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Asks the system for huge pages in parts of the region that are as large as a huge page.
///
///     parts:    |               | asked for     | asked for     | refused       |               | ...
///     runs:     | slab | slab | a large block              | slab | purged | ...
///
/// A huge page takes one fault instead of 512, but takes all of its memory at once. huge_page_policy.hpp decides where
/// that memory will be needed. Parts that have returned some of their memory refuse huge pages, because khugepaged
/// would otherwise bring that memory back later.
///
/// Parts that have been free for a long time are discarded: they are inaccessible, and count towards no limit of the
/// process or the system, until they are needed again.
///
///     parts:    | asked for     | discarded     | discarded     |               | ...
///     runs:     | slab | slab | free, purged long ago        | slab |
///
/// To the system, neighbouring parts with different advice are different mappings, of which a process may have 65,530.
/// So changes of advice have an upper bound, and memory in several mappings is not moved: see large_runs.hpp.
///
/// Thread safety: none; the owner of the runs has a lock.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/huge_pages.hpp>

#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "region.hpp"
#include "runs.hpp"
#include "slice_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The parts of one region.
template <class Region>
class huge_pages : base::immovable<huge_pages<Region>>
{
public:
    constexpr explicit huge_pages(Region& region) noexcept : region_(region) {}

    /// Effects: asks for huge pages in all parts that contain these slices.
    void ask_for(slice_index first, std::uint32_t length) noexcept
    {
        advise(part_of(first), end_of_parts(first + length), huge_page_use::asked_for);
    }

    /// Returns: the number of parts without memory that `taken` enters.
    static std::size_t entered(const run& taken) noexcept
    {
        return first_entered(taken) < end_of_entered(taken) ? end_of_entered(taken) - first_entered(taken) : 0;
    }

    /// Returns: the first slice of `taken` in the parts that it enters.
    /// Preconditions: `taken` enters a part.
    static slice_index first_slice_entered(const run& taken) noexcept
    {
        return std::max(taken.first, begin_of(first_entered(taken)));
    }

    /// Effects: if `are_wanted`, asks for huge pages in the parts that `taken` enters. Otherwise, refuses huge pages in
    ///   those parts where they were asked for.
    void enter(const run& taken, bool are_wanted) noexcept
    {
        advise(first_entered(taken), end_of_entered(taken),
               are_wanted ? huge_page_use::asked_for : huge_page_use::refused);
    }

    /// Effects: refuses huge pages, where they were asked for, in parts that are entirely within these slices.
    void refuse(slice_index first, std::uint32_t length) noexcept
    {
        advise(end_of_parts(first), part_of(first + length), huge_page_use::refused);
    }

    /// Effects: refuses huge pages in parts that lose some but not all of their memory when these slices are purged.
    void lose_memory(slice_index first, std::uint32_t length) noexcept
    {
        const slice_index end = first + length;
        advise(part_of(first), end_of_parts(first), huge_page_use::refused);
        advise(part_of(end), end_of_parts(end), huge_page_use::refused);
    }

    /// Effects: around a run that is being purged, returns the memory that huge pages may have brought to free slices.
    /// Preconditions: `purged` was taken for a purge.
    void purge_around(const run& purged) noexcept
    {
        const slice_index end = purged.first + purged.length;
        purge(std::max(purged.clean_begin, begin_of(part_of(purged.first))), purged.first);
        purge(end, std::min(purged.clean_end, begin_of(end_of_parts(end))));
    }

    /// Effects: marks whole parts of free slices as inaccessible before the caller discards them, unless the discard
    ///   would make too many mappings.
    /// Returns: the slices of these parts; `length` is 0 if there are none, or all of them are already inaccessible.
    /// Preconditions: no other thread takes the slices, and the slices have no memory.
    run begin_discard(slice_index first, slice_index end) noexcept
    {
        const std::size_t begin_part = end_of_parts(first);
        const std::size_t end_part = std::max(begin_part, part_of(end));
        if (are_all(huge_page_use::discarded, begin_part, end_part) ||
            changes_with(begin_part, end_part, huge_page_use::discarded) > std::max(max_changes_to_discard, changes_))
            return {};
        set(begin_part, end_part, huge_page_use::discarded);
        return {begin_of(begin_part), static_cast<std::uint32_t>(end_part - begin_part) * slices_of_huge_page};
    }

    /// Effects: commits the discarded parts that contain these slices. Commits whole parts, because their other slices
    ///   will be needed next; if the process may not have more memory, commits only these slices.
    /// Returns: whether all of these slices are accessible. If not, no memory is lost.
    bool commit(slice_index first, std::uint32_t length) noexcept
    {
        const slice_index end = first + length;
        for (std::size_t part = part_of(first), next = part; discarded_ != 0 && part != end_of_parts(end);
             part = next) {
            while (next != end_of_parts(end) && use_of(next) == use_of(part))
                ++next;
            if (is_inaccessible(part) && !commit(part, next, first, end))
                return false;
        }
        return true;
    }

    /// Effects: records that memory was mapped anew for these slices.
    void forget(slice_index first, std::uint32_t length) noexcept
    {
        set(part_of(first), end_of_parts(first + length), huge_page_use::unknown);
    }

    /// Effects: records that nothing is mapped from `first` on.
    void forget_from(slice_index first) noexcept
    {
        if (use_of(part_of(first)) != huge_page_use::untold && !is_inaccessible(part_of(first)))
            set(part_of(first), end_of_parts(first), huge_page_use::unknown);
        set(end_of_parts(first), end_of_parts(slice_at(region_.committed())), huge_page_use::untold);
    }

    /// Effects: suspends advice until all moves have ended, because advice about a part of the moving memory would
    ///   split that memory into several mappings.
    void begin_move() noexcept { ++moves_; }
    void end_move() noexcept { --moves_; }
    /// Effects: in the child of a fork, forgets the moves of threads that do not exist there.
    void forget_moves() noexcept { moves_ = 0; }

    /// Returns: whether the advice is the same for all of these slices and for as many slices at `other`.
    bool are_alike(slice_index first, slice_index other, std::uint32_t length) const noexcept
    {
        const huge_page_use of_all = use_of(part_of(first));
        const bool is_known = of_all != huge_page_use::unknown && of_all != huge_page_use::partly_discarded;
        return is_known && are_all(of_all, first, length) && are_all(of_all, other, length);
    }

    /// Returns: whether huge pages were asked for in all parts that contain these slices.
    bool are_asked_for(slice_index first, std::uint32_t length) const noexcept
    {
        return are_all(huge_page_use::asked_for, first, length);
    }

    /// Returns: the number of pairs of neighbouring parts with different advice.
    std::size_t changes() const noexcept { return changes_; }
    /// Upper bound of changes().
    static constexpr std::size_t max_changes = 8'192;
    /// Upper bound for discards, which allows 2,048 discarded ranges of 2 MiB or more each. The other half is for huge
    /// pages.
    static constexpr std::size_t max_changes_to_discard = max_changes / 2;

    static constexpr std::size_t part_of(slice_index slice) noexcept { return position(slice) / slices_of_huge_page; }
    /// Returns: the first part that begins at or after `slice`.
    static constexpr std::size_t end_of_parts(slice_index slice) noexcept
    {
        return base::divide_round_up(position(slice), std::size_t{slices_of_huge_page});
    }
    static constexpr slice_index begin_of(std::size_t part) noexcept { return slice_at(part * slices_of_huge_page); }

private:
    static constexpr std::size_t first_entered(const run& taken) noexcept
    {
        return std::max(end_of_parts(taken.clean_begin), part_of(taken.first));
    }
    static constexpr std::size_t end_of_entered(const run& taken) noexcept
    {
        return std::min(part_of(taken.clean_end), end_of_parts(taken.first + taken.length));
    }

    huge_page_use use_of(std::size_t part) const noexcept
    {
        return region_.is_committed(begin_of(part)) ? region_.huge_pages(part) : huge_page_use::untold;
    }

    /// Purges slices of one part if a huge page may be there. Skips uncommitted slices, where the program may have
    /// mapped memory.
    void purge(slice_index begin, slice_index end) noexcept
    {
        end = std::min(end, slice_at(region_.committed()));
        if (begin < end && use_of(part_of(begin)) != huge_page_use::untold)
            (void)os::purge_memory(region_.address(begin), (end - begin) * slice_bytes);
    }

    /// Advises the system about the parts whose advice changes, with one call for each row of neighbours.
    void advise(std::size_t begin, std::size_t end, huge_page_use use) noexcept
    {
        // Refusing huge pages that were never asked for would only add a mapping.
        const auto is_change = [this, use](std::size_t part) {
            const huge_page_use so_far = use_of(part);
            const bool may_be_there = so_far == huge_page_use::asked_for || so_far == huge_page_use::unknown;
            return use == huge_page_use::asked_for ? so_far != use && !is_inaccessible(part) : may_be_there;
        };
        while (begin < end) {
            std::size_t next = begin + 1;
            if (is_change(begin)) {
                while (next != end && is_change(next))
                    ++next;
                advise_in_one_call(begin, next, use);
            }
            begin = next;
        }
    }

    void advise_in_one_call(std::size_t begin, std::size_t end, huge_page_use use) noexcept
    {
        if (moves_ != 0 || changes_with(begin, end, use) > std::max(max_changes, changes_))
            return;
        const slice_index first = begin_of(begin);
        const slice_index last = std::min(begin_of(end), slice_at(region_.slices()));
        const os::advice result = os::advise_huge_pages(region_.address(first), (last - first) * slice_bytes,
                                                        use == huge_page_use::asked_for);
        if (result != os::advice::unknown)
            set(begin, end, result == os::advice::taken ? use : huge_page_use::unknown);
    }

    bool is_inaccessible(std::size_t part) const noexcept
    {
        return use_of(part) == huge_page_use::discarded || use_of(part) == huge_page_use::partly_discarded;
    }

    /// Commits parts that are all discarded or all partly discarded. If the system refuses, commits only the slices
    /// from `first` to `last`.
    bool commit(std::size_t begin, std::size_t end, slice_index first, slice_index last) noexcept
    {
        if (use_of(begin) == huge_page_use::discarded && commit_slices(begin_of(begin), begin_of(end))) {
            set(begin, end, huge_page_use::untold);
            return true;
        }
        // Guards and revoked runs are mappings, too, and would become accessible with the other slices of the part.
        if (is_checked || !commit_slices(std::max(first, begin_of(begin)), std::min(last, begin_of(end))))
            return false;
        set(begin, end, huge_page_use::partly_discarded);
        return true;
    }

    bool commit_slices(slice_index first, slice_index end) noexcept
    {
        os::include_in_dumps(region_.address(first), (end - first) * slice_bytes);
        return os::commit_memory(region_.address(first), (end - first) * slice_bytes);
    }

    void set(std::size_t begin, std::size_t end, huge_page_use use) noexcept
    {
        changes_ -= changes_between(begin, end);
        for (std::size_t part = begin; part != end; ++part) {
            discarded_ -= is_inaccessible(part) ? 1U : 0U;
            region_.huge_pages(part) = use;
            discarded_ += is_inaccessible(part) ? 1U : 0U;
        }
        changes_ += changes_between(begin, end);
    }

    /// Returns: the number of changes if all of these parts had that advice.
    std::size_t changes_with(std::size_t begin, std::size_t end, huge_page_use use) const noexcept
    {
        return changes_ - changes_between(begin, end) + (before(begin) != use ? 1U : 0U) +
               (use_of(end) != use ? 1U : 0U);
    }

    bool are_all(huge_page_use use, slice_index first, std::uint32_t length) const noexcept
    {
        return are_all(use, part_of(first), end_of_parts(first + length));
    }

    bool are_all(huge_page_use use, std::size_t begin, std::size_t end) const noexcept
    {
        for (std::size_t part = begin; part != end; ++part)
            if (use_of(part) != use)
                return false;
        return true;
    }

    huge_page_use before(std::size_t part) const noexcept
    {
        return part != 0 ? use_of(part - 1) : huge_page_use::untold;
    }

    std::size_t changes_between(std::size_t begin, std::size_t end) const noexcept
    {
        std::size_t count = 0;
        for (std::size_t part = begin; part <= end; ++part)
            count += before(part) != use_of(part) ? 1U : 0U;
        return count;
    }

    Region& region_;
    std::size_t changes_ = 0;
    std::size_t moves_ = 0;     ///< Moves that have not ended.
    std::size_t discarded_ = 0; ///< Discarded and partly discarded parts.
};
} // namespace memory_pool::np
