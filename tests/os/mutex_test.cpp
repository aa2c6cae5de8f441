// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/mutex.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace os = memory_pool::os;

namespace
{
TEST(mutex, lets_one_thread_in_at_a_time)
{
    static os::mutex mutex;
    constexpr int rounds = 20'000;
    int count = 0;
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&count] {
            for (int round = 0; round != rounds; ++round) {
                const std::lock_guard lock(mutex);
                ++count;
            }
        });
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(count, 3 * rounds);
}

TEST(mutex, may_be_tried)
{
    os::mutex mutex;
    ASSERT_TRUE(mutex.try_lock());
    std::thread([&mutex] { EXPECT_FALSE(mutex.try_lock()); }).join();
    mutex.unlock();
    std::thread([&mutex] {
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    }).join();
}
} // namespace
