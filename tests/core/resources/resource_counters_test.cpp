// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/resource_counters.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

namespace core = memory_pool::detail::core;
using memory_pool::resource_statistics;

namespace {
TEST(resource_counters, count_chunks_bytes_and_their_peaks)
{
    core::resource_counters counters;
    counters.count_allocation(100);
    counters.count_allocation(20);
    counters.count_deallocation(100);
    counters.count_allocation(3);
    counters.count_failure();
    const resource_statistics statistics = counters.read();
    EXPECT_EQ(statistics.allocations, 3u);
    EXPECT_EQ(statistics.deallocations, 1u);
    EXPECT_EQ(statistics.failures, 1u);
    EXPECT_EQ(statistics.in_use, 2u);
    EXPECT_EQ(statistics.peak_in_use, 2u);
    EXPECT_EQ(statistics.bytes_in_use, 23u);
    EXPECT_EQ(statistics.peak_bytes_in_use, 120u);
    EXPECT_EQ(counters.bytes_in_use(), 23u);
}

TEST(resource_counters, are_exact_under_contention)
{
    constexpr std::size_t threads = 4;
    constexpr std::size_t rounds = 5000;
    core::resource_counters counters;
    std::atomic<std::size_t> inconsistent{0};
    test::in_threads(threads, [&](std::size_t thread) {
        for (std::size_t i = 0; i != rounds; ++i) {
            counters.count_allocation(thread + 1);
            if (i % 64 == 0) {
                const resource_statistics now = counters.read();
                inconsistent += now.in_use != now.allocations - now.deallocations || now.in_use > now.peak_in_use ||
                                now.allocations < now.in_use || now.bytes_in_use > now.peak_bytes_in_use;
            }
            counters.count_deallocation(thread + 1);
        }
        counters.count_allocation(thread + 1);
        counters.count_failure();
    });
    const resource_statistics statistics = counters.read();
    EXPECT_EQ(inconsistent, 0u);
    EXPECT_EQ(statistics.allocations, threads * (rounds + 1));
    EXPECT_EQ(statistics.deallocations, threads * rounds);
    EXPECT_EQ(statistics.failures, threads);
    EXPECT_EQ(statistics.in_use, threads);
    EXPECT_EQ(statistics.peak_in_use, threads) << "each thread ends with one block and never has two";
    EXPECT_EQ(statistics.bytes_in_use, 1u + 2 + 3 + 4);
    EXPECT_EQ(statistics.peak_bytes_in_use, 1u + 2 + 3 + 4);
}
} // namespace
