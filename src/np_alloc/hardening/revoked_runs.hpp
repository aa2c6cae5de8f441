// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs of freed large blocks, which are revoked: inaccessible until their addresses are used again.
///
///     addresses:   | in use | free, revoked: inaccessible | in use |
///                                  ^ |
///          back, when they are used  | v  when the block is freed
///     backing copies:       | its memory |
///
/// The memory behind such a block does not go back to the system, as it costs a fault for each page to get other
/// memory. The memory of a very large block moves to a backing copy elsewhere, a page table at a time; that of others
/// stays in place. Either costs less than verifying a fill pattern later, and detects reads, too.
///
/// Each revoked run takes some of the mappings that a process may have: so their number is limited.
///
/// Thread safety: none, the page heap has a lock; but for `find`, which is for the moment when a program is about to
///   end, and reads what others may be changing.
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
    nowhere, ///< There is none.
    in_place,
    in_backing_copy,
};

/// Revoked runs.
class revoked_runs : base::immovable<revoked_runs>
{
public:
    static constexpr std::size_t most = 256;
    /// Returns: whether a block of `bytes` is large enough; filling and verifying a smaller one costs less.
    static constexpr bool are_for(std::size_t bytes) noexcept { return bytes > std::size_t{2} << 20; }

    /// Returns: where to keep the memory of a block of that size: in place; or, if it is so large that the system moves
    ///   whole page tables instead of visiting each page, in a backing copy.
    static constexpr kept_memory keep(std::size_t bytes, bool has_memory) noexcept
    {
        constexpr std::size_t least_to_move = std::size_t{8} << 20;
        if (!has_memory)
            return kept_memory::nowhere;
        return bytes >= least_to_move ? kept_memory::in_backing_copy : kept_memory::in_place;
    }

    /// Effects: revokes the addresses from `begin` on, where a block was.
    /// Returns: whether they are revoked. If not, as there are too many, or the system refuses it, nothing has changed.
    /// Complexity: some system calls.
    bool put(std::byte* begin, std::size_t bytes, kept_memory where, const guarded_block& freed) noexcept
    {
        revoked_run* const unused = find_unused();
        revoked_run made{begin, begin + bytes, nullptr, freed};
        if (unused == nullptr || (where == kept_memory::in_backing_copy && !made.move_to_backing_copy()))
            return false;
        // If that fails where no memory is left, an access reads zeros, and what is written is lost.
        if (!os::decommit_memory(begin, bytes) && where == kept_memory::in_place)
            return false;
        *unused = made;
        ++count_;
        return true;
    }

    /// Effects: makes these addresses accessible again, with what was there, or zeros.
    /// Returns: what came of it. If it was refused, it can be tried again; if they are lost, they must not be touched.
    /// Complexity: linear in revoked runs, and some system calls for each that overlaps.
    os::moving take(const std::byte* begin, const std::byte* end) noexcept
    {
        for (std::size_t i = 0; count_ != 0 && i != most; ++i)
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

    /// Effects: calls `release(void* memory, std::size_t bytes)` for backing copies of these addresses, which the
    ///   caller releases.
    template <class Release>
    void forget_memory(const std::byte* begin, const std::byte* end, Release&& release) noexcept
    {
        for (std::size_t i = 0; count_ != 0 && i != most; ++i)
            if (revoked_run& its = revoked_[i]; its.backing != nullptr && its.overlaps(begin, end)) {
                release(its.backing, its.bytes());
                its.backing = nullptr;
            }
    }

    /// Returns: the block that was there; nullptr if the address is not revoked.
    const guarded_block* find(const void* address) const noexcept
    {
        const auto* const wanted = static_cast<const std::byte*>(address);
        const auto* const found = std::find_if(revoked_.begin(), revoked_.end(), [wanted](const revoked_run& each) {
            return each.overlaps(wanted, wanted + 1);
        });
        return found != revoked_.end() ? &found->freed : nullptr;
    }

    std::size_t count() const noexcept { return count_; }
    bool has_room() const noexcept { return count_ < most; }

    /// Effects: calls `visit(void* memory, std::size_t bytes)` for each backing copy.
    template <class Visit>
    void for_each_backing_copy(Visit&& visit) const
    {
        for (const revoked_run& each : revoked_)
            if (each.backing != nullptr)
                visit(each.backing, each.bytes());
    }

private:
    /// That many bytes of addresses have a table of pages of their own.
    static constexpr std::size_t table_bytes = std::size_t{2} << 20;

    struct revoked_run
    {
        std::byte* begin = nullptr; ///< nullptr: not used.
        std::byte* end = nullptr;
        std::byte* backing = nullptr; ///< Where its memory is; nullptr if it has none.
        guarded_block freed;

        std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
        bool overlaps(const std::byte* from, const std::byte* to) const noexcept { return begin < to && from < end; }

        /// Effects: moves what is there to other addresses, which are as far from the begin of a table of pages.
        /// Returns: whether it did.
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

        /// Effects: makes those addresses accessible again, with what was there, or zeros.
        os::moving return_to(std::byte* from, const std::byte* to) noexcept
        {
            const auto returned = static_cast<std::size_t>(to - from);
            bool is_committed = os::commit_memory(from, returned);
            if (!is_committed && backing != nullptr) {
                // Until what is there has moved, the process has to be allowed as much once more.
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
            return result == os::moving::lost ? result : os::moving::done; // If it is refused, zeros are there.
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

    /// As take; more than these addresses, if there is no entry left for what is behind them.
    os::moving take_from(revoked_run& its, const std::byte* begin, const std::byte* end) noexcept
    {
        const bool begins_before = its.begin < begin;
        revoked_run* const rest = begins_before && end < its.end ? find_unused() : &its;
        std::byte* const from = begins_before ? its.begin + (begin - its.begin) : its.begin;
        std::byte* const to = rest != nullptr && end < its.end ? its.begin + (end - its.begin) : its.end;
        const os::moving result = its.return_to(from, to);
        if (result == os::moving::refused)
            return result;
        const revoked_run whole = its;
        its = {};
        --count_;
        if (begins_before)
            keep(its, whole, whole.begin, from);
        if (to != whole.end)
            keep(*rest, whole, to, whole.end);
        return result;
    }

    /// Effects: makes `part` a part of a revoked run.
    void keep(revoked_run& part, const revoked_run& whole, std::byte* begin, std::byte* end) noexcept
    {
        part = {begin, end, whole.backing != nullptr ? whole.backing + (begin - whole.begin) : nullptr, whole.freed};
        ++count_;
    }

    std::array<revoked_run, most> revoked_{};
    std::size_t count_ = 0;
};

/// Where free memory stays accessible.
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
