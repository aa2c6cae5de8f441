// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/background_thread.hpp>

#include <support/child.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

namespace os = memory_pool::detail::os;

namespace {
constexpr std::uint64_t a_day = std::uint64_t{24} * 60 * 60 * 1000;

std::atomic<int> calls{0};
std::atomic<std::uint64_t> next_call_after{0};

std::uint64_t count_call()
{
    calls.fetch_add(1);
    return next_call_after.load();
}

void wait_for_calls(int count)
{
    while (calls.load() < count)
        std::this_thread::yield();
}

class background_thread_test : public testing::Test
{
protected:
    background_thread_test()
    {
        calls = 0;
        next_call_after = 0;
    }
    background_thread_test(const background_thread_test&) = delete;
    background_thread_test& operator=(const background_thread_test&) = delete;
    ~background_thread_test() override { thread_.stop(); }

    os::background_thread thread_;
};

TEST_F(background_thread_test, calls_the_function_repeatedly_until_stopped)
{
    ASSERT_TRUE(thread_.start(&count_call));
    wait_for_calls(3);
    thread_.stop();
    const int so_far = calls.load();
    std::this_thread::yield();
    EXPECT_EQ(calls.load(), so_far);
}

TEST_F(background_thread_test, waits_for_the_returned_time_or_until_woken)
{
    next_call_after = a_day;
    ASSERT_TRUE(thread_.start(&count_call));
    wait_for_calls(1);
    thread_.wake();
    wait_for_calls(2);
    EXPECT_EQ(calls.load(), 2);
}

TEST_F(background_thread_test, is_started_once_and_can_be_restarted)
{
    next_call_after = a_day;
    for (int times = 1; times != 4; ++times) {
        ASSERT_TRUE(thread_.start(&count_call));
        ASSERT_TRUE(thread_.start(&count_call));
        wait_for_calls(times);
        thread_.stop();
        thread_.stop();
        EXPECT_EQ(calls.load(), times);
    }
}

TEST_F(background_thread_test, can_be_started_after_a_failed_start)
{
    const test::system_calls calls_of_the_system;
    calls_of_the_system.refuse_from(test::system_call::make_thread, 1);
    EXPECT_FALSE(thread_.start(&count_call));
    thread_.wake();
    thread_.stop();
    EXPECT_EQ(calls.load(), 0);
    calls_of_the_system.refuse(test::system_call::make_thread, 1); // Refuses only the thread with a small stack.
    EXPECT_TRUE(thread_.start(&count_call));
    wait_for_calls(1);
}

TEST_F(background_thread_test, can_be_stopped_by_its_function)
{
    static os::background_thread* thread = nullptr;
    thread = &thread_;
    const auto stop_itself = []() -> std::uint64_t {
        thread->stop();
        return count_call();
    };
    ASSERT_TRUE(thread_.start(stop_itself));
    wait_for_calls(1);
    ASSERT_TRUE(thread_.start(&count_call));
    wait_for_calls(3);
}

TEST_F(background_thread_test, is_joined_by_the_next_stop_after_it_stopped_itself)
{
    static os::background_thread* thread = nullptr;
    static std::atomic<bool> has_stopped{false};
    static std::atomic<bool> has_ended{false};
    thread = &thread_;
    has_stopped = has_ended = false;
    const auto stop_itself_early = []() -> std::uint64_t {
        thread->stop();
        has_stopped = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        has_ended = true;
        return a_day;
    };
    ASSERT_TRUE(thread_.start(stop_itself_early));
    while (!has_stopped)
        std::this_thread::yield();
    EXPECT_FALSE(thread_.is_running());
    thread_.stop();
    EXPECT_TRUE(has_ended);
}

TEST_F(background_thread_test, continues_if_it_restarts_itself)
{
    static os::background_thread* thread = nullptr;
    thread = &thread_;
    const auto start_anew = []() -> std::uint64_t {
        thread->stop();
        EXPECT_TRUE(thread->start(&count_call));
        return 0;
    };
    ASSERT_TRUE(thread_.start(start_anew));
    wait_for_calls(3);
    EXPECT_TRUE(thread_.is_running());
}

TEST_F(background_thread_test, can_be_stopped_while_its_function_wakes_and_stops_it)
{
    static os::background_thread* thread = nullptr;
    thread = &thread_;
    const auto work_until_stopped = []() -> std::uint64_t {
        (void)count_call();
        while (thread->is_running())
            std::this_thread::yield();
        thread->wake();
        thread->stop();
        return a_day;
    };
    ASSERT_TRUE(thread_.start(work_until_stopped));
    wait_for_calls(1);
    thread_.stop();
    EXPECT_EQ(calls.load(), 1);
}

TEST_F(background_thread_test, can_be_stopped_by_a_cancelled_thread)
{
    ASSERT_TRUE(thread_.start(&count_call));
    const auto stop_and_end = [](void* thread) -> void* {
        (void)::pthread_cancel(::pthread_self());
        static_cast<os::background_thread*>(thread)->stop();
        ::pthread_testcancel();
        return nullptr;
    };
    pthread_t canceled{};
    ASSERT_EQ(::pthread_create(&canceled, nullptr, stop_and_end, &thread_), 0);
    void* result = nullptr;
    ASSERT_EQ(::pthread_join(canceled, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_FALSE(thread_.is_running());
    EXPECT_TRUE(thread_.start(&count_call));
}

TEST_F(background_thread_test, blocks_all_signals)
{
    static std::atomic<bool> are_all_blocked{false};
    const auto look = []() -> std::uint64_t {
        sigset_t blocked;
        (void)::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        are_all_blocked = ::sigismember(&blocked, SIGTERM) == 1 && ::sigismember(&blocked, SIGUSR1) == 1;
        return count_call();
    };
    ASSERT_TRUE(thread_.start(look));
    wait_for_calls(1);
    EXPECT_TRUE(are_all_blocked.load());
    sigset_t mine;
    (void)::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(::sigismember(&mine, SIGTERM), 0) << "the starting thread keeps its signal mask";
}

#if TESTS_MAY_FORK
TEST_F(background_thread_test, can_be_restarted_in_the_child_of_a_fork)
{
    next_call_after = a_day;
    ASSERT_TRUE(thread_.start(&count_call));
    wait_for_calls(1);
    test::expect_in_child([this] {
        thread_.forget_after_fork();
        calls = 0;
        thread_.stop();
        if (!thread_.start(&count_call))
            return false;
        wait_for_calls(1);
        thread_.stop();
        return calls.load() == 1;
    });
}
#endif
} // namespace
