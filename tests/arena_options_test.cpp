// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/arena_options.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace mp = memory_pool;

namespace {
TEST(arena_options, default_to_as_many_arenas_of_64_kib_as_are_needed)
{
    const mp::arena_options options;
    EXPECT_EQ(options.arena_count, 0u);
    EXPECT_EQ(options.arena_size, 65'536u);
    EXPECT_EQ(options.max_arenas, mp::arena_options::unbounded);
    EXPECT_FALSE(options.prefault);
    EXPECT_STREQ(options.name, "unnamed");
}

TEST(arena_options, are_an_aggregate)
{
    EXPECT_TRUE(std::is_aggregate_v<mp::arena_options>);
}
} // namespace
