// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/guarded_sample_points.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t mean = std::size_t{1} << 20;

/// Returns: the number of blocks of 64 bytes that magazines get until a sample is near.
std::size_t blocks_until_near(np::guarded_sample_points& points)
{
    std::size_t blocks = 1;
    while (!points.approach(64))
        ++blocks;
    return blocks;
}

/// Returns: the number of blocks of 64 bytes that the program then allocates, up to and including the sample.
std::size_t blocks_until_due(np::guarded_sample_points& points)
{
    std::size_t blocks = 1;
    for (; !points.is_due(64); ++blocks)
        while (points.may_pass(64)) {
            points.pass(64);
            ++blocks;
        }
    return blocks;
}

TEST(guarded_sample_points, are_never_near_by_default)
{
    np::guarded_sample_points points;
    for (int i = 0; i != 1000; ++i)
        ASSERT_FALSE(points.approach(mean));
    EXPECT_FALSE(points.is_due(mean));
    EXPECT_TRUE(points.may_pass(mean));
}

TEST(guarded_sample_points, have_the_requested_mean_distance)
{
    np::guarded_sample_points points;
    points.restart(mean);
    constexpr int samples = 2000;
    std::size_t until_near = 0;
    std::size_t until_due = 0;
    for (int i = 0; i != samples; ++i) {
        ASSERT_FALSE(points.are_near());
        until_near += blocks_until_near(points);
        ASSERT_TRUE(points.are_near());
        until_due += blocks_until_due(points);
    }
    constexpr double deviations = 6 / 44.7; // Six standard deviations of the mean of 2,000 exponential numbers.
    EXPECT_NEAR(static_cast<double>(until_near + until_due) * 64 / samples, mean, mean * deviations);
    EXPECT_NEAR(static_cast<double>(until_due) * 64 / samples, mean / 32.0, mean / 32.0 * deviations);
}

TEST(guarded_sample_points, are_always_near_if_the_mean_is_small)
{
    np::guarded_sample_points points;
    points.restart(100);
    for (int i = 0; i != 100; ++i) {
        ASSERT_TRUE(points.are_near());
        (void)blocks_until_due(points);
    }
}

TEST(guarded_sample_points, do_not_approach_for_blocks_that_leave_a_magazine)
{
    np::guarded_sample_points points;
    do
        points.restart(mean);
    while (points.approach(64)); // The first block may be a sample.
    points.retreat(64);
    for (int i = 0; i != 100'000; ++i) {
        ASSERT_FALSE(points.approach(64)) << "after " << i << " blocks";
        points.retreat(64);
    }
}

TEST(guarded_sample_points, are_uniform_within_a_refill)
{
    constexpr std::size_t blocks = 64; // 1 KiB each: a magazine gets one mean distance at a time.
    constexpr std::size_t refills = 20'000;
    np::guarded_sample_points points;
    points.restart(blocks * 1024);
    std::array<std::size_t, 4> samples{}; // The samples in each quarter of a refill.
    for (std::size_t i = 0; i != refills; ++i) {
        (void)points.approach(blocks * 1024);
        for (std::size_t block = 0; block != blocks; ++block) {
            if (points.may_pass(1024))
                points.pass(1024);
            else
                samples[block * samples.size() / blocks] += points.is_due(1024) ? 1U : 0U;
        }
    }
    for (const std::size_t each : samples) // Twice six standard deviations of 5,000, because of rounding to blocks.
        EXPECT_NEAR(static_cast<double>(each), refills / 4.0, 840);
}
} // namespace
