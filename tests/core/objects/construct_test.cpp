// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/construct.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
struct aggregate
{
    int first;
    std::string second;
};

static_assert(!core::takes_braces<aggregate, const aggregate&>, "copied");
static_assert(!core::takes_braces<std::vector<int>, std::size_t, int>);
static_assert(!core::takes_braces<std::string, char, char, char, char, char>, "no constructor, and no aggregate");
static_assert(core::is_nothrow_makeable<std::array<int, 2>, int, int>());
static_assert(!core::is_nothrow_makeable<std::string, const char*>());

TEST(construct_at, makes_objects_and_aggregates)
{
    alignas(aggregate) std::array<std::byte, sizeof(aggregate)> room{};
    auto* const made = core::construct_at<aggregate>(room.data(), 7, "seven");
    EXPECT_EQ(made->first, 7);
    EXPECT_EQ(made->second, "seven");
    made->~aggregate();

    using vector = std::vector<int>;
    alignas(vector) std::array<std::byte, sizeof(vector)> other{};
    auto* const numbers = core::construct_at<vector>(other.data(), std::size_t{3}, 9);
    EXPECT_EQ(*numbers, (vector{9, 9, 9})) << "not an initializer list";
    numbers->~vector();
}
} // namespace
