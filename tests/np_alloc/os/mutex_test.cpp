// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/mutex.hpp>

#include <gtest/gtest.h>

#include <support/system_calls.hpp>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace os = memory_pool::detail::os;

namespace {
TEST(mutex, excludes_other_threads)
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

#if defined(__linux__)
TEST(mutex, lets_waiting_threads_sleep_without_a_clock)
{
    static os::mutex mutex;
    const test::system_calls calls;
    calls.refuse_from(test::system_call::read_clock, 1);
    mutex.lock();
    std::thread waits([] {
        mutex.lock();
        mutex.unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    mutex.unlock();
    waits.join();
    EXPECT_LE(calls.refused(), 1000U);
}
#endif

TEST(mutex, can_be_tried)
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
