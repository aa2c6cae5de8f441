// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/byte_sampler.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace core = memory_pool::detail::core;

namespace {
TEST(byte_sampler, approximates_log_and_expm1)
{
    for (double number = 1e-18; number < 1e18; number *= 1.37) {
        EXPECT_NEAR(core::natural_logarithm(number), std::log(number), 1e-10) << number;
        EXPECT_NEAR(core::one_minus_exp_of_minus(number) / -std::expm1(-number), 1, 1e-10) << number;
    }
}

TEST(byte_sampler, takes_no_samples_without_a_mean)
{
    core::byte_sampler sampler;
    for (int times = 0; times != 1000; ++times)
        EXPECT_FALSE(sampler.is_due(1'000'000, 0));
}

TEST(byte_sampler, weights_sum_to_the_number_of_blocks)
{
    constexpr std::size_t mean = 1000;
    for (const std::size_t bytes : {10U, 100U, 1000U, 3000U}) {
        core::byte_sampler sampler;
        double weights = 0;
        const int count = static_cast<int>(100'000'000 / bytes);
        for (int i = 0; i != count; ++i)
            weights += sampler.is_due(bytes, mean) ? core::weight_of_sample(bytes, mean) : 0;
        EXPECT_NEAR(weights / count, 1, 0.03) << bytes << " bytes";
    }
}

TEST(byte_sampler, samples_each_block_much_larger_than_the_mean)
{
    core::byte_sampler sampler;
    for (int times = 0; times != 1000; ++times)
        EXPECT_TRUE(sampler.is_due(1000, 1));
    EXPECT_DOUBLE_EQ(core::weight_of_sample(1000, 1), 1);
}

TEST(byte_sampler, applies_a_new_mean_immediately)
{
    core::byte_sampler sampler;
    EXPECT_FALSE(sampler.is_due(1, std::size_t{1} << 40U));
    EXPECT_TRUE(sampler.is_due(1000, 1)) << "drops the old distance";
    EXPECT_FALSE(sampler.is_due(1000, 0));
}

TEST(byte_sampler, almost_never_samples_with_the_maximum_mean)
{
    constexpr std::size_t max_mean = std::numeric_limits<std::size_t>::max();
    for (std::uint64_t seed = 1; seed != 1000; ++seed) {
        core::byte_sampler sampler(seed);
        EXPECT_FALSE(sampler.is_due(1, max_mean));
        EXPECT_GT(sampler.left(), std::int64_t{1} << 40U);
    }
}

TEST(byte_sampler, passes_blocks_until_a_sample_is_due)
{
    core::byte_sampler sampler;
    EXPECT_FALSE(sampler.may_pass(1, 1000)) << "not initialized yet";
    while (sampler.is_due(1, 1000) || sampler.left() < 100) {
    }
    const auto left = static_cast<std::size_t>(sampler.left());
    EXPECT_FALSE(sampler.may_pass(1, 999)) << "another mean";
    EXPECT_FALSE(sampler.may_pass(left + 1, 1000));
    EXPECT_TRUE(sampler.may_pass(left, 1000));
    sampler.pass(left);
    EXPECT_TRUE(sampler.is_due(1, 1000));
}

TEST(byte_sampler, is_deterministic_for_a_seed)
{
    core::byte_sampler one(7);
    core::byte_sampler other(7);
    for (int times = 0; times != 1000; ++times)
        EXPECT_EQ(one.is_due(100, 1000), other.is_due(100, 1000));
}

TEST(byte_sampler, uses_a_different_seed_for_each_instance)
{
    core::byte_sampler one;
    core::byte_sampler other;
    (void)one.is_due(1, std::size_t{1} << 40U);
    (void)other.is_due(1, std::size_t{1} << 40U);
    EXPECT_NE(one.left(), other.left());
}
} // namespace
