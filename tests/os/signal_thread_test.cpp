// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/signal_thread.hpp>

#include <support/comes_true.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#if defined(__unix__) && !defined(__APPLE__)
namespace os = memory_pool::detail::os;

namespace {
void count(void* times)
{
    ++*static_cast<std::atomic<int>*>(times);
}

TEST(signal_thread, runs_the_function_for_each_signal)
{
    std::atomic<int> times{0};
    os::signal_thread thread;
    ASSERT_TRUE(thread.start(SIGUSR2, &count, &times));
    for (int i = 1; i != 10; ++i) {
        ASSERT_EQ(std::raise(SIGUSR2), 0);
        EXPECT_TRUE(test::comes_true([&] { return times.load() == i; }));
    }
}

TEST(signal_thread, can_be_stopped_and_started_again)
{
    std::atomic<int> times{0};
    {
        os::signal_thread thread;
        ASSERT_TRUE(thread.start(SIGUSR2, &count, &times));
        ASSERT_EQ(std::raise(SIGUSR2), 0);
        thread.stop();
        EXPECT_LE(times.load(), 1);
        ASSERT_TRUE(thread.start(SIGUSR2, &count, &times)) << "started again";
        ASSERT_EQ(std::raise(SIGUSR2), 0);
        EXPECT_TRUE(test::comes_true([&] { return times.load() != 0; }));
    }
}

TEST(signal_thread, stop_keeps_a_handler_set_by_the_program)
{
    std::atomic<int> times{0};
    os::signal_thread thread;
    ASSERT_TRUE(thread.start(SIGUSR2, &count, &times));
    void (*const own)(int) = [](int) {};
    (void)std::signal(SIGUSR2, own);
    thread.stop();
    EXPECT_EQ(std::signal(SIGUSR2, SIG_DFL), own);
}

TEST(signal_thread, fails_if_no_thread_can_be_created)
{
    std::atomic<int> times{0};
    os::signal_thread thread;
    const test::system_calls calls;
    calls.refuse(test::system_call::make_thread, 1);
    EXPECT_FALSE(thread.start(SIGUSR2, &count, &times));
    EXPECT_EQ(std::signal(SIGUSR2, SIG_DFL), SIG_DFL) << "the handler is unchanged";
}
} // namespace
#endif
