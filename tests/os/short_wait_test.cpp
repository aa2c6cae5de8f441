// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/short_wait.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#if defined(__linux__)
#include <pthread.h>

namespace os = memory_pool::detail::os;

namespace {
constexpr int repetitions = 100;

TEST(short_wait, sleeps_after_a_while_and_keeps_errno)
{
    errno = 7;
    const auto begin = std::chrono::steady_clock::now();
    os::short_wait wait;
    for (int i = 0; i != repetitions; ++i)
        wait.once_more();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1));
    EXPECT_EQ(errno, 7);
}

TEST(short_wait, is_not_a_cancellation_point)
{
    const auto wait_and_set = [](void* has_waited) -> void* {
        (void)::pthread_cancel(::pthread_self());
        os::short_wait wait;
        for (int i = 0; i != repetitions; ++i)
            wait.once_more();
        *static_cast<bool*>(has_waited) = true;
        return nullptr;
    };
    bool has_waited = false;
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, nullptr, wait_and_set, &has_waited), 0);
    ASSERT_EQ(::pthread_join(thread, nullptr), 0);
    EXPECT_TRUE(has_waited);
}
} // namespace
#endif
