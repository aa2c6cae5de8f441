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
TEST(thread_number, is_unique_across_sequential_threads)
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
TEST(thread_number, matches_the_system)
{
    EXPECT_EQ(os::thread_number(), static_cast<std::uint64_t>(getpid())) << "as the first thread of the process";
}
#endif

#if TESTS_MAY_FORK
TEST(thread_number, is_unchanged_in_a_forked_child)
{
    const std::uint64_t before = os::thread_number();
    test::expect_in_child([before] { return os::thread_number() == before; });
}
#endif
} // namespace
