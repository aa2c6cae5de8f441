// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/lock_rank.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace np = memory_pool::np;

namespace {
/// A lock that only checks and records its rank.
struct lock_of : np::lock_order<true>
{
    constexpr explicit lock_of(np::lock_rank rank) noexcept : lock_order(rank) {}

    void take() const noexcept
    {
        if (!is_in_order())
            report_order();
        note(true);
    }
    void try_to_take() const noexcept { note(true); }
    void release() const noexcept { note(false); }
};

constexpr lock_of background{np::lock_rank::background};
constexpr lock_of lists{np::lock_rank::heaps};
constexpr lock_of heap{np::lock_rank::heap};
constexpr lock_of other_heap{np::lock_rank::heap};
constexpr lock_of sites{np::lock_rank::call_sites};
constexpr lock_of runs{np::lock_rank::runs};

TEST(lock_rank, allows_locking_from_the_outermost_to_the_innermost)
{
    for (const lock_of& each : {background, lists, heap, runs})
        each.take();
    for (const lock_of& each : {lists, runs, background, heap}) // in any order
        each.release();
    EXPECT_EQ(np::this_thread_ranks, std::uint64_t{0});
    heap.take();
    heap.release();
    lists.take();
    lists.release();
}

TEST(lock_rank, allows_several_call_site_locks_at_once)
{
    for (int i = 0; i != 4; ++i)
        sites.take();
    runs.take();
    runs.release();
    for (int i = 0; i != 4; ++i)
        sites.release();
    EXPECT_EQ(np::this_thread_ranks, std::uint64_t{0});
}

TEST(lock_rank, allows_try_lock_in_any_order)
{
    runs.take();
    heap.try_to_take();
    other_heap.try_to_take();
    for (const lock_of& each : {heap, other_heap, runs})
        each.release();
    EXPECT_EQ(np::this_thread_ranks, std::uint64_t{0});
}

TEST(lock_rank_death_test, reports_locking_an_outer_lock_after_an_inner_one)
{
    const auto take = [](const lock_of& first, const lock_of& second) {
        first.take();
        second.take();
    };
    EXPECT_DEATH(take(runs, heap), "lock order: a thread waits for a lock of rank heap, and holds one of rank runs\n"
                                   "  remedy: call async-signal-safe functions only");
    EXPECT_DEATH(take(heap, background), "of rank background, and holds one of rank heap");
    EXPECT_DEATH(take(heap, other_heap), "of rank heap, and holds one of rank heap");
    EXPECT_DEATH(take(runs, sites), "of rank call_sites, and holds one of rank runs");
}
} // namespace
