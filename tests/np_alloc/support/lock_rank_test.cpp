// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/lock_rank.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace np = memory_pool::np;

namespace {
/// A lock without a lock: what it asserts, and what it counts.
struct lock_of : np::lock_order<true>
{
    constexpr explicit lock_of(np::lock_rank rank) noexcept : lock_order(rank) {}

    void take() const noexcept
    {
        assert_above_held();
        note(true);
    }
    void take_for_fork() const noexcept
    {
        assert_not_below_held();
        note(true);
    }
    void release() const noexcept { note(false); }
};

constexpr lock_of background{np::lock_rank::background};
constexpr lock_of lists{np::lock_rank::heaps};
constexpr lock_of heap{np::lock_rank::heap};
constexpr lock_of other_heap{np::lock_rank::heap};
constexpr lock_of runs{np::lock_rank::runs};
constexpr lock_of other_runs{np::lock_rank::runs};

TEST(lock_rank, allows_locks_that_are_taken_from_the_outermost_to_the_innermost)
{
    for (const lock_of& each : {background, lists, heap, runs})
        each.take();
    for (const lock_of& each : {lists, runs, background, heap}) // In any order.
        each.release();
    EXPECT_EQ(np::this_thread_ranks, std::uint64_t{0});
    heap.take();
    heap.release();
    lists.take();
    lists.release();
}

TEST(lock_rank, allows_several_of_a_rank_to_a_thread_that_forks)
{
    for (const lock_of& each : {lists, heap, other_heap, runs, other_runs})
        each.take_for_fork();
    for (const lock_of& each : {other_runs, runs, other_heap, heap, lists})
        each.release();
    EXPECT_EQ(np::this_thread_ranks, std::uint64_t{0});
}

TEST(lock_rank_death_test, reports_a_lock_that_is_taken_behind_an_inner_one)
{
    const auto take = [](const lock_of& first, const lock_of& second) {
        first.take();
        second.take();
    };
    EXPECT_DEATH(take(runs, heap), "lock order: a thread waits for a lock of rank heap, and holds one of rank runs\n"
                                   "  remedy: report this");
    EXPECT_DEATH(take(heap, background), "of rank background, and holds one of rank heap");
    EXPECT_DEATH(take(heap, other_heap), "of rank heap, and holds one of rank heap");
    const auto take_for_fork = [] {
        runs.take_for_fork();
        heap.take_for_fork();
    };
    EXPECT_DEATH(take_for_fork(), "of rank heap, and holds one of rank runs");
}
} // namespace
