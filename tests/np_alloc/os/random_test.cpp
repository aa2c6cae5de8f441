// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/random.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <set>

namespace {
TEST(random_number, differs_each_time)
{
    std::set<std::uint64_t> numbers;
    for (int i = 0; i != 100; ++i)
        EXPECT_TRUE(numbers.insert(memory_pool::detail::os::random_number()).second);
}

TEST(random_number, uses_every_bit)
{
    std::uint64_t ever_set = 0;
    std::uint64_t always_set = ~std::uint64_t{0};
    for (int i = 0; i != 100; ++i) {
        const std::uint64_t number = memory_pool::detail::os::random_number();
        ever_set |= number;
        always_set &= number;
    }
    EXPECT_EQ(ever_set, ~std::uint64_t{0});
    EXPECT_EQ(always_set, 0U);
}

#if defined(__linux__)
TEST(random_number, differs_each_time_without_system_randomness)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::random, 1);
    std::set<std::uint64_t> numbers;
    errno = 77;
    for (int i = 0; i != 100; ++i)
        EXPECT_TRUE(numbers.insert(memory_pool::detail::os::random_number()).second);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(calls.refused(), 100U);
}
#endif

TEST(random_number, keeps_errno)
{
    errno = 77;
    (void)memory_pool::detail::os::random_number();
    EXPECT_EQ(errno, 77);
}
} // namespace
