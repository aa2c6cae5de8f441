// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/thread_end.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace os = memory_pool::os;

namespace
{
TEST(thread_end, calls_the_function_once_in_each_thread_that_has_asked)
{
    static os::thread_end end;
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

TEST(thread_end, calls_nothing_and_refuses_after_it_was_stopped)
{
    static os::thread_end end;
    ASSERT_TRUE(end.start([](void* value) { ++*static_cast<int*>(value); }));
    int calls = 0;
    std::thread([&] {
        EXPECT_TRUE(end.ask(&calls));
        end.stop();
        EXPECT_FALSE(end.ask(&calls));
    }).join();
    EXPECT_EQ(calls, 0);
}

TEST(thread_end, can_be_started_later_if_the_system_has_no_room_for_it)
{
    static os::thread_end end;
    const auto add_one = [](void* value) { ++*static_cast<int*>(value); };
    int calls_of_it = 0;
    const test::system_calls calls;
    calls.refuse(test::system_call::create_key, 1);
    EXPECT_FALSE(end.start(add_one));
    EXPECT_FALSE(end.has_started());
    EXPECT_FALSE(end.ask(&calls_of_it));
    EXPECT_TRUE(end.start(add_one));
    EXPECT_TRUE(end.has_started());
    std::thread([&] { EXPECT_TRUE(end.ask(&calls_of_it)); }).join();
    EXPECT_EQ(calls_of_it, 1);
}

TEST(thread_end, does_not_call_the_function_in_a_thread_that_the_system_had_no_memory_for)
{
    static os::thread_end end;
    ASSERT_TRUE(end.start([](void* value) { ++*static_cast<int*>(value); }));
    int calls_of_it = 0;
    const test::system_calls calls;
    std::thread([&] {
        calls.refuse(test::system_call::set_key, 1); // Here, as what begins a thread may have a key of its own.
        EXPECT_FALSE(end.ask(&calls_of_it));
    }).join();
    EXPECT_EQ(calls_of_it, 0);
    std::thread([&] { EXPECT_TRUE(end.ask(&calls_of_it)); }).join();
    EXPECT_EQ(calls_of_it, 1);
}

TEST(thread_end, refuses_before_it_was_started)
{
    os::thread_end end;
    int value = 0;
    EXPECT_FALSE(end.ask(&value));
}
} // namespace
