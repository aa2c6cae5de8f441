// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/callbacks.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace np = memory_pool::np;

namespace {
std::atomic<int> calls{0};
std::atomic<bool> may_return{true};

void count()
{
    ++calls;
}

void count_and_wait()
{
    ++calls;
    while (!may_return.load())
        std::this_thread::yield();
}

void call_all(np::callbacks<np::trim_function*>& all)
{
    all.for_each([](np::trim_function* each) { each(); });
}

class callbacks : public testing::Test
{
protected:
    callbacks()
    {
        calls = 0;
        may_return = true;
    }

    np::callbacks<np::trim_function*> all_;
};

TEST_F(callbacks, are_called_between_add_and_remove)
{
    call_all(all_);
    EXPECT_EQ(calls, 0);
    all_.add(&count);
    all_.add(&count_and_wait);
    call_all(all_);
    EXPECT_EQ(calls, 2);
    all_.remove(&count);
    call_all(all_);
    EXPECT_EQ(calls, 3);
    all_.remove(&count); // already removed
    all_.remove(&count_and_wait);
    call_all(all_);
    EXPECT_EQ(calls, 3);
}

TEST_F(callbacks, beyond_the_capacity_are_not_called)
{
    for (int i = 0; i != 100; ++i)
        all_.add(&count);
    call_all(all_);
    EXPECT_EQ(calls, 64);
    all_.remove(&count);
    all_.add(&count);
    call_all(all_);
    EXPECT_EQ(calls, 65);
}

TEST_F(callbacks, are_removed_after_calls_in_progress_return)
{
    may_return = false;
    all_.add(&count_and_wait);
    std::thread caller([this] { call_all(all_); });
    while (calls.load() == 0)
        std::this_thread::yield();
    std::atomic<bool> is_removed{false};
    std::thread remover([&] {
        all_.remove(&count_and_wait);
        is_removed = true;
    });
    for (int i = 0; i != 100; ++i)
        std::this_thread::yield();
    EXPECT_FALSE(is_removed.load());
    may_return = true;
    caller.join();
    remover.join();
    call_all(all_);
    EXPECT_EQ(calls, 1);
}
} // namespace
