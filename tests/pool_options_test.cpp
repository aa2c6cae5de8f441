// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pool_options.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace mp = memory_pool;

namespace {
TEST(pool_options, default_to_an_empty_pool_without_a_limit)
{
    const mp::pool_options options;
    EXPECT_EQ(options.initial_capacity, 0u);
    EXPECT_EQ(options.max_capacity, mp::pool_options::unbounded);
    EXPECT_EQ(options.alignment, 0u);
    EXPECT_FALSE(options.prefault);
    EXPECT_STREQ(options.name, "unnamed");
}

TEST(pool_options, are_an_aggregate)
{
    EXPECT_TRUE(std::is_aggregate_v<mp::pool_options>);
}

TEST(pool_options, can_be_chained_in_a_constant_expression)
{
    static constexpr const char* orders = "orders";
    constexpr mp::pool_options options = mp::pool_options{}
                                             .with_initial_capacity(1)
                                             .with_max_capacity(2)
                                             .with_growth_step(3)
                                             .with_max_cached_blocks(4)
                                             .with_alignment(8)
                                             .with_prefault(true)
                                             .with_name(orders);
    static_assert(options.initial_capacity == 1 && options.max_capacity == 2 && options.growth_step == 3);
    static_assert(options.max_cached_blocks == 4 && options.alignment == 8 && options.prefault);
    static_assert(options.name == orders);
    static_assert(noexcept(options.with_name("other")));
    EXPECT_EQ(options.with_max_capacity(5).max_capacity, 5u);
    EXPECT_EQ(options.with_max_capacity(5).growth_step, 3u) << "other members are unchanged";
    EXPECT_EQ(options.max_capacity, 2u) << "with_max_capacity returns a copy";
}
} // namespace
