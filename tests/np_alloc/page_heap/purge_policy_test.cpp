// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/purge_policy.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::uint64_t decay = 1000;
constexpr std::size_t few = np::purge_policy::most_dirty_for_nothing;

/// Runs of which only counts are known: `free_slices` have been free since `free_since`.
struct counted_runs
{
    std::size_t used_slices;
    std::size_t free_slices;
    std::uint64_t free_since;
    std::size_t peak = 0;

    std::size_t used() const { return peak; }
    std::size_t in_use() const { return used_slices; }
    std::size_t dirty() const { return free_slices; }
    bool has_dirty_since(std::uint64_t since) const { return free_slices != 0 && free_since <= since; }
};

struct purge_policy : testing::Test
{
    np::purge_policy policy;

    /// Has what was purged eagerly at `now` needed again.
    void reuse(std::uint64_t now)
    {
        policy.note_taken(0, 1000, now); // Grows first.
        policy.note_taken(np::purge_policy::most_reused, 1000, now);
    }
};

TEST_F(purge_policy, purges_one_run_at_a_time_that_is_older_than_the_decay)
{
    EXPECT_EQ(policy.after_return(counted_runs{1, 1, 5000}, 5000 + decay - 1).most_runs, 0U);
    const np::purge_plan plan = policy.after_return(counted_runs{1, 1, 5000}, 5000 + decay);
    EXPECT_EQ(plan.most_runs, 1U);
    EXPECT_EQ(plan.since, 5000U);
}

TEST_F(purge_policy, purges_many_runs_eagerly_while_most_memory_is_free)
{
    const counted_runs runs{1, few + 1, 5000};
    EXPECT_EQ(policy.after_return(runs, 5001).most_runs, 0U) << "they have just become free";
    const np::purge_plan plan = policy.after_return(runs, 5000 + np::purge_policy::eager_decay_ms);
    EXPECT_EQ(plan.most_runs, np::purge_policy::most_eager_runs);
    EXPECT_EQ(plan.since, 5000U);
    EXPECT_TRUE(policy.purges_at_once(runs, 5001));
}

TEST_F(purge_policy, purges_all_runs_at_once_while_most_memory_is_free_and_that_is_much)
{
    constexpr std::size_t much = np::purge_policy::most_dirty_for_a_moment;
    const auto runs_purged = [this](const counted_runs& runs) { return policy.after_return(runs, 5000).most_runs; };
    EXPECT_EQ(runs_purged({1, much, 5000, 4 * much}), 0U);
    EXPECT_EQ(runs_purged({1, much + 1, 5000, 4 * much - 1}), 0U) << "the peak was little";
    EXPECT_EQ(runs_purged({much, much + 1, 5000, 4 * much}), 0U) << "most is in use";
    const np::purge_plan plan = policy.after_return(counted_runs{1, much + 1, 5000, 4 * much}, 5000);
    EXPECT_EQ(plan.most_runs, np::purge_policy::most_runs_of_much);
    EXPECT_EQ(plan.since, 5000U);
    reuse(5010);
    EXPECT_EQ(runs_purged({1, much + 1, 5000, 4 * much}), 0U) << "it was needed again";
}

TEST_F(purge_policy, purges_nothing_at_all_if_the_decay_is_never)
{
    policy.set_decay_ms(np::purge_policy::never_ms);
    constexpr std::uint64_t years = std::uint64_t{1} << 41; // 70 of them.
    for (const counted_runs runs : {counted_runs{1, few + 1, 5000}, counted_runs{few, 1, 5000}}) {
        EXPECT_EQ(policy.after_return(runs, years).most_runs, 0U);
        EXPECT_FALSE(policy.purges_at_once(runs, years));
    }
    EXPECT_EQ(policy.due_since(years), 0U);
}

TEST_F(purge_policy, purges_nothing_eagerly_while_little_or_less_than_twice_the_used_memory_is_free)
{
    EXPECT_FALSE(policy.purges_at_once(counted_runs{0, few, 0}, 5000));
    EXPECT_FALSE(policy.purges_at_once(counted_runs{few, 2 * few, 0}, 5000));
    EXPECT_TRUE(policy.purges_at_once(counted_runs{few, 2 * few + 1, 0}, 5000));
}

TEST_F(purge_policy, backs_off_when_purged_memory_is_needed_again_soon)
{
    const counted_runs runs{1, few + 1, 5000};
    ASSERT_TRUE(policy.purges_at_once(runs, 5000));
    reuse(5010);
    EXPECT_FALSE(policy.purges_at_once(runs, 5010 + 10 * decay - 1));
    EXPECT_EQ(policy.after_return(runs, 5020).most_runs, 0U);
    EXPECT_EQ(policy.after_return(runs, 5000 + decay).most_runs, 1U) << "decay goes on";
    EXPECT_TRUE(policy.purges_at_once(runs, 5010 + 10 * decay));
}

TEST_F(purge_policy, backs_off_neither_for_growth_nor_for_memory_that_is_needed_late)
{
    const counted_runs runs{1, few + 1, 5000};
    ASSERT_TRUE(policy.purges_at_once(runs, 5000));
    policy.note_taken(np::purge_policy::most_reused, 2000, 5010); // More than ever.
    EXPECT_TRUE(policy.purges_at_once(runs, 5020));
    reuse(5020 + decay + 1);
    EXPECT_TRUE(policy.purges_at_once(runs, 5020 + decay + 2));
}

TEST_F(purge_policy, ends_a_back_off_when_another_decay_is_chosen)
{
    const counted_runs runs{1, few + 1, 5000};
    ASSERT_TRUE(policy.purges_at_once(runs, 5000));
    reuse(5010);
    ASSERT_FALSE(policy.purges_at_once(runs, 5020));
    policy.set_decay_ms(10);
    EXPECT_EQ(policy.decay_ms(), 10U);
    EXPECT_TRUE(policy.purges_at_once(runs, 5020));
    EXPECT_EQ(policy.due_since(5), 0U) << "the clock may have begun just now";
}
} // namespace
