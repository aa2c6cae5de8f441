// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/run_quarantine.hpp>
#include <np_alloc/slices/slice_index.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
np::waiting_run some_run(std::uint32_t number)
{
    return {np::slice_at(100 * number), number + 1, number % 2 == 0, number};
}

TEST(run_quarantine, pops_the_oldest_run_first)
{
    np::run_quarantine waiting;
    EXPECT_TRUE(waiting.is_empty());
    for (std::uint32_t number = 0; number != 5; ++number)
        EXPECT_TRUE(waiting.push(some_run(number)));
    EXPECT_EQ(waiting.count(), 5U);
    EXPECT_EQ(waiting.slices(), 1U + 2 + 3 + 4 + 5);
    for (std::uint32_t number = 0; number != 5; ++number) {
        const np::waiting_run oldest = waiting.pop();
        EXPECT_EQ(oldest.first, np::slice_at(100 * number));
        EXPECT_EQ(oldest.slices, number + 1);
        EXPECT_EQ(oldest.is_dirty, number % 2 == 0);
    }
    EXPECT_TRUE(waiting.is_empty());
    EXPECT_EQ(waiting.slices(), 0U);
}

TEST(run_quarantine, refuses_runs_when_full)
{
    np::run_quarantine waiting;
    std::uint32_t number = 0;
    while (!waiting.is_full())
        ASSERT_TRUE(waiting.push(some_run(number++)));
    EXPECT_FALSE(waiting.push(some_run(number)));
    EXPECT_EQ(waiting.count(), number);
    (void)waiting.pop();
    EXPECT_TRUE(waiting.push(some_run(number)));
}

TEST(run_quarantine, knows_the_age_of_the_oldest_run)
{
    np::run_quarantine waiting;
    EXPECT_FALSE(waiting.has_waited_since(1000));
    (void)waiting.push(some_run(7));
    (void)waiting.push(some_run(9));
    EXPECT_FALSE(waiting.has_waited_since(6));
    EXPECT_TRUE(waiting.has_waited_since(7));
    (void)waiting.pop();
    EXPECT_FALSE(waiting.has_waited_since(8));
}
} // namespace
