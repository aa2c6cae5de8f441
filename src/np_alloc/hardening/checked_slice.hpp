// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Slices and runs in the checked build: block states, canaries, guards and fill patterns.
///
///     slab:         | block | block | ...                | not used | guard page |       each block ends with a canary
///     large block:  | canary |  requested bytes   | canary | guard: 1 MiB, up to the end of the run       |
///                   ^ at most a page, so that the block ends at its guard or just before it
///
///     free slices of a former large block:     | 0xDF 0xDF ... | anything |
///                                              <-- poisoned --->
///
/// Each run ends with a guard, so each run also has a guard before it. The guard stays when the slab or large block is
/// freed, because the next one may have the same size. Guards are best effort: the system may refuse a guard.
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
#include "dealloc_mismatch.hpp"
#include "revoked_runs.hpp"
#include "run_quarantine.hpp"
#include "slice_guard.hpp"
#include "state_arrays.hpp"
#include "written_records.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The record of a slice in the checked build.
struct checked_slice : slice_record
{
    os::guarding guarding_all; ///< How the slab that begins here is guarded, if guarded as a whole.
    bool is_unknown;           ///< first_damage() may report the memory although no program wrote to it.
    bool is_filled;            ///< The `poisoned` bytes hold only the fill pattern.
    std::uint32_t poisoned;    ///< Bytes from the beginning of the slice that first_damage() must find intact.
    block_state large;         ///< State of the large block that begins here; `large_bytes` has the size.
    std::size_t large_bytes;   ///< Requested size of that large block.
    std::atomic<std::uint32_t> large_front; ///< Bytes of the run before that block.
    block_state* blocks;                    ///< Block states of the slab that begins here, by number.
};

/// Returns: whether free memory is filled, and then verified before reuse.
inline bool fills_free_memory() noexcept
{
    return the_options.get(np_option_poison) != 0;
}

/// Returns: whether the content of a free block matches its state.
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

/// Collects adjacent guards of one kind, to remove them with one system call.
class joined_guards
{
public:
    /// Effects: adds a guard. First removes the pending guards if the new guard is not adjacent or is of another kind.
    ///   `begins`: whether to count the guard as removed, because it begins at `begin` and no part of it stays.
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

    /// Effects: removes the pending guards.
    /// Returns: whether the system has removed every guard added so far.
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

/// Returns: the number of the block of `slab` that begins at `block`, or no_block_there.
MEMORY_POOL_ALWAYS_INLINE std::size_t number_in(const checked_slice& slab, const size_class_info& info,
                                                const void* block) noexcept
{
    return block_at(info, static_cast<std::size_t>(static_cast<const std::byte*>(block) - slab.begin));
}

/// Returns: whether the last word of the preceding block is intact, or was purged with that block. A guard page
///   precedes the first block.
MEMORY_POOL_ALWAYS_INLINE bool is_front_intact(const checked_slice& slab, const std::byte* block) noexcept
{
    if (MEMORY_POOL_LIKELY(block == slab.begin || the_canary.is_last_intact(block)))
        return true;
    const block_state& previous = slab.blocks[static_cast<std::size_t>(block - slab.begin) / slab.block_bytes - 1];
    const bool is_purged = canary::is_last_clear(block) && previous.is_purged();
    // Another thread may have allocated the preceding block, which writes its last word before its state.
    return is_purged || the_canary.is_last_intact(block);
}

/// Prepares and verifies the memory of runs, to detect stray accesses of the program.
template <class Region>
class run_checks : base::immovable<run_checks<Region>>
{
public:
    using revoked = revoked_runs;
    using quarantine = run_quarantine;

    constexpr explicit run_checks(Region& region) noexcept : region_(region) {}

    /// Effects: allocates the bookkeeping of `slices` slices, apart from their records.
    /// Returns: false if out of memory.
    bool start(std::size_t slices) noexcept
    {
        constexpr std::size_t bytes_of_guard = std::size_t{1} << 20;
        guard_slices_ = region_.grows() || os::commits_are_limited() ? 0 : bytes_of_guard / slice_bytes;
        return noted_.start(slices);
    }

    /// Effects: frees the bookkeeping.
    void stop() noexcept { noted_.stop(); }

    /// Returns: whether runs get guards.
    static bool wants_guards() noexcept
    {
        return the_options.get(np_option_guard_pages) != 0 && os::page_size() == guard_bytes;
    }

    // Slabs.

    /// Effects: allocates the block states of a slab. May take a slice from `take_slice()`, which returns no_slice if
    ///   there is none. Gives an unusable slice back with `give_slice(slice_index)`.
    /// Preconditions: no other thread allocates or frees runs.
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

    /// Effects: frees the block states of a slab. Gives a slice that becomes empty back with `give_slice(slice_index)`.
    /// Preconditions: as slab_taken.
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

    /// Effects: initializes the block states of a new slab, so that the first allocation of each block verifies the
    ///   block.
    /// Returns: whether the slab is usable: false if there was no memory for its block states, or the system refused to
    ///   remove a guard in the slab.
    bool slab_made(slice_index first, std::uint32_t slices, bool is_zero) noexcept
    {
        std::byte* const last_page = region_.address(first + slices) - guard_bytes;
        const checked_slice& slab = region_.record(first);
        const bool is_wiped = !is_zero && !is_known(first, slices); // No block may expose the content of a larger one.
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

    /// Returns: the number of the block at which to begin taking the first `count` blocks of a new slab: unpredictable,
    ///   but low enough that few pages are touched.
    std::uint32_t first_to_take(slice_index first, std::uint32_t count) const noexcept
    {
        constexpr std::uint32_t max_bytes_skipped = std::uint32_t{32} * 1024;
        const checked_slice& slab = region_.record(first);
        const std::uint32_t blocks = std::min<std::uint32_t>(slab.capacity, max_bytes_skipped / slab.block_bytes);
        if (blocks <= count || slab.size_class == class_of_zero_size || the_options.get(np_option_random_order) == 0)
            return 0;
        return static_cast<std::uint32_t>(os::random_number() % (blocks - count + 1));
    }

    /// Effects: writes the last words of newly carved blocks, from `begin` on.
    void carved(slice_index first, std::byte* begin) noexcept
    {
        const checked_slice& slab = region_.record(first);
        if (slab.size_class == class_of_zero_size) // These blocks must not be accessed.
            return;
        for (std::byte* end = begin + slab.block_bytes; end <= slab.carved_end; end += slab.block_bytes)
            if (!the_canary.write_last_if_clear(end) &&
                (!fills_free_memory() || first_damage(end - canary::last_bytes, canary::last_bytes) == nullptr))
                the_canary.write_last(end); // Otherwise the first allocation reports damage.
    }

    /// Effects: removes the guard of a slab that is guarded as a whole. `is_dirty`: the slab's memory will be verified
    ///   before reuse; otherwise, its memory is zero.
    void slab_ends(slice_index first, std::uint32_t slices, bool is_dirty) noexcept
    {
        if (is_dirty) {
            fill_unknown_blocks(first);
            expect_intact(first, slices * slice_bytes, false);
        }
        const os::guarding how = std::exchange(region_.record(first).guarding_all, os::guarding::none);
        if (os::unguard_memory(region_.address(first), slices * slice_bytes, how))
            return;
        for (slice_index slice = first; slice != first + slices; ++slice) { // The next user of the slice tries again.
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

    /// Effects: discards the content of a slab that is freed although some of its blocks are in use.
    void slab_dropped(slice_index first) noexcept
    {
        const std::size_t bytes = slab_slices(region_.record(first).size_class) * slice_bytes;
        // The system does not purge locked memory.
        if (!os::purge_memory(region_.address(first), bytes) && fills_free_memory())
            poison(region_.address(first), bytes - guard_bytes);
    }

    /// Effects: lets the library write to a free block: restores its last word, and expects no fill pattern there any
    ///   more.
    void library_writes_to(const void* block) noexcept
    {
        const located_block found = locate(block);
        if (found.slab == nullptr) // A damaged batch may hold an address where no block begins.
            return;
        const checked_slice& slab = *found.slab;
        the_canary.write_last(slab.begin + (found.number + 1) * slab.block_bytes); // First: the block may be purged.
        slab.blocks[found.number].forget();
    }

    /// Effects: lets the library write only to the first bytes_of_sent bytes of a free block.
    void library_sends(const void* block) noexcept
    {
        if (const located_block found = locate(block); found.slab != nullptr) {
            the_canary.write_last(found.slab->begin + (found.number + 1) * found.slab->block_bytes);
            found.slab->blocks[found.number].send();
        }
    }

    /// Effects: refills the part of a free block that the library wrote to, so that no new block exposes that part.
    void library_has_read(void* block) noexcept
    {
        const located_block found = locate(block);
        if (found.slab == nullptr || !fills_free_memory())
            return;
        block_state& state = found.slab->blocks[found.number];
        state.is_sent() ? poison(block, bytes_of_sent) : poison_block(block, found.slab->block_bytes);
        state.receive();
    }

    /// Returns: whether `block` is a block of a slab and in use.
    bool is_in_use(const void* block) const noexcept
    {
        const located_block found = locate(block);
        return found.slab != nullptr && found.slab->blocks[found.number].is_in_use();
    }

    /// Effects: restores the last word before a block of a slab if the word was overwritten, so that the damage is
    ///   reported once.
    /// Returns: the misuse to report; nothing if the word is intact, or `block` is no block of a slab.
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

    /// Effects: prepares a row of a slab's pages for a purge: of blocks that lie only partly in the row, zeroes the
    ///   parts outside of the row.
    /// Returns: false, without any effect, if the row must not be purged, e.g. because the program wrote to a freed
    ///   block. The next allocation of that block reports the write.
    /// Preconditions: no block in the row is outstanding.
    bool may_be_purged(slice_index first, std::byte* from, std::byte* end) noexcept
    {
        checked_slice& slab = region_.record(first);
        // Other threads may read the last word before their blocks at any time.
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
        if (begin < behind) { // The first and the last block may extend beyond the row.
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

    /// Effects: guards the last page before a run if the slice there is free and its end is not guarded.
    /// Preconditions: no other thread allocates or frees runs.
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

    /// Returns: the size of a run for a block of `bytes` bytes, its canaries (up to a page each) and its guard.
    std::size_t with_guard(std::size_t bytes) const noexcept
    {
        return base::saturating_add(bytes, 3 * os::page_size() + guard_slices() * slice_bytes);
    }

    /// Returns: the number of guard slices at the end of a large run; 0 if addresses or memory were limited when the
    ///   process started.
    std::uint32_t guard_slices() const noexcept { return guard_slices_; }

    /// Returns: the number of slices that are guarded as a whole, in used and free runs.
    std::size_t guarded_slices() const noexcept { return guarded_slices_.load(std::memory_order_relaxed); }

    /// Returns: how many slices of a free run of `length` to skip before a run of `slices`, so that the guard of the
    ///   new run reuses guarded slices. Their memory is already discarded; a guard elsewhere would discard the memory
    ///   there.
    std::uint32_t slices_to_guard(slice_index first, std::uint32_t length, std::uint32_t slices) const noexcept
    {
        constexpr std::uint32_t max_looks = 1024;
        const std::uint32_t guard = guard_slices();
        const std::uint32_t of_block = slices - guard;
        std::uint32_t found = 0; // Adjacent guarded slices.
        for (std::uint32_t i = of_block; guard != 0 && i < std::min(length, of_block + max_looks); ++i) {
            found = guard_of(first + i) == region_.address(first + i) ? found + 1 : 0;
            if (found == guard)
                return i + 1 - slices;
        }
        return 0;
    }

    /// The condition of an allocated run.
    struct condition
    {
        const void* damaged = nullptr; ///< Memory that was written to while free; nullptr if there is none.
        bool is_usable = true;         ///< False if the system refused to remove a guard.
    };

    /// Effects: marks the block as in use if its run is usable. The block ends as close to its guard as its alignment
    ///   allows.
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

    /// Effects: discards the content of the block. `is_revoked`: the whole block will be made inaccessible.
    /// Returns: whether the block's addresses may still have memory.
    bool large_ends(slice_index first, bool /*is_dirty*/, bool is_revoked) noexcept
    {
        region_.record(first).large.forget();
        const std::size_t end = canary_end(first);
        const bool is_cleared = the_poison.load(std::memory_order_relaxed) == 0;
        if (is_revoked && end <= largest_to_fill && !is_cleared) {
            note_known(first, static_cast<std::uint32_t>(base::divide_round_up(end, slice_bytes)), false);
            return true;
        }
        // A purge includes the rest of the run, so that the whole run reads as zeros.
        if (!wipe(region_.address(first), end, region_.record(first).length * slice_bytes))
            return false;
        if (!is_revoked)
            expect_intact(first, end, true);
        return true;
    }

    /// Effects: fills a large block that could not be revoked, or lost part of its memory in the attempt. The block
    ///   will be verified before reuse.
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

    /// Effects: takes over the free slices by which a large block has grown.
    /// Returns: whether the slices are usable: false if the program wrote to them. The write is reported when another
    ///   block gets the slices.
    bool large_extended(slice_index first, std::uint32_t slices) noexcept
    {
        return !verify_free(first, slices) && find_damage(first, slices, false).is_usable;
    }

    /// Effects: marks the slices that a large block loses, behind its first `slices`, for verification before reuse.
    ///   resize_large() has erased them.
    void large_shortened(slice_index first, std::uint32_t slices) noexcept
    {
        const std::size_t kept_bytes = slices * slice_bytes;
        if (canary_end(first) > kept_bytes) // Parts of the erased memory may be zero.
            expect_intact(first + slices, canary_end(first) - kept_bytes, false);
    }

    /// Effects: resizes the block if `resize_run()` returns true, which means that the run now has room. Fills the part
    ///   that the block loses.
    /// Returns: whether the block was resized.
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

    /// Effects: sets the requested size of a new large block to `bytes`; the remaining bytes are room to grow.
    void leave_room(slice_index first, std::size_t bytes) noexcept
    {
        const block_state::change now(region_.record(first).large);
        const std::size_t old_end = canary_end(first);
        const std::size_t end = std::max(canary_end(first, bytes), old_end - os::page_size());
        (void)wipe(region_.address(first) + end, old_end - end, 0); // The old canary.
        region_.record(first).large_bytes = bytes;
        guard_behind(first);
        write_canary_behind(first);
    }

    std::byte* begin_of_large(slice_index first) const noexcept
    {
        return region_.address(first) + region_.record(first).large_front.load(std::memory_order_relaxed);
    }

    /// Returns: the requested size.
    std::size_t bytes_of_large(slice_index first) const noexcept { return region_.record(first).large_bytes; }

    /// Returns: the size of a large block and the canary behind it.
    std::size_t bytes_with_canary(slice_index first) const noexcept
    {
        return static_cast<std::size_t>(end_of_canary(first) - begin_of_large(first));
    }

    /// Returns: the end of the canary behind a large block, in bytes from the beginning of its run.
    std::size_t canary_end(slice_index first) const noexcept { return canary_end(first, bytes_of_large(first)); }

    /// Effects: restores the canary before a large block if the canary is damaged.
    /// Returns: whether the canary was damaged.
    bool mend_front_of_large(slice_index first) noexcept
    {
        if (MEMORY_POOL_LIKELY(is_front_intact(first)))
            return false;
        the_canary.write(region_.address(first), begin_of_large(first));
        return true;
    }

    // Verification.

    /// Returns: the requested size of block `number` of a slab; nothing if the block is not in use.
    std::optional<std::size_t> bytes_of(slice_index slab, std::size_t number) const noexcept
    {
        return region_.record(slab).blocks[number].bytes();
    }

    /// Returns: the inconsistency, if any, of block `number` of a slab. `is_free`: the slab counts the block as free.
    inconsistency verify(slice_index slab, std::size_t number, bool is_free) const noexcept
    {
        const checked_slice& record = region_.record(slab);
        std::byte* const block = record.begin + number * record.block_bytes;
        const block_state& state = record.blocks[number];
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

    /// Returns: the damage to the canary of a block in use, or to the content of a free block; nothing if intact.
    std::optional<error_kind> damage_of(slice_index slab, std::size_t number) const noexcept
    {
        const checked_slice& record = region_.record(slab);
        const std::byte* const block = record.begin + number * record.block_bytes;
        const block_state& state = record.blocks[number];
        if (const std::optional<std::size_t> bytes = state.bytes())
            return the_canary.is_intact(block + *bytes, block + record.block_bytes)
                       ? std::nullopt
                       : std::optional(error_kind::buffer_overflow);
        return is_free_intact(record, state, block) ? std::nullopt : std::optional(error_kind::write_after_free);
    }

    /// Returns: whether the program may have made pages of a block inaccessible: true if the block is in use, aligned,
    ///   and not smaller than a page.
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

    /// Returns: the inconsistency, if any, of a free run.
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

    /// Effects: stops expecting fill patterns in a purged run, removes its guards, and purges the records of its inner
    ///   slices, which also take memory. `something_follows`: keeps a guard at the end of the run.
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

    /// Effects: notes that a run was purged only in part, or not at all, so some of its memory may be zero.
    void run_kept(slice_index first, std::uint32_t slices) noexcept
    {
        noted_.for_each(first, slices, [this](slice_index slice) { region_.record(slice).is_filled = false; });
    }

private:
    /// A block of a slab; `slab` is nullptr if no block begins at the address.
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
        const std::size_t number = number_in(slab, class_info[slab.size_class], block);
        return {number != no_block_there ? &slab : nullptr, number};
    }

    /// In the checked build, only blocks of 0 bytes have this class.
    static constexpr std::size_t class_of_zero_size = sizes::of(0);
    /// Larger blocks are purged instead of filled, because the program may not have touched all of their pages.
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

    /// Returns: whether free blocks from `number` up to `end` are intact. Does not read memory that was never in use.
    bool are_intact(slice_index first, std::size_t number, std::size_t end) const noexcept
    {
        const checked_slice& slab = region_.record(first);
        const std::size_t carved = static_cast<std::size_t>(slab.carved_end - slab.begin) / slab.block_bytes;
        for (; number < std::min<std::size_t>(end, slab.capacity); ++number)
            if ((number < carved || slab.blocks[number].is_recycled()) && damage_of(first, number))
                return false;
        return true;
    }

    /// Effects: refills the blocks that the library wrote to, in a slab that is about to be freed.
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

    /// Returns: whether first_damage() finds the memory of these free slices intact unless the program wrote to that
    ///   memory.
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

    /// Effects: fills `bytes` bytes, or purges `bytes_with_rest` bytes if `bytes` is large.
    /// Returns: false if the bytes were purged.
    static bool wipe(std::byte* memory, std::size_t bytes, std::size_t bytes_with_rest) noexcept
    {
        if (bytes > largest_to_fill && os::purge_memory(memory, bytes_with_rest))
            return false;
        if (bytes != 0 && fills_free_memory()) // 0 only for an aligned block of 0 bytes.
            poison(memory, bytes);
        return true;
    }

    /// Effects: marks the first `bytes` bytes of a newly free run for verification before reuse.
    /// Preconditions: first_damage() finds these bytes intact.
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

    /// Returns: the first damage to the memory of a free slice; nullptr if the memory is intact.
    const void* damage_in(slice_index slice) const noexcept
    {
        std::size_t bytes = region_.record(slice).poisoned;
        if (bytes != 0 && guard(slice).is_there())
            bytes = std::min<std::size_t>(bytes, guard(slice).from() * slice_guard::page_bytes);
        return bytes != 0 ? first_damage(region_.address(slice), bytes, region_.record(slice).is_filled) : nullptr;
    }

    // Large blocks.

    /// Returns: the offset of a large block in its run that makes the block end as close to a page boundary as
    ///   possible.
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

    /// Returns: the beginning of the guard at the end of a slice; nullptr if there is none.
    std::byte* guard_of(slice_index slice) const noexcept
    {
        const slice_guard found = guard(slice);
        return found.is_there() ? region_.address(slice) + found.from() * slice_guard::page_bytes : nullptr;
    }

    /// Guards a run from `wanted` to its end, and removes all other guards in the run. nullptr: removes all guards.
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

    /// Removes the guards of slices up to `kept`; all of them if `kept` is nullptr.
    /// Returns: whether the system removed the guards; if not, the slices still count as guarded.
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
            if (goes_on) // The remaining guard begins in the next slice.
                note_guard(next, {guard(next).how(), guard(next).from(), guard(slice).begins()});
            joined.add(guard_of(slice), end_of_removed(slice, kept), guard(slice).how(),
                       ends && !goes_on && guard(slice).begins());
        }
        if (!joined.remove())
            return false;
        std::atomic_signal_fence(std::memory_order_seq_cst); // The child of a fork in between removes the guards again.
        for (slice_index slice = first; slice != end; ++slice)
            if (guard(slice).is_there() && end_of_removed(slice, kept) > guard_of(slice))
                shorten_guard(slice, end_of_removed(slice, kept));
        return true;
    }

    /// Returns: the end of the part of a slice that lies before `kept` and stays unguarded.
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

    /// Guards the first unguarded part of the slices from `slice` on, with one system call.
    /// Returns: the slice to continue with.
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
        // Each slice is guarded by a single method.
        const bool extends = next.is_there() && guarded != region_.address(last);
        const auto bytes = static_cast<std::size_t>(guarded - begin);
        // A mark is cheaper but counts as memory. Where memory is limited, removing a mapping may fail.
        const os::guarding cheapest =
            bytes > guard_bytes && guard_slices_ != 0 ? os::guarding::by_mapping : os::guarding::by_mark;
        const os::guarding how = os::guard_memory(begin, bytes, extends ? next.how() : cheapest, extends ? 0 : 1);
        if (how == os::guarding::none)
            return last + 1;
        if (extends && how != next.how()) {
            (void)os::unguard_memory(begin, bytes, how, 0);
            return last + 1;
        }
        // The guarded memory would count as committed. Later runs also place their guards there.
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

    /// Verifies fill patterns if `is_wanted`, and stops expecting the patterns. Removes guards before `guarded`;
    /// nullptr: all guards.
    condition find_damage(slice_index first, std::uint32_t slices, bool is_wanted,
                          const std::byte* guarded = nullptr) noexcept
    {
        condition found;
        noted_.take_rows(first, slices, [&](slice_index begin, slice_index end) {
            for (slice_index slice = begin; slice != end; ++slice) {
                if (guard_of(slice) == region_.address(slice)) // Guarded as a whole, so its record stays untouched.
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
    written_records noted_;
    state_arrays states_;
    std::uint32_t guard_slices_ = 0;
    std::atomic<std::size_t> guarded_slices_{0}; ///< Guarded as a whole.
};
} // namespace memory_pool::np
