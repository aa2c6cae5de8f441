// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs: sequences of neighbouring slices. A run is taken as a whole, merges with free neighbours when it is freed, and
/// is purged after a while.
///
///     | in use | free, dirty     | in use | free, clean | in use |      never used       |
///     0                                                            used                   region's end
///
///     free runs by length:  1: run <-> run    2: run    3:    ...    48-63: run   64-79: ...
///     dirty runs by age:    oldest <-> ... <-> youngest
///     clean runs by age:    oldest <-> ... <-> youngest      of 2 MiB and more, unless they were discarded
///
/// No two free runs are neighbours, except a dirty run and a much longer clean run. The first and last slices of a run
/// record its length, so a neighbour is found in one step. A dirty run may have memory. When the run is old enough, its
/// memory returns to the system, and the run is then clean: it reads as zeros. A clean run that is old enough is
/// discarded: huge_pages.hpp records which of its slices are inaccessible. The owner of the runs purges and discards
/// without the lock, because both take a while.
///
/// Thread safety: none; the owner of the runs has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>

#include "../support/internals.hpp"
#include "region.hpp"
#include "slice_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// The state of a slice. Zero: never used.
enum class slice_state : std::uint8_t
{
    untouched,    ///< Beyond all runs.
    in_use,       ///< The first or last slice of a run in use.
    free,         ///< The first or last slice of a free run.
    being_purged, ///< The first or last slice of a run that is being purged or discarded.
};

/// List links of slices: members of their records. Set `Previous` to no_slice before adding a slice, because a record
/// that was never used is zero-filled.
template <class Region, auto Next, auto Previous>
struct slice_links
{
    using node = slice_index;
    static constexpr node none = no_slice;
    node& next(node of) const noexcept { return region.record(of).*Next; }
    node& previous(node of) const noexcept { return region.record(of).*Previous; }

    Region& region;
};

/// The part of a slice's record that belongs to the runs.
struct run_links
{
    slice_state state;
    bool is_dirty;            ///< Of a free run: it may have memory.
    bool begins_mapping;      ///< Of any slice: moved memory, or its old place, begins or ends here (large_runs.hpp).
    std::uint8_t clean_pages; ///< Of any slice: pages at its end known to have no memory: see large_runs.hpp.
    std::uint32_t length;     ///< Of a run, in its first and its last slice.
    slice_index next;         ///< In the list of free runs of similar length.
    slice_index previous;     ///< In the list of free runs of similar length.
    slice_index older;        ///< In the list of dirty or of clean runs.
    slice_index younger;      ///< In the list of dirty or of clean runs.
    std::uint64_t freed_at;   ///< When its oldest part became free or clean, on the caller's clock.
};

/// A run that was taken.
struct run
{
    slice_index first = no_slice;
    std::uint32_t length = 0;
    bool is_zeroed = false; ///< All bytes are 0.
    // The range of free slices without memory that the run was taken from or is next to.
    slice_index clean_begin{};
    slice_index clean_end{};
};

/// All runs of one region, whose records derive from run_links.
template <class Region>
class runs : base::immovable<runs<Region>>
{
public:
    constexpr explicit runs(Region& region) noexcept : region_(region) {}

    /// Replaces the time for a run that was discarded.
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

    /// Takes the first slices of a free run that is longer than needed.
    struct at_the_begin
    {
        constexpr std::uint32_t operator()(slice_index, std::uint32_t) const noexcept { return 0; }
    };

    /// Effects: takes `length` slices, the first of them at a multiple of `alignment` slices from address 0. If
    ///   `alignment` is 1, `slices_to_leave(slice_index first, std::uint32_t length)` returns how many slices at the
    ///   beginning of a free run to leave free; at least `length` slices must follow these. `now`: the time at which
    ///   never-used slices that are left over count as freed.
    /// Returns: the run; `first` is no_slice if the region has no such run, or the system has no memory.
    /// Preconditions: `length` is not 0; `alignment` is a power of two.
    /// Complexity: O(1); if the region is used up, linear in the longest list of free runs that may be long enough.
    ///   Sometimes makes a system call.
    template <class SlicesToLeave = at_the_begin>
    run take(std::uint32_t length, std::uint32_t alignment = 1, SlicesToLeave&& slices_to_leave = {},
             std::uint64_t now = 0) noexcept
    {
        const std::uint32_t spare = alignment - 1;
        const slice_index used_before = used_;
        if (length > region_.max_slices() || spare > region_.max_slices() - length)
            return {};
        run whole = take_free_of(length + spare, max_looks);
        if (whole.first == no_slice)
            whole = take_untouched(length + spare, now);
        if (whole.first == no_slice) // The region is used up, so examine the whole list.
            whole = take_free_of(length + spare, used());
        if (whole.first == no_slice)
            return {};
        const std::uint32_t before =
            alignment == 1 ? slices_to_leave(whole.first, whole.length) : slices_to_alignment(whole.first, alignment);
        run taken = cut_out(whole, length, before);
        taken.clean_begin = whole.is_zeroed ? whole.first : std::max(whole.first, used_before);
        taken.clean_end = whole.first + whole.length;
        if (taken.clean_end == used_)
            taken.clean_end = slice_at(region_.max_slices());
        return taken;
    }

    /// Returns: the number of slices by which the runs in use and the dirty runs together grow when such a run is
    ///   taken; an upper bound if some slices of the run are dirty.
    std::uint32_t growth(std::uint32_t length, std::uint32_t alignment) const noexcept
    {
        const std::uint32_t with_spare = length + (alignment - 1);
        if (const slice_index found = find(with_spare, max_looks); found != no_slice)
            return record(found).is_dirty ? 0 : length;
        const slice_index last = last_free(); // Never-used slices merge with this run.
        return last != no_slice && record(last).is_dirty ? with_spare : length;
    }

    /// Returns: as growth(), for extending a run by `more` slices at `next`; 0 if the run cannot be extended.
    std::uint32_t growth_behind(slice_index next, std::uint32_t more) const noexcept
    {
        if (next >= used_)
            return more;
        const run_links& behind = record(next);
        return behind.state == slice_state::free && behind.length >= more && !behind.is_dirty ? more : 0;
    }

    /// Effects: frees a run. `is_dirty`: the run may have memory; otherwise it reads as zeros.
    void put(slice_index first, std::uint32_t length, bool is_dirty, std::uint64_t now) noexcept
    {
        in_use_ -= length;
        add_free(first, length, is_dirty, now);
    }

    /// Effects: extends a run in use by the following slices, if these are free.
    /// Returns: the run, zeroed if the added slices are zeroed; `first` is no_slice if the following slices are not
    ///   free.
    run extend(slice_index first, std::uint32_t length, std::uint32_t new_length) noexcept
    {
        const slice_index next = first + length;
        const std::uint32_t more = new_length - length;
        run extended{first, new_length, true};
        if (next < used_ && record(next).state == slice_state::free && record(next).length >= more) {
            const run whole = take_free(next);
            put_rest(whole, more, record(next).freed_at);
            extended.is_zeroed = whole.is_zeroed;
        } else if (next != used_ || !use_untouched(more)) {
            return {};
        }
        mark(first, new_length, slice_state::in_use);
        return extended;
    }

    /// Effects: shortens a run in use.
    void shorten(slice_index first, std::uint32_t length, std::uint32_t new_length, std::uint64_t now) noexcept
    {
        mark(first, new_length, slice_state::in_use);
        put(first + new_length, length - new_length, true, now);
    }

    /// Returns: whether a part of the oldest dirty run has been free since `before` or earlier.
    bool has_dirty_since(std::uint64_t before) const noexcept
    {
        return !by_age_.empty() && record(by_age_.first()).freed_at <= before;
    }

    /// Effects: takes the oldest dirty run; the caller purges it without the lock.
    /// Returns: the run, with the range of free slices without memory around it; `first` is no_slice if there is no
    ///   dirty run, or if no part of the oldest dirty run has been free since `before`.
    run take_dirty_since(std::uint64_t before) noexcept
    {
        return has_dirty_since(before) ? take_to_purge(by_age_.first()) : run{};
    }

    /// Returns: whether a part of the oldest clean run that can be discarded has been clean since `before` or earlier.
    bool has_clean_since(std::uint64_t before) const noexcept
    {
        return !clean_by_age_.empty() && record(clean_by_age_.first()).freed_at <= before;
    }

    /// Effects: takes the clean run described by has_clean_since(). The caller discards the run without the lock, and
    ///   frees it with put_purged().
    /// Returns: as take_dirty_since.
    run take_clean_since(std::uint64_t before) noexcept
    {
        return has_clean_since(before) ? take_to_purge(clean_by_age_.first()) : run{};
    }

    /// Effects: frees a run that was taken for a purge or a discard. `is_dirty`: the run still has its memory. `now` is
    ///   `never` if the run was discarded.
    void put_purged(const run& purged, bool is_dirty, std::uint64_t now) noexcept
    {
        --being_purged_;
        slices_being(purged) -= purged.length;
        put(purged.first, purged.length, is_dirty, now);
    }

    /// Effects: marks the last run as never used if the run is free and clean.
    /// Returns: the run; `first` is no_slice if there is none.
    run forget_last_if_clean() noexcept
    {
        const slice_index last = last_free();
        if (last == no_slice || record(last).is_dirty)
            return {};
        unlist(last);
        mark(last, record(last).length, slice_state::untouched);
        used_ = last;
        return {last, record(last).length, true};
    }

    /// Returns: a run that is being purged or discarded; `first` is no_slice if there is none.
    /// Complexity: O(1) if there is none, otherwise linear in runs.
    run find_being_purged() const noexcept
    {
        if (being_purged_ == 0)
            return {};
        slice_index first = first_slice;
        while (record(first).state != slice_state::being_purged)
            first = first + record(first).length;
        return {first, record(first).length, !record(first).is_dirty};
    }

    /// Returns: slices in runs in use, except runs that are being purged or discarded.
    std::size_t in_use() const noexcept { return in_use_ - slices_being_purged_ - slices_being_discarded_; }
    /// Returns: slices in free runs that may have memory.
    std::size_t dirty() const noexcept { return dirty_; }
    /// Returns: slices in runs that are being purged.
    std::size_t being_purged() const noexcept { return slices_being_purged_; }
    /// Returns: slices in runs that are being discarded.
    std::size_t being_discarded() const noexcept { return slices_being_discarded_; }
    /// Returns: slices up to the last slice that is or was in use.
    std::size_t used() const noexcept { return position(used_); }

    /// Returns: whether all runs and counts are consistent.
    /// Complexity: linear in runs.
    bool is_valid() const noexcept
    {
        std::size_t in_use = 0;
        std::size_t dirty = 0;
        std::size_t free_runs = 0;
        std::size_t being_purged = 0;
        bool was_free = false;
        bool was_dirty = false;
        for (slice_index slice = first_slice; slice < used_;) {
            const run_links& first = record(slice);
            if (first.length == 0 || first.length > used_ - slice)
                return false;
            const run_links& last = record(slice + first.length - 1);
            const bool is_free = first.state == slice_state::free;
            being_purged += first.state == slice_state::being_purged ? 1 : 0;
            if (last.length != first.length || last.state != first.state || first.state == slice_state::untouched ||
                (is_free && was_free && first.is_dirty == was_dirty))
                return false;
            in_use += is_free ? 0 : first.length;
            dirty += is_free && first.is_dirty ? first.length : 0;
            free_runs += is_free ? 1 : 0;
            was_free = is_free;
            was_dirty = first.is_dirty;
            slice = slice + first.length;
        }
        return in_use == in_use_ && dirty == dirty_ && being_purged == being_purged_ && free_runs == listed();
    }

private:
    // Lists of free runs: one for each length up to exact_lengths, then to_each_doubling lists per doubling.
    static constexpr std::uint32_t exact_lengths = 32;
    static constexpr unsigned to_each_doubling = 4;
    /// Maximum runs to examine in a list with runs that are too short, before taking a run from a list of longer runs.
    static constexpr std::size_t max_looks = 16;
    static constexpr std::size_t bin_count = exact_lengths + to_each_doubling * (32 - 5);

    using links_by_length = slice_links<Region, &run_links::next, &run_links::previous>;
    using links_by_age = slice_links<Region, &run_links::younger, &run_links::older>;
    using list_by_age = base::intrusive_list<links_by_age>;

    run_links& record(slice_index slice) const noexcept { return region_.record(slice); }

    /// Returns: the list for runs of `length` slices.
    static constexpr std::size_t bin_of(std::uint32_t length) noexcept
    {
        if (length <= exact_lengths)
            return length - 1;
        const unsigned exponent = base::highest_bit(length);
        const unsigned part = (length >> (exponent - 2)) & 3;
        return exact_lengths + to_each_doubling * (exponent - 5) + part;
    }

    /// Returns: a free run of at least that length, or no_slice. Examines at most `looks` runs that may be too short.
    slice_index find(std::uint32_t length, std::size_t looks) const noexcept
    {
        const std::size_t own = bin_of(length);
        // In the list for `length`, runs may be too short; in the lists after it, all runs are long enough.
        for (slice_index each = bins_[own].first(); each != no_slice && looks != 0; each = record(each).next, --looks)
            if (record(each).length >= length)
                return each;
        const std::size_t next = base::find_bit<true>(filled_.data(), own + 1, bin_count);
        if (next != bin_count)
            return bins_[next].first();
        const slice_index last = last_free();
        return last != no_slice && record(last).length >= length ? last : no_slice;
    }

    /// Returns: the free run just before the slices that were never used, or no_slice.
    slice_index last_free() const noexcept
    {
        if (used_ == first_slice || record(used_ - 1).state != slice_state::free)
            return no_slice;
        return used_ - record(used_ - 1).length;
    }

    /// Takes a free run of at least that length, as find() does.
    run take_free_of(std::uint32_t length, std::size_t looks) noexcept
    {
        const slice_index found = find(length, looks);
        return found != no_slice ? take_free(found) : run{};
    }

    std::size_t& slices_being(const run& purged) noexcept
    {
        return purged.is_zeroed ? slices_being_discarded_ : slices_being_purged_;
    }

    /// Removes a free run from the lists, to be purged or discarded.
    run take_to_purge(slice_index first) noexcept
    {
        run oldest = take_free(first);
        // If a neighbour is free, either the run or the neighbour is dirty.
        const slice_index end = oldest.first + oldest.length;
        oldest.clean_begin = oldest.first;
        oldest.clean_end = end;
        if (oldest.first != first_slice && record(oldest.first - 1).state == slice_state::free)
            oldest.clean_begin = oldest.first - record(oldest.first - 1).length;
        if (end == used_)
            oldest.clean_end = slice_at(region_.max_slices());
        else if (record(end).state == slice_state::free)
            oldest.clean_end = end + record(end).length;
        mark(oldest.first, oldest.length, slice_state::being_purged);
        ++being_purged_;
        slices_being(oldest) += oldest.length;
        return oldest;
    }

    /// Removes a free run from the lists, and marks it as in use.
    run take_free(slice_index first) noexcept
    {
        const bool is_dirty = record(first).is_dirty;
        const std::uint32_t length = record(first).length;
        unlist(first);
        mark(first, length, slice_state::in_use);
        in_use_ += length;
        return {first, length, !is_dirty};
    }

    /// Makes a run of slices that were never used, and the free run before them, if there is one.
    run take_untouched(std::uint32_t length, std::uint64_t now) noexcept
    {
        run whole{used_, 0, true};
        if (const slice_index last = last_free(); last != no_slice) {
            // The run is too short, or find() would have found it.
            if (!region_.commit(position(last + length)))
                return {};
            whole = take_free(last);
        }
        if (!use_untouched(length - whole.length))
            return {};
        whole.length = length;
        mark(whole.first, length, slice_state::in_use);
        record(whole.first).freed_at = now; // For the slices that cut_out() frees.
        return whole;
    }

    bool use_untouched(std::uint32_t length) noexcept
    {
        if (!region_.commit(position(used_ + length)))
            return false;
        used_ = used_ + length;
        in_use_ += length;
        return true;
    }

    std::uint32_t slices_to_alignment(slice_index first, std::uint32_t alignment) const noexcept
    {
        const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(region_.address(first)) >> slice_bits;
        return static_cast<std::uint32_t>((std::uintptr_t{0} - address) & (alignment - 1));
    }

    /// Frees the slices of `whole` that are not needed, and keeps their age.
    run cut_out(run whole, std::uint32_t length, std::uint32_t before) noexcept
    {
        const std::uint64_t freed_at = record(whole.first).freed_at;
        if (before != 0) {
            mark(whole.first + before, whole.length - before, slice_state::in_use);
            put(whole.first, before, !whole.is_zeroed, freed_at);
            whole.first = whole.first + before;
            whole.length -= before;
        }
        put_rest(whole, length, freed_at);
        return {whole.first, length, whole.is_zeroed};
    }

    void put_rest(const run& whole, std::uint32_t length, std::uint64_t freed_at) noexcept
    {
        mark(whole.first, length, slice_state::in_use); // First, or the rest merges with a stale run.
        if (length != whole.length)
            put(whole.first + length, whole.length - length, !whole.is_zeroed, freed_at);
    }

    /// Frees a run, merged with its free neighbours. The merged run gets the age of its oldest dirty part, or, if it is
    /// clean, of its oldest part. Otherwise, a run that other runs join now and then would never become old.
    void add_free(slice_index first, std::uint32_t length, bool is_dirty, std::uint64_t freed_at) noexcept
    {
        const auto join = [&](slice_index neighbour) {
            const run_links& other = record(neighbour);
            if (!are_to_be_joined(other.length, other.is_dirty, length, is_dirty))
                return false;
            if (other.is_dirty == is_dirty)
                freed_at = std::min(freed_at, other.freed_at);
            else if (other.is_dirty)
                freed_at = other.freed_at;
            is_dirty = is_dirty || other.is_dirty;
            length += other.length;
            first = std::min(first, neighbour);
            unlist(neighbour);
            return true;
        };
        const auto join_next = [&] {
            const slice_index end = first + length;
            return end < used_ && record(end).state == slice_state::free && join(end);
        };
        const auto join_previous = [&] {
            return first != first_slice && record(first - 1).state == slice_state::free &&
                   join(first - record(first - 1).length);
        };
        while (join_next() || join_previous()) {
        }
        mark(first, length, slice_state::free);
        list(first, is_dirty, freed_at);
    }

    /// A clean run that joins a dirty run counts entirely as dirty. So a much longer clean run does not join a dirty
    /// run.
    static constexpr bool are_to_be_joined(std::uint32_t length, bool is_dirty, std::uint32_t other_length,
                                           bool other_is_dirty) noexcept
    {
        constexpr std::uint32_t much_longer = 8;
        if (is_dirty == other_is_dirty)
            return true;
        const std::uint32_t clean = is_dirty ? other_length : length;
        const std::uint32_t dirty = is_dirty ? length : other_length;
        return clean / much_longer <= dirty;
    }

    void mark(slice_index first, std::uint32_t length, slice_state state) noexcept
    {
        record(first).state = record(first + length - 1).state = state;
        record(first).length = record(first + length - 1).length = length;
    }

    // Lists.

    /// The lists by age are sorted, except for merged runs. A run that is older than the first run is added at the
    /// front, any other run at the back.
    void list(slice_index first, bool is_dirty, std::uint64_t freed_at) noexcept
    {
        run_links& added = record(first);
        const std::size_t bin = bin_of(added.length);
        added.previous = added.older = no_slice;
        bins_[bin].add_first(first, links_by_length{region_});
        base::set_bit(filled_.data(), bin);
        added.is_dirty = is_dirty;
        added.freed_at = freed_at;
        if (!is_dirty && (freed_at == never || added.length < slices_of_huge_page))
            return;
        list_by_age& by_age = is_dirty ? by_age_ : clean_by_age_;
        const bool is_oldest = !by_age.empty() && freed_at < record(by_age.first()).freed_at;
        by_age.add(first, is_oldest, links_by_age{region_});
        dirty_ += is_dirty ? added.length : 0;
    }

    void unlist(slice_index first) noexcept
    {
        const run_links& leaving = record(first);
        const std::size_t bin = bin_of(leaving.length);
        bins_[bin].remove(first, links_by_length{region_});
        if (bins_[bin].empty())
            base::clear_bit(filled_.data(), bin);
        (leaving.is_dirty ? by_age_ : clean_by_age_).remove(first, links_by_age{region_});
        dirty_ -= leaving.is_dirty ? leaving.length : 0;
    }

    std::size_t listed() const noexcept
    {
        std::size_t count = 0;
        for (const auto& bin : bins_)
            bin.for_each([&count](slice_index) { ++count; }, links_by_length{region_});
        return count;
    }

    Region& region_;
    std::array<base::intrusive_list<links_by_length>, bin_count> bins_{};
    std::array<std::uint64_t, base::words_for(bin_count)> filled_{};
    list_by_age by_age_;       ///< Dirty runs, oldest first.
    list_by_age clean_by_age_; ///< Clean runs that may be discarded, oldest first.
    slice_index used_{};
    std::size_t in_use_ = 0;
    std::size_t dirty_ = 0;
    std::size_t being_purged_ = 0; ///< Number of runs.
    std::size_t slices_being_purged_ = 0;
    std::size_t slices_being_discarded_ = 0;
};
} // namespace memory_pool::np
