// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/published_figures.hpp>

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
TEST(published_figures, are_those_that_were_written_last)
{
    core::published_figures published;
    mp::report_figures read;
    EXPECT_EQ(published.read(read), 0U) << "never";
    mp::report_figures written;
    written.block_size = 1;
    written.failures = 13;
    published.write(written, 5);
    written.failures = 14;
    published.write(written, 6);
    EXPECT_EQ(published.read(read), 6U);
    EXPECT_EQ(read.block_size, 1U);
    EXPECT_EQ(read.failures, 14U);
}

TEST(published_figures, are_of_one_moment)
{
    core::published_figures published;
    std::atomic<bool> is_read{false};
    test::in_threads(2, [&](std::size_t thread) {
        mp::report_figures figures;
        if (thread == 0) {
            for (std::uint64_t number = 1; !is_read.load(); ++number) {
                figures.block_size = figures.in_use = figures.failures = number;
                published.write(figures, number);
                std::this_thread::yield(); // A pool publishes only occasionally, too.
            }
            return;
        }
        for (int times = 0; times != 20'000; ++times) {
            const std::uint64_t when = published.read(figures);
            EXPECT_EQ(figures.block_size, when);
            EXPECT_EQ(figures.in_use, when);
            EXPECT_EQ(figures.failures, when);
        }
        is_read = true;
    });
}

#if TESTS_MAY_FORK
TEST(published_figures, are_of_one_moment_in_the_child_of_a_fork_that_has_lost_the_writer)
{
    core::published_figures published;
    std::atomic<bool> is_over{false};
    test::in_threads(2, [&](std::size_t thread) {
        mp::report_figures figures;
        if (thread == 0) {
            for (std::uint64_t number = 1; !is_over.load(); ++number) {
                figures.block_size = figures.in_use = figures.failures = number;
                published.write(figures, number);
            }
            return;
        }
        for (int forks = 0; forks != 100; ++forks)
            test::expect_in_child([&] {
                const std::uint64_t when = published.read(figures);
                return figures.block_size == when && figures.in_use == when && figures.failures == when;
            });
        is_over = true;
    });
}
#endif
} // namespace
