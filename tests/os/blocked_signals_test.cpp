// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/blocked_signals.hpp>

#include <gtest/gtest.h>

#if defined(__unix__)
#include <csignal>

namespace {
volatile std::sig_atomic_t handled = 0;

TEST(blocked_signals, are_delivered_at_the_end_of_the_scope)
{
    handled = 0;
    void (*const before)(int) = std::signal(SIGUSR2, [](int) { handled = 1; });
    {
        const memory_pool::detail::os::blocked_signals blocked;
        (void)std::raise(SIGUSR2);
        EXPECT_EQ(handled, 0);
    }
    EXPECT_EQ(handled, 1);
    (void)std::signal(SIGUSR2, before);
}

TEST(blocked_signals, restore_the_previous_mask)
{
    const memory_pool::detail::os::blocked_signals outer;
    {
        const memory_pool::detail::os::blocked_signals inner;
    }
    ::sigset_t now;
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &now), 0);
    EXPECT_EQ(::sigismember(&now, SIGUSR2), 1);
}
} // namespace
#endif
