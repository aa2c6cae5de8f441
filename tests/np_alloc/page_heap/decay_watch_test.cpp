// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/decay_watch.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t much = 10 * np::decay_watch::most_ignored;
constexpr std::uint64_t tick = 4;
constexpr std::size_t in_use = std::size_t{32} << 20;

/// Counts frees at one point in time.
/// Returns: how many of them checked the clock.
int free_many(np::decay_watch& watch, std::uint64_t now, int frees)
{
    int looks = 0;
    for (int i = 0; i != frees; ++i)
        if (watch.is_due()) {
            (void)watch.look(now);
            ++looks;
        }
    return looks;
}

TEST(decay_watch, is_needed_if_more_than_a_little_is_dirty)
{
    const np::decay_watch watch;
    EXPECT_FALSE(watch.is_on());
    EXPECT_FALSE(watch.is_needed(np::decay_watch::most_ignored));
    EXPECT_TRUE(watch.is_needed(np::decay_watch::most_ignored + 1));
}

TEST(decay_watch, begins_once)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    EXPECT_TRUE(watch.is_on());
    EXPECT_FALSE(watch.is_needed(much));
}

TEST(decay_watch, looks_at_each_free_of_a_thread_that_seldom_frees)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    for (std::uint64_t now = 200; now != 1200; now += 100) {
        ASSERT_TRUE(watch.is_due());
        EXPECT_TRUE(watch.look(now));
    }
}

TEST(decay_watch, looks_at_few_of_many_frees_and_at_one_soon_after_them)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    EXPECT_LE(free_many(watch, 104, 1000), 130);
    EXPECT_GE(free_many(watch, 1000, 8), 1);
}

TEST(decay_watch, sees_a_thread_idle_that_frees_only_a_few_blocks_at_a_time)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    for (std::uint64_t now = 200; now != 700; now += 100)
        (void)free_many(watch, now, 5);
    EXPECT_TRUE(watch.is_idle(700, 500));
    (void)free_many(watch, 700, 50);
    EXPECT_FALSE(watch.is_idle(700, 500));
}

TEST(decay_watch, goes_on_in_an_idle_thread_until_nothing_is_dirty_and_its_heap_is_tidy)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    EXPECT_TRUE(watch.goes_on(1000, much, in_use));
    EXPECT_TRUE(watch.goes_on(2000, 0, in_use));
    watch.set_tidy(true);
    EXPECT_TRUE(watch.goes_on(3000, much, in_use));
    EXPECT_FALSE(watch.goes_on(4000, 0, in_use));
}

TEST(decay_watch, of_a_busy_thread_goes_on_while_more_becomes_dirty_and_then_ends)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    std::size_t returnable = much;
    std::uint64_t now = 100;
    const auto is_on_after_a_while = [&](bool is_more) {
        for (int i = 0; i != 10; ++i) {
            now += tick;
            returnable += is_more ? returnable / 4 : 0;
            (void)free_many(watch, now, 1000);
            if (!watch.goes_on(now, returnable, in_use))
                return false;
        }
        return true;
    };
    EXPECT_TRUE(is_on_after_a_while(true));
    EXPECT_FALSE(is_on_after_a_while(false));
}

TEST(decay_watch, goes_on_during_a_burst_of_frees_without_new_dirty_memory)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    std::uint64_t now = 100;
    for (std::size_t left = in_use; left != 0; left -= in_use / 16) {
        now += tick;
        (void)free_many(watch, now, 1000);
        ASSERT_TRUE(watch.goes_on(now, much, left)) << left << " bytes left";
    }
}

TEST(decay_watch, goes_on_if_a_pause_follows_many_frees)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    (void)free_many(watch, 104, 1000);
    for (std::uint64_t now = 204; now != 1204; now += 100) {
        (void)free_many(watch, now, 5);
        ASSERT_TRUE(watch.goes_on(now, much, in_use));
    }
}

TEST(decay_watch, begins_again_if_more_becomes_dirty_or_after_a_while)
{
    np::decay_watch watch;
    watch.start(100, in_use);
    watch.stop(200, much);
    EXPECT_FALSE(watch.is_on());
    EXPECT_FALSE(watch.is_needed(much));
    EXPECT_TRUE(watch.is_needed(2 * much));
    watch.forget(1000, 1000);
    EXPECT_FALSE(watch.is_needed(much)) << "it has ended a moment ago";
    watch.forget(1200, 1000);
    EXPECT_TRUE(watch.is_needed(much));
}

/// Returns: for how many of `looks` may_be_drained is true.
int looks_that_count(np::decay_watch& watch, std::size_t outstanding, std::size_t held, int looks)
{
    int counted = 0;
    for (int i = 0; i != looks; ++i)
        counted += watch.may_be_drained(outstanding, held) ? 1 : 0;
    return counted;
}

TEST(decay_watch, counts_cached_blocks_now_and_then_if_little_of_much_is_outstanding)
{
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    np::decay_watch watch;
    watch.start(100, in_use);
    EXPECT_EQ(looks_that_count(watch, 25 * mebibyte, 100 * mebibyte, 80), 10);
    EXPECT_EQ(looks_that_count(watch, 26 * mebibyte, 100 * mebibyte, 80), 0);
    EXPECT_EQ(looks_that_count(watch, 0, 7 * mebibyte, 80), 0) << "so little is not worth it";
}

TEST(decay_watch, drains_when_nearly_all_is_free_and_each_time_half_of_the_rest_is)
{
    constexpr std::size_t held = std::size_t{64} << 20;
    np::decay_watch watch;
    watch.start(100, in_use);
    EXPECT_FALSE(watch.is_drained(held / 64 + 1, held));
    EXPECT_TRUE(watch.is_drained(held / 64, held));
    EXPECT_FALSE(watch.is_drained(held / 128 + 1, held));
    EXPECT_TRUE(watch.is_drained(held / 128, held));
    EXPECT_TRUE(watch.is_drained(0, held));
    EXPECT_FALSE(watch.is_drained(0, held)) << "nothing is left to be freed";
    watch.start(200, in_use);
    EXPECT_TRUE(watch.is_drained(0, held));
}
} // namespace
