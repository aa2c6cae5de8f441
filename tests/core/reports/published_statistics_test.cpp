// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/published_statistics.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
TEST(published_statistics, return_the_latest_write)
{
    core::published_statistics published;
    mp::report_statistics read;
    EXPECT_EQ(published.read(read), 0U) << "nothing published yet";
    mp::report_statistics written;
    written.block_size = 1;
    written.failures = 13;
    published.write(written, 5);
    written.failures = 14;
    published.write(written, 6);
    EXPECT_EQ(published.read(read), 6U);
    EXPECT_EQ(read.block_size, 1U);
    EXPECT_EQ(read.failures, 14U);
}

TEST(published_statistics, are_never_torn)
{
    core::published_statistics published;
    std::atomic<bool> is_read{false};
    test::in_threads(2, [&](std::size_t thread) {
        mp::report_statistics statistics;
        if (thread == 0) {
            for (std::uint64_t number = 1; !is_read.load(); ++number) {
                statistics.block_size = statistics.in_use = statistics.failures = number;
                published.write(statistics, number);
                std::this_thread::yield(); // A pool, too, publishes only occasionally.
            }
            return;
        }
        for (int times = 0; times != 20'000; ++times) {
            const std::uint64_t when = published.read(statistics);
            EXPECT_EQ(statistics.block_size, when);
            EXPECT_EQ(statistics.in_use, when);
            EXPECT_EQ(statistics.failures, when);
        }
        is_read = true;
    });
}

#if TESTS_MAY_FORK
TEST(published_statistics, are_never_torn_in_a_child_without_the_writer)
{
    core::published_statistics published;
    std::atomic<bool> is_over{false};
    test::in_threads(2, [&](std::size_t thread) {
        mp::report_statistics statistics;
        if (thread == 0) {
            for (std::uint64_t number = 1; !is_over.load(); ++number) {
                statistics.block_size = statistics.in_use = statistics.failures = number;
                published.write(statistics, number);
            }
            return;
        }
        for (int forks = 0; forks != 100; ++forks)
            test::expect_in_child([&] {
                const std::uint64_t when = published.read(statistics);
                return statistics.block_size == when && statistics.in_use == when && statistics.failures == when;
            });
        is_over = true;
    });
}
#endif
} // namespace
