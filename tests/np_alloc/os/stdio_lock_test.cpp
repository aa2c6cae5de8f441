// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/stdio_lock.hpp>

#include <support/child.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace os = memory_pool::detail::os;

namespace {
#if defined(__GLIBC__)
TEST(stdio_list_lock, is_recursive_and_blocks_fflush_of_all_streams)
{
    os::lock_stdio_list();
    os::lock_stdio_list();
    std::atomic<bool> has_flushed{false};
    std::thread other([&has_flushed] {
        (void)std::fflush(nullptr);
        has_flushed = true;
    });
    os::unlock_stdio_list();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(has_flushed);
    os::unlock_stdio_list();
    other.join();
    EXPECT_TRUE(has_flushed);
}
#endif

#if TESTS_MAY_FORK
TEST(stdio_list_lock, can_be_reset_in_the_child_of_a_fork)
{
    os::lock_stdio_list();
    test::expect_in_child([] {
        alarm(10);
        os::reset_stdio_list_lock();
        std::thread([] { (void)std::fflush(nullptr); }).join();
        return true;
    });
    os::unlock_stdio_list();
}
#endif
} // namespace
