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

/// A side effect after each call, so that no call is a tail call.
volatile int returned_calls = 0;

MEMORY_POOL_NOINLINE os::call_stack calls_at_depth(int depth) // NOLINT(misc-no-recursion): recursion is the purpose
{
    const os::call_stack calls = depth == 0 ? os::call_stack::of_this_thread() : calls_at_depth(depth - 1);
    returned_calls = returned_calls + 1;
    return calls;
}

TEST(call_stack, is_empty_by_default)
{
    EXPECT_EQ(calls_in({}), 0U);
}

TEST(call_stack, contains_up_to_sixteen_active_calls)
{
    const std::size_t at_0 = calls_in(calls_at_depth(0));
    EXPECT_GT(at_0, 1U);
    EXPECT_EQ(calls_in(calls_at_depth(1)), std::min<std::size_t>(at_0 + 1, 16));
    EXPECT_EQ(calls_in(calls_at_depth(100)), 16U);
}

os::call_stack interrupted;

TEST(call_stack, begins_with_the_interrupted_function_in_a_signal_handler)
{
    (void)std::signal(SIGUSR1, [](int) { interrupted = os::call_stack::of_interrupted(); });
    (void)std::raise(SIGUSR1);
    ASSERT_GT(calls_in(interrupted), 1U);
    EXPECT_NE(std::strstr(os::find_code(*interrupted.begin()).module, "libc"), nullptr) << "in raise";
}

TEST(find_code, returns_module_offset_and_name_of_exported_functions)
{
    const auto* const function = reinterpret_cast<const char*>(&std::qsort);
    const os::code_place begin = os::find_code(function);
    const os::code_place inside = os::find_code(function + 1);
    ASSERT_NE(begin.module, nullptr);
    EXPECT_STREQ(begin.module, inside.module);
    EXPECT_EQ(inside.offset, begin.offset + 1);
    ASSERT_NE(inside.function, nullptr);
}

TEST(find_code, finds_nothing_without_code)
{
    EXPECT_EQ(os::find_code(nullptr).module, nullptr);
    const int variable = 0;
    EXPECT_EQ(os::find_code(&variable).module, nullptr);
}
} // namespace
#endif
