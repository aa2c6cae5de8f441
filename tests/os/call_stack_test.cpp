// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/call_stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#if defined(__unix__)
#include <csignal>

namespace os = memory_pool::detail::os;

namespace {
std::size_t calls_in(const os::call_stack& calls)
{
    return static_cast<std::size_t>(calls.end() - calls.begin());
}

/// Counts those who come back from a call, so that no call is a jump.
volatile int came_back = 0;

MEMORY_POOL_NOINLINE os::call_stack calls_at_depth(int depth) // NOLINT(misc-no-recursion): that is what it is for
{
    const os::call_stack calls = depth == 0 ? os::call_stack::of_this_thread() : calls_at_depth(depth - 1);
    came_back = came_back + 1;
    return calls;
}

TEST(call_stack, has_none_to_begin_with)
{
    EXPECT_EQ(calls_in({}), 0U);
}

TEST(call_stack, has_a_call_more_for_each_that_is_going_on_up_to_sixteen)
{
    const std::size_t at_0 = calls_in(calls_at_depth(0));
    EXPECT_GT(at_0, 1U);
    EXPECT_EQ(calls_in(calls_at_depth(1)), std::min<std::size_t>(at_0 + 1, 16));
    EXPECT_EQ(calls_in(calls_at_depth(100)), 16U);
}

os::call_stack interrupted;

TEST(call_stack, has_who_was_interrupted_first_in_the_handler_of_a_signal)
{
    (void)std::signal(SIGUSR1, [](int) { interrupted = os::call_stack::of_interrupted(); });
    (void)std::raise(SIGUSR1);
    ASSERT_GT(calls_in(interrupted), 1U);
    EXPECT_NE(std::strstr(os::find_code(*interrupted.begin()).module, "libc"), nullptr) << "in raise";
}

TEST(find_code, knows_the_module_the_offset_and_the_name_of_what_a_library_exports)
{
    const auto* const function = reinterpret_cast<const char*>(&std::qsort);
    const os::code_place begin = os::find_code(function);
    const os::code_place inside = os::find_code(function + 1);
    ASSERT_NE(begin.module, nullptr);
    EXPECT_STREQ(begin.module, inside.module);
    EXPECT_EQ(inside.offset, begin.offset + 1);
    ASSERT_NE(inside.function, nullptr);
}

TEST(find_code, knows_nothing_of_an_address_where_there_is_no_code)
{
    EXPECT_EQ(os::find_code(nullptr).module, nullptr);
    const int variable = 0;
    EXPECT_EQ(os::find_code(&variable).module, nullptr);
}
} // namespace
#endif
