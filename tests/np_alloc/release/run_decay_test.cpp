// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/release/run_decay.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace np = memory_pool::np;

namespace {
constexpr std::uint64_t decay = 1000;
constexpr std::size_t few = np::max_unhurried_dirty;
constexpr std::uint64_t years = std::uint64_t{1} << 41; // 70 years in milliseconds

/// Counts of slices in runs. The free slices have been free since `free_since`.
struct counted_runs
{
    std::size_t used_slices;
    std::size_t free_slices;
    std::uint64_t free_since;

    std::size_t in_use() const { return used_slices; }
    std::size_t dirty() const { return free_slices; }
    bool has_dirty_since(std::uint64_t since) const { return free_slices != 0 && free_since <= since; }
};

struct run_decay : testing::Test
{
    np::run_decay policy;
    std::uint64_t time = years;
    static constexpr std::uint64_t never = 2 * decay + 1;

    /// Returns: the purge plan for a return at `now`, after steady returns in the preceding ticks.
    np::purge_plan plan(const counted_runs& runs, std::uint64_t now)
    {
        for (std::uint64_t ago = np::min_much_free_ms + np::tick_ms / 2; ago != 0; ago -= np::tick_ms / 2)
            (void)policy.after_return(runs, now - ago);
        return policy.after_return(runs, now);
    }

    /// Returns: the age at which a run is purged, with `dirty` free slices and `in_use` slices in use.
    std::uint64_t max_age(std::size_t in_use, std::size_t dirty)
    {
        for (std::uint64_t age = 0; age <= 2 * decay; ++age, time += 2 * np::min_much_free_ms)
            if (plan(counted_runs{in_use, dirty, time - age}, time).max_runs != 0)
                return age;
        return never;
    }
};

TEST_F(run_decay, purges_one_run_older_than_the_decay_time_per_call)
{
    EXPECT_EQ(policy.after_return(counted_runs{1, 1, 5000}, 5000 + decay - 1).max_runs, 0);
    const np::purge_plan plan = policy.after_return(counted_runs{1, 1, 5000}, 5000 + decay);
    EXPECT_EQ(plan.max_runs, 1);
    EXPECT_EQ(plan.since, 5000U);
}

TEST_F(run_decay, is_shorter_the_less_memory_is_in_use)
{
    EXPECT_EQ(max_age(4 * few, 4 * few), decay);
    EXPECT_NEAR(static_cast<double>(max_age(2 * few, 4 * few)), decay / 4.0, decay / 100.0);
    EXPECT_NEAR(static_cast<double>(max_age(few, 4 * few)), decay / 16.0, decay / 100.0);
    EXPECT_EQ(plan(counted_runs{few, 4 * few, 0}, time).max_runs, np::max_runs_a_call);
}

TEST_F(run_decay, is_zero_when_much_memory_is_nearly_all_free)
{
    constexpr std::size_t much = np::max_dirty_in_a_burst;
    EXPECT_EQ(max_age(much / np::fallen_part + 2, much + np::fallen_part), np::tick_ms);
    EXPECT_EQ(max_age(much / np::fallen_part, much + np::fallen_part), 0U);
    EXPECT_EQ(max_age(0, much), np::tick_ms);
    EXPECT_EQ(policy.after_return(counted_runs{0, much + 1, 5000}, 5000).max_runs, np::max_runs_at_fall);
}

TEST_F(run_decay, is_not_shorter_in_a_preempted_burst_of_returns)
{
    EXPECT_EQ(policy.after_return(counted_runs{few, few - 1, 5000}, 5000).max_runs, 0);
    EXPECT_EQ(policy.after_return(counted_runs{few - 1, few + 1, 5000}, 5000).max_runs, 0);
    EXPECT_EQ(policy.after_return(counted_runs{1, 2 * few, 5000}, 5500).max_runs, 0);
    EXPECT_EQ(policy.after_return(counted_runs{0, 2 * few, 5000}, 5500).max_runs, 0);
    EXPECT_NE(plan(counted_runs{0, 2 * few, 5000}, 5600).max_runs, 0);
}

TEST_F(run_decay, is_never_longer_than_the_option)
{
    policy.set_decay_ms(1);
    EXPECT_EQ(max_age(few / 4, few + 1), 1U);
}

TEST_F(run_decay, is_not_shorter_for_little_dirty_memory)
{
    EXPECT_EQ(max_age(0, few), decay);
}

TEST_F(run_decay, purges_nothing_if_decay_is_off)
{
    policy.set_decay_ms(np::run_decay::never_ms);
    for (const counted_runs runs : {counted_runs{1, few + 1, 5000}, counted_runs{few, 1, 5000}})
        EXPECT_EQ(policy.after_return(runs, years).max_runs, 0);
    EXPECT_FALSE(policy.may_be_early(years));
    EXPECT_EQ(policy.due_since(years), 0U);
}

TEST_F(run_decay, waits_for_the_full_decay_time_after_early_reuse)
{
    const counted_runs runs{0, few + 1, 5000};
    ASSERT_NE(plan(runs, 5020).max_runs, 0);
    policy.note_taken(0, 1000, 5000); // peak use
    policy.early().note(1, 5000);
    policy.note_taken(np::early_release::min_reused, 1000, 5010);
    EXPECT_EQ(plan(runs, 5020).max_runs, 0);
    EXPECT_EQ(policy.after_return(runs, 5000 + decay).max_runs, 1) << "decay continues";
}

TEST_F(run_decay, does_not_count_growth_as_reuse)
{
    policy.early().note(1, 5000);
    policy.note_taken(np::early_release::min_reused, 2000, 5010);
    EXPECT_TRUE(policy.may_be_early(5020));
}

TEST_F(run_decay, ends_a_pause_when_the_decay_time_changes)
{
    policy.note_taken(0, 1000, 5000);
    policy.early().note(1, 5000);
    policy.note_taken(np::early_release::min_reused, 1000, 5010);
    ASSERT_FALSE(policy.may_be_early(5020));
    policy.set_decay_ms(10);
    EXPECT_EQ(policy.decay_ms(), 10U);
    EXPECT_TRUE(policy.may_be_early(5020));
    EXPECT_EQ(policy.due_since(5), 0U) << "the clock may have started just now";
}
} // namespace
