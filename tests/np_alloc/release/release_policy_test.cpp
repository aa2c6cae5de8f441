// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/release/release_policy.hpp>

#include <np_alloc/slices/region.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
TEST(release_policy, counts_whole_slices)
{
    EXPECT_EQ(np::slices_of(0), 0U);
    EXPECT_EQ(np::slices_of(np::slice_bytes - 1), 0U);
    EXPECT_EQ(np::slices_of(3 * np::slice_bytes + 1), 3U);
    EXPECT_EQ(np::max_ignored_debt * np::slice_bytes, std::size_t{1} << 20);
}

TEST(release_policy, sweeps_slabs_unused_for_half_a_decay_time_but_at_least_a_tick)
{
    EXPECT_EQ(np::sweep_age_ms(1000), 500U);
    for (const std::uint64_t decay_ms : {std::uint64_t{0}, std::uint64_t{1}, 2 * np::tick_ms, 2 * np::tick_ms + 1})
        EXPECT_EQ(np::sweep_age_ms(decay_ms), np::tick_ms) << decay_ms;
    EXPECT_EQ(np::sweep_age_ms(2 * np::tick_ms + 2), np::tick_ms + 1);
}

TEST(release_policy, allows_more_dirty_memory_for_shorter_times)
{
    EXPECT_LT(np::max_ignored_debt, np::max_unhurried_dirty);
    EXPECT_LT(np::max_unhurried_dirty, np::max_dirty_in_a_burst);
    EXPECT_LT(np::max_runs_a_call, np::max_runs_at_fall);
}

TEST(release_policy, reads_the_clock_at_each_collection)
{
    EXPECT_EQ(np::slow_calls_a_collection % np::slow_calls_a_look, 0);
    EXPECT_EQ(256 % np::slow_calls_a_collection, 0) << "the call counter wraps at 256";
}

TEST(release_clock, last_returns_the_latest_reading_of_any_thread)
{
    std::uint64_t now = np::release_clock::now();
    EXPECT_NE(now, 0U);
    EXPECT_EQ(np::release_clock::last(), now);
    test::in_a_thread([&now] { now = np::release_clock::now(); });
    EXPECT_EQ(np::release_clock::last(), now);
}

TEST(release_clock, is_monotonic_per_thread)
{
    std::uint64_t before = 0;
    for (int i = 0; i != 10'000; ++i) {
        const std::uint64_t now = np::release_clock::now();
        ASSERT_GE(now, before);
        before = now;
    }
}
} // namespace
