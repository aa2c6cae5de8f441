// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/allocation_report.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace core = memory_pool::detail::core;

namespace {
std::array<const void*, 2> calls_from(std::uintptr_t address)
{
    return {reinterpret_cast<const void*>(address), nullptr};
}

TEST(reported_calls, accept_each_call_stack_once_up_to_their_capacity)
{
    const auto reported = std::make_unique<core::reported_calls>();
    std::uintptr_t count = 1;
    for (; reported->add(calls_from(count)); ++count)
        ASSERT_FALSE(reported->add(calls_from(count))) << count;
    EXPECT_EQ(count, 257U);
    EXPECT_FALSE(reported->add(calls_from(1000)));
    EXPECT_FALSE(reported->add(calls_from(1)));
}
} // namespace
