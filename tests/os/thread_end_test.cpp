// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/thread_end.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace os = memory_pool::detail::os;

namespace {
template <class ThreadEnd>
class thread_end_of_each_kind : public testing::Test
{
};
#if defined(_WIN32)
using kinds = testing::Types<os::platform::thread_end_by_key>;
#else
using kinds = testing::Types<os::platform::thread_end_by_key, os::platform::thread_end_by_destructor>;
#endif
TYPED_TEST_SUITE(thread_end_of_each_kind, kinds, );

TYPED_TEST(thread_end_of_each_kind, calls_the_function_once_per_registered_thread)
{
    static TypeParam end;
    ASSERT_TRUE(end.start([](void* value) { ++*static_cast<int*>(value); }));
    int calls = 0;
    int other_calls = 0;
    std::thread([&] {
        EXPECT_TRUE(end.ask(&calls));
        EXPECT_TRUE(end.ask(&calls));
        EXPECT_EQ(calls, 0);
    }).join();
    EXPECT_EQ(calls, 1);
    std::thread([] {}).join();
    std::thread([&] { EXPECT_TRUE(end.ask(&other_calls)); }).join();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(other_calls, 1);
}

TYPED_TEST(thread_end_of_each_kind, calls_nothing_after_stop)
{
    static TypeParam end;
    ASSERT_TRUE(end.start([](void* value) { ++*static_cast<int*>(value); }));
    int calls = 0;
    std::thread([&] {
        EXPECT_TRUE(end.ask(&calls));
        end.stop();
        EXPECT_FALSE(end.ask(&calls));
    }).join();
    EXPECT_EQ(calls, 0);
}

TEST(thread_end, can_be_started_after_a_failure)
{
    static os::thread_end end;
    const auto add_one = [](void* value) { ++*static_cast<int*>(value); };
    int function_calls = 0;
    const test::system_calls calls;
    calls.refuse(test::system_call::create_key, 1);
    EXPECT_FALSE(end.start(add_one));
    EXPECT_FALSE(end.has_started());
    EXPECT_FALSE(end.ask(&function_calls));
    EXPECT_TRUE(end.start(add_one));
    EXPECT_TRUE(end.has_started());
    std::thread([&] { EXPECT_TRUE(end.ask(&function_calls)); }).join();
    EXPECT_EQ(function_calls, 1);
}

TEST(thread_end, does_not_call_the_function_if_registration_fails)
{
    static os::thread_end end;
    ASSERT_TRUE(end.start([](void* value) { ++*static_cast<int*>(value); }));
    int function_calls = 0;
    const test::system_calls calls;
    std::thread([&] {
        calls.refuse(test::system_call::set_key, 1); // Set here: starting a thread may set a key as well.
        EXPECT_FALSE(end.ask(&function_calls));
    }).join();
    EXPECT_EQ(function_calls, 0);
    std::thread([&] { EXPECT_TRUE(end.ask(&function_calls)); }).join();
    EXPECT_EQ(function_calls, 1);
}

TYPED_TEST(thread_end_of_each_kind, rejects_registration_before_start)
{
    TypeParam end;
    int value = 0;
    EXPECT_FALSE(end.ask(&value));
}

thread_local int of_this_thread = 0;

TYPED_TEST(thread_end_of_each_kind, calls_the_function_before_thread_locals_are_destroyed)
{
    if (!os::thread_locals_outlive_destructors)
        GTEST_SKIP() << "the system frees them earlier";
    static int seen = 0;
    static TypeParam end;
    ASSERT_TRUE(end.start([](void* value) {
        EXPECT_EQ(value, &of_this_thread);
        seen = of_this_thread;
    }));
    std::thread([&] {
        of_this_thread = 7;
        EXPECT_TRUE(end.ask(&of_this_thread));
    }).join();
    EXPECT_EQ(seen, 7);
}

#if !defined(_WIN32)
TEST(thread_end_by_destructor, runs_one_function_per_thread_and_rejects_later_ones)
{
    static os::platform::thread_end_by_destructor end;
    static os::platform::thread_end_by_destructor other;
    static int calls = 0;
    ASSERT_TRUE(end.start([](void* value) {
        ++calls;
        EXPECT_FALSE(end.ask(value));
    }));
    ASSERT_TRUE(other.start([](void*) { FAIL() << "registration failed"; }));
    int value = 0;
    std::thread([&] {
        EXPECT_TRUE(end.ask(&value));
        EXPECT_FALSE(other.ask(&value));
    }).join();
    EXPECT_EQ(calls, 1);
}
#endif
} // namespace
