// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When free memory goes back to the system. Everything that decides it is in this folder:
///
///     mechanism      trigger                 looks at             gives back             cost and bound
///     run decay      a run is taken or       free runs, oldest    those older than       64 runs a call
///                    returned, a tick        first                their greatest age
///     growth pays    a slab is added in      some slabs of the    pages of sparse slabs, twice the slab's bytes;
///                    memory without pages    same heap            untouched for 100 ms   16 slabs are looked at
///     fall           blocks in use are       magazines, all       all that is free       once for each third that
///                    below 1/16 of what      slabs, free runs                            is freed, down to 1/1024
///                    a heap holds
///     sweep          a tick; the thread      slabs of one heap    empty slabs and pages  32 slabs, about 1 ms a
///                    ends; background;       from a cursor on     of others, untouched   step
///                    pressure; trim                               for half a decay time
///     tick           debt above 1 MiB        debt                 nothing: it runs       every 8 ms, at frees while
///                                                                 decay and sweep        it is on
///
/// Runs that stay without memory for another decay time are discarded by the same calls, and by trim: they are
/// inaccessible then, and count towards no limit (see huge_pages.hpp).
///
/// Debt is free memory that the system could have: dirty runs, and the free part of a thread's sparse slabs. The first
/// three give back early, before a decay time has passed. If the program soon needs a quarter of that again, they
/// pause for ten decay times: to give memory back and get it again costs a system call and a fault for each page.
///
///     run_decay.hpp         ages of free runs
///     early_release.hpp     what goes back early, and the pause
///     release_tick.hpp      ticks of a thread, and its fall
///     pressure_policy.hpp   when the control group is short of memory; pressure_watch.hpp looks at it
///
/// Each constant was chosen by experiment: docs/experiments.md.
#pragma once

#include <memory_pool/os/clock.hpp>

#include "../slices/region.hpp"
#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Returns: that many bytes, in slices.
constexpr std::size_t slices_of(std::size_t bytes) noexcept
{
    return bytes / slice_bytes;
}

/// Debt up to this size is not worth a tick. (Smaller: a thread in a loop over a few hundred KiB ticks for ever.)
inline constexpr std::size_t max_ignored_debt = slices_of(std::size_t{1} << 20);

/// Dirty memory up to this size only decays, however little is in use. (Below: programs with a peak of a few MiB pay
/// for each one.)
inline constexpr std::size_t max_unhurried_dirty = slices_of(std::size_t{8} << 20);

/// Dirty memory up to this size has a tick before it goes back. (Less: a program with one buffer of some MiB at a time
/// loses it each time.)
inline constexpr std::size_t max_dirty_for_a_tick = slices_of(std::size_t{56} << 20);

/// Free runs that one call of a busy thread purges.
inline constexpr int max_runs_a_call = 64;

/// Free runs that one call purges when nearly all memory is free: there may be no other call.
inline constexpr int max_runs_at_fall = 4096;

/// Free runs without memory are not discarded before that, however short the decay time is: a program without decay,
/// or under pressure, may need them again at once, and would make two system calls more for each.
inline constexpr std::uint64_t min_age_to_discard_ms = 100;

/// Time between two ticks of a thread: two of the coarse clock.
inline constexpr std::uint64_t tick_ms = 8;

/// A heap that uses less than one part in 16 of what it holds has fallen.
inline constexpr std::size_t fallen_part = 16;

/// A heap that holds less than that does not fall.
inline constexpr std::size_t min_held_to_fall = std::size_t{8} << 20;

/// Growth pays with slabs that nothing came from or to for so long. (Without it, random churn takes 1.6 times the
/// processor time.)
inline constexpr std::uint64_t min_age_to_pay_ms = 100;

/// Slabs of a heap with less free memory than that do not pay.
inline constexpr std::size_t min_free_to_pay = std::size_t{1} << 20;

/// Slabs that growth looks at for each slab that is added.
inline constexpr int max_slabs_seen_for_growth = 16;

/// Slabs that a step of a sweep looks at, and those of which it gives pages back: a millisecond.
inline constexpr int max_slabs_seen_a_step = 1024;
inline constexpr int max_slabs_purged_a_step = 32;

/// Returns: how long a sweep leaves slabs alone that were used, with that decay time.
constexpr std::uint64_t sweep_age_ms(std::uint64_t decay_ms) noexcept
{
    return decay_ms / 2 > tick_ms ? decay_ms / 2 : tick_ms;
}

/// The coarse clock, and its time a few slow calls ago, which costs one load.
class release_clock
{
public:
    static std::uint64_t last() noexcept { return recent.load(std::memory_order_relaxed); }

    /// Returns: the time now.
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
