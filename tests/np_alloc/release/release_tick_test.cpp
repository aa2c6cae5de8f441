// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/release/release_tick.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t much = 10 * np::max_ignored_debt;
constexpr std::uint64_t clock_ms = 4; ///< resolution of the coarse clock

/// Counts frees at one point in time.
/// Returns: the number of frees that read the clock.
int free_many(np::release_tick& ticks, std::uint64_t now, int frees)
{
    int looks = 0;
    for (int i = 0; i != frees; ++i)
        if (ticks.is_due()) {
            (void)ticks.look(now);
            ++looks;
        }
    return looks;
}

TEST(release_tick, is_needed_above_the_ignored_debt)
{
    const np::release_tick ticks;
    EXPECT_FALSE(ticks.is_on());
    EXPECT_FALSE(ticks.is_needed(np::max_ignored_debt));
    EXPECT_TRUE(ticks.is_needed(np::max_ignored_debt + 1));
}

TEST(release_tick, starts_once)
{
    np::release_tick ticks;
    ticks.start(100, much);
    EXPECT_TRUE(ticks.is_on());
    EXPECT_FALSE(ticks.is_needed(10 * much));
}

TEST(release_tick, reads_the_clock_rarely_in_a_burst_of_frees_and_soon_after)
{
    np::release_tick ticks;
    ticks.start(100, much);
    EXPECT_LE(free_many(ticks, 104, 1000), 130);
    EXPECT_GE(free_many(ticks, 1000, 8), 1);
    for (std::uint64_t now = 2000; now != 3000; now += 100)
        EXPECT_EQ(free_many(ticks, now, 1), 1) << "rare frees";
}

TEST(release_tick, occurs_every_eight_milliseconds)
{
    np::release_tick ticks;
    EXPECT_TRUE(ticks.is_time(1000));
    EXPECT_FALSE(ticks.is_time(1000 + np::tick_ms - 1));
    EXPECT_TRUE(ticks.is_time(1000 + np::tick_ms));
    EXPECT_FALSE(ticks.is_time(1000 + np::tick_ms));
}

TEST(release_tick, detects_an_idle_thread_once)
{
    np::release_tick ticks;
    ticks.start(100, much);
    EXPECT_FALSE(ticks.is_idle(599, 0, 500));
    EXPECT_TRUE(ticks.is_idle(600, 0, 500));
    EXPECT_FALSE(ticks.is_idle(9000, 0, 500)) << "its magazines are already empty";
    EXPECT_FALSE(ticks.is_idle(9000, 1, 500));
    EXPECT_TRUE(ticks.is_idle(9500, 1, 500));
}

TEST(release_tick, continues_while_a_thread_with_few_frees_has_debt)
{
    np::release_tick ticks;
    ticks.start(100, much);
    for (std::uint64_t now = 1000; now != 100'000; now += 1000) {
        (void)free_many(ticks, now, 5);
        ASSERT_TRUE(ticks.goes_on(now, much, 0));
    }
    EXPECT_FALSE(ticks.goes_on(100'000, np::max_ignored_debt, 0));
}

/// A thread with many frees whose debt stays or grows.
struct busy_thread
{
    np::release_tick ticks;
    std::size_t debt = much;
    std::uint64_t now = 100;
    std::uint8_t slow_calls = 0;

    busy_thread() { ticks.start(now, debt); }

    bool ticks_for(std::uint64_t milliseconds, std::uint8_t slow_calls_a_tick, bool is_more = false)
    {
        for (const std::uint64_t end = now + milliseconds; now < end;) {
            now += clock_ms;
            slow_calls = static_cast<std::uint8_t>(slow_calls + slow_calls_a_tick);
            debt += is_more ? debt / 8 : 0;
            (void)free_many(ticks, now, 2000);
            if (!ticks.goes_on(now, debt, slow_calls))
                return false;
        }
        return true;
    }
};

TEST(release_tick, ends_soon_for_a_busy_thread_with_frequent_slow_calls)
{
    busy_thread thread;
    EXPECT_TRUE(thread.ticks_for(200, 20, true)) << "a burst of frees";
    EXPECT_FALSE(thread.ticks_for(100, 20));
}

TEST(release_tick, continues_until_the_debt_is_due_without_slow_calls)
{
    busy_thread thread;
    EXPECT_TRUE(thread.ticks_for(2'500, 0));
    EXPECT_FALSE(thread.ticks_for(1'000, 0));
}

TEST(release_tick, restarts_when_the_debt_grows_or_after_a_while)
{
    np::release_tick ticks;
    ticks.start(100, much);
    ticks.stop(200, much);
    EXPECT_FALSE(ticks.is_on());
    EXPECT_FALSE(ticks.is_needed(much));
    EXPECT_TRUE(ticks.is_needed(2 * much));
    ticks.forget(1000, 1000);
    EXPECT_FALSE(ticks.is_needed(much)) << "it has just ended";
    ticks.forget(1200, 1000);
    EXPECT_TRUE(ticks.is_needed(much));
}

TEST(release_tick, does_not_restart_at_once_if_free_memory_is_reused_and_freed)
{
    np::release_tick ticks;
    ticks.start(100, much);
    ticks.stop(200, 0);
    EXPECT_FALSE(ticks.is_needed(much));
    EXPECT_TRUE(ticks.is_needed(2 * much));
}

TEST(release_tick, checks_for_a_fall_at_every_eighth_reading)
{
    np::release_tick ticks;
    ticks.start(100, much);
    int looks_for_a_fall = 0;
    for (std::uint64_t now = 200; now != 1000; now += 10)
        looks_for_a_fall += ticks.look(now) ? 1 : 0;
    EXPECT_EQ(looks_for_a_fall, 10);
}

TEST(release_tick, counts_cached_blocks_if_a_small_part_is_outstanding)
{
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    np::release_tick ticks;
    EXPECT_FALSE(ticks.may_have_fallen(0, np::min_held_to_fall - 1)) << "too little to matter";
    EXPECT_TRUE(ticks.may_have_fallen(25 * mebibyte, 100 * mebibyte));
    EXPECT_FALSE(ticks.may_have_fallen(26 * mebibyte, 100 * mebibyte));
}

TEST(release_tick, detects_a_fall_to_nearly_zero_and_each_further_third)
{
    constexpr std::size_t held = std::size_t{64} << 20;
    constexpr std::size_t little = held / np::fallen_part;
    np::release_tick ticks;
    (void)ticks.may_have_fallen(held, held);
    EXPECT_FALSE(ticks.has_fallen(little + 1));
    EXPECT_TRUE(ticks.has_fallen(little));
    (void)ticks.may_have_fallen(little, little); // the rest is returned
    EXPECT_FALSE(ticks.has_fallen(little - little / 3 + 1));
    EXPECT_TRUE(ticks.has_fallen(little - little / 3));
    EXPECT_TRUE(ticks.has_fallen(0));
    EXPECT_FALSE(ticks.has_fallen(0)) << "nothing left to free";
    EXPECT_FALSE(ticks.has_fallen(held));
    EXPECT_TRUE(ticks.has_fallen(0)) << "risen again since";
}

TEST(release_tick, detects_once_a_rise_to_a_quarter_after_a_fall)
{
    constexpr std::size_t held = std::size_t{64} << 20;
    np::release_tick ticks;
    (void)ticks.may_have_fallen(held, held);
    EXPECT_FALSE(ticks.has_risen(held)) << "not fallen yet";
    ASSERT_TRUE(ticks.has_fallen(held / np::fallen_part));
    ticks.stop(100, 0);
    EXPECT_FALSE(ticks.has_risen(held / 4));
    EXPECT_TRUE(ticks.has_risen(held / 4 + 1));
    EXPECT_FALSE(ticks.has_risen(held));
}

TEST(release_tick, forgets_the_held_bytes_when_it_ends)
{
    constexpr std::size_t held = std::size_t{64} << 20;
    np::release_tick ticks;
    (void)ticks.may_have_fallen(held, held);
    ticks.start(100, much);
    ticks.stop(200, 0);
    EXPECT_FALSE(ticks.may_have_fallen(0, held / 16));
}
} // namespace
