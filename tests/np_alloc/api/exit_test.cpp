// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Allocation during exit by static and thread-local destructors, exit handlers and running threads. Uses the public
// interface only.
#include <memory_pool/np_alloc.h>

#include <support/np_blocks.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {
test::np_resource np;

/// Allocates blocks of every kind. The destructor frees these blocks, and uses more blocks.
class late_user
{
public:
    explicit late_user(const char* name) : name_(name)
    {
        for (std::size_t bytes : test::sizes_of_all_kinds)
            blocks_.push_back(test::allocate_filled(np, bytes));
    }
    late_user(const late_user&) = delete;
    late_user& operator=(const late_user&) = delete;
    ~late_user()
    {
        bool is_right = test::give_back_all(np, blocks_);
        for (std::size_t bytes : test::sizes_of_all_kinds)
            is_right = test::give_back(np, test::allocate_filled(np, bytes)) && is_right;
        (void)np_trim();
        std::fprintf(stderr, "%s: %s; ", name_, is_right ? "served" : "broken");
    }

private:
    const char* name_;
    std::vector<test::filled_block> blocks_;
};

[[noreturn]] void end_while_a_thread_is_at_work()
{
    static const late_user static_user("static");
    static thread_local const late_user user_of_this_thread("thread");
    (void)user_of_this_thread;
    std::atexit([] { const late_user user("handler"); });
    std::atomic<bool> is_at_work{false};
    std::thread([&] {
        for (bool is_first = true; true; is_first = false) {
            for (std::size_t bytes : test::sizes_of_all_kinds)
                test::give_back(np, test::allocate_filled(np, bytes));
            if (is_first) // During exit, the variable may be gone.
                is_at_work = true;
        }
    }).detach();
    while (!is_at_work)
        std::this_thread::yield();
    std::exit(0);
}

TEST(np_exit_death_test, destructors_exit_handlers_and_running_threads_can_allocate)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(end_while_a_thread_is_at_work(), testing::ExitedWithCode(0),
                "thread: served; handler: served; static: served");
}

TEST(np_exit_death_test, destructors_can_allocate_when_another_thread_calls_exit)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::thread(&end_while_a_thread_is_at_work).join(), testing::ExitedWithCode(0),
                "thread: served; handler: served; static: served");
}
} // namespace
