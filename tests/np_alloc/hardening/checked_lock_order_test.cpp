// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build asserts the lock order: see docs/locks.md.
#include <memory_pool/np_alloc.h>
#include <np_alloc/support/fork_mutex.hpp>

#include <support/child.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace np = memory_pool::np;

namespace {
TEST(checked_lock_order, allows_outer_before_inner_locks)
{
    np::fork_mutex heap(np::lock_rank::heap);
    np::fork_mutex runs(np::lock_rank::runs);
    for (int i = 0; i != 3; ++i) {
        const std::lock_guard outer(heap);
        const std::lock_guard inner(runs);
    }
}

TEST(checked_lock_order, allows_try_lock_out_of_order)
{
    np::fork_mutex heap(np::lock_rank::heap);
    np::fork_mutex runs(np::lock_rank::runs);
    const std::lock_guard inner(runs);
    ASSERT_TRUE(heap.try_lock());
    heap.unlock();
}

TEST(checked_lock_order, allows_np_call_site_visit)
{
    void* const block = np_alloc_at(10, "somewhere.cpp", 1);
    std::size_t sites = 0;
    const auto count = [](const np_call_site*, void* argument) {
        ++*static_cast<std::size_t*>(argument);
        return 1;
    };
    EXPECT_EQ(np_call_site_visit(count, &sites), 1);
    EXPECT_GE(sites, 1U);
    np_free(block);
}

#if TESTS_MAY_FORK
TEST(checked_lock_order, allows_a_fork_with_many_heaps)
{
    std::vector<np_heap*> heaps(300);
    for (np_heap*& each : heaps)
        each = np_heap_create();
    test::expect_in_child([] {
        np_free(np_alloc(100));
        return np_verify() == 1;
    });
    for (np_heap* const each : heaps)
        np_heap_destroy(each);
}
#endif

TEST(checked_lock_order_death_test, reports_a_reentrant_call_from_a_signal_handler)
{
    const auto lock_twice = [] {
        np::fork_mutex heap(np::lock_rank::heap);
        const std::lock_guard interrupted(heap);
        const std::lock_guard of_handler(heap);
    };
    EXPECT_DEATH(lock_twice(), "np_alloc: reentrant call: a signal handler");
}

TEST(checked_lock_order_death_test, reports_inner_before_outer_locks)
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
