// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/slack_samples.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace np = memory_pool::np;

namespace {
TEST(slack_samples, estimate_zero_without_samples)
{
    np::slack_samples samples;
    samples.note(1, 5);
    EXPECT_EQ(samples.estimate(0, 1000), 0U);
}

TEST(slack_samples, extrapolate_the_mean_of_a_class)
{
    np::slack_samples samples;
    for (const std::size_t slack : {0U, 4U, 8U})
        samples.note(7, slack);
    EXPECT_EQ(samples.estimate(7, 300), 1200U);
    EXPECT_EQ(samples.estimate(7, 0), 0U);
}

TEST(slack_samples, decay_slowly_without_overflow)
{
    np::slack_samples samples;
    constexpr std::size_t last = np::class_count - 1;
    for (int i = 0; i != 100'000; ++i)
        samples.note(last, np::largest_in_slab);
    EXPECT_EQ(samples.estimate(last, 10), 10 * np::largest_in_slab);
    for (int i = 0; i != 10'000; ++i)
        samples.note(last, 0);
    EXPECT_LE(samples.estimate(last, 10), np::largest_in_slab / 10);
}
} // namespace
