// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/loader_gate.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace core = memory_pool::detail::core;

namespace {
TEST(loader_gate, rejects_threads_while_one_forks)
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

TEST(loader_gate, close_waits_for_threads_inside)
{
    core::loader_gate gate;
    std::atomic<bool> is_closed{false};
    ASSERT_TRUE(gate.enter());
    std::thread forks([&] {
        gate.close();
        is_closed = true;
    });
    while (gate.enter()) // until close() has begun
        gate.leave();
    EXPECT_FALSE(is_closed);
    gate.leave();
    forks.join();
    EXPECT_TRUE(is_closed);
}

TEST(loader_gate, reset_opens_it_in_the_child)
{
    core::loader_gate gate;
    ASSERT_TRUE(gate.enter()); // As if by a thread that does not exist in the child.
    gate.reset();
    gate.close();
    gate.open();
    EXPECT_TRUE(gate.enter());
}
} // namespace
