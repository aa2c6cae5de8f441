// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace os = memory_pool::detail::os;

namespace {
TEST(coarse_milliseconds, increase_monotonically)
{
    const std::uint64_t before = os::coarse_milliseconds();
    std::uint64_t last = before;
    // Sleeping takes at least this long; the coarse clock may lag some milliseconds behind.
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    for (int i = 0; i != 1000; ++i) {
        const std::uint64_t now = os::coarse_milliseconds();
        ASSERT_GE(now, last);
        last = now;
    }
    EXPECT_GE(last, before + 20);
}

TEST(nanoseconds, increase_monotonically)
{
    const std::uint64_t before = os::nanoseconds();
    std::uint64_t last = before;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int i = 0; i != 1000; ++i) {
        const std::uint64_t now = os::nanoseconds();
        ASSERT_GE(now, last);
        last = now;
    }
    EXPECT_GE(last, before + 2'000'000);
}
} // namespace
