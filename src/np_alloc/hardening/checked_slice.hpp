// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What the checked build knows of a slice besides: states of blocks, guards, and fill patterns.
///
///     slab:         | block | block | ...                | not used | guard page |       each ends with a canary
///     large block:  | canary |  requested bytes   | canary | guard: 1 MiB, up to the end of the run       |
///                   ^ at most a page, so that the block ends at its guard or just before it
///
///     free slices that were of large blocks:   | 0xDF 0xDF ... | anything |
///                                              <-- poisoned --->
///
/// Each run ends with a guard, so there is one before each run, too. It stays when the slab or the large block is gone,
/// as the next one may have the same size. Guards are best effort: if the system refuses one, it is missing.
///
/// Thread safety: the owner of the run.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../slices/region.hpp"
#include "../slices/runs.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/inconsistency.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "block_state.hpp"
#include "noted_parts.hpp"
#include "pairs.hpp"
#include "revoked_runs.hpp"
#include "run_quarantine.hpp"
#include "slice_guard.hpp"
#include "state_arrays.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The record of a slice, where it is checked.
struct checked_slice : slice_record
{
    os::guarding guarding_all; ///< Of the slab that begins here: how all of it is guarded.
    bool is_unknown;           ///< Memory may differ from what first_damage() expects, though no program wrote to it.
    bool is_filled;            ///< As far as it is `poisoned`, it holds nothing but the fill pattern.
    std::uint32_t poisoned;    ///< Bytes from the beginning of the slice that first_damage() must find intact.
    block_state large;         ///< Of the large block that begins here. How much was asked for stands in `large_bytes`.
    std::size_t large_bytes;   ///< That were asked for.
    std::atomic<std::uint32_t> large_front; ///< Bytes of the run before that block.
    block_state* blocks;                    ///< Of the slab that begins here, by number.
};

/// Returns: whether free memory is filled, and verified before it is reused.
inline bool fills_free_memory() noexcept
{
    return the_options.get(np_option_poison) != 0;
}

/// Returns: whether a free block holds what its state says.
/// Preconditions: fills_free_memory(); the block was carved, or its state is known.
inline bool is_as_left(const block_state& state, const std::byte* block, std::size_t bytes) noexcept
{
    if (state.is_purged())
        return is_purged_block(block, bytes);
    if (state.is_recycled())
        return first_damage(block, bytes) == nullptr;
    if (state.is_given_back())
        return is_poisoned_block(block, bytes);
    const bool is_rest_intact =
        !state.is_sent() ||
        first_damage(block + bytes_of_sent, bytes - bytes_of_sent - canary::last_bytes, true) == nullptr;
    return is_rest_intact && the_canary.is_last_intact(block + bytes);
}

/// Collects adjacent guards of one kind, to remove them by one system call.
class joined_guards
{
public:
    /// Effects: adds a guard; removes those added before if it is not adjacent to them, or of another kind. `begins`:
    ///   whether to count it as a guard: it begins at `begin`, and no part of it stays.
    void add(std::byte* begin, std::byte* end, os::guarding how, bool begins) noexcept
    {
        if (begin != end_ || how != how_) {
            (void)remove();
            begin_ = begin;
            how_ = how;
        }
        end_ = end;
        guards_ += begins ? 1U : 0U;
    }

    /// Effects: removes the guards added last.
    /// Returns: whether the system has removed all guards that were ever added.
    bool remove() noexcept
    {
        if (begin_ != end_)
            are_removed_ =
                os::unguard_memory(begin_, static_cast<std::size_t>(end_ - begin_), how_, guards_) && are_removed_;
        begin_ = end_ = nullptr;
        guards_ = 0;
        return are_removed_;
    }

private:
    std::byte* begin_ = nullptr;
    std::byte* end_ = nullptr;
    os::guarding how_ = os::guarding::none;
    std::size_t guards_ = 0;
    bool are_removed_ = true;
};

/// Returns: the number of the block of a slab that begins there, or no_block_there.
MEMORY_POOL_ALWAYS_INLINE std::size_t number_in(const checked_slice& slab, const class_facts& its,
                                                const void* block) noexcept
{
    return block_at(its, static_cast<std::size_t>(static_cast<const std::byte*>(block) - slab.begin));
}

/// Returns: whether the last word of the preceding block is intact, or purged with it. Before the first block, there is
///   a guard page.
MEMORY_POOL_ALWAYS_INLINE bool is_front_intact(const checked_slice& slab, const std::byte* block) noexcept
{
    if (MEMORY_POOL_LIKELY(block == slab.begin || the_canary.is_last_intact(block)))
        return true;
    const block_state& previous = slab.blocks[static_cast<std::size_t>(block - slab.begin) / slab.block_bytes - 1];
    const bool is_purged = canary::is_last_clear(block) && previous.is_purged();
    // It may have gone out again meanwhile: then its last word comes first.
    return is_purged || the_canary.is_last_intact(block);
}

/// What is done to the memory of runs, so that what a program does there by mistake is found.
template <class Region>
class run_checks : base::immovable<run_checks<Region>>
{
public:
    using revoked = revoked_runs;
    using quarantine = run_quarantine;

    constexpr explicit run_checks(Region& region) noexcept : region_(region) {}

    /// Effects: allocates what is kept about `slices` slices besides their records.
    /// Returns: false if out of memory.
    bool start(std::size_t slices) noexcept
    {
        constexpr std::size_t bytes_of_guard = std::size_t{1} << 20;
        guard_slices_ = region_.grows() || os::commits_are_limited() ? 0 : bytes_of_guard / slice_bytes;
        return noted_.start(slices);
    }

    /// Effects: frees that.
    void stop() noexcept { noted_.stop(); }

    /// Returns: whether runs get guards.
    static bool wants_guards() noexcept
    {
        return the_options.get(np_option_guard_pages) != 0 && os::page_size() == guard_bytes;
    }

    // Slabs.

    /// Effects: gets room for what is kept about the blocks of a slab; a slice by `take_slice()` if need be, which
    ///   returns no_slice if there is none, and given back by `give_slice(slice_index)` if it cannot be used.
    /// Preconditions: no other thread takes or returns runs.
    template <class TakeSlice, class GiveSlice>
    void slab_taken(slice_index first, std::size_t size_class, TakeSlice&& take_slice, GiveSlice&& give_slice) noexcept
    {
        const auto take_chunk = [&]() -> void* {
            const slice_index chunk = take_slice();
            if (chunk == no_slice)
                return nullptr;
            std::byte* const last_page = region_.address(chunk) + state_arrays::chunk_bytes;
            if (!find_damage(chunk, 1, false, last_page).is_usable) {
                give_slice(chunk);
                return nullptr;
            }
            set_guard(chunk, 1, last_page);
            return region_.address(chunk);
        };
        region_.record(first).blocks = states_.take(slab_capacity(size_class), take_chunk);
    }

    /// Effects: gives that back, and a slice by `give_slice(slice_index)` that is not needed any more.
    /// Preconditions: the same.
    template <class GiveSlice>
    void slab_given(slice_index first, GiveSlice&& give_slice) noexcept
    {
        const checked_slice& slab = region_.record(first);
        if (slab.blocks != nullptr)
            states_.give(slab.blocks, slab.capacity, [&](void* chunk) {
                note_known(region_.slice_of(chunk), 1, false);
                give_slice(region_.slice_of(chunk));
            });
    }

    /// Effects: starts the states of its blocks: the first hand-out verifies each.
    /// Returns: whether the slab is usable: false if there is no memory for what is kept about it, or the system has
    ///   not removed a guard in it.
    bool slab_made(slice_index first, std::uint32_t slices, bool is_zero) noexcept
    {
        std::byte* const last_page = region_.address(first + slices) - guard_bytes;
        const checked_slice& slab = region_.record(first);
        const bool is_wiped = !is_zero && !is_known(first, slices); // No block shows what a larger one held.
        if (!find_damage(first, slices, false, is_wiped ? nullptr : last_page).is_usable || slab.blocks == nullptr)
            return false;
        if (is_wiped)
            (void)wipe(region_.address(first), slices * slice_bytes, 0);
        note_known(first, slices);
        const bool is_verified = fills_free_memory() && slab.size_class != class_of_zero_size;
        for (std::uint32_t number = 0; number != slab.capacity; ++number)
            is_verified ? slab.blocks[number].start(is_zero) : slab.blocks[number].forget();
        set_guard(first, slices, last_page);
        return true;
    }

    /// Returns: the number of the block of a new slab at which the first `count` blocks begin: unpredictable, but not
    ///   so far behind that many pages are touched.
    std::uint32_t first_to_take(slice_index first, std::uint32_t count) const noexcept
    {
        constexpr std::uint32_t max_bytes_skipped = std::uint32_t{32} * 1024;
        const checked_slice& slab = region_.record(first);
        const std::uint32_t blocks = std::min<std::uint32_t>(slab.capacity, max_bytes_skipped / slab.block_bytes);
        if (blocks <= count || slab.size_class == class_of_zero_size || the_options.get(np_option_random_order) == 0)
            return 0;
        return static_cast<std::uint32_t>(os::random_number() % (blocks - count + 1));
    }

    /// Effects: writes the last words of blocks that have just been carved, from `begin` on.
    void carved(slice_index first, std::byte* begin) noexcept
    {
        const checked_slice& slab = region_.record(first);
        if (slab.size_class == class_of_zero_size) // They may not be touched.
            return;
        for (std::byte* end = begin + slab.block_bytes; end <= slab.carved_end; end += slab.block_bytes)
            if (!the_canary.write_last_if_clear(end) &&
                (!fills_free_memory() || first_damage(end - canary::last_bytes, canary::last_bytes) == nullptr))
                the_canary.write_last(end); // Otherwise the first hand-out reports it.
    }

    /// Effects: removes the guard of a slab that is guarded as a whole. Memory that `is_dirty` will be verified before
    ///   reuse; other memory is zero.
    void slab_ends(slice_index first, std::uint32_t slices, bool is_dirty) noexcept
    {
        if (is_dirty) {
            fill_unknown_blocks(first);
            expect_intact(first, slices * slice_bytes, false);
        }
        const os::guarding how = std::exchange(region_.record(first).guarding_all, os::guarding::none);
        if (os::unguard_memory(region_.address(first), slices * slice_bytes, how))
            return;
        for (slice_index slice = first; slice != first + slices; ++slice) { // The next one to have it tries again.
            noted_.note(slice);
            note_guard(slice, {how, 0, slice == first});
            region_.record(slice).poisoned = 0;
        }
    }

    /// Effects: guards all pages of a slab.
    void guard_all(slice_index first, std::uint32_t slices) noexcept
    {
        set_guard(first, slices, nullptr);
        region_.record(first).guarding_all =
            wants_guards() ? os::guard_memory(region_.address(first), slices * slice_bytes) : os::guarding::none;
    }

    /// Effects: what is in a slab that ends is lost, though blocks of it are in use.
    void slab_dropped(slice_index first) noexcept
    {
        const std::size_t bytes = slab_slices(region_.record(first).size_class) * slice_bytes;
        // Memory that is locked stays.
        if (!os::purge_memory(region_.address(first), bytes) && fills_free_memory())
            poison(region_.address(first), bytes - guard_bytes);
    }

    /// Effects: lets the library write to a free block: expects no fill pattern there, and restores its last word.
    void library_writes_to(const void* block) noexcept
    {
        const located_block found = locate(block);
        if (found.slab == nullptr) // A damaged batch may point to where no block begins.
            return;
        const checked_slice& slab = *found.slab;
        the_canary.write_last(slab.begin + (found.number + 1) * slab.block_bytes); // First, as it may be purged.
        slab.blocks[found.number].forget();
    }

    /// Effects: lets the library write to the first bytes_of_sent bytes of a free block, and no more.
    void library_sends(const void* block) noexcept
    {
        if (const located_block found = locate(block); found.slab != nullptr) {
            the_canary.write_last(found.slab->begin + (found.number + 1) * found.slab->block_bytes);
            found.slab->blocks[found.number].send();
        }
    }

    /// Effects: fills the part of a free block that the library wrote to: nothing of that can be read in a new one.
    void library_has_read(void* block) noexcept
    {
        const located_block found = locate(block);
        if (found.slab == nullptr || !fills_free_memory())
            return;
        block_state& state = found.slab->blocks[found.number];
        state.is_sent() ? poison(block, bytes_of_sent) : poison_block(block, found.slab->block_bytes);
        state.receive();
    }

    /// Returns: whether a block of a slab begins there that is in use.
    bool is_in_use(const void* block) const noexcept
    {
        const located_block found = locate(block);
        return found.slab != nullptr && found.slab->blocks[found.number].is_in_use();
    }

    /// Effects: restores the last word before a block of a slab, if it was written to, so that it is reported once.
    /// Returns: the misuse to report; nothing if the word is intact, or no such block begins there.
    std::optional<base::misuse_log::finding> mend_front(const void* block) noexcept
    {
        const located_block found = locate(block);
        if (found.slab == nullptr)
            return std::nullopt;
        const checked_slice& slab = *found.slab;
        std::byte* const front = slab.begin + found.number * slab.block_bytes;
        if (np::is_front_intact(slab, front))
            return std::nullopt;
        std::byte* const previous = front - slab.block_bytes;
        const block_state& state = slab.blocks[found.number - 1];
        const std::optional<std::size_t> bytes = state.bytes();
        // An overflow begins where the requested bytes of the previous block end.
        const bool is_overflow = bytes && !the_canary.is_at(previous + *bytes);
        the_canary.mend_last(front, state.is_purged());
        if (is_overflow)
            return base::misuse_log::finding{error_kind::buffer_overflow, previous, *bytes};
        return base::misuse_log::finding{error_kind::buffer_underflow, front, slab.blocks[found.number].last_bytes()};
    }

    /// Effects: zeroes what blocks in that row of pages of a slab have outside of it: the row is about to be purged.
    /// Returns: false, with no effect, if one of them was written to after it was freed, which is reported when it is
    ///   handed out.
    /// Preconditions: no block there is outstanding.
    bool may_be_purged(slice_index first, std::byte* from, std::byte* end) noexcept
    {
        checked_slice& slab = region_.record(first);
        // Other threads look at the last word before their blocks at any time.
        if (!os::is_readable_while_purged || slab.size_class == class_of_zero_size)
            return false;
        const std::size_t begin = static_cast<std::size_t>(from - slab.begin) / slab.block_bytes;
        const std::size_t carved = static_cast<std::size_t>(slab.carved_end - slab.begin) / slab.block_bytes;
        const std::size_t end_of_row = (static_cast<std::size_t>(end - slab.begin) - 1) / slab.block_bytes + 1;
        const std::size_t behind = std::min(end_of_row, carved);
        if (!are_intact(first, begin, end_of_row))
            return false;
        for (std::size_t number = begin; number < behind; ++number)
            slab.blocks[number].purge();
        if (begin < behind) { // The first and the last one may extend beyond the row.
            std::byte* const front = slab.begin + begin * slab.block_bytes;
            std::memset(front, 0, static_cast<std::size_t>(from - front));
            std::byte* const last_end = slab.begin + behind * slab.block_bytes;
            if (last_end > end) {
                std::memset(end, 0, static_cast<std::size_t>(last_end - end) - canary::last_bytes);
                canary::clear_last(last_end);
            }
        }
        return true;
    }

    /// Effects: guards the last page before a run, if the slice there is free and its end is not guarded.
    /// Preconditions: no other thread takes or returns runs.
    void guard_before(slice_index first) noexcept
    {
        if (first == first_slice || region_.record(first - 1).state != slice_state::free ||
            guard_of(first - 1) != nullptr || !wants_guards())
            return;
        std::uint32_t& poisoned = region_.record(first - 1).poisoned;
        poisoned = std::min(poisoned, static_cast<std::uint32_t>(slice_bytes - guard_bytes));
        set_guard(first - 1, 1, region_.address(first) - guard_bytes);
    }

    // Large blocks.

    /// Returns: bytes of a run with room for a block of `bytes`, its canaries, of up to a page each, and its guard.
    std::size_t with_guard(std::size_t bytes) const noexcept
    {
        return base::saturating_add(bytes, 3 * os::page_size() + guard_slices() * slice_bytes);
    }

    /// Returns: the number of slices that are only guard at the end of a large run; 0 where addresses or memory were
    ///   limited when the process began.
    std::uint32_t guard_slices() const noexcept { return guard_slices_; }

    /// Returns: the number of all slices that are only guard, in runs that are in use or free.
    std::size_t guarded_slices() const noexcept { return guarded_slices_.load(std::memory_order_relaxed); }

    /// Returns: how many slices of a free run of `length` to skip before a run of `slices`, so that its guard is where
    ///   slices are guarded already: their memory is gone, and a guard elsewhere would cost memory there.
    std::uint32_t slices_to_guard(slice_index first, std::uint32_t length, std::uint32_t slices) const noexcept
    {
        constexpr std::uint32_t most_looks = 1024;
        const std::uint32_t guard = guard_slices();
        const std::uint32_t of_block = slices - guard;
        std::uint32_t found = 0; // Adjacent ones.
        for (std::uint32_t i = of_block; guard != 0 && i < std::min(length, of_block + most_looks); ++i) {
            found = guard_of(first + i) == region_.address(first + i) ? found + 1 : 0;
            if (found == guard)
                return i + 1 - slices;
        }
        return 0;
    }

    /// The condition of a run that was taken.
    struct condition
    {
        const void* damaged = nullptr; ///< Memory that was written to while it was free; nullptr if there is none.
        bool is_usable = true;         ///< False if the system has not removed a guard.
    };

    /// Effects: marks the block as in use, if its run is usable. The block ends as close to its guard as its
    ///   alignment allows.
    condition large_made(slice_index first, std::uint32_t slices, std::size_t bytes, std::size_t alignment) noexcept
    {
        region_.record(first).large_bytes = bytes;
        region_.record(first).large_front.store(front_of_large(bytes, alignment), std::memory_order_relaxed);
        const condition found = find_damage(first, slices, true, end_of_canary(first));
        if (!found.is_usable)
            return found;
        block_state& state = region_.record(first).large;
        (void)state.hand_out(0);
        the_canary.write(region_.address(first), begin_of_large(first));
        write_canary_behind(first);
        guard_behind(first);
        state.begin_use();
        return found;
    }

    /// Effects: discards the content of the block. `is_revoked`: all of it will be made inaccessible.
    /// Returns: whether the system may have memory behind it still.
    bool large_ends(slice_index first, bool /*is_dirty*/, bool is_revoked) noexcept
    {
        region_.record(first).large.forget();
        const std::size_t end = canary_end(first);
        const bool is_cleared = the_poison.load(std::memory_order_relaxed) == 0;
        if (is_revoked && end <= largest_to_fill && !is_cleared) {
            note_known(first, static_cast<std::uint32_t>(base::divide_round_up(end, slice_bytes)), false);
            return true;
        }
        // What lies behind the block goes, too: the whole run is to read as zeros then.
        if (!wipe(region_.address(first), end, region_.record(first).length * slice_bytes))
            return false;
        if (!is_revoked)
            expect_intact(first, end, true);
        return true;
    }

    /// Effects: fills a large block that could not be revoked, or lost a part of its memory on the way, and has it
    ///   verified when it is used again.
    void large_not_revoked(slice_index first) noexcept
    {
        (void)wipe(region_.address(first), canary_end(first), 0);
        expect_intact(first, canary_end(first), true);
    }

    /// Effects: records the allocation function of a large block.
    void large_allocated_by(slice_index first, allocated_by function) noexcept
    {
        region_.record(first).large.set_function(function);
    }

    /// Effects: a large block has become longer by slices that were free.
    /// Returns: whether they are usable: not if they were written to, which is reported when another block gets them.
    bool large_extended(slice_index first, std::uint32_t slices) noexcept
    {
        return !verify_free(first, slices) && find_damage(first, slices, false).is_usable;
    }

    /// Effects: has slices verified before reuse that a large block loses, and resize_large() has erased.
    void large_shortened(slice_index first, std::uint32_t slices) noexcept
    {
        const std::size_t kept_bytes = slices * slice_bytes;
        if (canary_end(first) > kept_bytes) // Parts of what was erased may be zero.
            expect_intact(first + slices, canary_end(first) - kept_bytes, false);
    }

    /// Effects: gives the block another size, if `resize_run()` finds that its run has room for that, or makes it so.
    ///   What is no longer of the block is filled.
    /// Returns: whether it did.
    template <class ResizeRun>
    bool resize_large(slice_index first, std::size_t bytes, ResizeRun&& resize_run) noexcept
    {
        const block_state::change now(region_.record(first).large);
        const std::uint32_t old_length = region_.record(first).length;
        const std::size_t old_end = canary_end(first);
        const std::size_t end = canary_end(first, bytes);
        if (end > old_end && !remove_guards(first, first + old_length, region_.address(first) + end))
            return false;
        if (end < old_end)
            (void)wipe(region_.address(first) + end, old_end - end, old_end - end);
        const bool has_room = resize_run();
        if (has_room)
            region_.record(first).large_bytes = bytes;
        if (end != old_end || region_.record(first).length != old_length)
            guard_behind(first);
        if (has_room)
            write_canary_behind(first);
        return has_room;
    }

    /// Effects: of a large block that was just made, no more than `bytes` are asked for; the rest is room to grow.
    void leave_room(slice_index first, std::size_t bytes) noexcept
    {
        const block_state::change now(region_.record(first).large);
        const std::size_t old_end = canary_end(first);
        const std::size_t end = std::max(canary_end(first, bytes), old_end - os::page_size());
        (void)wipe(region_.address(first) + end, old_end - end, 0); // The canary behind all of it.
        region_.record(first).large_bytes = bytes;
        guard_behind(first);
        write_canary_behind(first);
    }

    std::byte* begin_of_large(slice_index first) const noexcept
    {
        return region_.address(first) + region_.record(first).large_front.load(std::memory_order_relaxed);
    }

    /// Returns: how much was asked for.
    std::size_t bytes_of_large(slice_index first) const noexcept { return region_.record(first).large_bytes; }

    /// Returns: the bytes of a large block and the canary behind it.
    std::size_t bytes_with_canary(slice_index first) const noexcept
    {
        return static_cast<std::size_t>(end_of_canary(first) - begin_of_large(first));
    }

    /// Returns: where the canary behind a large block ends, in bytes from the beginning of its run.
    std::size_t canary_end(slice_index first) const noexcept { return canary_end(first, bytes_of_large(first)); }

    /// Effects: restores the canary before a large block, if it is damaged.
    /// Returns: whether it was damaged.
    bool mend_front_of_large(slice_index first) noexcept
    {
        if (MEMORY_POOL_LIKELY(is_front_intact(first)))
            return false;
        the_canary.write(region_.address(first), begin_of_large(first));
        return true;
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
        const std::optional<error_kind> kind = damage_of(slab, number);
        if (!kind)
            return {};
        return {*kind == error_kind::buffer_overflow ? "the bytes behind a block were written to"
                                                     : "a free block was written to",
                block};
    }

    /// Returns: the damage to a block of a slab, to its canary if in use, to its content if free; nothing if intact.
    std::optional<error_kind> damage_of(slice_index slab, std::size_t number) const noexcept
    {
        const checked_slice& its = region_.record(slab);
        const std::byte* const block = its.begin + number * its.block_bytes;
        const block_state& state = its.blocks[number];
        if (const std::optional<std::size_t> bytes = state.bytes())
            return the_canary.is_intact(block + *bytes, block + its.block_bytes)
                       ? std::nullopt
                       : std::optional(error_kind::buffer_overflow);
        return is_free_intact(its, state, block) ? std::nullopt : std::optional(error_kind::write_after_free);
    }

    /// Returns: whether the program may have made pages of a block of a slab inaccessible: it is in use, aligned, and
    ///   not smaller than a page.
    bool may_be_protected(slice_index slab, std::size_t number) const noexcept
    {
        const block_state& state = region_.record(slab).blocks[number];
        return state.is_in_use() && is_aligned(state.function()) && state.last_bytes() >= os::page_size();
    }

    /// Returns: the last requested size of a block of a slab; 0 if unknown.
    std::size_t last_bytes_of(slice_index slab, std::size_t number) const noexcept
    {
        return region_.record(slab).blocks[number].last_bytes();
    }

    inconsistency verify_large(slice_index first) const noexcept
    {
        std::byte* const block = begin_of_large(first);
        if (!region_.record(first).large.is_in_use())
            return {"a large block has the state of a free block", block};
        if (!is_front_intact(first))
            return {"the bytes before a block were written to", block};
        if (!the_canary.is_intact(block + bytes_of_large(first), end_of_canary(first)))
            return {"the bytes behind a block were written to", block};
        return {};
    }

    /// Returns: what is wrong with a free run.
    inconsistency verify_free(slice_index first, std::uint32_t slices) const noexcept
    {
        inconsistency found;
        noted_.for_each(first, slices, [&](slice_index slice) {
            if (const void* const damaged = found ? nullptr : damage_in(slice))
                found = {"a free block was written to", damaged};
        });
        return found;
    }

    /// Returns: whether an address lies in the guard of its slice.
    bool is_guarded(const void* address) const noexcept
    {
        const std::byte* const guard = guard_of(region_.slice_of(address));
        return guard != nullptr && guard <= address;
    }

    // Free runs.

    /// Effects: what was in the run is lost, and so may be what is known of those of its slices that are neither the
    ///   first nor the last: that is memory, too.
    ///   `something_follows`: a guard at its end is kept.
    void run_purged(slice_index first, std::uint32_t slices, bool something_follows) noexcept
    {
        const slice_index last = first + slices - 1;
        const bool is_guarded = guard_of(last) != nullptr;
        const bool is_usable = find_damage(first, slices, false).is_usable;
        if (is_guarded && is_usable && something_follows)
            set_guard(last, 1, region_.address(last + 1) - guard_bytes);
        const std::size_t page = os::page_size();
        const auto begin = base::round_up(reinterpret_cast<std::uintptr_t>(&region_.record(first + 1)), page);
        const auto end = reinterpret_cast<std::uintptr_t>(&region_.record(first + slices - 1)) / page * page;
        if (begin < end)
            (void)os::purge_memory(reinterpret_cast<void*>(begin), end - begin);
    }

    /// Effects: a run was not purged, or not as a whole: parts of it may be zero now.
    void run_kept(slice_index first, std::uint32_t slices) noexcept
    {
        noted_.for_each(first, slices, [this](slice_index slice) { region_.record(slice).is_filled = false; });
    }

private:
    /// A block of a slab; `slab` is nullptr if none begins there.
    struct located_block
    {
        checked_slice* slab;
        std::size_t number;
    };

    located_block locate(const void* block) const noexcept
    {
        const slice_index slice = region_.slice_of(block);
        if (!is_of_slab(region_.tag(slice).load(std::memory_order_relaxed)))
            return {nullptr, 0};
        checked_slice& slab = region_.record(region_.record(slice).slab);
        const std::size_t number = number_in(slab, facts[slab.size_class], block);
        return {number != no_block_there ? &slab : nullptr, number};
    }

    /// In the checked build, no others are of that class.
    static constexpr std::size_t class_of_zero_size = sizes::of(0);
    /// Larger ones are not filled, but given back to the system: a program need not have touched all of them.
    static constexpr std::size_t largest_to_fill = std::size_t{32} << 20;

    /// Returns: whether a free block is intact.
    static bool is_free_intact(const checked_slice& slab, const block_state& state, const std::byte* block) noexcept
    {
        const std::byte* const end = block + slab.block_bytes;
        const bool has_last_word = block < slab.carved_end && slab.size_class != class_of_zero_size;
        if (fills_free_memory() && (has_last_word || state.is_not_filled()))
            return is_as_left(state, block, slab.block_bytes);
        return !has_last_word || the_canary.is_last_intact(end) || (state.is_purged() && canary::is_last_clear(end));
    }

    /// Returns: whether the blocks of those numbers in a slab, all of them free, are intact. Memory that was never in
    ///   use is not read.
    bool are_intact(slice_index first, std::size_t number, std::size_t end) const noexcept
    {
        const checked_slice& slab = region_.record(first);
        const std::size_t carved = static_cast<std::size_t>(slab.carved_end - slab.begin) / slab.block_bytes;
        for (; number < std::min<std::size_t>(end, slab.capacity); ++number)
            if ((number < carved || slab.blocks[number].is_recycled()) && damage_of(first, number))
                return false;
        return true;
    }

    /// Effects: fills blocks of an ending slab that the library wrote to.
    void fill_unknown_blocks(slice_index first) noexcept
    {
        const checked_slice& slab = region_.record(first);
        if (slab.blocks == nullptr || slab.size_class == class_of_zero_size || !fills_free_memory())
            return;
        const block_state* state = slab.blocks;
        for (std::byte* block = slab.begin; block != slab.carved_end; block += slab.block_bytes)
            if ((state++)->is_unknown())
                poison_block(block, slab.block_bytes);
    }

    /// Returns: whether first_damage() finds the memory of free slices intact, unless a program wrote to it.
    bool is_known(slice_index first, std::uint32_t slices) const noexcept
    {
        bool is_unknown = false;
        for (slice_index slice = first; slice != first + slices; ++slice)
            is_unknown = is_unknown || region_.record(slice).is_unknown;
        return !is_unknown;
    }

    void note_known(slice_index first, std::uint32_t slices, bool is_known = true) noexcept
    {
        for (slice_index slice = first; slice != first + slices; ++slice)
            region_.record(slice).is_unknown = !is_known;
    }

    /// Effects: erases those pages: fills them, or, if they are many, returns them to the system, with those behind
    ///   them up to `bytes_with_rest`.
    /// Returns: whether they are filled.
    static bool wipe(std::byte* memory, std::size_t bytes, std::size_t bytes_with_rest) noexcept
    {
        if (bytes > largest_to_fill && os::purge_memory(memory, bytes_with_rest))
            return false;
        if (bytes != 0 && fills_free_memory()) // A large block of 0 bytes has an alignment.
            poison(memory, bytes);
        return true;
    }

    /// Effects: the first bytes of a run that becomes free will be verified before reuse.
    /// Preconditions: first_damage() finds them intact.
    void expect_intact(slice_index first, std::size_t bytes, bool is_filled) noexcept
    {
        if (!fills_free_memory())
            return;
        for (std::uint32_t slice = 0; slice * slice_bytes < bytes; ++slice) {
            noted_.note(first + slice);
            checked_slice& record = region_.record(first + slice);
            record.poisoned = static_cast<std::uint32_t>(std::min(bytes - slice * slice_bytes, slice_bytes));
            record.is_filled = is_filled;
            record.is_unknown = record.is_unknown && record.poisoned != slice_bytes;
        }
    }

    /// Returns: the first damage to the memory of a free slice; nullptr if it is intact.
    const void* damage_in(slice_index slice) const noexcept
    {
        std::size_t bytes = region_.record(slice).poisoned;
        if (bytes != 0 && guard(slice).is_there())
            bytes = std::min<std::size_t>(bytes, guard(slice).from() * slice_guard::page_bytes);
        return bytes != 0 ? first_damage(region_.address(slice), bytes, region_.record(slice).is_filled) : nullptr;
    }

    // Large blocks.

    /// Returns: the offset in its run at which a block ends as close to a page boundary as its alignment allows.
    static std::uint32_t front_of_large(std::size_t bytes, std::size_t alignment) noexcept
    {
        if (!wants_guards())
            return 0;
        const std::size_t rest = base::round_up(bytes, os::page_size()) - bytes;
        return static_cast<std::uint32_t>(rest & ~(std::max(alignment, alignment_of_all) - 1));
    }

    std::size_t canary_end(slice_index first, std::size_t bytes) const noexcept
    {
        const std::size_t front = region_.record(first).large_front.load(std::memory_order_relaxed);
        return base::round_up(front + bytes, os::page_size());
    }

    std::byte* end_of_canary(slice_index first) const noexcept { return region_.address(first) + canary_end(first); }

    void write_canary_behind(slice_index first) noexcept
    {
        the_canary.write(begin_of_large(first) + bytes_of_large(first), end_of_canary(first));
    }

    bool is_front_intact(slice_index first) const noexcept
    {
        return the_canary.are_words_intact(region_.address(first), begin_of_large(first));
    }

    // Guards.

    slice_guard& entry(slice_index slice) const noexcept
    {
        return region_.part(position(slice) / slices_of_huge_page).guards[position(slice) % slices_of_huge_page];
    }
    slice_guard guard(slice_index slice) const noexcept { return entry(slice); }

    void note_guard(slice_index slice, slice_guard now) noexcept
    {
        const slice_guard before = std::exchange(entry(slice), now);
        if (before.is_of_whole_slice() != now.is_of_whole_slice())
            guarded_slices_.fetch_add(now.is_of_whole_slice() ? 1 : std::size_t{0} - 1, std::memory_order_relaxed);
    }

    /// Returns: where the guard at the end of a slice begins; nullptr if there is none.
    std::byte* guard_of(slice_index slice) const noexcept
    {
        const slice_guard its = guard(slice);
        return its.is_there() ? region_.address(slice) + its.from() * slice_guard::page_bytes : nullptr;
    }

    /// Guards a run from `wanted` to its end, and removes all other guards in it; all guards if it is nullptr.
    void set_guard(slice_index first, std::uint32_t slices, std::byte* wanted) noexcept
    {
        if (!remove_guards(first, first + slices, wanted) || wanted == nullptr || !wants_guards())
            return;
        const slice_index end = first + slices;
        for (slice_index slice = region_.slice_of(wanted); slice != end;)
            slice = add_guard(slice, end, wanted);
    }

    void guard_behind(slice_index first) noexcept
    {
        set_guard(first, region_.record(first).length, end_of_canary(first));
    }

    /// Removes the guards of those slices up to `kept`; all of them if it is nullptr.
    /// Returns: whether the system did; if not, they still count as guarded.
    bool remove_guards(slice_index first, slice_index end, const std::byte* kept) noexcept
    {
        joined_guards joined;
        for (slice_index slice = first; slice != end; ++slice) {
            if (!guard(slice).is_there() || end_of_removed(slice, kept) <= guard_of(slice))
                continue;
            const slice_index next = slice + 1;
            const bool ends = end_of_removed(slice, kept) == region_.address(next);
            const bool goes_on = ends && next != end && guard(next).is_there() && !guard(next).begins() &&
                                 end_of_removed(next, kept) < region_.address(next + 1);
            if (goes_on) // The rest of the guard begins in the next slice.
                note_guard(next, {guard(next).how(), guard(next).from(), guard(slice).begins()});
            joined.add(guard_of(slice), end_of_removed(slice, kept), guard(slice).how(),
                       ends && !goes_on && guard(slice).begins());
        }
        if (!joined.remove())
            return false;
        std::atomic_signal_fence(std::memory_order_seq_cst); // So the child of a fork removes it twice, or once.
        for (slice_index slice = first; slice != end; ++slice)
            if (guard(slice).is_there() && end_of_removed(slice, kept) > guard_of(slice))
                shorten_guard(slice, end_of_removed(slice, kept));
        return true;
    }

    /// Returns: the end of the part of a slice that lies before `kept`, and is not to be guarded.
    std::byte* end_of_removed(slice_index slice, const std::byte* kept) const noexcept
    {
        std::byte* const begin = region_.address(slice);
        if (kept == nullptr || kept >= begin + slice_bytes)
            return begin + slice_bytes;
        return kept > begin ? begin + (kept - begin) : begin;
    }

    void shorten_guard(slice_index slice, const std::byte* begin) noexcept
    {
        const auto from = static_cast<std::size_t>(begin - region_.address(slice)) / slice_guard::page_bytes;
        const bool is_there = from * slice_guard::page_bytes < slice_bytes;
        note_guard(slice, is_there ? slice_guard(guard(slice).how(), from, guard(slice).begins()) : slice_guard());
    }

    /// Guards the first unguarded part of the slices from `slice` on, by one call.
    /// Returns: the slice to go on with.
    slice_index add_guard(slice_index slice, slice_index end, const std::byte* wanted) noexcept
    {
        std::byte* const begin = end_of_removed(slice, wanted);
        slice_index last = slice;
        noted_.note(last);
        while (!guard(last).is_there() && last + 1 != end)
            noted_.note(++last);
        const slice_guard next = guard(last);
        std::byte* const guarded = next.is_there() ? guard_of(last) : region_.address(last + 1);
        if (begin >= guarded)
            return last + 1;
        // All of a slice is guarded by one method.
        const bool extends = next.is_there() && guarded != region_.address(last);
        const auto bytes = static_cast<std::size_t>(guarded - begin);
        // A mark costs less, but counts as memory. Where memory is limited, there may be no room to remove a mapping.
        const os::guarding cheapest =
            bytes > guard_bytes && guard_slices_ != 0 ? os::guarding::by_mapping : os::guarding::by_mark;
        const os::guarding how = os::guard_memory(begin, bytes, extends ? next.how() : cheapest, extends ? 0 : 1);
        if (how == os::guarding::none)
            return last + 1;
        if (extends && how != next.how()) {
            (void)os::unguard_memory(begin, bytes, how, 0);
            return last + 1;
        }
        // It would count as memory that the system has promised. Later runs have their guards there, too.
        if (how == os::guarding::by_mapping && bytes > guard_bytes)
            (void)os::discard_memory(begin, bytes);
        const slice_index end_of_added = extends || !next.is_there() ? last + 1 : last;
        for (slice_index each = slice; each != end_of_added; ++each)
            note_guard(each, {how, each == slice ? page_of(begin) : 0, each == slice && (!extends || next.begins())});
        return last + 1;
    }

    static std::size_t page_of(const std::byte* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) % slice_bytes / slice_guard::page_bytes;
    }

    /// Verifies fill patterns, and expects them no longer. Removes guards before `guarded`; all if nullptr.
    condition find_damage(slice_index first, std::uint32_t slices, bool is_wanted,
                          const std::byte* guarded = nullptr) noexcept
    {
        condition found;
        noted_.take_rows(first, slices, [&](slice_index begin, slice_index end) {
            for (slice_index slice = begin; slice != end; ++slice) {
                if (guard_of(slice) == region_.address(slice)) // Only guard: its record is not touched.
                    continue;
                if (region_.record(slice).poisoned == 0)
                    continue;
                if (is_wanted && found.damaged == nullptr)
                    found.damaged = damage_in(slice);
                region_.record(slice).poisoned = 0;
            }
            found.is_usable = remove_guards(begin, end, guarded) && found.is_usable;
        });
        for (slice_index slice = first; !found.is_usable && slice != first + slices; ++slice)
            noted_.note(slice);
        return found;
    }

    Region& region_;
    noted_parts noted_;
    state_arrays states_;
    std::uint32_t guard_slices_ = 0;
    std::atomic<std::size_t> guarded_slices_{0}; ///< That are only guard.
};
} // namespace memory_pool::np
