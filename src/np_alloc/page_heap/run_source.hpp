// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs of slices with memory: allocated for slabs and large blocks, freed, and purged as run_decay.hpp decides.
///
///     region -> runs -> taken, and tagged with its owner -> returned: free, with memory -> purged: free, without
///                             -> discarded: inaccessible, and counted towards no limit
///
/// Threads that allocate or free a run also purge due runs, without the lock. A purged run can be reused as it is. A
/// purged run of 2 MiB or more that is not reused for another decay time is discarded.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../hardening/revoked_runs.hpp"
#include "../hardening/run_hardening.hpp"
#include "../release/release_policy.hpp"
#include "../release/run_decay.hpp"
#include "../slices/huge_page_policy.hpp"
#include "../slices/huge_pages.hpp"
#include "../slices/region.hpp"
#include "../slices/runs.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/options.hpp"
#include "memory_limit.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// The region of a process and its runs.
class run_source : base::immovable<run_source>
{
public:
    using region_type = np::region<std::atomic<slice_tag>, record_of_slice, record_of_part>;
    using checks_type = checks_of_runs<region_type>;

    /// Effects: reserves addresses, unless addresses are already reserved. `is_to_grow`: reserves as few as possible,
    ///   if the system lets a reservation grow.
    /// Returns: whether addresses are reserved.
    bool start(std::size_t max_bytes, bool is_to_grow = false) noexcept
    {
        const base::lock_guard lock(mutex);
        if (region.max_slices() != 0)
            return true;
        if (!(is_to_grow && region.reserve_to_grow(max_bytes)) && !region.reserve(max_bytes))
            return false;
        if (checks.start(region.max_slices()))
            return true;
        region.release();
        return false;
    }

    /// Effects: releases the reserved addresses that were never needed. Later blocks have mappings of their own.
    void give_addresses_back() noexcept
    {
        const base::lock_guard lock(mutex);
        region.release_uncommitted();
    }

    /// Effects: releases all addresses.
    /// Preconditions: no memory is in use or will be touched again.
    void stop() noexcept
    {
        region.release();
        checks.stop();
    }

    /// Effects: calls `look(const runs&)` with the lock held, and returns its result.
    template <class Look>
    auto with_runs(Look&& look) noexcept
    {
        const base::lock_guard lock(mutex);
        return look(runs);
    }

    /// Effects: purges and discards all free runs.
    /// Returns: bytes of purged memory.
    std::size_t trim() noexcept
    {
        std::size_t bytes = 0;
        {
            const base::lock_guard lock(mutex);
            end_waiting();
        }
        // A run that the system refuses to purge becomes the youngest and is not tried again.
        for (std::size_t left = with_runs([](const auto& all) { return all.dirty(); }) * slice_bytes; left != 0;) {
            const purge_attempt last = purge_dirty_since(std::numeric_limits<std::uint64_t>::max());
            if (last.bytes == 0)
                break;
            left -= std::min(left, last.bytes);
            bytes += last.is_done ? last.bytes : 0;
        }
        for (const std::uint64_t now = os::coarse_milliseconds(); discard_clean_since(now);) {
        }
        discard_unused();
        return bytes;
    }

    /// Effects: purges or discards up to `max_runs` free runs: first runs that have been free with memory for
    ///   decay_ms() milliseconds, then runs that were purged at least decay_ms() milliseconds ago.
    /// Returns: whether there were `max_runs` such runs.
    bool purge_old(int max_runs) noexcept
    {
        const std::uint64_t now = release_clock::now();
        int left = purge({decay.due_since(now), max_runs});
        while (left != 0 && discard_clean_since(decay.discard_due_since(now)))
            --left;
        return left == 0;
    }

    /// Effects: purges free runs before they are due, because most memory is free. A no-op while early purges are
    ///   paused.
    void purge_fallen() noexcept
    {
        const std::uint64_t now = release_clock::now();
        if (decay.may_be_early(now))
            purge({now, max_runs_at_fall});
    }

    /// Effects: as purge_fallen(), if most memory is free, for a thread that ends, because no later call may follow.
    void purge_if_mostly_free() noexcept
    {
        const auto is_mostly_free = [](const auto& all) {
            return all.dirty() > std::max(all.in_use(), max_unhurried_dirty / 4);
        };
        if (with_runs(is_mostly_free))
            purge_fallen();
    }

    /// Effects: calls `look(memory_limit&, std::size_t reserved)` with the lock held, and returns its result.
    template <class Look>
    auto with_limit(Look&& look) noexcept
    {
        const base::lock_guard lock(mutex);
        return look(limit_, reserved());
    }

    /// Effects: sets the limits from the options.
    void set_limits() noexcept
    {
        const base::lock_guard lock(mutex);
        limit_.set(the_options.get(np_option_limit_bytes), the_options.get(np_option_soft_limit_bytes));
        limit_.note(reserved());
    }

    /// The limit, for members that need no lock.
    // Not analyzed: see memory_limit.hpp.
    memory_limit& limit() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { return limit_; }

    /// Returns: bytes ever returned to the system.
    std::size_t purged() const noexcept { return purged_.load(std::memory_order_relaxed); }
    void note_purged(std::size_t bytes) noexcept { purged_.fetch_add(bytes, std::memory_order_relaxed); }

    /// Returns: slices in free runs that may have memory.
    std::size_t dirty_slices() const noexcept { return dirty_slices_.load(std::memory_order_relaxed); }

    /// Returns: the number of runs in use without an owner: runs in quarantine, the library's runs, and lost runs,
    ///   whose addresses belong to another mapping.
    std::size_t unowned_runs() noexcept
    {
        const base::lock_guard lock(mutex);
        return lost_runs_ + library_slices + waiting_.count();
    }

    /// Effects: calls `visit(slice_index first, const slice_record&)` for each run, in use or free, until `visit`
    ///   returns false.
    /// Returns: whether no call returned false.
    /// Preconditions: the runs are valid and do not change.
    template <class Visit>
    bool for_each_run(Visit&& visit)
    {
        const slice_index end = with_runs([](const auto& all) { return slice_at(all.used()); });
        for (slice_index first = first_slice; first != end; first = first + region.record(first).length)
            if (!visit(first, static_cast<const slice_record&>(region.record(first))))
                return false;
        return true;
    }

    // Around a fork.
    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex) { mutex.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex) { mutex.unlock_after_fork(); }

    /// Effects: in the child of a fork, finishes the purges of threads that do not exist there and forgets moves in
    ///   flight.
    // Not analyzed: the thread that forks holds all locks, so the lock is a no-op in purge().
    void finish_purges() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        for (run begun = runs.find_being_purged(); begun.first != no_slice; begun = runs.find_being_purged())
            (void)purge(begun);
        huge_pages.parts().forget_moves();
    }

    /// Returns: the number of slices for `bytes`, at least one; 0 if the number exceeds any region.
    static constexpr std::uint32_t slices_for(std::size_t bytes) noexcept
    {
        if (bytes > std::size_t{1} << 47)
            return 0;
        return static_cast<std::uint32_t>(base::divide_round_up(bytes != 0 ? bytes : 1, slice_bytes));
    }

    /// Sets no tags.
    struct no_marks
    {
        constexpr void operator()(const run&) const noexcept {}
    };

    /// Effects: takes slices, and calls `mark(const run&)` to tag them with the lock held, so a fork finds the slices
    ///   either tagged or free. `has_guard`: the last guard_slices() slices are a guard; if possible, the run is placed
    ///   where slices are already guarded.
    /// Returns: the run; `first` is no_slice if there is no memory.
    template <class Mark = no_marks>
    run take_bytes(std::size_t bytes, std::size_t alignment, Mark&& mark = {}, bool has_guard = false) noexcept
    {
        const std::uint32_t slices = slices_for(bytes);
        const std::uint32_t aligned_to = alignment > slice_bytes ? slices_for(alignment) : 1;
        return slices != 0 && aligned_to != 0 && is_conceivable(bytes) ? take(slices, aligned_to, mark, has_guard)
                                                                       : run{};
    }

    std::size_t reserved() const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        const std::size_t in_use = runs.in_use() + runs.being_purged() - lost_slices_ - library_slices - guard_slices;
        return (in_use + runs.dirty() - free_guard_slices()) * slice_bytes + mmap_bytes;
    }

    /// Returns: slices in free runs that may have memory, and in quarantine.
    std::size_t free_slices() const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        return runs.dirty() + runs.being_purged() + waiting_.slices() - free_guard_slices();
    }

    /// Returns: free slices that are only guard. Former runs of large blocks keep their guards until they are used
    ///   again.
    std::size_t free_guard_slices() const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        const std::size_t all = checks.guarded_slices();
        return std::min(all - std::min(all, guard_slices), runs.dirty() + runs.being_purged() + waiting_.slices());
    }

    /// Returns: whether the system could ever provide `bytes`.
    static bool is_conceivable(std::size_t bytes) noexcept
    {
        constexpr std::size_t min_bytes_to_ask = std::size_t{1} << 30;
        return MEMORY_POOL_LIKELY(bytes < min_bytes_to_ask) || os::may_commit_ever(bytes);
    }

    /// Records that a run is lost: its slices stay in use, but hold no block.
    void note_lost(std::uint32_t slices) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        ++lost_runs_;
        lost_slices_ += slices;
    }

    /// Effects: takes a slice for metadata of blocks.
    /// Returns: the slice; no_slice if there is no memory.
    slice_index take_for_library() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        run taken = runs.take(1);
        if (taken.first != no_slice)
            taken = restored(taken, os::coarse_milliseconds());
        if (taken.first != no_slice)
            checks.guard_before(taken.first);
        library_slices += taken.length;
        return taken.first;
    }

    /// Effects: returns a slice from take_for_library().
    void give_of_library(slice_index first) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        --library_slices;
        runs.put(first, 1, true, os::coarse_milliseconds());
    }

    /// Effects: purges free runs until the hard limit admits `growth()` more bytes, then calls `take()`, which adds at
    ///   most as many bytes. Calls both with the lock held. If the limit never admits the bytes, purges all free runs
    ///   and does not call `take()`. Counts refusals.
    template <class Growth, class Take>
    void take_within_limit(Growth&& growth, Take&& take) noexcept
    {
        for (os::short_wait wait;;) {
            {
                const base::lock_guard lock(mutex);
                const std::size_t more = limit_.is_hard() ? growth() : 0;
                if (MEMORY_POOL_LIKELY(limit_.admits(reserved(), more))) {
                    take();
                    return;
                }
                limit_.note_refused(more);
                end_waiting();
                if (runs.dirty() + runs.being_purged() == 0)
                    return;
            }
            const purge_attempt last = purge_dirty_since(std::numeric_limits<std::uint64_t>::max());
            if (!last.is_done && (last.bytes != 0 || this_thread_forks))
                return; // The system refuses, or other threads are purging and are waiting for this one.
            if (last.bytes == 0)
                wait.once_more(); // Other threads are purging.
        }
    }

    /// Call this after each change: a clean run that merges with a dirty one counts as dirty.
    void note_peak() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        peak_reserved = std::max(peak_reserved, reserved());
        limit_.note(reserved());
        dirty_slices_.store(runs.dirty() + waiting_.slices(), std::memory_order_relaxed);
    }

    /// Times a first touch without the lock, and further touches if the first took long. The caller owns the slices up
    /// to `end`. A no-op in the checked build, where a page may still be a guard.
    void measure(first_touch touch, slice_index end) noexcept
    {
        if constexpr (is_checked)
            return;
        while (MEMORY_POOL_UNLIKELY(touch.kind != first_touch::page::none)) {
            const std::uint64_t cost = huge_page_policy<region_type>::measure(region.address(touch.at));
            const base::lock_guard lock(mutex);
            touch = huge_pages.note_cost(touch, cost, end);
        }
    }

    void set_tag(slice_index first, std::uint32_t count, slice_tag tag) const noexcept
    {
        auto* each = &region.tag(first);
        for (auto* const end = each + count; each != end; ++each)
            each->store(tag, std::memory_order_relaxed);
    }

    template <class Mark = no_marks>
    run take(std::uint32_t slices, std::uint32_t alignment, Mark&& mark = {}, bool has_guard = false) noexcept
    {
        const std::uint64_t now = release_clock::now();
        run taken;
        bool is_due = false;
        const auto growth = [&]() -> std::size_t {
            mutex.assume_held();
            const std::uint32_t more = runs.growth(slices, alignment);
            return (more - std::min(more, has_guard ? checks.guard_slices() : 0U)) * slice_bytes;
        };
        take_within_limit(growth, [&] {
            mutex.assume_held();
            const auto slices_to_leave = [this, slices, has_guard](slice_index first, std::uint32_t length) {
                return has_guard ? checks.slices_to_guard(first, length, slices) : 0;
            };
            taken = runs.take(slices, alignment, slices_to_leave, now);
            if (taken.first == no_slice && !waiting_.is_empty()) {
                end_waiting();
                taken = runs.take(slices, alignment, slices_to_leave, now);
            }
            if (taken.first != no_slice)
                taken = restored(taken, now);
            if (taken.first != no_slice)
                checks.guard_before(taken.first);
            if (taken.first != no_slice)
                mark(taken);
            note_peak(); // After mark(): a guard does not count.
            decay.note_taken(taken.is_zeroed ? taken.length * slice_bytes : 0, runs.used(), now);
            is_due = has_dirty_since(decay.due_since(now)) || runs.has_clean_since(decay.discard_due_since(now));
        });
        if (MEMORY_POOL_UNLIKELY(is_due))
            (void)purge_old(1);
        return taken;
    }

    /// Frees slices. With the lock held, `unmark()` removes their tags and returns their number, or 0 if they have no
    /// owner. `waits`: the slices go to quarantine.
    /// Returns: whether the slices had an owner.
    template <class Unmark>
    bool give(slice_index first, bool is_dirty, Unmark&& unmark, bool waits = false) noexcept
    {
        const std::uint64_t now = release_clock::now();
        purge_plan plan;
        bool is_discard_due = false;
        {
            const base::lock_guard lock(mutex);
            const std::uint32_t slices = unmark();
            if (slices == 0)
                return false;
            if (!waits || !waiting_.push({first, slices, is_dirty, now}))
                runs.put(first, slices, is_dirty, now);
            end_waiting(max_waiting_slices());
            if (!is_dirty && region.grows())
                shrink_region();
            note_peak();
            plan = decay.after_return(runs, now);
            if (this_thread_locks > 1) // Other threads wait for a heap, or the list of heaps.
                plan.max_runs = std::min(plan.max_runs, 1);
            is_discard_due = runs.has_clean_since(decay.discard_due_since(now));
        }
        if (MEMORY_POOL_UNLIKELY(plan.max_runs != 0))
            (void)purge(plan);
        if (MEMORY_POOL_UNLIKELY(is_discard_due))
            (void)discard_clean_since(decay.discard_due_since(now));
        return true;
    }

    // Parts.

    fork_mutex mutex{lock_rank::runs};
    /// Ages of free runs, and of pages in slabs.
    run_decay decay;
    region_type region;
    np::runs<region_type> runs MEMORY_POOL_GUARDED_BY(mutex){region};
    huge_page_policy<region_type> huge_pages MEMORY_POOL_GUARDED_BY(mutex){region};
    /// Guards and fill patterns.
    checks_type checks{region};
    checks_type::revoked revoked MEMORY_POOL_GUARDED_BY(mutex);
    std::size_t peak_reserved MEMORY_POOL_GUARDED_BY(mutex) = 0;
    /// Bytes of blocks outside of the region.
    std::size_t mmap_bytes MEMORY_POOL_GUARDED_BY(mutex) = 0;
    /// Slices in runs of large blocks that are only guard.
    std::size_t guard_slices MEMORY_POOL_GUARDED_BY(mutex) = 0;
    /// Runs of one slice for the states of blocks.
    std::size_t library_slices MEMORY_POOL_GUARDED_BY(mutex) = 0;

private:
    /// Effects: carries out a plan.
    /// Returns: the number of runs left in the plan.
    int purge(purge_plan plan) noexcept
    {
        std::size_t bytes = 0;
        for (; plan.max_runs != 0; --plan.max_runs) {
            const purge_attempt last = purge_dirty_since(plan.since);
            if (!last.is_done)
                break;
            bytes += last.bytes;
        }
        if (const std::uint64_t now = os::coarse_milliseconds(); bytes != 0 && plan.since > decay.due_since(now))
            decay.early().note(bytes, now);
        return plan.max_runs;
    }

    /// Returns: the capacity of this quarantine, in slices: as many bytes as the quarantines of 64 threads. 0 under a
    ///   hard limit, because clean neighbours of a run that leaves the quarantine count as dirty.
    std::size_t max_waiting_slices() const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        constexpr std::size_t threads = 64;
        return is_checked && !limit_.is_hard() ? the_options.get(np_option_quarantine_bytes) * threads / slice_bytes
                                               : 0;
    }

    /// Effects: frees the oldest runs in quarantine until at most `max_slices` slices remain, not counting guards. One
    ///   run of any length may remain, unless `max_slices` is 0.
    void end_waiting(std::size_t max_slices = 0) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        const auto of_blocks = [this] {
            mutex.assume_held();
            return waiting_.slices() - waiting_.count() * checks.guard_slices();
        };
        while (waiting_.is_full() || (of_blocks() > max_slices && waiting_.count() > (max_slices != 0 ? 1U : 0U)))
            end_waiting_of_oldest();
    }

    void end_waiting_of_oldest() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        const waiting_run oldest = waiting_.pop();
        runs.put(oldest.first, oldest.slices, oldest.is_dirty, oldest.freed_at);
    }

    bool has_dirty_since(std::uint64_t before) const noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        return runs.has_dirty_since(before) || waiting_.has_waited_since(before);
    }

    /// Returns: the run `taken` if all of it is now accessible; otherwise no run.
    run restored(const run& taken, std::uint64_t now) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        const os::moving result =
            huge_pages.parts().commit(taken.first, taken.length)
                ? revoked.take(region.address(taken.first), region.address(taken.first + taken.length))
                : os::moving::refused;
        if (result == os::moving::refused)
            runs.put(taken.first, taken.length, !taken.is_zeroed, now);
        if (result == os::moving::lost)
            note_lost(taken.length);
        return result == os::moving::done ? taken : run{};
    }

    /// Effects: releases the backing copies of revoked runs that overlap a run.
    void purge_backing_copies(const run& taken) noexcept
    {
        struct kept
        {
            void* memory;
            std::size_t bytes;
        };
        std::array<kept, revoked_runs::max_count> all; // To release without the lock, because that takes long.
        std::size_t count = 0;
        {
            const base::lock_guard lock(mutex);
            revoked.forget_memory(region.address(taken.first), region.address(taken.first + taken.length),
                                  [&](void* memory, std::size_t bytes) { all[count++] = {memory, bytes}; });
        }
        while (count != 0) {
            --count;
            (void)os::release_addresses(all[count].memory, all[count].bytes);
        }
    }

    /// Result of purging a run.
    struct purge_attempt
    {
        std::size_t bytes = 0; ///< Bytes of the run; 0 if there was none.
        bool is_done = false;
    };

    /// Effects: purges the oldest free run if a part of it has been free since `since`.
    purge_attempt purge_dirty_since(std::uint64_t since) noexcept
    {
        run oldest;
        {
            const base::lock_guard lock(mutex);
            while (waiting_.has_waited_since(since))
                end_waiting_of_oldest();
            oldest = runs.take_dirty_since(since);
            if (oldest.first == no_slice)
                return {};
            huge_pages.parts().lose_memory(oldest.first, oldest.length);
            huge_pages.parts().purge_around(oldest);
        }
        return purge(oldest);
    }

    /// Effects: purges a run taken for this purpose, and returns the run.
    purge_attempt purge(const run& taken) noexcept
    {
        const std::size_t bytes = taken.length * slice_bytes;
        MEMORY_POOL_DELAY_POINT();
        const bool is_done = os::purge_memory(region.address(taken.first), bytes);
        if constexpr (is_checked)
            purge_backing_copies(taken);
        is_done ? checks.run_purged(taken.first, taken.length, true) : checks.run_kept(taken.first, taken.length);
        MEMORY_POOL_DELAY_POINT();
        if (is_done)
            note_purged(bytes);
        const base::lock_guard lock(mutex);
        runs.put_purged(taken, !is_done, os::coarse_milliseconds());
        if (region.grows())
            shrink_region();
        note_peak();
        return {bytes, is_done};
    }

    /// Effects: discards the oldest clean run of 2 MiB or more if a part of it has been clean since `since`.
    /// Returns: whether there was such a run.
    bool discard_clean_since(std::uint64_t since) noexcept
    {
        run oldest;
        run discarded;
        {
            const base::lock_guard lock(mutex);
            oldest = runs.take_clean_since(since);
            if (oldest.first == no_slice)
                return false;
            // Without the last slice, which may be a guard of the run behind.
            const slice_index end = oldest.first + oldest.length - (is_checked ? 1U : 0U);
            discarded = huge_pages.parts().begin_discard(oldest.first, end);
        }
        checks.run_purged(oldest.first, oldest.length, true);
        MEMORY_POOL_DELAY_POINT();
        discard(discarded);
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(mutex);
        runs.put_purged(oldest, false, runs.never);
        if (region.grows())
            shrink_region();
        return true;
    }

    /// Effects: discards slices, if there are any. If the system refuses, the slices stay accessible until they are
    ///   needed.
    void discard(const run& discarded) const noexcept
    {
        const std::size_t bytes = discarded.length * slice_bytes;
        if (bytes != 0 && os::discard_memory(region.address(discarded.first), bytes))
            os::leave_out_of_dumps(region.address(discarded.first), bytes);
    }

    /// Effects: discards slices that were committed in advance.
    void discard_unused() noexcept
    {
        const base::lock_guard lock(mutex);
        const run discarded = huge_pages.parts().begin_discard(slice_at(runs.used()), slice_at(region.committed()));
        discard(discarded);
    }

    /// Effects: releases the addresses behind all runs, which the program may need for something else, if they are
    ///   worth a system call.
    void shrink_region() noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        constexpr std::size_t min_slices = (std::size_t{1} << 20) / slice_bytes;
        if (const run last = runs.forget_last_if_clean(); last.first != no_slice)
            checks.run_purged(last.first, last.length, false); // Otherwise `checks` would assume guards there.
        if (region.committed() - runs.used() < min_slices)
            return;
        huge_pages.parts().forget_from(slice_at(runs.used()));
        region.shrink(runs.used());
    }

    std::size_t lost_runs_ MEMORY_POOL_GUARDED_BY(mutex) = 0;
    std::size_t lost_slices_ MEMORY_POOL_GUARDED_BY(mutex) = 0;
    checks_type::quarantine waiting_ MEMORY_POOL_GUARDED_BY(mutex){};
    memory_limit limit_ MEMORY_POOL_GUARDED_BY(mutex);
    std::atomic<std::size_t> purged_{0};
    std::atomic<std::size_t> dirty_slices_{0}; ///< A copy, for readers without the lock.
};
} // namespace memory_pool::np
