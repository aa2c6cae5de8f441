// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/allocation_counters.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace core = memory_pool::detail::core;

namespace {
TEST(allocation_counters, are_an_empty_class_when_disabled)
{
    EXPECT_TRUE(std::is_empty_v<core::allocation_counters<false>>);
}

TEST(allocation_counters, track_the_peak)
{
    core::allocation_counters<true> counters;
    counters.count_allocation();
    counters.count_allocation();
    counters.count_deallocation();
    counters.count_allocation();
    counters.count_deallocations(2);
    counters.count_failure();
    const memory_pool::pool_statistics statistics = counters.read();
    EXPECT_EQ(statistics.allocations, 3u);
    EXPECT_EQ(statistics.deallocations, 3u);
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_EQ(statistics.peak_in_use, 2u);
    EXPECT_EQ(statistics.failures, 1u);
}

TEST(allocation_counters, reset_the_peak_to_the_blocks_in_use)
{
    core::allocation_counters<true> counters;
    counters.count_allocation();
    counters.count_allocation();
    counters.count_deallocation();
    counters.reset_peak();
    EXPECT_EQ(counters.read().peak_in_use, 1u);
    counters.count_deallocation();
    counters.count_allocation();
    EXPECT_EQ(counters.read().peak_in_use, 1u);
    EXPECT_EQ(counters.read().allocations, 3u);
}
} // namespace
