// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The addresses that everything comes from, reserved once, and the tables that say what lies where.
///
///     slices:   | 64 KiB | 64 KiB | 64 KiB | ... committed ... | ... reserved only ...                 |
///     owners:   |   w    |   w    |   w    |                     a word a slice: read by every free
///     records:  | record | record | record |                     what the slice is: for slow paths
///     parts:    |  asked for huge pages?   |                     a byte for so many slices as a huge page has
///
///     slice of p = (p - base) / 64 KiB
///
/// The tables lie in ranges of their own, so that what is written past a block does not reach them, and are found by
/// arithmetic alone. As much of them is committed as there are committed slices.
///
/// Thread safety: `commit` one thread at a time; what is committed, any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
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
    unknown, ///< It may be of several mappings.
};

/// A number that any thread may read while another writes.
///
/// To the language, what is read so would have to be atomic. But GCC 12 compares no atomic number where it stands: it takes an
/// instruction more in each call of free. To every processor that this library is for, such a number is read and written as a whole.
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

/// Reserved addresses in slices, with an `Owner` and a `Record` for each, which may begin as zeros.
template <class Owner, class Record>
class region
{
public:
    /// It has no slices. A constant, so that it can be there before anything has run.
    constexpr region() noexcept = default;
    region(const region&) = delete;
    region& operator=(const region&) = delete;
    ~region() = default;

    /// Effects: reserves addresses for up to `most_bytes`; if the system has not twice so many, or a limit is in the way, for half
    ///   of that, and so on: the program needs some, too, for threads, files and libraries.
    /// Returns: whether there are at least 4 MiB.
    bool reserve(std::size_t most_bytes) noexcept
    {
        constexpr std::size_t least_bytes = std::size_t{4} << 20;
        for (std::size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 2)
            if (leaves_as_many(bytes) && reserve_exactly(bytes / slice_bytes))
                return true;
        return false;
    }

    /// Effects: gives all addresses back.
    void release() noexcept
    {
        if (slices_ == 0)
            return;
        (void)os::release_addresses(reserved_, slices_ * slice_bytes + huge_page_bytes);
        (void)os::release_addresses(owners_, table_bytes(sizeof(Owner), slices_));
        (void)os::release_addresses(records_, table_bytes(sizeof(Record), slices_));
        (void)os::release_addresses(parts_, table_bytes(sizeof(huge_page_use), parts(slices_)));
        reserved_ = nullptr;
        base_.write(nowhere);
        slices_ = 0;
        committed_steps_.write(0);
    }

    /// Effects: gives back the addresses of slices that are not committed, which are none from now on.
    void release_uncommitted() noexcept
    {
        const std::size_t kept = committed();
        if (kept == slices_)
            return;
        release_behind(reserved_, kept * slice_bytes + huge_page_bytes, slices_ * slice_bytes + huge_page_bytes);
        release_behind(owners_, table_bytes(sizeof(Owner), kept), table_bytes(sizeof(Owner), slices_));
        release_behind(records_, table_bytes(sizeof(Record), kept), table_bytes(sizeof(Record), slices_));
        release_behind(parts_, table_bytes(sizeof(huge_page_use), parts(kept)),
                       table_bytes(sizeof(huge_page_use), parts(slices_)));
        slices_ = kept;
    }

    /// Effects: makes the first `count` slices usable, and some more, so that it is not asked often: threads that bring memory into use
    ///   in the meantime wait. It is not much more than what is needed: what is usable counts towards limits of the process, and takes
    ///   memory where all is to stay in memory (`mlockall`).
    /// Returns: whether they are. If not, nothing is lost.
    bool commit(std::size_t count) noexcept
    {
        if (count <= committed())
            return true;
        if (count > slices_)
            return false;
        constexpr std::size_t least_step = (std::size_t{4} << 20) / slice_bytes;
        constexpr std::size_t long_step = (std::size_t{32} << 20) / slice_bytes;
        const std::size_t step = std::clamp(committed(), least_step, std::max(committed() / 2, long_step));
        // All of a part, or the system would have no huge page for it.
        const std::size_t whole_parts = base::round_up(std::max(count, committed() + step), slices_of_huge_page);
        const std::size_t generous = std::min(whole_parts, slices_);
        return commit_exactly(generous) || commit_exactly(count);
    }

    std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(base_.read()); }
    /// Returns: slices that have addresses.
    std::size_t slices() const noexcept { return slices_; }
    /// Returns: slices that may be used.
    std::size_t committed() const noexcept { return committed_steps_.read() / steps_per_slice; }

    std::byte* address(std::size_t slice) const noexcept { return base() + slice * slice_bytes; }

    /// Returns: how many steps of 16 bytes `address` is from the beginning; more than is_committed() allows if it is outside of the
    ///   region, or no multiple of 16: the bits of the distance are turned around, so that those come first.
    MEMORY_POOL_ALWAYS_INLINE std::uintptr_t steps_to(const void* address) const noexcept
    {
        constexpr unsigned step_bits = 4;
        const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(address) - base_.read();
        return distance >> step_bits | distance << (sizeof distance * 8 - step_bits);
    }

    /// Returns: whether so many steps from the beginning is a slice that may be used: slice_at(steps).
    MEMORY_POOL_ALWAYS_INLINE bool is_committed(std::uintptr_t steps) const noexcept
    {
        return steps < committed_steps_.read();
    }

    static constexpr std::size_t slice_at(std::uintptr_t steps) noexcept { return steps / steps_per_slice; }

    /// Returns: the slice that `address` lies in; too large a number if it is outside of the region.
    std::size_t slice_of(const void* address) const noexcept
    {
        return (reinterpret_cast<std::uintptr_t>(address) - base_.read()) >> slice_bits;
    }

    Owner& owner(std::size_t slice) const noexcept { return owners_[slice]; }
    Record& record(std::size_t slice) const noexcept { return records_[slice]; }
    /// What the system was told about slices from `part * slices_of_huge_page` on.
    huge_page_use& huge_pages(std::size_t part) const noexcept { return parts_[part]; }

private:
    static constexpr std::size_t steps_per_slice = slice_bytes / 16;

    /// Where a region begins that is not reserved yet. No block is a multiple of 16 bytes away from there, nor is nullptr: so a thread
    /// that frees one while another reserves the region, and sees the end of it already, but not yet its beginning, finds it outside.
    static constexpr std::uintptr_t nowhere = 1;

    static constexpr std::size_t parts(std::size_t slices) noexcept
    {
        return base::divide_round_up(slices, std::size_t{slices_of_huge_page});
    }

    static std::size_t table_bytes(std::size_t entry_bytes, std::size_t slices) noexcept
    {
        return base::round_up(entry_bytes * slices, os::page_size());
    }

    /// Returns: whether the system has twice so many addresses.
    static bool leaves_as_many(std::size_t bytes) noexcept
    {
        void* const all = bytes <= ~std::size_t{0} / 2 ? os::reserve_addresses(2 * bytes) : nullptr;
        if (all == nullptr)
            return false;
        (void)os::release_addresses(all, 2 * bytes);
        return true;
    }

    static void release_behind(void* memory, std::size_t kept, std::size_t bytes) noexcept
    {
        if (kept != bytes)
            (void)os::release_addresses(static_cast<std::byte*>(memory) + kept, bytes - kept);
    }

    bool reserve_exactly(std::size_t slices) noexcept
    {
        // More, so that there are as many from a multiple of a huge page on.
        const std::size_t bytes = slices * slice_bytes + huge_page_bytes;
        struct range
        {
            std::size_t bytes;
            void* memory = nullptr;
        };
        std::array<range, 4> all{{{bytes},
                                  {table_bytes(sizeof(Owner), slices)},
                                  {table_bytes(sizeof(Record), slices)},
                                  {table_bytes(sizeof(huge_page_use), parts(slices))}}};
        for (range& each : all)
            each.memory = os::reserve_addresses(each.bytes);
        if (std::any_of(all.begin(), all.end(), [](const range& each) { return each.memory == nullptr; })) {
            for (const range& each : all)
                if (each.memory != nullptr)
                    (void)os::release_addresses(each.memory, each.bytes);
            return false;
        }
        reserved_ = all[0].memory;
        base_.write(base::round_up(reinterpret_cast<std::uintptr_t>(reserved_), huge_page_bytes));
        owners_ = static_cast<Owner*>(all[1].memory);
        records_ = static_cast<Record*>(all[2].memory);
        parts_ = static_cast<huge_page_use*>(all[3].memory);
        slices_ = slices;
        return true;
    }

    bool commit_exactly(std::size_t count) noexcept
    {
        if (!commit_table(owners_, sizeof(Owner), count) || !commit_table(records_, sizeof(Record), count) ||
            !commit_table(parts_, sizeof(huge_page_use), parts(committed()), parts(count)) ||
            !os::commit_memory(address(committed()), (count - committed()) * slice_bytes))
            return false;
        committed_steps_.write(count * steps_per_slice);
        return true;
    }

    /// Makes the first `count` entries of a table usable: the pages of it that are not yet.
    bool commit_table(void* table, std::size_t entry_bytes, std::size_t count) const noexcept
    {
        return commit_table(table, entry_bytes, committed(), count);
    }

    static bool commit_table(void* table, std::size_t entry_bytes, std::size_t count_before, std::size_t count) noexcept
    {
        const std::size_t before = table_bytes(entry_bytes, count_before);
        const std::size_t more = table_bytes(entry_bytes, count) - before;
        return more == 0 || os::commit_memory(static_cast<std::byte*>(table) + before, more);
    }

    often_read base_{nowhere};
    Owner* owners_ = nullptr;
    Record* records_ = nullptr;
    huge_page_use* parts_ = nullptr;
    std::size_t slices_ = 0;
    often_read committed_steps_{0}; ///< Whoever has a pointer into a slice has been told.
    void* reserved_ = nullptr;
};
} // namespace memory_pool::np
