// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build asserts the order of locks: see docs/locks.md.
#include <np_alloc/support/fork_mutex.hpp>

#include <gtest/gtest.h>

#include <mutex>

namespace np = memory_pool::np;

namespace {
TEST(checked_lock_order, allows_locks_from_the_outermost_to_the_innermost)
{
    np::fork_mutex heap(np::lock_rank::heap);
    np::fork_mutex runs(np::lock_rank::runs);
    for (int i = 0; i != 3; ++i) {
        const std::lock_guard outer(heap);
        const std::lock_guard inner(runs);
    }
}

TEST(checked_lock_order, lets_a_lock_be_tried_that_is_not_waited_for)
{
    np::fork_mutex heap(np::lock_rank::heap);
    np::fork_mutex runs(np::lock_rank::runs);
    const std::lock_guard inner(runs);
    ASSERT_TRUE(heap.try_lock());
    heap.unlock();
}

TEST(checked_lock_order_death_test, is_reported_when_it_is_wrong)
{
    const auto take = [] {
        np::fork_mutex heap(np::lock_rank::heap);
        np::fork_mutex runs(np::lock_rank::runs);
        const std::lock_guard inner(runs);
        const std::lock_guard outer(heap);
    };
    EXPECT_DEATH(take(), "np_alloc: lock order: a thread waits for a lock of rank heap, and holds one of rank runs");
}
} // namespace
