// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Revoked runs: the addresses of freed large blocks, inaccessible until they are reused.
///
///     addresses:   | in use | free, revoked: inaccessible | in use |
///                                  ^ |
///        back, when they are reused  | v  when the block is freed
///     backing copies:       | its memory |
///
/// The memory of a revoked run is not returned to the system, because new memory would cost a fault for each page. The
/// memory of a very large block moves to a backing copy elsewhere, a page table at a time; the memory of a smaller
/// block stays in place. Both methods cost less than verifying a fill pattern later, and both also detect reads.
///
/// Each revoked run uses up some of the mappings that the system allows a process, so the number of runs is limited.
///
/// Thread safety: none; the page heap has a lock. Exception: `find`, which runs when the program is about to end and
///   may read entries that other threads are changing.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>

#include "../support/internals.hpp"
#include "guarded_slots.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace memory_pool::np {
/// Where the memory of a revoked run is.
enum class kept_memory
{
    nowhere, ///< The run has no memory.
    in_place,
    in_backing_copy,
};

/// Revoked runs.
class revoked_runs : base::immovable<revoked_runs>
{
public:
    static constexpr std::size_t max_count = 256;

    /// Returns: whether to revoke a block of `bytes`; filling and verifying a smaller block costs less.
    static constexpr bool are_for(std::size_t bytes) noexcept { return bytes > std::size_t{2} << 20; }

    /// Returns: where to keep the memory of a block of `bytes`: in a backing copy if the block is large enough for the
    ///   system to move whole page tables instead of visiting each page; otherwise in place.
    static constexpr kept_memory keep(std::size_t bytes, bool has_memory) noexcept
    {
        constexpr std::size_t min_bytes_to_move = std::size_t{8} << 20;
        if (!has_memory)
            return kept_memory::nowhere;
        return bytes >= min_bytes_to_move ? kept_memory::in_backing_copy : kept_memory::in_place;
    }

    /// Effects: revokes the addresses of a freed block, from `begin` on.
    /// Returns: false, with no effect, if there are too many revoked runs, or the system refuses.
    /// Complexity: a few system calls.
    bool put(std::byte* begin, std::size_t bytes, kept_memory where, const guarded_block& freed) noexcept
    {
        revoked_run* const unused = find_unused();
        revoked_run made{begin, begin + bytes, nullptr, freed};
        if (unused == nullptr || (where == kept_memory::in_backing_copy && !made.move_to_backing_copy()))
            return false;
        // If this fails where no memory is left, reads return zeros and writes are lost.
        if (!os::decommit_memory(begin, bytes) && where == kept_memory::in_place)
            return false;
        *unused = made;
        ++count_;
        return true;
    }

    /// Effects: makes the addresses accessible again, with their former content or zeros.
    /// Returns: the result. `refused`: the caller can try again. `lost`: the addresses must not be touched.
    /// Complexity: linear in revoked runs, and a few system calls for each overlapping run.
    os::moving take(const std::byte* begin, const std::byte* end) noexcept
    {
        for (std::size_t i = 0; count_ != 0 && i != max_count; ++i)
            if (revoked_[i].overlaps(begin, end))
                if (const os::moving result = take_from(revoked_[i], begin, end); result != os::moving::done)
                    return result;
        return os::moving::done;
    }

    /// Returns: whether some of these addresses are revoked.
    bool overlap(const std::byte* begin, const std::byte* end) const noexcept
    {
        return count_ != 0 && std::any_of(revoked_.begin(), revoked_.end(),
                                          [=](const revoked_run& each) { return each.overlaps(begin, end); });
    }

    /// Effects: forgets the backing copies of these addresses. Calls `release(void* memory, std::size_t bytes)` to
    ///   release each copy.
    template <class Release>
    void forget_memory(const std::byte* begin, const std::byte* end, Release&& release) noexcept
    {
        for (std::size_t i = 0; count_ != 0 && i != max_count; ++i)
            if (revoked_run& entry = revoked_[i]; entry.backing != nullptr && entry.overlaps(begin, end)) {
                release(entry.backing, entry.bytes());
                entry.backing = nullptr;
            }
    }

    /// Returns: the freed block at an address; nullptr if the address is not revoked.
    const guarded_block* find(const void* address) const noexcept
    {
        const auto* const wanted = static_cast<const std::byte*>(address);
        const auto* const found = std::find_if(revoked_.begin(), revoked_.end(), [wanted](const revoked_run& each) {
            return each.overlaps(wanted, wanted + 1);
        });
        return found != revoked_.end() ? &found->freed : nullptr;
    }

    std::size_t count() const noexcept { return count_; }
    bool has_room() const noexcept { return count_ < max_count; }

    /// Effects: calls `visit(void* memory, std::size_t bytes)` for each backing copy.
    template <class Visit>
    void for_each_backing_copy(Visit&& visit) const
    {
        for (const revoked_run& each : revoked_)
            if (each.backing != nullptr)
                visit(each.backing, each.bytes());
    }

private:
    /// Bytes that one page table maps.
    static constexpr std::size_t table_bytes = std::size_t{2} << 20;

    struct revoked_run
    {
        std::byte* begin = nullptr; ///< nullptr: unused entry.
        std::byte* end = nullptr;
        std::byte* backing = nullptr; ///< The backing copy; nullptr if there is none.
        guarded_block freed;

        std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
        bool overlaps(const std::byte* from, const std::byte* to) const noexcept { return begin < to && from < end; }

        /// Moves the memory to other addresses, at the same offset in a page table.
        /// Returns: whether the memory was moved.
        bool move_to_backing_copy() noexcept
        {
            auto* const reserved = static_cast<std::byte*>(os::reserve_addresses(bytes() + table_bytes));
            if (reserved == nullptr)
                return false;
            const std::size_t before = static_cast<std::size_t>(begin - reserved) % table_bytes;
            release(reserved, before);
            release(reserved + before + bytes(), table_bytes - before);
            std::byte* const made = reserved + before;
            const os::moving result =
                os::commit_memory(made, bytes()) ? os::move_memory(begin, made, bytes()) : os::moving::refused;
            if (result == os::moving::done)
                backing = made;
            else if (result == os::moving::refused)
                release(made, bytes());
            return backing != nullptr;
        }

        /// Makes the addresses accessible again, with their former content or zeros.
        os::moving return_to(std::byte* from, const std::byte* to) noexcept
        {
            const auto returned = static_cast<std::size_t>(to - from);
            bool is_committed = os::commit_memory(from, returned);
            if (!is_committed && backing != nullptr) {
                // Until the backing copy has moved, its bytes count twice against the limit of the process.
                release(std::exchange(backing, nullptr), bytes());
                is_committed = os::commit_memory(from, returned);
            }
            if (!is_committed)
                return os::moving::refused;
            if (backing == nullptr)
                return os::moving::done;
            std::byte* const kept = backing + (from - begin);
            const os::moving result = os::move_memory(kept, from, returned);
            release(kept, returned);
            return result == os::moving::lost ? result : os::moving::done; // If refused, the content is zeros.
        }

        static void release(void* memory, std::size_t bytes) noexcept
        {
            if (bytes != 0)
                (void)os::release_addresses(memory, bytes);
        }
    };

    revoked_run* find_unused() noexcept
    {
        auto* const found = std::find_if(revoked_.begin(), revoked_.end(),
                                         [](const revoked_run& each) { return each.begin == nullptr; });
        return found != revoked_.end() ? found : nullptr;
    }

    /// As take(). If no entry is left for the addresses behind `end`, also takes these addresses.
    os::moving take_from(revoked_run& entry, const std::byte* begin, const std::byte* end) noexcept
    {
        const bool begins_before = entry.begin < begin;
        revoked_run* const rest = begins_before && end < entry.end ? find_unused() : &entry;
        std::byte* const from = begins_before ? entry.begin + (begin - entry.begin) : entry.begin;
        std::byte* const to = rest != nullptr && end < entry.end ? entry.begin + (end - entry.begin) : entry.end;
        const os::moving result = entry.return_to(from, to);
        if (result == os::moving::refused)
            return result;
        const revoked_run whole = entry;
        entry = {};
        --count_;
        if (begins_before)
            keep(entry, whole, whole.begin, from);
        if (to != whole.end)
            keep(*rest, whole, to, whole.end);
        return result;
    }

    /// Makes `part` a part of the revoked run `whole`.
    void keep(revoked_run& part, const revoked_run& whole, std::byte* begin, std::byte* end) noexcept
    {
        part = {begin, end, whole.backing != nullptr ? whole.backing + (begin - whole.begin) : nullptr, whole.freed};
        ++count_;
    }

    std::array<revoked_run, max_count> revoked_{};
    std::size_t count_ = 0;
};

/// In the plain build, free memory stays accessible.
struct no_revoked_runs
{
    static constexpr bool are_for(std::size_t) noexcept { return false; }
    static constexpr kept_memory keep(std::size_t, bool) noexcept { return kept_memory::nowhere; }
    static constexpr bool put(std::byte*, std::size_t, kept_memory, const guarded_block&) noexcept { return false; }
    static constexpr os::moving take(const std::byte*, const std::byte*) noexcept { return os::moving::done; }
    static constexpr bool has_room() noexcept { return false; }
    static constexpr bool overlap(const std::byte*, const std::byte*) noexcept { return false; }
    static constexpr const guarded_block* find(const void*) noexcept { return nullptr; }
    template <class Visit>
    static constexpr void for_each_backing_copy(Visit&&) noexcept
    {
    }
    template <class Release>
    static constexpr void forget_memory(const std::byte*, const std::byte*, Release&&) noexcept
    {
    }
};
} // namespace memory_pool::np
