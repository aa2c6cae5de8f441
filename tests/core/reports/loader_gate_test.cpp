// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/loader_gate.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace core = memory_pool::detail::core;

namespace {
TEST(loader_gate, lets_no_thread_in_while_one_forks)
{
    core::loader_gate gate;
    EXPECT_TRUE(gate.enter());
    gate.leave();
    gate.close();
    EXPECT_FALSE(gate.enter());
    gate.close(); // Another thread forks, too.
    gate.open();
    EXPECT_FALSE(gate.enter());
    gate.open();
    EXPECT_TRUE(gate.enter());
    gate.leave();
}

TEST(loader_gate, waits_for_a_thread_that_is_inside)
{
    core::loader_gate gate;
    std::atomic<bool> is_closed{false};
    ASSERT_TRUE(gate.enter());
    std::thread forks([&] {
        gate.close();
        is_closed = true;
    });
    while (gate.enter()) // until it has begun to close
        gate.leave();
    EXPECT_FALSE(is_closed);
    gate.leave();
    forks.join();
    EXPECT_TRUE(is_closed);
}

TEST(loader_gate, is_open_in_the_child)
{
    core::loader_gate gate;
    ASSERT_TRUE(gate.enter()); // by a thread that the child does not have
    gate.reset();
    gate.close();
    gate.open();
    EXPECT_TRUE(gate.enter());
}
} // namespace
