// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pool_options.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace mp = memory_pool;

namespace {
TEST(pool_options, default_to_a_pool_that_grows_from_nothing_without_limit)
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
} // namespace
