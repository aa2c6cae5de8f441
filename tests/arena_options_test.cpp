// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/arena_options.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace mp = memory_pool;

namespace {
TEST(arena_options, default_to_an_unlimited_number_of_arenas_of_64_kib)
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

TEST(arena_options, can_be_chained_in_a_constant_expression)
{
    static constexpr const char* requests = "requests";
    constexpr mp::arena_options options =
        mp::arena_options{}.with_arena_count(1).with_arena_size(4096).with_max_arenas(3).with_prefault(true).with_name(
            requests);
    static_assert(options.arena_count == 1 && options.arena_size == 4096 && options.max_arenas == 3);
    static_assert(options.prefault && options.name == requests);
    static_assert(noexcept(options.with_name("other")));
}
} // namespace
