// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The addresses that everything comes from, and the tables that say what lies where.
///
///     slices:   | 64 KiB | 64 KiB | 64 KiB | ... committed ... | ... reserved only ...                 |
///     tags:     |   w    |   w    |   w    |                     a word a slice: read by every free
///     records:  | record | record | record |                     what the slice is: for slow paths
///     parts:    |  asked for huge pages?   |                     an entry for as many slices as a huge page has
///
///     slice of p = (p - base) / 64 KiB
///
/// The tables lie in ranges of their own, each behind a guard page, so that no linear overflow of a block reaches them,
/// and are found by arithmetic alone. As much of them is committed as there are committed slices.
///
/// Normally all addresses are reserved at once, and left out of core dumps until they are committed. Where reserved
/// addresses count towards a limit, or reserving them is slow, the region grows: each range begins where the following
/// addresses are probably free, and reserves them step by step. If another mapping is in the way, the region stays as
/// large as it is.
///
///     | slices -> ...        | tags -> ...          | records -> ...        | parts -> ...        |
///      <------------- addresses for as many slices as there may ever be: free_addresses.hpp ----->
///
/// Thread safety: `commit` one thread at a time; what is committed, any thread.
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

/// As nearly all systems have them.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
inline constexpr std::uint32_t slices_of_huge_page = huge_page_bytes / slice_bytes;

/// What the system was told about huge pages in a part of the region that is as large as one.
enum class huge_page_use : std::uint8_t
{
    untold,
    asked_for,
    refused,
    unknown,          ///< It may be of several mappings.
    discarded,        ///< Nothing, and it is inaccessible: its slices are free.
    partly_discarded, ///< Slices that are free may be inaccessible.
};

/// What is kept about such a part, which may begin as zeros.
struct part_record
{
    huge_page_use use;
};

/// A number that any thread may read while another writes.
///
/// To the language, what is read so would have to be atomic. But GCC 12 compares no atomic number where it stands: it
/// takes an instruction more in each call of free. To every processor that this library is for, such a number is read
/// and written as a whole.
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

/// Reserved addresses in slices, with a `Tag` and a `Record` for each, which may begin as zeros; and a `Part`, a
/// part_record, for as many as a huge page has.
template <class Tag, class Record, class Part = part_record>
class region : base::immovable<region<Tag, Record, Part>>
{
public:
    /// It has no slices. A constant, so that it can be there before anything has run.

    /// Effects: reserves addresses for up to `most_bytes`; if the system has not twice as many, or a limit is in the
    ///   way, for half of that, and so on: the program needs some, too, for threads, files and libraries.
    /// Returns: whether there are at least 4 MiB.
    bool reserve(std::size_t most_bytes) noexcept
    {
        constexpr std::size_t least_bytes = std::size_t{4} << 20;
        for (std::size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 2)
            if (leaves_as_many(bytes) && reserve_exactly(bytes / slice_bytes))
                return true;
        return false;
    }

    /// Effects: reserves a few addresses, with room to grow up to `most_bytes`.
    /// Returns: whether the system granted them.
    bool reserve_to_grow(std::size_t most_bytes) noexcept
    {
        constexpr int most_tries = 8;
        const free_addresses all = free_addresses::find();
        const std::size_t slices = std::min(most_bytes, all.most_bytes()) / slice_bytes;
        for (int tried = 0; tried != most_tries; ++tried)
            if (begin_to_grow(all, slices))
                return true;
        return false;
    }

    /// Effects: gives all addresses back.
    void release() noexcept
    {
        release_from(0, 0);
        reserved_ = nullptr;
        base_.write(nowhere);
        most_slices_ = spare_bytes_ = dumped_entries_ = 0;
        committed_steps_.write(0);
        peak_committed_.store(0, std::memory_order_relaxed);
    }

    /// Effects: gives back the addresses of slices that are not committed, which are none from now on.
    void release_uncommitted() noexcept
    {
        release_from(committed(), grows() ? entries_ : committed());
        most_slices_ = slices_;
    }

    /// Effects: in a region that grows, releases the addresses of slices from `count` on; it may reserve them again.
    ///   The tables stay: any thread may look up an address there that it takes for a block.
    /// Preconditions: these slices are not in use, and have no memory.
    void shrink(std::size_t count) noexcept
    {
        peak_committed_.store(peak_committed(), std::memory_order_relaxed);
        committed_steps_.write(count * steps_per_slice);
        if (os::release_addresses(address(slice_at(count)), (slices_ - count) * slice_bytes))
            slices_ = count;
    }

    /// Effects: makes the first `count` slices usable, and some more, so that it is not asked often: threads that bring
    ///   memory into use in the meantime wait. It is not much more than what is needed: what is usable counts towards
    ///   limits of the process, and takes memory where all is to stay in memory (`mlockall`).
    /// Returns: whether they are. If not, nothing is lost.
    bool commit(std::size_t count) noexcept
    {
        if (count <= committed())
            return true;
        if (count > most_slices_)
            return false;
        const std::size_t step = least_step();
        // All of a part, or the system would have no huge page for it.
        const std::size_t whole_parts =
            base::round_up(std::max(count, committed() + step), std::min<std::size_t>(step, slices_of_huge_page));
        const std::size_t generous = std::min(whole_parts, most_slices_);
        return commit_exactly(generous) || commit_exactly(count);
    }

    /// Returns: bytes of the tables that may be backed by memory.
    std::size_t table_bytes() const noexcept { return sum(table_ends(peak_committed())) - sum(table_ends(0)); }

    /// Effects: calls `visit(std::byte* memory, std::size_t bytes)` for the slices that may be used, and the tables.
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
    /// Returns: slices that have addresses.
    std::size_t slices() const noexcept { return slices_; }
    /// Returns: slices that have addresses, or may get some.
    std::size_t most_slices() const noexcept { return most_slices_; }
    /// Returns: slices that may be used.
    std::size_t committed() const noexcept { return committed_steps_.read() / steps_per_slice; }

    /// Returns: the most slices that could ever be used.
    std::size_t peak_committed() const noexcept
    {
        return std::max(committed(), peak_committed_.load(std::memory_order_relaxed));
    }

    std::byte* address(slice_index slice) const noexcept { return base() + position(slice) * slice_bytes; }

    /// Returns: how many steps of 16 bytes `address` is from the beginning; more than is_committed() allows if it is
    ///   outside of the region, or no multiple of 16: the bits of the distance are turned around, so that those come
    ///   first.
    MEMORY_POOL_ALWAYS_INLINE std::uintptr_t steps_to(const void* address) const noexcept
    {
        constexpr unsigned step_bits = 4;
        const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(address) - base_.read();
        return distance >> step_bits | distance << (sizeof distance * 8 - step_bits);
    }

    /// Returns: whether that many steps from the beginning is a slice that may be used.
    MEMORY_POOL_ALWAYS_INLINE bool is_committed(std::uintptr_t steps) const noexcept
    {
        return steps < committed_steps_.read();
    }
    bool is_committed(slice_index slice) const noexcept { return position(slice) < committed(); }

    /// Returns: how many slices lie before the one of `address`; too many if it is outside of the region.
    std::size_t slices_before(const void* address) const noexcept
    {
        return (reinterpret_cast<std::uintptr_t>(address) - base_.read()) >> slice_bits;
    }

    // Data of a slice: by its index, or, without a conversion, by an address in it, or by the slices before that.

    /// Preconditions: `address` lies in the region.
    slice_index slice_of(const void* address) const noexcept { return slice_at(slices_before(address)); }
    Tag& tag(slice_index slice) const noexcept { return tags_[position(slice)]; }
    Tag& tag_of(const void* address) const noexcept { return tags_[slices_before(address)]; }
    Tag& tag_after(std::uintptr_t steps) const noexcept { return tags_[steps / steps_per_slice]; }
    Record& record(slice_index slice) const noexcept { return records_[position(slice)]; }
    Record& record_of(const void* address) const noexcept { return records_[slices_before(address)]; }
    Record& record_after(std::uintptr_t steps) const noexcept { return records_[steps / steps_per_slice]; }
    /// Of slices from `number * slices_of_huge_page` on.
    Part& part(std::size_t number) const noexcept { return parts_[number]; }
    /// What the system was told about them.
    huge_page_use& huge_pages(std::size_t number) const noexcept { return parts_[number].use; }

private:
    static constexpr std::size_t steps_per_slice = slice_bytes / 16;

    /// Where a region begins that is not reserved yet. No block is a multiple of 16 bytes away from there, nor is
    /// nullptr: so a thread that frees one while another reserves the region, and sees the end of it already, but not
    /// yet its beginning, finds it outside.
    static constexpr std::uintptr_t nowhere = 1;

    static constexpr std::size_t parts(std::size_t slices) noexcept
    {
        return base::divide_round_up(slices, std::size_t{slices_of_huge_page});
    }

    static std::size_t table_bytes(std::size_t entry_bytes, std::size_t slices) noexcept
    {
        return base::round_up(entry_bytes * slices, os::page_size());
    }

    /// Returns: whether the system has twice as many addresses.
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

    /// Where the guard page before a table begins.
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

    /// Returns: bytes of addresses for `slices` slices, and for tables of `entries` entries with their guards.
    static range_sizes sizes(std::size_t slices, std::size_t entries, std::size_t spare_bytes) noexcept
    {
        range_sizes bytes = entries != 0 ? table_ends(entries) : range_sizes{};
        bytes[0] = slices != 0 ? slices * slice_bytes + spare_bytes : 0;
        return bytes;
    }

    /// Returns: where tables of `entries` entries end, in bytes from their guards; 0 for the slices.
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

    /// Returns: where ranges of these sizes begin, of which the first does at `first`.
    static range_begins side_by_side(std::uintptr_t first, const range_sizes& bytes) noexcept
    {
        range_begins begins{};
        for (std::size_t range = 0; range != range_count; first += bytes[range++])
            begins[range] = reinterpret_cast<void*>(first);
        return begins;
    }

    /// Calls `visit(void* memory, std::size_t bytes)` for the bytes between `begin` and `end` of each range, until it
    /// returns false. Returns: whether it never did.
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
        slices_ = entries_ = most_slices_ = slices;
        base_.write(base::round_up(reinterpret_cast<std::uintptr_t>(reserved_), huge_page_bytes));
        return true;
    }

    /// Reserves the first few addresses of all ranges, where all ranges have room for `most_slices`.
    bool begin_to_grow(const free_addresses& all, std::size_t most_slices) noexcept
    {
        constexpr std::size_t first_slices = 4;
        range_sizes bytes = sizes(most_slices, most_slices, 0);
        for (std::size_t& each : bytes) // With gaps between the ranges.
            each = base::round_up(each + huge_page_bytes, huge_page_bytes);
        const std::uintptr_t first = all.pick(sum(bytes), huge_page_bytes, os::random_number());
        begin_at(side_by_side(first, bytes));
        if (first == 0 || !reserve_more(first_slices))
            return false;
        most_slices_ = most_slices;
        base_.write(first);
        return true;
    }

    /// Reserves the addresses that `count` slices need and do not have yet, if they are free.
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

    /// Returns: slices to commit at least next time: fewer if unused ones count towards a limit.
    std::size_t least_step() const noexcept
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

    /// Has core dumps contain slices that are about to be committed, and table entries: for many at once, so that it
    /// takes one system call most times.
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

    // The members that every free reads come first.
    often_read base_{nowhere};
    often_read committed_steps_{0}; ///< Read by threads that have a pointer into a slice.
    Tag* tags_ = nullptr;
    Record* records_ = nullptr;
    Part* parts_ = nullptr;
    void* reserved_ = nullptr;
    std::size_t slices_ = 0;
    std::size_t most_slices_ = 0;
    std::atomic<std::size_t> peak_committed_{0}; ///< Before the last shrink.
    std::size_t entries_ = 0;                    ///< Table entries with addresses: the largest number of slices so far.
    std::size_t dumped_entries_ = 0;             ///< Table entries in core dumps, unless the region grows.
    std::size_t spare_bytes_ = 0;                ///< Alignment padding around the slices; 0: the region grows.
};
} // namespace memory_pool::np
