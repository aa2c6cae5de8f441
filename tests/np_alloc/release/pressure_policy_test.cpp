// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/release/pressure_policy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace np = memory_pool::np;

namespace {
using policy = np::pressure_policy;
constexpr std::size_t mega = std::size_t{1} << 20;
constexpr std::uint64_t begin = 1'000'000;

memory_pool::detail::os::pressure_counts events(std::uint64_t count)
{
    return {count, std::nullopt};
}

memory_pool::detail::os::pressure_counts waited(std::uint64_t milliseconds)
{
    return {0, milliseconds * 1000};
}

TEST(pressure_policy, has_no_pressure_before_the_first_event)
{
    policy decides;
    decides.start(events(7), begin);
    EXPECT_FALSE(decides.note(events(7), begin + 1000)) << "events before the start do not count";
    EXPECT_FALSE(decides.is_on());
    EXPECT_FALSE(decides.is_due(begin + 1000));
    EXPECT_EQ(decides.wait_ms(begin + 1000, 500), 500U);
}

TEST(pressure_policy, answers_an_event_at_once)
{
    policy decides;
    decides.start(events(7), begin);
    EXPECT_TRUE(decides.note(events(8), begin + 1));
    EXPECT_TRUE(decides.is_on());
    EXPECT_TRUE(decides.is_due(begin + 1));
    EXPECT_EQ(decides.wait_ms(begin + 1, 500), 0U);
    decides.note_answer(begin + 2, 100 * mega, 1000 * mega);
    EXPECT_FALSE(decides.is_due(begin + 10'000)) << "one answer per signal";
}

TEST(pressure_policy, treats_a_stall_of_a_tenth_of_the_time_as_a_signal)
{
    policy decides;
    decides.start(waited(500), begin);
    EXPECT_FALSE(decides.note(waited(599), begin + 1000));
    EXPECT_TRUE(decides.note(waited(699), begin + 2000));
    EXPECT_FALSE(decides.note(waited(699), begin + 3000));
}

TEST(pressure_policy, adds_up_short_stalls)
{
    policy decides;
    decides.start(waited(0), begin);
    int signals = 0;
    for (std::uint64_t ms = 10; ms <= 200; ms += 10)
        signals += decides.note(waited(ms / 5), begin + ms) ? 1 : 0;
    EXPECT_EQ(signals, 2) << "one per 100 milliseconds";
}

TEST(pressure_policy, pauses_between_answers)
{
    policy decides;
    decides.start(events(0), begin);
    EXPECT_TRUE(decides.note(events(1), begin));
    decides.note_answer(begin, 100 * mega, 1000 * mega);
    EXPECT_TRUE(decides.note(events(2), begin + 10));
    EXPECT_FALSE(decides.is_due(begin + 10));
    EXPECT_EQ(decides.wait_ms(begin + 10, 500), policy::min_pause_ms - 10);
    EXPECT_TRUE(decides.is_due(begin + policy::min_pause_ms)) << "the signal is still pending";
}

TEST(pressure_policy, backs_off_while_little_is_returned)
{
    policy decides;
    decides.start(events(0), begin);
    std::uint64_t now = begin;
    std::uint64_t pause = policy::min_pause_ms;
    for (std::uint64_t count = 1; count != 12; ++count) {
        ASSERT_TRUE(decides.note(events(2 * count), now));
        ASSERT_TRUE(decides.is_due(now));
        decides.note_answer(now, mega / 2, 1000 * mega);
        ASSERT_TRUE(decides.note(events(2 * count + 1), now));
        pause = std::min(2 * pause, policy::max_pause_ms);
        EXPECT_EQ(decides.wait_ms(now, 60'000), pause);
        now += pause;
    }
    EXPECT_EQ(pause, policy::max_pause_ms);
}

TEST(pressure_policy, backs_off_while_returned_memory_is_reused)
{
    policy decides;
    decides.start(events(0), begin);
    ASSERT_TRUE(decides.note(events(1), begin));
    decides.note_answer(begin, 300 * mega, 1000 * mega); // 700 MiB are left
    ASSERT_TRUE(decides.note(events(2), begin + 100));
    decides.note_answer(begin + 100, 300 * mega, 1000 * mega); // everything returned is in use again
    ASSERT_TRUE(decides.note(events(3), begin + 101));
    EXPECT_EQ(decides.wait_ms(begin + 101, 10'000), 2 * policy::min_pause_ms - 1);
    EXPECT_TRUE(decides.is_due(begin + 300));
    decides.note_answer(begin + 300, 300 * mega, 800 * mega); // a third is in use again
    ASSERT_TRUE(decides.note(events(4), begin + 301));
    EXPECT_EQ(decides.wait_ms(begin + 301, 10'000), policy::min_pause_ms - 1);
}

TEST(pressure_policy, ends_pressure_and_back_off_after_ten_seconds_without_a_signal)
{
    policy decides;
    decides.start(events(0), begin);
    ASSERT_TRUE(decides.note(events(1), begin));
    for (int times = 0; times != 5; ++times)
        decides.note_answer(begin, 0, 1000 * mega);
    EXPECT_FALSE(decides.note(events(1), begin + policy::lasts_ms - 1));
    EXPECT_TRUE(decides.is_on());
    EXPECT_FALSE(decides.note(events(1), begin + policy::lasts_ms));
    EXPECT_FALSE(decides.is_on());
    ASSERT_TRUE(decides.note(events(2), begin + policy::lasts_ms + 1));
    EXPECT_TRUE(decides.is_due(begin + policy::lasts_ms + 1));
}

TEST(pressure_policy, ignores_failed_reads)
{
    policy decides;
    decides.start(events(5), begin);
    EXPECT_FALSE(decides.note(std::nullopt, begin + 1000));
    EXPECT_FALSE(decides.note(events(5), begin + 2000));
    EXPECT_TRUE(decides.note(events(6), begin + 3000));
}
} // namespace
