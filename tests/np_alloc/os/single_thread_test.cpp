// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/single_thread.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace os = memory_pool::detail::os;

namespace {
TEST(is_single_threaded, is_false_while_another_thread_runs)
{
    const test::lasting_thread other;
    EXPECT_FALSE(os::is_single_threaded());
}

#if __has_include(<sys/single_threaded.h>)
TEST(is_single_threaded_death_test, is_true_before_a_second_thread_starts)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::exit(os::is_single_threaded() ? 0 : 1), testing::ExitedWithCode(0),
                ""); // NOLINT(concurrency-mt-unsafe)
}
#endif
} // namespace
