// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/thread_id.hpp>

#include <support/child.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <thread>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace os = memory_pool::detail::os;

namespace {
TEST(thread_number, differs_in_each_thread_also_if_they_do_not_run_at_the_same_time)
{
    std::set<std::uint64_t> numbers{os::thread_number()};
    for (int i = 0; i != 20; ++i)
        std::thread([&] {
            numbers.insert(os::thread_number());
            EXPECT_EQ(numbers.count(os::thread_number()), 1u);
        }).join();
    EXPECT_EQ(numbers.size(), 21u);
    EXPECT_EQ(numbers.count(0), 0u);
}

#if defined(__linux__)
TEST(thread_number, is_the_one_that_the_system_shows)
{
    EXPECT_EQ(os::thread_number(), static_cast<std::uint64_t>(getpid())) << "the first thread has that of the process";
}
#endif

#if TESTS_MAY_FORK
TEST(thread_number, stays_in_the_child_of_a_fork)
{
    const std::uint64_t before = os::thread_number();
    test::expect_in_child([before] { return os::thread_number() == before; });
}
#endif
} // namespace
