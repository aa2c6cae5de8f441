// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads that create, visit and destroy the same objects and are delayed at every racy point.
#include "support/delays.hpp"

#include <memory_pool/concurrent_handle_pool.hpp>
#include "support/handle_stress.hpp"
#include "support/threads.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace mp = memory_pool;

namespace {
TEST(delayed_handle_pool, never_shows_a_destroyed_object_to_a_visitor)
{
    using pool_type = mp::concurrent_handle_pool<test::checksummed>;
    {
        pool_type pool;
        test::handle_stress<pool_type> stress(pool);
        test::in_threads(4, [&](std::size_t thread) {
            test::random_delays delays(thread);
            const test::delayed_by hook(delays);
            int left = 20'000;
            stress.work(thread, [&] { return left-- != 0; });
        });
        EXPECT_TRUE(stress.is_right());
        EXPECT_GT(stress.created(), 1000u);
    }
    EXPECT_EQ(test::checksummed::alive, 0u);
}
} // namespace
