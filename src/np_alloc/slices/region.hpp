// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The addresses of all blocks, and the tables that describe these addresses.
///
///     slices:   | 64 KiB | 64 KiB | 64 KiB | ... committed ... | ... reserved only ...                 |
///     tags:     |   w    |   w    |   w    |                     one word per slice, read by every free
///     records:  | record | record | record |                     metadata of the slice, for slow paths
///     parts:    |  asked for huge pages?   |                     one entry per huge page
///
///     slice of p = (p - base) / 64 KiB
///
/// Each table is in a separate range behind a guard page, so that no linear overflow of a block reaches it. Table
/// entries are found by arithmetic alone. The tables are committed as far as the slices are.
///
/// Normally, all addresses are reserved at once and are left out of core dumps until they are committed. Where reserved
/// addresses count towards a limit, or reserving them is slow, the region grows: each range begins where the following
/// addresses are probably free, and reserves them step by step. If another mapping is in the way, the region stops
/// growing.
///
///     | slices -> ...        | tags -> ...          | records -> ...        | parts -> ...        |
///      <------------- addresses for the maximum number of slices: free_addresses.hpp --------->
///
/// Thread safety: one thread at a time may call `commit`; any thread may use committed slices.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../os/random.hpp"
#include "../support/internals.hpp"
#include "free_addresses.hpp"
#include "slice_index.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace memory_pool::np {
inline constexpr unsigned slice_bits = 16;
inline constexpr std::size_t slice_bytes = std::size_t{1} << slice_bits;

/// The size of a huge page on nearly all systems.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
inline constexpr std::uint32_t slices_of_huge_page = huge_page_bytes / slice_bytes;

/// The advice to the system about huge pages in a part of the region that is as large as a huge page.
enum class huge_page_use : std::uint8_t
{
    untold,
    asked_for,
    refused,
    unknown,          ///< The part may have several mappings.
    discarded,        ///< No advice; the part is free and inaccessible.
    partly_discarded, ///< Free slices of the part may be inaccessible.
};

/// The record of a part of the region. A zeroed record is valid.
struct part_record
{
    huge_page_use use;
};

/// A number that any thread may read while another thread writes it.
///
/// The language requires an atomic read. But GCC 12 does not compare an atomic number in place, so each call of free
/// would take one more instruction. All supported processors read and write such a number as a whole.
class often_read
{
public:
    constexpr explicit often_read(std::size_t value) noexcept : value_(value) {}

    MEMORY_POOL_ALWAYS_INLINE std::size_t read() const noexcept
    {
#if MEMORY_POOL_TSAN
        return __atomic_load_n(&value_, __ATOMIC_RELAXED);
#else
        return value_;
#endif
    }

    void write(std::size_t value) noexcept { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }

private:
    std::size_t value_;
};

/// Reserved addresses in slices, with a `Tag` and a `Record` for each slice, and a `Part` (a part_record) for each
/// group of slices as large as a huge page. Each of them is valid when zeroed.
template <class Tag, class Record, class Part = part_record>
class region : base::immovable<region<Tag, Record, Part>>
{
public:
    // A new region has no slices. It is constant-initialized, so it exists before any code has run.

    /// Effects: reserves addresses for up to `max_bytes`. If the system does not have twice as many, or a limit forbids
    ///   the reservation, tries half as many, and so on. (The program also needs addresses, for threads, files and
    ///   libraries.)
    /// Returns: false if fewer than 4 MiB are available.
    bool reserve(std::size_t max_bytes) noexcept
    {
        constexpr std::size_t min_bytes = std::size_t{4} << 20;
        for (std::size_t bytes = max_bytes; bytes >= min_bytes; bytes /= 2)
            if (leaves_as_many(bytes) && reserve_exactly(bytes / slice_bytes))
                return true;
        return false;
    }

    /// Effects: reserves a few addresses, with room to grow up to `max_bytes`.
    /// Returns: whether the system grants these addresses.
    bool reserve_to_grow(std::size_t max_bytes) noexcept
    {
        constexpr int max_tries = 8;
        const free_addresses all = free_addresses::find();
        const std::size_t slices = std::min(max_bytes, all.max_bytes()) / slice_bytes;
        for (int tried = 0; tried != max_tries; ++tried)
            if (begin_to_grow(all, slices))
                return true;
        return false;
    }

    /// Effects: releases all addresses.
    void release() noexcept
    {
        release_from(0, 0);
        reserved_ = nullptr;
        base_.write(nowhere);
        max_slices_ = spare_bytes_ = dumped_entries_ = 0;
        committed_steps_.write(0);
        peak_committed_.store(0, std::memory_order_relaxed);
    }

    /// Effects: releases the addresses of slices that are not committed. The region cannot grow afterwards.
    void release_uncommitted() noexcept
    {
        release_from(committed(), grows() ? entries_ : committed());
        max_slices_ = slices_;
    }

    /// Effects: in a region that grows, releases the addresses of slices from `count` on; the region may reserve them
    ///   again. The tables stay, because any thread may look up an address there that it mistakes for a block.
    /// Preconditions: these slices are not in use and have no memory.
    void shrink(std::size_t count) noexcept
    {
        peak_committed_.store(peak_committed(), std::memory_order_relaxed);
        committed_steps_.write(count * steps_per_slice);
        if (os::release_addresses(address(slice_at(count)), (slices_ - count) * slice_bytes))
            slices_ = count;
    }

    /// Effects: makes the first `count` slices usable. Adds a few more, so that calls are rare, because other threads
    ///   that need new memory wait during the call. Does not add many, because usable slices count towards limits of
    ///   the process, and take memory if all memory is locked (`mlockall`).
    /// Returns: whether the first `count` slices are usable. If not, the region is unchanged.
    bool commit(std::size_t count) noexcept
    {
        if (count <= committed())
            return true;
        if (count > max_slices_)
            return false;
        const std::size_t step = min_step();
        // Whole parts, because otherwise the system could not back the last part with a huge page.
        const std::size_t whole_parts =
            base::round_up(std::max(count, committed() + step), std::min<std::size_t>(step, slices_of_huge_page));
        const std::size_t generous = std::min(whole_parts, max_slices_);
        return commit_exactly(generous) || commit_exactly(count);
    }

    /// Returns: bytes of the tables that may be backed by memory.
    std::size_t table_bytes() const noexcept { return sum(table_ends(peak_committed())) - sum(table_ends(0)); }

    /// Effects: calls `visit(std::byte* memory, std::size_t bytes)` for the usable slices and for the tables.
    template <class Visit>
    void for_each_range(Visit&& visit) const noexcept
    {
        (void)visit_ranges(table_ends(0), table_ends(peak_committed()), [&visit](void* memory, std::size_t bytes) {
            return visit(static_cast<std::byte*>(memory), bytes), true;
        });
        visit(base(), committed() * slice_bytes);
    }

    /// Returns: whether the region reserves addresses as it needs them.
    bool grows() const noexcept { return spare_bytes_ == 0; }

    std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(base_.read()); }
    /// Returns: the number of slices that have addresses.
    std::size_t slices() const noexcept { return slices_; }
    /// Returns: the number of slices that have or may get addresses.
    std::size_t max_slices() const noexcept { return max_slices_; }
    /// Returns: the number of usable slices.
    std::size_t committed() const noexcept { return committed_steps_.read() / steps_per_slice; }

    /// Returns: the peak of committed().
    std::size_t peak_committed() const noexcept
    {
        return std::max(committed(), peak_committed_.load(std::memory_order_relaxed));
    }

    std::byte* address(slice_index slice) const noexcept { return base() + position(slice) * slice_bytes; }

    /// Returns: the distance of `address` from the beginning of the region, in granules of 16 bytes. If the address is
    ///   outside of the region or no multiple of 16, the index is too large for is_committed(): the low bits of the
    ///   distance become the high bits of the index.
    MEMORY_POOL_ALWAYS_INLINE std::uintptr_t granule_index(const void* address) const noexcept
    {
        constexpr unsigned step_bits = 4;
        const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(address) - base_.read();
        return distance >> step_bits | distance << (sizeof distance * 8 - step_bits);
    }

    /// Returns: whether the granule with that index is in a usable slice.
    MEMORY_POOL_ALWAYS_INLINE bool is_committed(std::uintptr_t steps) const noexcept
    {
        return steps < committed_steps_.read();
    }
    bool is_committed(slice_index slice) const noexcept { return position(slice) < committed(); }

    /// Returns: the number of slices before the slice of `address`; too large if `address` is outside of the region.
    std::size_t slices_before(const void* address) const noexcept
    {
        return (reinterpret_cast<std::uintptr_t>(address) - base_.read()) >> slice_bits;
    }

    // Data of a slice: by its index, or, without a conversion, by an address in the slice or by a granule index.

    /// Preconditions: `address` is in the region.
    slice_index slice_of(const void* address) const noexcept { return slice_at(slices_before(address)); }
    Tag& tag(slice_index slice) const noexcept { return tags_[position(slice)]; }
    Tag& tag_of(const void* address) const noexcept { return tags_[slices_before(address)]; }
    Tag& tag_after(std::uintptr_t steps) const noexcept { return tags_[steps / steps_per_slice]; }
    Record& record(slice_index slice) const noexcept { return records_[position(slice)]; }
    Record& record_of(const void* address) const noexcept { return records_[slices_before(address)]; }
    Record& record_after(std::uintptr_t steps) const noexcept { return records_[steps / steps_per_slice]; }
    /// The part that begins at slice `number * slices_of_huge_page`.
    Part& part(std::size_t number) const noexcept { return parts_[number]; }
    /// The advice about that part.
    huge_page_use& huge_pages(std::size_t number) const noexcept { return parts_[number].use; }

private:
    static constexpr std::size_t steps_per_slice = slice_bytes / 16;

    /// The beginning of a region that is not reserved yet. Neither a block nor nullptr is a multiple of 16 bytes away
    /// from it. So if a thread frees a pointer while another thread reserves the region, and sees the new end before
    /// the new beginning, the thread finds the pointer outside of the region.
    static constexpr std::uintptr_t nowhere = 1;

    static constexpr std::size_t parts(std::size_t slices) noexcept
    {
        return base::divide_round_up(slices, std::size_t{slices_of_huge_page});
    }

    static std::size_t table_bytes(std::size_t entry_bytes, std::size_t slices) noexcept
    {
        return base::round_up(entry_bytes * slices, os::page_size());
    }

    /// Returns: whether the system has twice as many addresses as `bytes`.
    static bool leaves_as_many(std::size_t bytes) noexcept
    {
        void* const all = bytes <= ~std::size_t{0} / 2 ? os::reserve_addresses(2 * bytes) : nullptr;
        if (all == nullptr)
            return false;
        (void)os::release_addresses(all, 2 * bytes);
        return true;
    }

    /// Slices, tags, records, and parts.
    static constexpr std::size_t range_count = 4;
    using range_begins = std::array<void*, range_count>;
    using range_sizes = std::array<std::size_t, range_count>;

    /// Returns: the guard page before a table.
    static void* guard_before(void* table) noexcept { return static_cast<std::byte*>(table) - os::page_size(); }

    template <class Entry>
    static Entry* table_behind(void* guard) noexcept
    {
        return reinterpret_cast<Entry*>(static_cast<std::byte*>(guard) + os::page_size());
    }

    range_begins begins() const noexcept
    {
        return {reserved_, guard_before(tags_), guard_before(records_), guard_before(parts_)};
    }

    void begin_at(const range_begins& begins) noexcept
    {
        reserved_ = begins[0];
        tags_ = table_behind<Tag>(begins[1]);
        records_ = table_behind<Record>(begins[2]);
        parts_ = table_behind<Part>(begins[3]);
    }

    /// Returns: bytes of addresses for `slices` slices, and for tables of `entries` entries including guards.
    static range_sizes sizes(std::size_t slices, std::size_t entries, std::size_t spare_bytes) noexcept
    {
        range_sizes bytes = entries != 0 ? table_ends(entries) : range_sizes{};
        bytes[0] = slices != 0 ? slices * slice_bytes + spare_bytes : 0;
        return bytes;
    }

    /// Returns: the ends of tables of `entries` entries, in bytes from their guards; 0 for the slices.
    static range_sizes table_ends(std::size_t entries) noexcept
    {
        const std::size_t page_bytes = os::page_size();
        return {0, page_bytes + table_bytes(sizeof(Tag), entries), page_bytes + table_bytes(sizeof(Record), entries),
                page_bytes + table_bytes(sizeof(Part), parts(entries))};
    }

    static std::size_t sum(const range_sizes& bytes) noexcept
    {
        return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
    }

    /// Returns: the beginnings of ranges of these sizes, side by side from address `first` on.
    static range_begins side_by_side(std::uintptr_t first, const range_sizes& bytes) noexcept
    {
        range_begins begins{};
        for (std::size_t range = 0; range != range_count; first += bytes[range++])
            begins[range] = reinterpret_cast<void*>(first);
        return begins;
    }

    /// Calls `visit(void* memory, std::size_t bytes)` for the bytes between `begin` and `end` of each range, until
    /// `visit` returns false. Returns: whether `visit` never returned false.
    template <class Visit>
    bool visit_ranges(const range_sizes& begin, const range_sizes& end, Visit&& visit) const noexcept
    {
        for (std::size_t range = 0; range != range_count; ++range)
            if (begin[range] < end[range] &&
                !visit(static_cast<std::byte*>(begins()[range]) + begin[range], end[range] - begin[range]))
                return false;
        return true;
    }

    void release_from(std::size_t slices, std::size_t entries) noexcept
    {
        (void)visit_ranges(sizes(slices, entries, spare_bytes_), sizes(slices_, entries_, spare_bytes_),
                           [](void* memory, std::size_t bytes) {
                               (void)os::release_addresses(memory, bytes);
                               return true;
                           });
        slices_ = slices;
        entries_ = entries;
    }

    bool reserve_exactly(std::size_t slices) noexcept
    {
        const range_sizes bytes = sizes(slices, slices, huge_page_bytes);
        const std::size_t all_bytes = sum(bytes);
        void* const all = os::reserve_addresses(all_bytes);
        if (all == nullptr)
            return false;
        os::leave_out_of_dumps(all, all_bytes);
        begin_at(side_by_side(reinterpret_cast<std::uintptr_t>(all), bytes));
        spare_bytes_ = huge_page_bytes; // Room to align the slices to a huge page.
        slices_ = entries_ = max_slices_ = slices;
        base_.write(base::round_up(reinterpret_cast<std::uintptr_t>(reserved_), huge_page_bytes));
        return true;
    }

    /// Reserves the first few addresses of all ranges, at a place with room for `max_slices` slices.
    bool begin_to_grow(const free_addresses& all, std::size_t max_slices) noexcept
    {
        constexpr std::size_t first_slices = 4;
        range_sizes bytes = sizes(max_slices, max_slices, 0);
        for (std::size_t& each : bytes) // With gaps between the ranges.
            each = base::round_up(each + huge_page_bytes, huge_page_bytes);
        const std::uintptr_t first = all.pick(sum(bytes), huge_page_bytes, os::random_number());
        begin_at(side_by_side(first, bytes));
        if (first == 0 || !reserve_more(first_slices))
            return false;
        max_slices_ = max_slices;
        base_.write(first);
        return true;
    }

    /// Reserves the missing addresses of the first `count` slices, if these addresses are free.
    bool reserve_more(std::size_t count) noexcept
    {
        const range_sizes begin = sizes(slices_, entries_, 0);
        const range_sizes end = sizes(count, std::max(count, entries_), 0);
        std::size_t reserved = 0;
        const bool are_reserved = visit_ranges(begin, end, [&reserved](void* memory, std::size_t bytes) {
            const bool is_reserved = os::reserve_addresses_at(memory, bytes);
            reserved += is_reserved ? 1U : 0U;
            return is_reserved;
        });
        if (!are_reserved) {
            (void)visit_ranges(begin, end, [&reserved](void* memory, std::size_t bytes) {
                return reserved-- != 0 && (static_cast<void>(os::release_addresses(memory, bytes)), true);
            });
            return false;
        }
        slices_ = count;
        entries_ = std::max(count, entries_);
        return true;
    }

    /// Returns: the minimum number of slices to commit next; fewer if unused slices count towards a limit.
    std::size_t min_step() const noexcept
    {
        constexpr std::size_t slices_of_mib = (std::size_t{1} << 20) / slice_bytes;
        if (grows() || os::commits_are_limited())
            return std::clamp(committed() / 32, slices_of_mib / 4, 8 * slices_of_mib);
        return std::clamp(committed(), 4 * slices_of_mib, std::max(committed() / 2, 32 * slices_of_mib));
    }

    bool commit_exactly(std::size_t count) noexcept
    {
        if (count > slices_ && !reserve_more(count))
            return false;
        if (!grows())
            include_in_dumps(count);
        const auto commit = [](void* memory, std::size_t bytes) { return os::commit_memory(memory, bytes); };
        if (!visit_ranges(table_ends(committed()), table_ends(count), commit) ||
            !commit(address(slice_at(committed())), (count - committed()) * slice_bytes))
            return false;
        committed_steps_.write(count * steps_per_slice);
        return true;
    }

    /// Includes slices that are about to be committed, and their table entries, in core dumps. Includes many entries at
    /// once, so that one system call is usually enough.
    void include_in_dumps(std::size_t count) noexcept
    {
        constexpr std::size_t entries_at_once = (std::size_t{1} << 20) / sizeof(Record);
        os::include_in_dumps(address(slice_at(committed())), (count - committed()) * slice_bytes);
        if (count <= dumped_entries_)
            return;
        const std::size_t entries = std::min((count / entries_at_once + 1) * entries_at_once, entries_);
        (void)visit_ranges(table_ends(dumped_entries_), table_ends(entries), [](void* memory, std::size_t bytes) {
            os::include_in_dumps(memory, bytes);
            return true;
        });
        dumped_entries_ = entries;
    }

    // The members that every free reads are first.
    often_read base_{nowhere};
    often_read committed_steps_{0}; ///< Read by threads that have a pointer into a slice.
    Tag* tags_ = nullptr;
    Record* records_ = nullptr;
    Part* parts_ = nullptr;
    void* reserved_ = nullptr;
    std::size_t slices_ = 0;
    std::size_t max_slices_ = 0;
    std::atomic<std::size_t> peak_committed_{0}; ///< Before the last shrink.
    std::size_t entries_ = 0;                    ///< Table entries with addresses: the largest number of slices so far.
    std::size_t dumped_entries_ = 0;             ///< Table entries in core dumps, unless the region grows.
    std::size_t spare_bytes_ = 0;                ///< Alignment padding around the slices; 0: the region grows.
};
} // namespace memory_pool::np
