// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/locked_upstream.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>

namespace core = memory_pool::detail::core;

namespace {
TEST(locked_upstream, serializes_calls_to_upstream)
{
    test::accounting_upstream upstream; // Not thread-safe: concurrent calls would corrupt it.
    core::locked_upstream locked(&upstream);
    test::in_threads(4, [&](std::size_t thread) {
        for (std::size_t i = 0; i != 500; ++i) {
            void* const block = locked.allocate(8 + thread, 8);
            locked.deallocate(block, 8 + thread, 8);
        }
    });
    EXPECT_EQ(upstream.calls(), 2000u);
    EXPECT_EQ(upstream.live_chunks(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
    EXPECT_EQ(locked.for_pools(), &locked);
}

TEST(locked_upstream, waits_for_the_lock)
{
    test::accounting_upstream upstream;
    core::locked_upstream locked(&upstream);
    core::pool_lock held = locked.lock();
    std::atomic<bool> is_about_to{false};
    std::thread other([&] {
        is_about_to = true;
        locked.deallocate(locked.allocate(8), 8);
    });
    while (!is_about_to)
        std::this_thread::yield();
    EXPECT_EQ(upstream.calls(), 0u);
    held.unlock();
    other.join();
    EXPECT_EQ(upstream.calls(), 1u);
}

TEST(locked_upstream, is_unlocked_when_upstream_throws)
{
    test::accounting_upstream upstream;
    core::locked_upstream locked(&upstream);
    upstream.fail_at(1);
    EXPECT_THROW((void)locked.allocate(8), std::bad_alloc);
    locked.deallocate(locked.allocate(8), 8);
    EXPECT_EQ(upstream.live_chunks(), 0u);
}

#if TESTS_MAY_FORK
TEST(locked_upstream, is_unlocked_in_a_forked_child)
{
    test::accounting_upstream upstream;
    core::locked_upstream locked(&upstream);
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over)
            locked.deallocate(locked.allocate(8), 8);
    });
    for (int round = 0; round != 20; ++round)
        test::expect_in_child([&] {
            const std::size_t before = upstream.live_chunks();
            locked.deallocate(locked.allocate(8), 8);
            return upstream.live_chunks() == before && upstream.mismatched() == 0;
        });
    is_over = true;
    other.join();
}
#endif
} // namespace
