// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/priority_mutex.hpp>

#include <gtest/gtest.h>

#include <support/child.hpp>
#include <support/comes_true.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace os = memory_pool::detail::os;

namespace {
constexpr std::size_t threads = 3;

void take_turns(os::priority_mutex& mutex)
{
    constexpr int rounds = 20'000;
    int count = 0;
    test::in_threads(threads, [&mutex, &count](std::size_t) {
        for (int round = 0; round != rounds; ++round) {
            const std::lock_guard lock(mutex);
            ++count;
        }
    });
    EXPECT_EQ(count, static_cast<int>(threads) * rounds);
}

/// Starts threads that wait for the mutex, calls `release()`, and joins them after each has locked the mutex.
template <class Release>
void have_threads_wait(os::priority_mutex& mutex, Release&& release)
{
    int count = 0;
    std::vector<std::thread> waiting;
    waiting.reserve(threads);
    for (std::size_t i = 0; i != threads; ++i)
        waiting.emplace_back([&mutex, &count] {
            errno = 7;
            const std::lock_guard lock(mutex);
            EXPECT_EQ(errno, 7);
            ++count;
        });
    release();
    for (std::thread& each : waiting)
        each.join();
    EXPECT_EQ(count, static_cast<int>(threads));
}

TEST(priority_mutex, excludes_other_threads)
{
    static os::priority_mutex mutex;
    take_turns(mutex);
}

TEST(priority_mutex, can_be_tried)
{
    os::priority_mutex mutex;
    ASSERT_TRUE(mutex.try_lock());
    test::in_a_thread([&mutex] { EXPECT_FALSE(mutex.try_lock()); });
    mutex.unlock();
    test::in_a_thread([&mutex] {
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

TEST(priority_mutex, wakes_every_sleeping_thread)
{
    os::priority_mutex mutex;
    mutex.lock();
    have_threads_wait(mutex, [&mutex] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        mutex.unlock();
    });
}

#if defined(__linux__)
struct priority_mutex_of_real_time_threads : testing::Test
{
    priority_mutex_of_real_time_threads() { test::system_calls::make_threads_real_time(); }

    /// Waits until all threads wait in the kernel.
    void expect_requests()
    {
        EXPECT_TRUE(test::comes_true([this] { return calls.made(test::system_call::inherit) == threads; }));
    }

    test::system_calls calls;
    os::priority_mutex mutex;
};

TEST_F(priority_mutex_of_real_time_threads, excludes_other_threads)
{
    take_turns(mutex);
}

TEST_F(priority_mutex_of_real_time_threads, is_handed_to_the_next_waiting_thread)
{
    mutex.lock();
    have_threads_wait(mutex, [this] {
        expect_requests();
        mutex.unlock();
    });
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST_F(priority_mutex_of_real_time_threads, falls_back_to_sleeping_if_the_kernel_refuses)
{
    calls.refuse_from(test::system_call::inherit, 1);
    mutex.lock();
    have_threads_wait(mutex, [this] {
        expect_requests();
        mutex.unlock();
    });
}

TEST_F(priority_mutex_of_real_time_threads, can_be_unlocked_with_a_stale_thread_id)
{
    mutex.lock();
    mutex.unlock();
    const std::uint32_t number = os::number_of_this_thread;
    test::lasting_thread another; // a thread the kernel knows
    another.does([this] {
        mutex.lock();
        mutex.unlock();
    });
    std::uint32_t number_of_another = 0;
    another.does([&number_of_another] { number_of_another = os::number_of_this_thread; });
    ASSERT_NE(number, number_of_another);

    os::number_of_this_thread = number_of_another; // as after a clone(2)
    mutex.lock();
    have_threads_wait(mutex, [this] {
        expect_requests();
        mutex.unlock();
    });
    mutex.lock();
    EXPECT_EQ(os::number_of_this_thread, number);
    mutex.unlock();
}
#endif

#if TESTS_MAY_FORK
TEST(priority_mutex, can_be_unlocked_in_the_child_of_a_fork)
{
    os::priority_mutex mutex;
    mutex.lock();
    test::expect_in_child([&mutex] {
        os::forget_thread_number();
        mutex.unlock();
        return mutex.try_lock();
    });
    mutex.unlock();
}
#endif
} // namespace
