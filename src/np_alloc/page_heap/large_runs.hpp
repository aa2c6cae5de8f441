// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Large blocks in the region. Each is one run, which can grow, shrink and move.
///
///     | slice with tag large_block | slice with tag inside_large_block | ... |
///     <-------- requested, up to the end of a page -------->  <--- tail ---->
///
/// A tail may still have the memory of an earlier, longer block. If the tails of all large blocks are large compared
/// with the requested bytes, the tail is purged when the run is taken again.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/clock.hpp>

#include "../hardening/guarded_slots.hpp"
#include "../hardening/run_hardening.hpp"
#include "../slices/huge_pages.hpp"
#include "../slices/runs.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "run_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// Large blocks, one run each.
class large_runs : base::immovable<large_runs>
{
public:
    using checks_type = run_source::checks_type;

    constexpr explicit large_runs(run_source& source) noexcept : source_(source) {}

    /// Tells the thread safety analysis that the caller holds the source's lock. The analysis does not know that both
    /// locks are the same.
    void assume_held() const noexcept MEMORY_POOL_ASSUMES_HELD(source_.mutex) {}

    /// Effects: makes a large block.
    /// Returns: its run; `first` is no_slice if there is no memory.
    run take_large(std::size_t bytes, std::size_t alignment) noexcept
    {
        return take_large(bytes, alignment, [this, alignment](const run& taken_run) {
            source_.mutex.assume_held();
            return source_.huge_pages.enter_large(taken_run, alignment == 1 || alignment < os::page_size());
        });
    }

    /// Effects: frees a large block.
    /// Returns: whether there was a large block; false if another thread has already freed it.
    bool give_large(slice_index first) noexcept { return give_large(first, true); }

    /// Effects: replaces the large block at `first` with one of at least `bytes` that has the same content. If the new
    ///   block has no memory yet, and the system supports it, moves the old block's memory, which costs less than
    ///   copying and page faults. Otherwise, copies. Calls `before_free()` before the old block becomes free and
    ///   another thread may get its addresses.
    /// Returns: the new run; `first` is no_slice if there is no memory, and then the old block is unchanged.
    /// Preconditions: `bytes` is at least the size of the old block; this is not the checked build.
    template <class BeforeFree>
    run move_large(slice_index first, std::size_t bytes, BeforeFree&& before_free) noexcept
    {
        const std::size_t old_bytes = source_.checks.bytes_of_large(first);
        const run moved = take_large(bytes, 1, [this, first](const run& taken_run) {
            source_.mutex.assume_held();
            return source_.huge_pages.grow_large(first, source_.region.record(first).length, taken_run);
        });
        if (moved.first == no_slice)
            return {};
        std::byte* const from = source_.region.address(first);
        std::byte* const to = source_.region.address(moved.first);
        const os::moving result = moved.is_zeroed ? move_memory(first, moved) : os::moving::refused;
        if (result == os::moving::lost)
            return {};
        if (result == os::moving::refused)
            std::memcpy(to, from, old_bytes);
        before_free();
        (void)give_large(first, result == os::moving::refused);
        return moved;
    }

    /// Effects: resizes a large block in place: extends the block as needed, or shortens it if more than a quarter is
    ///   unused.
    /// Returns: whether the block now has room for `bytes`.
    bool resize_large(slice_index first, std::size_t bytes) noexcept
    {
        if (run_source::slices_for(bytes) == 0 || !run_source::is_conceivable(bytes))
            return false;
        set_clean_pages(first, 0);
        if (!source_.checks.resize_large(first, bytes, [&] { return resize_run(first, bytes); }))
            return false;
        set_clean_pages(first, 0);
        note_asked(first, bytes);
        return true;
    }

    /// Effects: records the requested size of a large block that was resized in place, for the statistics.
    void note_asked(slice_index first, std::size_t bytes) noexcept
    {
        resized_.fetch_add(bytes - std::exchange(source_.region.record(first).asked, bytes), std::memory_order_relaxed);
    }

    /// Returns: whether a block of `bytes` is revoked when it is freed.
    static bool is_revoked_when_freed(std::size_t bytes) noexcept
    {
        return checks_type::revoked::are_for(bytes) && the_options.get(np_option_guard_pages) != 0;
    }

    /// Returns: the revoked large block that contained the address; nullptr if there is none.
    /// Thread safety: as guarded_slots::nearest.
    // Not analyzed: called by the fault handler, which cannot wait for a lock.
    const guarded_block* freed_at(const void* address) const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        return source_.revoked.find(address);
    }

    /// Returns: the large block whose guard contains the address, or the large block behind the guard if that block is
    ///   nearer; nothing if there is neither.
    /// Thread safety: as freed_at.
    std::optional<guarded_block> guarded_at(const void* address) const noexcept
    {
        if (source_.region.slices_before(address) >= source_.region.committed() || !source_.checks.is_guarded(address))
            return std::nullopt;
        const slice_index slice = source_.region.slice_of(address);
        if (is_of_slab(source_.region.tag(slice).load(std::memory_order_relaxed))) // The block in the slab is unknown.
            return std::nullopt;
        const slice_index before = first_of_large(slice);
        const slice_index behind = first_of_large(end_of_large(slice));
        const auto distance = [this, address](slice_index first) {
            constexpr std::size_t far_away = std::numeric_limits<std::size_t>::max();
            return first != no_slice ? description_at(first).distance(static_cast<const std::byte*>(address))
                                     : far_away;
        };
        constexpr std::size_t max_gap = 2 * guard_bytes;
        if (distance(behind) <= max_gap && distance(behind) < distance(before))
            return description_at(behind);
        return before != no_slice ? std::optional(description_at(before)) : std::nullopt;
    }

    std::byte* begin_of_large(slice_index first) const noexcept { return source_.checks.begin_of_large(first); }

    /// Returns: bytes of a run of `length` slices, without slices that are only guard.
    std::size_t bytes_of_run(std::uint32_t length) const noexcept
    {
        const std::uint32_t guard = source_.checks.guard_slices();
        return (length > guard ? length - guard : 1) * slice_bytes; // A concurrent walk may see a new run as shorter.
    }

    void count_large(block_count blocks, std::size_t bytes) noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        large_blocks_ += static_cast<std::size_t>(blocks);
        large_bytes_ += bytes;
    }

    /// Returns: requested bytes of large blocks in the region.
    std::size_t large_asked() const noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        return large_asked_ + resized_.load(std::memory_order_relaxed);
    }

    std::size_t blocks() const noexcept MEMORY_POOL_REQUIRES(source_.mutex) { return large_blocks_; }
    std::size_t bytes() const noexcept MEMORY_POOL_REQUIRES(source_.mutex) { return large_bytes_; }

private:
    /// `decide(const run&)`, called with the lock held, advises about huge pages, and returns the first touch to time.
    template <class Decide>
    run take_large(std::size_t bytes, std::size_t alignment, Decide&& decide) noexcept
    {
        first_touch touch;
        std::size_t to_purge = 0;
        const run taken = source_.take_bytes(
            source_.checks.with_guard(bytes), alignment,
            [&](const run& taken_run) {
                source_.mutex.assume_held();
                touch = decide(taken_run);
                source_.region.record(taken_run.first).home = nullptr;
                source_.region.record(taken_run.first).asked = bytes;
                large_asked_ += bytes;
                source_.set_tag(taken_run.first, 1, large_block);
                source_.set_tag(taken_run.first + 1, taken_run.length - 1, inside_large_block);
                count_large(block_count{1}, bytes_of_run(taken_run.length));
                to_purge = start_tail(taken_run, bytes);
                source_.guard_slices += source_.checks.guard_slices();
            },
            is_checked);
        MEMORY_POOL_DELAY_POINT();
        source_.measure(touch, taken.first + taken.length);
        if (taken.first == no_slice)
            return taken;
        if (to_purge != 0 && os::purge_memory(source_.region.address(taken.first + taken.length) - to_purge, to_purge))
            source_.note_purged(to_purge);
        const auto found = source_.checks.large_made(taken.first, taken.length, bytes, alignment);
        if (!found.is_usable) {
            (void)source_.give(taken.first, true, [this, &taken] {
                source_.mutex.assume_held();
                return end_large(taken.first);
            });
            return {};
        }
        if (found.damaged != nullptr) // Last, because the error handler may call longjmp.
            report_misuse(error_kind::write_after_free, found.damaged, 0);
        return taken;
    }

    /// Records which pages at the end of the run, beyond a large block of `bytes`, are clean.
    /// Returns: bytes at the end of the run that the caller must purge.
    std::size_t start_tail(const run& taken, std::size_t bytes) noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        constexpr std::size_t page_bytes = 4096;
        // Purging less than this, or less than a quarter of a run, does not pay for the system call and later page
        // faults.
        constexpr std::size_t min_purged_bytes = 5 * page_bytes;
        constexpr std::size_t max_tails_bytes = std::size_t{8} << 20;
        if (is_checked)
            return 0;
        if (taken.length > max_slices_with_tail) {
            forget_tails(taken.first, taken.length);
            return 0;
        }
        const std::size_t tail_bytes = taken.length * slice_bytes - bytes_in_large(bytes);
        const std::size_t clean_before =
            taken.is_zeroed ? tail_bytes : clean_pages_of(taken.first + taken.length - 1) * page_bytes;
        const std::size_t all_bytes = large_bytes_;
        const std::size_t all_tails = all_bytes - large_asked();
        const bool is_to_purge =
            tail_bytes >= clean_before + std::max(min_purged_bytes, taken.length * slice_bytes / 4) &&
            os::page_size() == page_bytes && all_tails > std::max(max_tails_bytes, all_bytes / 8) &&
            !source_.huge_pages.parts().are_asked_for(taken.first, taken.length);
        forget_tails(taken.first, taken.length);
        set_clean_pages(taken.first, (is_to_purge ? tail_bytes : std::min(clean_before, tail_bytes)) / page_bytes);
        return is_to_purge ? tail_bytes : 0;
    }

    /// Records the number of clean pages at the end of a large block.
    void set_clean_pages(slice_index first, std::size_t pages) noexcept
    {
        const std::uint32_t length = source_.region.record(first).length;
        slice_record& last = source_.region.record(first + length - 1);
        last.clean_pages = static_cast<std::uint8_t>(pages);
        last.clean_since = long_runs_.load(std::memory_order_relaxed);
    }

    std::size_t clean_pages_of(slice_index slice) const noexcept
    {
        const slice_record& record = source_.region.record(slice);
        return record.clean_since == long_runs_.load(std::memory_order_relaxed) ? record.clean_pages : 0;
    }

    /// Forgets the clean pages recorded for slices of a new large block. For a long block, forgets the clean pages of
    /// all blocks, because visiting each slice would take longer than the allocation.
    void forget_tails(slice_index first, std::uint32_t slices) noexcept
    {
        if (slices > max_slices_with_tail) {
            long_runs_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        for (std::uint32_t i = 0; i != slices; ++i)
            source_.region.record(first + i).clean_pages = 0;
    }

    bool resize_run(slice_index first, std::size_t bytes) noexcept
    {
        const std::uint32_t slices = run_source::slices_for(source_.checks.with_guard(bytes));
        const std::uint32_t length = source_.region.record(first).length;
        if (slices == 0 || (slices <= length && slices >= length - length / 4))
            return slices != 0;
        return slices > length ? extend_run(first, length, slices) : shorten_run(first, length, slices);
    }

    bool extend_run(slice_index first, std::uint32_t length, std::uint32_t slices) noexcept
    {
        first_touch touch;
        bool is_extended = false;
        const auto growth = [&]() -> std::size_t {
            source_.mutex.assume_held();
            return source_.runs.growth_behind(first + length, slices - length) * slice_bytes;
        };
        source_.take_within_limit(growth, [&] {
            source_.mutex.assume_held();
            if (source_.revoked.overlap(source_.region.address(first + length), source_.region.address(first + slices)))
                return;
            const run extended = source_.runs.extend(first, length, slices);
            if (extended.first == no_slice)
                return;
            is_extended = source_.huge_pages.parts().commit(first + length, slices - length) &&
                          source_.checks.large_extended(first + length, slices - length);
            if (!is_extended) {
                // NOLINTNEXTLINE(readability-suspicious-call-argument): restores its length.
                source_.runs.shorten(first, slices, length, os::coarse_milliseconds());
                return;
            }
            forget_tails(first + length, slices - length);
            touch = source_.huge_pages.grow_large(first, length, extended);
            source_.set_tag(first + length, slices - length, inside_large_block);
            count_large(block_count{0}, (slices - length) * slice_bytes);
            source_.note_peak();
        });
        if (is_extended)
            source_.measure(touch, first + slices);
        return is_extended;
    }

    bool shorten_run(slice_index first, std::uint32_t length, std::uint32_t slices) noexcept
    {
        const base::lock_guard lock(source_.mutex);
        source_.huge_pages.leave_large(first, length);
        source_.set_tag(first + slices, length - slices, no_owner);
        count_large(block_count{0}, std::size_t{0} - (length - slices) * slice_bytes);
        source_.checks.large_shortened(first, slices);
        source_.runs.shorten(first, length, slices, os::coarse_milliseconds());
        source_.note_peak();
        return true;
    }

    /// Effects: moves the memory of a large block without copying. Called without the lock, because the move may take
    ///   long.
    os::moving move_memory(slice_index from, const run& to) noexcept
    {
        {
            const base::lock_guard lock(source_.mutex);
            if (!note_mappings(from, to.first))
                return os::moving::refused;
            source_.huge_pages.parts().begin_move();
        }
        const os::moving result = os::move_memory(source_.region.address(from), source_.region.address(to.first),
                                                  source_.region.record(from).length * slice_bytes);
        const base::lock_guard lock(source_.mutex);
        source_.huge_pages.parts().end_move();
        if (result == os::moving::refused)
            source_.huge_pages.parts().forget(to.first, to.length);
        if (result == os::moving::lost)
            source_.note_lost(end_large(to.first));
        return result;
    }

    bool give_large(slice_index first, bool is_dirty) noexcept
    {
        const std::optional<guarded_block> freed = description_of(first);
        is_dirty = source_.checks.large_ends(first, is_dirty, freed.has_value());
        MEMORY_POOL_DELAY_POINT();
        const auto unmark = [&]() -> std::uint32_t {
            source_.mutex.assume_held();
            if (source_.region.tag(first).load(std::memory_order_relaxed) != large_block)
                return 0;
            const std::uint32_t length = end_large(first);
            revoke(first, freed, is_dirty);
            return length;
        };
        return source_.give(first, is_dirty, unmark, is_checked);
    }

    /// Effects: makes a large block a run without an owner.
    /// Returns: the run's length in slices.
    std::uint32_t end_large(slice_index first) noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        const std::uint32_t length = source_.region.record(first).length;
        source_.huge_pages.leave_large(first, length);
        source_.set_tag(first, length, no_owner);
        count_large(-block_count{1}, std::size_t{0} - bytes_of_run(length));
        source_.guard_slices -= source_.checks.guard_slices();
        large_asked_ -= source_.region.record(first).asked;
        return length;
    }

    /// Returns: a description of the large block in use that begins at `first`.
    guarded_block description_at(slice_index first) const noexcept
    {
        guarded_block found;
        found.begin = begin_of_large(first);
        found.bytes = source_.checks.bytes_of_large(first);
        found.is_in_use = true;
        return found;
    }

    /// Returns: the first slice of the large block whose run contains a slice; no_slice if there is none.
    slice_index first_of_large(slice_index slice) const noexcept
    {
        while (source_.region.is_committed(slice) &&
               source_.region.tag(slice).load(std::memory_order_relaxed) == inside_large_block)
            slice = slice - 1;
        const bool is_large = source_.region.is_committed(slice) &&
                              source_.region.tag(slice).load(std::memory_order_relaxed) == large_block;
        return is_large ? slice : no_slice;
    }

    /// Returns: the first slice after `slice` that does not continue the same large block.
    slice_index end_of_large(slice_index slice) const noexcept
    {
        do
            slice = slice + 1;
        while (source_.region.is_committed(slice) &&
               source_.region.tag(slice).load(std::memory_order_relaxed) == inside_large_block);
        return slice;
    }

    /// Returns: the description to keep of a large block that is being freed; nothing if the block will not be revoked.
    std::optional<guarded_block> description_of(slice_index first) noexcept
    {
        if (!is_revoked_when_freed(source_.checks.bytes_of_large(first)) || !can_revoke_more())
            return std::nullopt;
        guarded_block freed = description_at(first);
        freed.is_in_use = false;
        // Not under the lock of a heap: the loader may take its own lock.
        if (source_.region.record(first).home == nullptr)
            freed.freed_at = os::call_stack::of_this_thread();
        return freed;
    }

    void revoke(slice_index first, const std::optional<guarded_block>& freed, bool has_memory) noexcept
        MEMORY_POOL_REQUIRES(source_.mutex)
    {
        const std::size_t bytes = source_.checks.canary_end(first);
        if (freed &&
            !source_.revoked.put(source_.region.address(first), bytes, checks_type::revoked::keep(bytes, has_memory),
                                 *freed) &&
            has_memory)
            source_.checks.large_not_revoked(first);
    }

    bool can_revoke_more() noexcept
    {
        const base::lock_guard lock(source_.mutex);
        return source_.revoked.has_room();
    }

    /// Effects: records where the system's mappings begin after the memory of the run at `from` has moved to `to`: at
    ///   both ends of both runs.
    /// Returns: whether there is room for more mappings, and the memory to move is one mapping. If the memory is
    ///   several mappings, Linux moves none of them. Since 6.17, Linux moves them one by one, and may stop halfway at
    ///   its limit on mappings.
    bool note_mappings(slice_index from, slice_index to) noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        const std::uint32_t length = source_.region.record(from).length;
        if (mappings_ >= max_mappings || !source_.huge_pages.parts().are_alike(from, to, length) ||
            !os::are_one_mapping(source_.region.address(from), length * slice_bytes))
            return false;
        for (const slice_index begin : {from, from + length, to, to + length})
            if (source_.region.is_committed(begin) && !std::exchange(source_.region.record(begin).begins_mapping, true))
                ++mappings_;
        return true;
    }

    /// Maximum number of mappings made by moves, of the 65,530 that Linux allows a process. At this limit, memory is
    /// copied.
    static constexpr std::size_t max_mappings = 16'384;

    run_source& source_;
    std::size_t large_blocks_ MEMORY_POOL_GUARDED_BY(source_.mutex) = 0;
    std::size_t large_bytes_ MEMORY_POOL_GUARDED_BY(source_.mutex) = 0;
    std::size_t mappings_ MEMORY_POOL_GUARDED_BY(source_.mutex) = 0;
    /// The tail of a longer run is less than a quarter of the run, and not worth a system call.
    static constexpr std::uint32_t max_slices_with_tail = 4;
    std::atomic<std::uint32_t> long_runs_{0};
    std::size_t large_asked_ MEMORY_POOL_GUARDED_BY(source_.mutex) = 0; ///< As requested when blocks were made.
    std::atomic<std::size_t> resized_{0}; ///< Later changes by resizing, counted without the lock.
};
} // namespace memory_pool::np
