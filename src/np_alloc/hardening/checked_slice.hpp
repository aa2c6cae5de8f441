// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What the checked build knows of a slice besides: states of blocks, guards, and fill patterns.
///
///     slab:         | block | block | ...                | not used | guard page |
///     large block:  | what was asked for | canary | guard page | not used        |
///                                                 ^ a multiple of the page size
///
///     free slices that were of large blocks:   | 0xDF 0xDF ... | anything |
///                                              <-- poisoned --->
///
/// A guard page stays when the slab or the large block is gone, as the next one may have its size. A guard that the
/// system cannot make is not there, and nothing depends on it.
///
/// Thread safety: the owner of the run.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../slices/region.hpp"
#include "../slices/runs.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../support/build_variant.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/inconsistency.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "block_state.hpp"
#include "noted_parts.hpp"
#include "pairs.hpp"
#include "revoked_runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The record of a slice, where it is checked.
struct checked_slice : slice_record
{
    os::guarding guarding_all; ///< Of the slab that begins here: how all of it is guarded.
    /// How a page of the slice is guarded that is, or was, the last of a slab, or behind a large block.
    os::guarding guarding_page;
    std::uint8_t guarded_page; ///< Which.
    std::uint32_t poisoned;    ///< Bytes from the beginning of the slice that must be as they were left.
    block_state large;         ///< Of the large block that begins here. How much was asked for stands in `large_bytes`.
    std::size_t large_bytes;   ///< That were asked for.
    block_state blocks[largest_capacity];
};

/// What is done to the memory of runs, so that what a program does there by mistake is found.
template <class Region>
class run_checks : base::immovable<run_checks<Region>>
{
public:
    using revoked = revoked_runs;

    constexpr explicit run_checks(Region& region) noexcept : region_(region) {}

    /// Effects: allocates what is kept about `slices` slices besides their records.
    /// Returns: false if out of memory.
    bool start(std::size_t slices) noexcept { return noted_.start(slices); }

    /// Effects: frees that.
    void stop() noexcept { noted_.stop(); }

    // Slabs.

    void slab_made(slice_index first, std::uint32_t slices) noexcept
    {
        std::byte* const last_page = region_.address(first + slices) - guard_bytes;
        (void)find_damage(first, slices, false, last_page);
        checked_slice& slab = region_.record(first);
        for (std::uint32_t number = 0; number != slab.capacity; ++number)
            slab.blocks[number].forget();
        guard(last_page);
    }

    /// Effects: what was guarded as a whole is not any more.
    void slab_ends(slice_index first, std::uint32_t slices) noexcept
    {
        (void)os::unguard_memory(region_.address(first), slices * slice_bytes,
                                 std::exchange(region_.record(first).guarding_all, os::guarding::none));
    }

    /// Effects: guards all pages of a slab.
    void guard_all(slice_index first, std::uint32_t slices) noexcept
    {
        unguard_in(first + slices - 1);
        region_.record(first).guarding_all =
            wants_guards() ? os::guard_memory(region_.address(first), slices * slice_bytes) : os::guarding::none;
    }

    /// Effects: what is in a slab that ends is lost, though blocks of it are in use.
    void slab_dropped(slice_index first) noexcept
    {
        const std::size_t bytes = slab_slices(region_.record(first).size_class) * slice_bytes;
        // Memory that is locked stays.
        if (!os::purge_memory(region_.address(first), bytes) && the_options.get(np_option_poison) != 0)
            poison(region_.address(first), bytes - guard_bytes);
    }

    /// Effects: a free block of a slab need not be as it was left.
    void library_writes_to(const void* block) noexcept
    {
        checked_slice& slab = region_.record(region_.record_of(block).slab);
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - slab.begin);
        const std::size_t number = block_at(facts[slab.size_class], offset);
        if (number != no_block_there) // A batch that was written to may say that another is where no block begins.
            slab.blocks[number].forget();
    }

    // Large blocks.

    /// Returns: bytes of a run with room for a block of `bytes`, its canary and its guard.
    static std::size_t with_guard(std::size_t bytes) noexcept
    {
        return base::saturating_add(bytes, 2 * os::page_size());
    }

    /// Effects: the block is in use.
    /// Returns: where the memory is that was written to though it was free; nullptr if there is none.
    const void* large_made(slice_index first, std::uint32_t slices, std::size_t bytes) noexcept
    {
        region_.record(first).large_bytes = bytes;
        const void* const damaged = find_damage(first, slices, true, page_behind(first));
        (void)region_.record(first).large.hand_out(0);
        the_canary.write(region_.address(first) + bytes, region_.address(first) + canary_end(first));
        guard_behind(first);
        return damaged;
    }

    /// Effects: what is in the block is lost.
    /// Returns: whether the system may have memory behind it still.
    bool large_ends(slice_index first, bool /*is_dirty*/) noexcept
    {
        region_.record(first).large.forget();
        const std::size_t end = canary_end(first);
        // What lies behind the block goes, too: the whole run is to read as zeros then.
        if (!wipe(region_.address(first), end, region_.record(first).length * slice_bytes))
            return false;
        if (the_options.get(np_option_poison) != 0)
            for (std::uint32_t slice = 0; slice * slice_bytes < end; ++slice) {
                noted_.note(first + slice);
                region_.record(first + slice).poisoned =
                    static_cast<std::uint32_t>(std::min(end - slice * slice_bytes, slice_bytes));
            }
        return true;
    }

    /// Effects: a freed large block is not verified when it is used again, as it is revoked.
    void large_revoked(slice_index first) noexcept
    {
        for (std::uint32_t slice = 0; slice * slice_bytes < canary_end(first); ++slice)
            region_.record(first + slice).poisoned = 0;
    }

    /// Effects: the same where the system was asked to move its memory, and did not, or moved a part and left zeros
    ///   there.
    void large_not_revoked(slice_index first) noexcept
    {
        for (std::uint32_t slice = 0; slice * slice_bytes < canary_end(first); ++slice)
            if (std::uint32_t& poisoned = region_.record(first + slice).poisoned;
                poisoned != 0 && !is_poisoned(region_.address(first + slice), poisoned))
                poisoned = 0;
    }

    /// Effects: a large block counts as allocated by that.
    void large_allocated_by(slice_index first, allocated_by function) noexcept
    {
        region_.record(first).large.set_function(function);
    }

    /// Effects: a large block has become longer by slices that were free.
    void large_extended(slice_index first, std::uint32_t slices) noexcept { (void)find_damage(first, slices, false); }

    /// Effects: gives the block another size, if `resize_run()` finds that its run has room for that, or makes it so.
    ///   What is no longer of the block is filled.
    /// Returns: whether it did.
    template <class ResizeRun>
    bool resize_large(slice_index first, std::size_t bytes, ResizeRun&& resize_run) noexcept
    {
        const std::size_t old_end = canary_end(first);
        const std::size_t end = base::round_up(bytes, os::page_size());
        if (end != old_end)
            unguard_behind(first);
        if (end < old_end)
            (void)wipe(region_.address(first) + end, old_end - end, old_end - end);
        const bool has_room = resize_run();
        if (has_room)
            region_.record(first).large_bytes = bytes;
        if (end != old_end)
            guard_behind(first);
        return has_room;
    }

    /// Effects: of a large block that was just made, no more than `bytes` are asked for; the rest is room to grow.
    void leave_room(slice_index first, std::size_t bytes) noexcept
    {
        unguard_behind(first);
        region_.record(first).large_bytes = bytes;
        guard_behind(first);
    }

    /// Returns: how much was asked for.
    std::size_t bytes_of_large(slice_index first) const noexcept { return region_.record(first).large_bytes; }

    /// Returns: where the canary behind a large block ends, in bytes from its beginning.
    std::size_t canary_end(slice_index first) const noexcept
    {
        return base::round_up(region_.record(first).large_bytes, os::page_size());
    }

    // Proof.

    /// Returns: bytes that were asked for of the block of that number; nothing if it is not in use.
    std::optional<std::size_t> bytes_of(slice_index slab, std::size_t number) const noexcept
    {
        return region_.record(slab).blocks[number].bytes();
    }

    /// Returns: what is wrong with the block of that number in a slab, which is free or not.
    inconsistency verify(slice_index slab, std::size_t number, bool is_free) const noexcept
    {
        const checked_slice& its = region_.record(slab);
        std::byte* const block = its.begin + number * its.block_bytes;
        const block_state& state = its.blocks[number];
        const std::optional<std::size_t> bytes = state.bytes();
        if (is_free && bytes)
            return {"a free block has the state of a block in use", block};
        if (bytes && !the_canary.is_intact(block + *bytes, block + its.block_bytes))
            return {"the bytes behind a block were written to", block};
        if (state.is_given_back() && the_options.get(np_option_poison) != 0 && !is_poisoned(block, its.block_bytes))
            return {"a free block was written to", block};
        return {};
    }

    inconsistency verify_large(slice_index first) const noexcept
    {
        std::byte* const block = region_.address(first);
        if (!region_.record(first).large.is_in_use())
            return {"a large block has the state of a free block", block};
        if (!the_canary.is_intact(block + bytes_of_large(first), block + canary_end(first)))
            return {"the bytes behind a block were written to", block};
        return {};
    }

    /// Returns: what is wrong with a free run.
    inconsistency verify_free(slice_index first, std::uint32_t slices) const noexcept
    {
        inconsistency found;
        noted_.for_each(first, slices, [&](slice_index slice) {
            if (const std::size_t bytes = region_.record(slice).poisoned;
                !found && bytes != 0 && !is_poisoned(region_.address(slice), bytes))
                found = {"a free block was written to", region_.address(slice)};
        });
        return found;
    }

    // Free runs.

    /// Effects: what was in the run is lost, and so may be what is known of those of its slices that are neither the
    ///   first nor the last: that is memory, too.
    void run_purged(slice_index first, std::uint32_t slices) noexcept
    {
        (void)find_damage(first, slices, false);
        const std::size_t page = os::page_size();
        const auto begin = base::round_up(reinterpret_cast<std::uintptr_t>(&region_.record(first + 1)), page);
        const auto end = reinterpret_cast<std::uintptr_t>(&region_.record(first + slices - 1)) / page * page;
        if (begin < end)
            (void)os::purge_memory(reinterpret_cast<void*>(begin), end - begin);
    }

private:
    /// Larger ones are not filled, but given back to the system: a program need not have touched all of them.
    static constexpr std::size_t largest_to_fill = std::size_t{32} << 20;

    /// Effects: erases those pages: fills them, or, if they are many, returns them to the system, with those behind
    ///   them up to `bytes_with_rest`.
    /// Returns: whether they are filled.
    static bool wipe(std::byte* memory, std::size_t bytes, std::size_t bytes_with_rest) noexcept
    {
        if (bytes > largest_to_fill && os::purge_memory(memory, bytes_with_rest))
            return false;
        if (bytes != 0 && the_options.get(np_option_poison) != 0) // A large block of 0 bytes has an alignment.
            poison(memory, bytes);
        return true;
    }

    static bool wants_guards() noexcept
    {
        return the_options.get(np_option_guard_pages) != 0 && os::page_size() == guard_bytes;
    }

    std::byte* page_behind(slice_index first) const noexcept { return region_.address(first) + canary_end(first); }

    /// Returns: the page of that slice that is guarded; nullptr if none is.
    std::byte* guarded_in(slice_index slice) const noexcept
    {
        const checked_slice& its = region_.record(slice);
        return its.guarding_page != os::guarding::none ? region_.address(slice) + its.guarded_page * guard_bytes
                                                       : nullptr;
    }

    /// Guards a page, if it is not guarded already.
    /// Preconditions: no other page of its slice is guarded.
    void guard(std::byte* page) noexcept
    {
        const slice_index slice = region_.slice_of(page);
        noted_.note(slice);
        if (guarded_in(slice) == page || !wants_guards())
            return;
        checked_slice& its = region_.record(slice);
        its.guarding_page = os::guard_memory(page, guard_bytes);
        its.guarded_page = static_cast<std::uint8_t>((page - region_.address(slice)) / std::ptrdiff_t{guard_bytes});
    }

    void guard_behind(slice_index first) noexcept { guard(page_behind(first)); }

    void unguard_behind(slice_index first) noexcept { unguard_in(region_.slice_of(page_behind(first))); }

    void unguard_in(slice_index slice) noexcept
    {
        if (std::byte* const page = guarded_in(slice)) {
            (void)os::unguard_memory(page, guard_bytes, region_.record(slice).guarding_page);
            std::atomic_signal_fence(std::memory_order_seq_cst); // So the child of a fork removes it twice, or once.
            region_.record(slice).guarding_page = os::guarding::none;
        }
    }

    /// Verifies fill patterns, and expects them no longer. Removes guards, but for the page `guarded`.
    const void* find_damage(slice_index first, std::uint32_t slices, bool is_wanted,
                            const std::byte* guarded = nullptr) noexcept
    {
        const void* damaged = nullptr;
        noted_.take_each(first, slices, [&](slice_index slice) {
            if (guarded_in(slice) != guarded)
                unguard_in(slice);
            const std::size_t bytes = region_.record(slice).poisoned;
            if (bytes == 0)
                return;
            if (is_wanted && damaged == nullptr && !is_poisoned(region_.address(slice), bytes))
                damaged = region_.address(slice);
            region_.record(slice).poisoned = 0;
        });
        return damaged;
    }

    Region& region_;
    noted_parts noted_;
};
} // namespace memory_pool::np
