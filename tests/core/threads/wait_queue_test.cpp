// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/wait_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
class wait_queue_test : public testing::Test
{
protected:
    wait_queue_test()
    {
        for (core::waiter& waiter : waiters_)
            queue_.add_last(&waiter);
    }

    core::wait_queue queue_;
    std::array<core::waiter, 3> waiters_;
    std::array<int, 3> blocks_{};
};

TEST_F(wait_queue_test, serves_waiters_in_fifo_order)
{
    EXPECT_EQ(queue_.size(), 3u);
    for (int& block : blocks_)
        queue_.serve(&block);
    for (std::size_t i = 0; i != waiters_.size(); ++i)
        EXPECT_EQ(waiters_[i].block, &blocks_[i]);
    EXPECT_TRUE(queue_.empty());
}

TEST_F(wait_queue_test, allows_removal_at_any_position)
{
    for (const std::size_t leaving : {1u, 0u, 2u}) {
        EXPECT_FALSE(queue_.empty());
        queue_.remove(&waiters_[leaving]);
    }
    EXPECT_TRUE(queue_.empty());
    queue_.add_last(&waiters_[1]);
    queue_.add_last(&waiters_[0]);
    queue_.remove(&waiters_[0]);
    queue_.add_last(&waiters_[2]); // behind waiter 1
    EXPECT_EQ(queue_.size(), 2u);
    queue_.serve(&blocks_[0]);
    queue_.serve(&blocks_[1]);
    EXPECT_EQ(waiters_[1].block, &blocks_[0]);
    EXPECT_EQ(waiters_[2].block, &blocks_[1]);
}

TEST_F(wait_queue_test, ignores_removal_of_a_served_waiter)
{
    queue_.serve(&blocks_[0]);
    queue_.remove(&waiters_[0]);
    EXPECT_EQ(queue_.size(), 2u);
    EXPECT_EQ(waiters_[0].block, &blocks_[0]);
}
} // namespace
