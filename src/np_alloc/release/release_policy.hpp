// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// np_alloc's policy for returning free memory to the system, and its constants. The page heap and the heaps apply the
/// policy.
///
///     mechanism     trigger                     examines                returns                    bound
///     run decay     take or return of a run,    free runs by age        runs past their greatest   64 runs a call
///                   tick                                                age; later, discards them
///     growth pays   new slab in memory          sparse slabs of the     free pages of slabs        twice the new slab;
///                   without pages               same heap, oldest first unused for 100 ms          16 slabs examined
///     fall          a thread uses 1/64 of its   its magazines and       all free memory            once per third
///                   slabs' peak                 slabs, free runs                                   freed, to 1/1024
///     sweep         tick, thread exit,          slabs of one heap, by   empty slabs, and free      32 slabs a step,
///                   background thread,          a cursor                pages of slabs unused      about 1 ms
///                   pressure, limit, trim                               for half a decay time
///     tick          more than 1 MiB of debt     debt                    runs decay and sweep       every 8 ms
///
/// Debt is memory that could be returned: dirty runs, free memory in a thread's sparse slabs, and reserve heaps of
/// ended threads. A run of 2 MiB or more that stays purged for another decay time is discarded: it becomes inaccessible
/// and counts towards no limit (see huge_pages.hpp).
///
/// The first three mechanisms return memory early, before its decay time. They pause for ten decay times if the program
/// soon needs a quarter of that memory again, or if a thread soon rises to a quarter of its peak again after a fall. In
/// these cases, purging memory and faulting it in again costs more than it saves.
///
///     run_decay.hpp         age limits of free runs
///     early_release.hpp     the pause
///     release_tick.hpp      ticks and falls of a thread
///     pressure_policy.hpp   when to respond to memory pressure; pressure_watch.hpp watches the control group
///
/// docs/experiments.md lists the rejected alternatives.
#pragma once

#include <memory_pool/os/clock.hpp>

#include "../slices/region.hpp"
#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Returns: the slices in `bytes`.
constexpr std::size_t slices_of(std::size_t bytes) noexcept
{
    return bytes / slice_bytes;
}

/// Maximum debt that starts no ticks, in slices. If this were less, a thread that loops over a few hundred KiB would
/// tick forever.
inline constexpr std::size_t max_ignored_debt = slices_of(std::size_t{1} << 20);

/// Dirty memory that is never returned early, in slices. If this were less, a program would pay for each peak of a few
/// MiB.
inline constexpr std::size_t max_unhurried_dirty = slices_of(std::size_t{8} << 20);

/// Dirty memory that a burst of frees may leave, in slices. Memory beyond this is purged at once when nearly all memory
/// is free. If this were less, a program with one buffer of a few MiB at a time would lose the buffer's memory each
/// time, and np_trim after a burst would find little.
inline constexpr std::size_t max_dirty_in_a_burst = slices_of(std::size_t{128} << 20);

/// Before any run is purged early, the program must return runs for this long, with more free memory than used memory.
/// If this were less, a burst of frees on a busy machine could last as long.
inline constexpr std::uint64_t min_much_free_ms = 32;

/// Maximum runs purged in one call.
inline constexpr int max_runs_a_call = 64;

/// Maximum runs purged in one call when nearly all memory is free, because no other call may follow.
inline constexpr int max_runs_at_fall = 4096;

/// Minimum age of a discarded run since its purge. With a short decay time, or under pressure, a program may soon need
/// a run again, and a discard costs two more system calls.
inline constexpr std::uint64_t min_age_to_discard_ms = 100;

/// Interval of a thread's ticks: two ticks of the coarse clock.
inline constexpr std::uint64_t tick_ms = 8;

/// A heap falls when it uses less than this fraction of its slabs. With a sixteenth, most rows of free pages have one
/// page, and a program that frees a million blocks in random order takes 1.25 times as long.
inline constexpr std::size_t fallen_part = 64;

/// Smallest heap that can fall, in bytes of slabs.
inline constexpr std::size_t min_held_to_fall = std::size_t{8} << 20;

/// A thread's slow calls between two checks of the clock, and between two collections.
inline constexpr std::uint8_t slow_calls_a_look = 8;
inline constexpr std::uint8_t slow_calls_a_collection = 64;

/// The reserve: parked heaps that keep their free memory for new threads.
inline constexpr std::size_t max_heaps_kept = 8;
inline constexpr std::size_t max_bytes_kept = std::size_t{64} << 20;

/// Maximum decay time under memory pressure.
inline constexpr std::uint64_t pressed_decay_ms = 50;

/// Minimum pause of the background thread.
inline constexpr std::uint64_t min_pause_ms = 10;

/// Growth pays only with slabs unused for this long. Without this minimum, random churn takes 1.6 times the CPU time.
inline constexpr std::uint64_t min_age_to_pay_ms = 100;

/// Free memory in the slabs of a heap below which growth does not pay, in bytes.
inline constexpr std::size_t min_free_to_pay = std::size_t{1} << 20;

/// Maximum slabs examined for each new slab.
inline constexpr int max_slabs_seen_for_growth = 16;

/// Maximum slabs examined, and maximum slabs purged, in one step of a sweep.
inline constexpr int max_slabs_seen_a_step = 1024;
inline constexpr int max_slabs_purged_a_step = 32;

/// Returns: how long a slab must have been unused to be swept.
constexpr std::uint64_t sweep_age_ms(std::uint64_t decay_ms) noexcept
{
    return decay_ms / 2 > tick_ms ? decay_ms / 2 : tick_ms;
}

/// The coarse clock. last() is a few slow calls behind, and costs one load.
class release_clock
{
public:
    static std::uint64_t last() noexcept { return recent.load(std::memory_order_relaxed); }

    static std::uint64_t now() noexcept
    {
        const std::uint64_t now = os::coarse_milliseconds();
        if (now != last())
            recent.store(now, std::memory_order_relaxed);
        return now;
    }

private:
    MEMORY_POOL_HIDDEN inline static std::atomic<std::uint64_t> recent{0};
};
} // namespace memory_pool::np
