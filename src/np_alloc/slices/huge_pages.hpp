// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Where the system is asked for huge pages: the region in parts, each as large as one of them.
///
///     parts:    |               | asked for     | asked for     | refused       |               | ...
///     runs:     | slab | slab | a large block              | slab | purged | ...
///
/// A huge page takes one fault instead of 512, but all of its memory at once. huge_page_policy.hpp decides where that
/// memory will be needed. Parts that have returned some of their memory refuse huge pages, as khugepaged would bring it
/// back later.
///
/// Parts that have been free for long are discarded: inaccessible, and counted towards no limit of the process or the
/// system until they are needed again.
///
///     parts:    | asked for     | discarded     | discarded     |               | ...
///     runs:     | slab | slab | free, purged long ago        | slab |
///
/// To the system, neighbours about which it was told different things are different mappings, of which a process may
/// have 65,530. So there is an end to that, and memory in different mappings is not moved: see page_heap.hpp.
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

    /// Effects: asks for huge pages in all parts that these slices lie in.
    void ask_for(slice_index first, std::uint32_t length) noexcept
    {
        tell(part_of(first), end_of_parts(first + length), huge_page_use::asked_for);
    }

    /// Returns: how many parts without memory `taken` enters.
    static std::size_t entered(const run& taken) noexcept
    {
        return first_entered(taken) < end_of_entered(taken) ? end_of_entered(taken) - first_entered(taken) : 0;
    }

    /// Returns: the first slice of `taken` in those parts.
    /// Preconditions: it enters one.
    static slice_index first_slice_entered(const run& taken) noexcept
    {
        return std::max(taken.first, begin_of(first_entered(taken)));
    }

    /// Effects: asks for huge pages in the parts that `taken` enters, or refuses them where they were asked for.
    void enter(const run& taken, bool are_wanted) noexcept
    {
        tell(first_entered(taken), end_of_entered(taken),
             are_wanted ? huge_page_use::asked_for : huge_page_use::refused);
    }

    /// Effects: refuses huge pages in parts that lie wholly within these slices, where they were asked for.
    void refuse(slice_index first, std::uint32_t length) noexcept
    {
        tell(end_of_parts(first), part_of(first + length), huge_page_use::refused);
    }

    /// Effects: refuses huge pages in those parts of which a run has memory that goes back to the system, but not all.
    void lose_memory(slice_index first, std::uint32_t length) noexcept
    {
        const slice_index end = first + length;
        tell(part_of(first), end_of_parts(first), huge_page_use::refused);
        tell(part_of(end), end_of_parts(end), huge_page_use::refused);
    }

    /// Effects: gives the memory back that huge pages may have brought around a run that loses its own, where all is
    ///   free.
    /// Preconditions: `its` was taken to be purged.
    void purge_around(const run& its) noexcept
    {
        const slice_index end = its.first + its.length;
        purge(std::max(its.clean_begin, begin_of(part_of(its.first))), its.first);
        purge(end, std::min(its.clean_end, begin_of(end_of_parts(end))));
    }

    /// Effects: has free slices that are about to be discarded count as inaccessible, in whole parts; not if that makes
    ///   too many mappings.
    /// Returns: those slices; `length` is 0 if there are none, or all are inaccessible already.
    /// Preconditions: no other thread takes them; they hold no memory.
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

    /// Effects: commits those of these slices that were discarded, with the rest of their parts, as that will be needed
    ///   next; without the rest if it is more than the process may have.
    /// Returns: whether all are accessible. If not, nothing is lost.
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

    /// Effects: notes that memory was mapped anew there.
    void forget(slice_index first, std::uint32_t length) noexcept
    {
        set(part_of(first), end_of_parts(first + length), huge_page_use::unknown);
    }

    /// Effects: notes that nothing is mapped from `first` on.
    void forget_from(slice_index first) noexcept
    {
        if (use_of(part_of(first)) != huge_page_use::untold && !is_inaccessible(part_of(first)))
            set(part_of(first), end_of_parts(first), huge_page_use::unknown);
        set(end_of_parts(first), end_of_parts(slice_at(region_.committed())), huge_page_use::untold);
    }

    /// Effects: tells the system nothing from now on, until as many moves have ended as begun: memory that moves would
    ///   become several mappings if the system were told something about a part of it.
    void begin_move() noexcept { ++moves_; }
    void end_move() noexcept { --moves_; }
    /// Effects: forgets the moves of threads that are not there, in the child of a fork.
    void forget_moves() noexcept { moves_ = 0; }

    /// Returns: whether the system was told the same about all these slices, and about as many others.
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

    /// Returns: how many neighbours there are about which the system was told different things.
    std::size_t changes() const noexcept { return changes_; }
    /// Returns: how many there may be.
    static constexpr std::size_t most_changes = 8'192;
    /// Half of them, so that the others are left for huge pages: 2,048 discarded ranges, of 2 MiB or more each.
    static constexpr std::size_t max_changes_to_discard = most_changes / 2;

    static constexpr std::size_t part_of(slice_index slice) noexcept { return position(slice) / slices_of_huge_page; }
    /// Returns: the first part that begins at `slice` or behind it.
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

    /// Gives slices of one part back, if there may have been a huge page. What is not committed may be mapped by the
    /// program.
    void purge(slice_index begin, slice_index end) noexcept
    {
        end = std::min(end, slice_at(region_.committed()));
        if (begin < end && use_of(part_of(begin)) != huge_page_use::untold)
            (void)os::purge_memory(region_.address(begin), (end - begin) * slice_bytes);
    }

    /// Tells the system what it was not told before about each of these parts; in one call about neighbours.
    void tell(std::size_t begin, std::size_t end, huge_page_use use) noexcept
    {
        // To refuse what was never asked for would make it another mapping for nothing.
        const auto is_news = [this, use](std::size_t part) {
            const huge_page_use so_far = use_of(part);
            const bool may_be_there = so_far == huge_page_use::asked_for || so_far == huge_page_use::unknown;
            return use == huge_page_use::asked_for ? so_far != use && !is_inaccessible(part) : may_be_there;
        };
        while (begin < end) {
            std::size_t next = begin + 1;
            if (is_news(begin)) {
                while (next != end && is_news(next))
                    ++next;
                tell_news(begin, next, use);
            }
            begin = next;
        }
    }

    void tell_news(std::size_t begin, std::size_t end, huge_page_use use) noexcept
    {
        if (moves_ != 0 || changes_with(begin, end, use) > std::max(most_changes, changes_))
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

    /// Commits parts that were all discarded, or all partly; or if that is refused, slices from `first` to `last`.
    bool commit(std::size_t begin, std::size_t end, slice_index first, slice_index last) noexcept
    {
        if (use_of(begin) == huge_page_use::discarded && commit_slices(begin_of(begin), begin_of(end))) {
            set(begin, end, huge_page_use::untold);
            return true;
        }
        // Guards and revoked runs are mappings, too, which would become accessible when the rest is needed.
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

    /// Returns: how many changes there are when these parts are all of one use.
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
    std::size_t moves_ = 0;     ///< That go on.
    std::size_t discarded_ = 0; ///< Parts, in part or as a whole.
};
} // namespace memory_pool::np
