// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Decides which memory gets huge pages: memory that will be filled, while huge pages cost less than they save.
///
///     slabs          of a class of which a heap has many: see heap_slabs.hpp
///     large blocks   if earlier blocks of about that size were filled: see density_history.hpp
///                    if they grow and were filled so far
///     all            while a huge page costs less than the small ones it replaces: see fault_costs.hpp
///
/// A large block of unknown density never gets huge pages. If the program touched it in only three places, it would
/// take three huge pages: a hundred times the time and memory.
///
/// Thread safety: none, except for `measure`; the owner of the runs has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/clock.hpp>

#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "density_history.hpp"
#include "fault_costs.hpp"
#include "huge_pages.hpp"
#include "region.hpp"
#include "runs.hpp"
#include "slice_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A place whose first touch should be timed, and the kind of page there.
struct first_touch
{
    enum class page
    {
        none,
        small,
        huge,
    };
    page kind = page::none;
    slice_index at{};
};

/// The policy of one region.
template <class Region>
class huge_page_policy : base::immovable<huge_page_policy<Region>>
{
public:
    constexpr explicit huge_page_policy(Region& region) noexcept : region_(region), parts_(region)
    {
        for (slice_index& each : probes_)
            each = no_slice;
    }

    huge_pages<Region>& parts() noexcept { return parts_; }

    /// Effects: decides for the parts that a new slab enters. `will_be_filled`: a huge page would not be wasted.
    /// Returns: the first touch to time.
    first_touch enter_slab(const run& taken, bool will_be_filled) noexcept
    {
        const std::size_t entered = is_enabled() ? parts_.entered(taken) : 0;
        const bool are_wanted = will_be_filled && entered != 0 && costs_.admit(entered);
        parts_.enter(taken, are_wanted);
        return what_to_measure(taken.is_zeroed && entered != 0, are_wanted, parts_.first_slice_entered(taken));
    }

    /// Effects: decides for a new large block. `may_be_read`: false if the program may make a part of the block
    ///   inaccessible, as it may with a page-aligned block; that block does not become a probe.
    /// Returns: the first touch to time.
    first_touch enter_large(const run& taken, bool may_be_read) noexcept
    {
        if (!is_enabled())
            return {};
        const std::size_t size = size_of(taken.length);
        density_history& history = look_back(size);
        if (!taken.is_zeroed) { // The run has memory; huge pages could only fill holes.
            if (history.is_sparse())
                parts_.refuse(taken.first, taken.length);
            else if (history.is_dense())
                ask_for(taken.first, taken.length);
            return {};
        }
        const bool is_granted = history.take_grant();
        if (!is_granted && may_be_read && history.take_probe(probes_[size] != no_slice))
            probes_[size] = taken.first;
        if (taken.length < slices_of_huge_page) {
            if (!is_granted)
                parts_.enter(taken, false);
            return {};
        }
        const bool are_wanted = is_granted && costs_.admit(taken.length / slices_of_huge_page);
        if (are_wanted)
            parts_.ask_for(taken.first, taken.length);
        else
            parts_.refuse(taken.first, taken.length);
        return what_to_measure(true, are_wanted, first_whole_part(taken.first, taken.first + taken.length));
    }

    /// Effects: decides for a large block that grows in place or by a move, assuming that the new part will be as dense
    ///   as the block so far. Gives both places the same advice, so that the memory can move.
    /// Returns: the first touch to time.
    first_touch grow_large(slice_index first, std::uint32_t old_length, const run& grown) noexcept
    {
        leave_large(first, old_length);
        if (!is_enabled())
            return {};
        const slice_index old_end = grown.first + old_length;
        const slice_index end = grown.first + grown.length;
        const bool enters_part = parts_.part_of(old_end - 1) != parts_.part_of(end - 1);
        if (grown.length < slices_of_huge_page || (grown.first == first && !enters_part))
            return {};
        const bool are_in_use = parts_.are_asked_for(first, old_length);
        if (!are_in_use && !is_dense(first, old_length)) {
            parts_.refuse(grown.first, grown.length);
            return {};
        }
        const bool are_wanted = costs_.admit((end - old_end) / slices_of_huge_page);
        if (are_wanted) {
            ask_for(first, old_length);
            parts_.ask_for(grown.first, grown.length);
        } else {
            if (are_in_use)
                parts_.ask_for(grown.first, old_length);
            parts_.refuse(old_end, end - old_end);
        }
        return what_to_measure(grown.is_zeroed, are_wanted, first_whole_part(old_end, end));
    }

    /// Effects: records the density of a large block that is freed or resized, if the block is a probe.
    void leave_large(slice_index first, std::uint32_t length) noexcept
    {
        const std::size_t size = size_of(length);
        if (probes_[size] != first)
            return;
        probes_[size] = no_slice;
        last_size_ = size;
        histories_[size].note(is_dense(first, length));
    }

    /// Returns: the time of a first touch in nanoseconds; 0 if the clock is too coarse.
    /// Preconditions: the page at `place` is not resident.
    /// Thread safety: any thread that owns `place`.
    static std::uint64_t measure(std::byte* place) noexcept
    {
        const std::uint64_t before = os::nanoseconds();
        const std::uint64_t begin = os::nanoseconds();
        *static_cast<volatile std::byte*>(place) = std::byte{0};
        const std::uint64_t end = os::nanoseconds();
        const std::uint64_t of_clock = begin - before;
        return end - begin > of_clock ? end - begin - of_clock : 0;
    }

    /// Effects: records the cost of a first touch. If huge pages are too expensive, refuses huge pages for the slices
    ///   up to `end`.
    /// Returns: the first touch to time next, for confirmation.
    first_touch note_cost(const first_touch& touch, std::uint64_t cost, slice_index end) noexcept
    {
        if (cost == 0)
            return {};
        if (touch.kind == first_touch::page::small) {
            costs_.note_small(cost);
            return {};
        }
        costs_.note_huge(cost);
        const slice_index next = touch.at + slices_of_huge_page;
        if (costs_.huge_faults_expensive() && next < end)
            parts_.refuse(next, end - next);
        return costs_.may_be_expensive() && next + slices_of_huge_page <= end ? first_touch{touch.kind, next}
                                                                              : first_touch{};
    }

private:
    /// One class for blocks below 2 MiB, and one for each doubling above that.
    static constexpr std::size_t sizes = 18;
    /// Maximum number of parts of a block to sample, and of pages to sample in each part.
    static constexpr std::uint32_t max_looks = 6;
    static constexpr std::size_t pages_of_look = 4;

    static bool is_enabled() noexcept { return the_options.get(np_option_huge_pages) != 0; }

    static std::size_t size_of(std::uint32_t length) noexcept
    {
        const std::uint32_t parts = length / slices_of_huge_page;
        return parts != 0 ? std::min<std::size_t>(base::highest_bit(parts) + 1, sizes - 1) : 0;
    }

    static slice_index first_whole_part(slice_index begin, slice_index end) noexcept
    {
        const slice_index first = huge_pages<Region>::begin_of(huge_pages<Region>::end_of_parts(begin));
        return first + slices_of_huge_page <= end ? first : no_slice;
    }

    first_touch what_to_measure(bool is_possible, bool are_huge, slice_index at) const noexcept
    {
        if (!is_possible || at == no_slice || (!are_huge && !costs_.wants_small()))
            return {};
        return {are_huge ? first_touch::page::huge : first_touch::page::small, at};
    }

    void ask_for(slice_index first, std::uint32_t length) noexcept
    {
        if (length >= slices_of_huge_page)
            parts_.ask_for(first, length);
    }

    /// Returns: the history of `size`. The first block of a size inherits the last probe's history.
    density_history& look_back(std::size_t size) noexcept
    {
        density_history& history = histories_[size];
        if (history.is_unknown())
            history.inherit(histories_[last_size_]);
        return history;
    }

    /// Returns: whether at least half of the pages sampled in these slices are filled. Untouched parts and parts with
    ///   huge pages do not count. False in the checked build, where pages may be guarded.
    bool is_dense(slice_index first, std::uint32_t length) const noexcept
    {
        const std::size_t begin = parts_.part_of(first);
        const std::size_t last = parts_.part_of(first + length - 1);
        const std::size_t looks = is_checked ? 0 : std::min<std::size_t>(last - begin + 1, max_looks);
        std::size_t touched = 0;
        std::size_t filled = 0;
        for (std::size_t look = 0; look != looks; ++look) {
            const std::size_t part = looks == 1 ? begin : begin + look * (last - begin) / (looks - 1);
            const slice_index from = std::max(parts_.begin_of(part), first);
            const slice_index to = std::min(parts_.begin_of(part + 1), first + length);
            if (parts_.are_asked_for(from, 1))
                continue;
            const std::size_t pages = os::filled_pages(region_.address(from), (to - from) * slice_bytes, pages_of_look);
            touched += pages != 0 ? pages_of_look : 0;
            filled += pages;
        }
        return touched != 0 && filled >= touched / 2;
    }

    Region& region_;
    huge_pages<Region> parts_;
    fault_costs costs_;
    std::array<density_history, sizes> histories_{};
    std::array<slice_index, sizes> probes_{};
    std::size_t last_size_ = 0; ///< Size class of the last probe.
};
} // namespace memory_pool::np
