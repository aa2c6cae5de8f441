// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/heap_hardening.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>

namespace np = memory_pool::np;

namespace {
TEST(random_numbers, are_uniform)
{
    np::random_numbers numbers;
    std::array<int, 10> drawn{};
    for (int i = 0; i != 10'000; ++i) {
        const std::size_t number = numbers.below(drawn.size());
        ASSERT_LT(number, drawn.size());
        ++drawn[number];
    }
    for (const int count : drawn)
        EXPECT_NEAR(count, 1'000, 250); // Eight standard deviations.
}

TEST(random_numbers, below_1_are_0)
{
    np::random_numbers numbers;
    EXPECT_EQ(numbers.below(1), 0U);
}

TEST(random_numbers, differ_after_a_discard)
{
    np::random_numbers numbers;
    (void)numbers.below(2);
    np::random_numbers copy = numbers;
    copy.discard();
    std::set<bool> is_equal;
    for (int i = 0; i != 100; ++i)
        is_equal.insert(numbers.below(60'000) == copy.below(60'000));
    EXPECT_EQ(is_equal.count(false), 1U);
}
} // namespace
