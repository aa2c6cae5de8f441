// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/arithmetic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace base = memory_pool::detail::base;

namespace {
constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();

TEST(is_power_of_two, is_true_for_one_set_bit_only)
{
    EXPECT_TRUE(base::is_power_of_two(1));
    EXPECT_TRUE(base::is_power_of_two(std::size_t{1} << 40));
    EXPECT_FALSE(base::is_power_of_two(0));
    EXPECT_FALSE(base::is_power_of_two(24));
    EXPECT_FALSE(base::is_power_of_two(max_size));
}

TEST(round_up, keeps_multiples_and_raises_other_numbers)
{
    EXPECT_EQ(base::round_up(0, 16), 0u);
    EXPECT_EQ(base::round_up(1, 16), 16u);
    EXPECT_EQ(base::round_up(16, 16), 16u);
    EXPECT_EQ(base::round_up(17, 16), 32u);
}

TEST(divide_round_up, rounds_up)
{
    EXPECT_EQ(base::divide_round_up(0, 7), 0u);
    EXPECT_EQ(base::divide_round_up(7, 7), 1u);
    EXPECT_EQ(base::divide_round_up(8, 7), 2u);
    EXPECT_EQ(base::divide_round_up(max_size, 2), max_size / 2 + 1);
}

TEST(saturating_arithmetic, stops_at_the_maximum)
{
    EXPECT_EQ(base::saturating_multiply(6, 7), 42u);
    EXPECT_EQ(base::saturating_multiply(0, max_size), 0u);
    EXPECT_EQ(base::saturating_multiply(max_size, 0), 0u);
    EXPECT_EQ(base::saturating_multiply(max_size / 2 + 1, 2), max_size);
    EXPECT_EQ(base::saturating_add(40, 2), 42u);
    EXPECT_EQ(base::saturating_add(max_size, 1), max_size);
}

TEST(power_of_two_at_least, returns_the_power_or_zero)
{
    EXPECT_EQ(base::power_of_two_at_least(0), 1u);
    EXPECT_EQ(base::power_of_two_at_least(1), 1u);
    EXPECT_EQ(base::power_of_two_at_least(33), 64u);
    EXPECT_EQ(base::power_of_two_at_least(64), 64u);
    EXPECT_EQ(base::power_of_two_at_least(max_size), 0u);
}

TEST(bits, are_found_at_every_position)
{
    for (unsigned position = 0; position != base::bits_per_word; ++position) {
        const std::uint64_t word = std::uint64_t{1} << position;
        EXPECT_EQ(base::lowest_bit(word), position);
        EXPECT_EQ(base::lowest_bit(word | std::uint64_t{1} << 63), position);
        EXPECT_EQ(base::count_bits(word | 1), position == 0 ? 1u : 2u);
    }
    EXPECT_EQ(base::count_bits(0), 0u);
    EXPECT_EQ(base::count_bits(~std::uint64_t{0}), 64u);
}

TEST(bit_range, sets_exactly_the_requested_bits)
{
    EXPECT_EQ(base::bit_range(0, 64), ~std::uint64_t{0});
    EXPECT_EQ(base::bit_range(0, 1), 1u);
    EXPECT_EQ(base::bit_range(63, 1), std::uint64_t{1} << 63);
    EXPECT_EQ(base::bit_range(4, 3), 0x70u);
}

TEST(arithmetic, finds_the_highest_bit)
{
    for (unsigned bit = 0; bit != 64; ++bit) {
        EXPECT_EQ(base::highest_bit(std::uint64_t{1} << bit), bit);
        EXPECT_EQ(base::highest_bit((std::uint64_t{1} << bit) | 1), bit);
    }
}

TEST(arithmetic, computes_an_address_past_another)
{
    std::uint32_t words[3] = {1, 2, 3};
    EXPECT_EQ(base::address_past(words, 0), static_cast<void*>(words));
    EXPECT_EQ(*static_cast<std::uint32_t*>(base::address_past(words, 2 * sizeof words[0])), 3u);
}

TEST(is_before, orders_addresses_of_different_objects)
{
    const int pair[2] = {};
    EXPECT_TRUE(base::is_before(&pair[0], &pair[1]));
    EXPECT_FALSE(base::is_before(&pair[1], &pair[0]));
    EXPECT_FALSE(base::is_before(&pair[0], &pair[0]));
    EXPECT_TRUE(base::is_before(nullptr, &pair[0]));
    const int other = 0;
    EXPECT_NE(base::is_before(&pair[0], &other), base::is_before(&other, &pair[0]));
}
} // namespace
