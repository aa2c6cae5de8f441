// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/sample_points.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t mean = std::size_t{1} << 20;

/// Returns: blocks of 64 bytes until allocations have to be counted, as magazines get them.
std::size_t blocks_until_near(np::sample_points& points)
{
    std::size_t blocks = 1;
    while (!points.approach(64))
        ++blocks;
    return blocks;
}

/// Returns: the same from then on, as they are allocated, with the sample.
std::size_t blocks_until_due(np::sample_points& points)
{
    std::size_t blocks = 1;
    for (; !points.is_due(64); ++blocks)
        while (points.may_pass(64)) {
            points.pass(64);
            ++blocks;
        }
    return blocks;
}

TEST(sample_points, are_never_near_unless_they_are_asked_for)
{
    np::sample_points points;
    for (int i = 0; i != 1000; ++i)
        ASSERT_FALSE(points.approach(mean));
    EXPECT_FALSE(points.is_due(mean));
    EXPECT_TRUE(points.may_pass(mean));
}

TEST(sample_points, are_as_far_away_as_asked_for_in_the_mean)
{
    np::sample_points points;
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
    constexpr double deviations = 6 / 44.7; // Six of the mean of 2,000 exponential numbers, relative to it.
    EXPECT_NEAR(static_cast<double>(until_near + until_due) * 64 / samples, mean, mean * deviations);
    EXPECT_NEAR(static_cast<double>(until_due) * 64 / samples, mean / 32.0, mean / 32.0 * deviations);
}

TEST(sample_points, are_always_near_if_the_mean_is_small)
{
    np::sample_points points;
    points.restart(100);
    for (int i = 0; i != 100; ++i) {
        ASSERT_TRUE(points.are_near());
        (void)blocks_until_due(points);
    }
}

TEST(sample_points, do_not_come_nearer_by_blocks_that_leave_a_magazine_again)
{
    np::sample_points points;
    do
        points.restart(mean);
    while (points.approach(64)); // It may be the first block.
    points.retreat(64);
    for (int i = 0; i != 100'000; ++i) {
        ASSERT_FALSE(points.approach(64)) << "after 6 MB";
        points.retreat(64);
    }
}
TEST(sample_points, are_in_any_part_of_a_refill_and_as_many_as_asked_for)
{
    constexpr std::size_t blocks = 64; // Of a KiB each, which a magazine gets at once, as often as there is a sample.
    constexpr std::size_t refills = 20'000;
    np::sample_points points;
    points.restart(blocks * 1024);
    std::array<std::size_t, 4> samples{}; // By quarter of the refill.
    for (std::size_t i = 0; i != refills; ++i) {
        (void)points.approach(blocks * 1024);
        for (std::size_t block = 0; block != blocks; ++block) {
            if (points.may_pass(1024))
                points.pass(1024);
            else
                samples[block * samples.size() / blocks] += points.is_due(1024) ? 1U : 0U;
        }
    }
    for (const std::size_t each : samples) // Six standard deviations of 5,000, and as much for whole blocks.
        EXPECT_NEAR(static_cast<double>(each), refills / 4.0, 840);
}
} // namespace
