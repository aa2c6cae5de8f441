// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/fault.hpp>

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <gtest/gtest.h>

#include <csetjmp>

#if defined(__unix__)
#include <csignal>
#include <unistd.h>

namespace os = memory_pool::os;

namespace
{
/// Pages that nobody may touch, and what is told when they are.
struct watched_faults : testing::Test
{
    static inline const void* told = nullptr;
    static inline int handled = 0;
    static inline sigjmp_buf way_out;
    volatile unsigned char* page = static_cast<unsigned char*>(os::reserve_addresses(os::page_size()));
    struct sigaction before = {};

    watched_faults()
    {
        told = nullptr;
        handled = 0;
        struct sigaction action = {};
        action.sa_handler = [](int) {
            ++handled;
            siglongjmp(way_out, 1);
        };
        (void)sigaction(SIGSEGV, &action, &before);
    }
    ~watched_faults() override
    {
        os::stop_watching_faults();
        (void)sigaction(SIGSEGV, &before, nullptr);
        (void)os::release_addresses(const_cast<unsigned char*>(page), os::page_size());
    }

    static void watch(const void* address) { told = address; }

    void touch_page() const
    {
        if (sigsetjmp(way_out, 1) == 0)
            page[5] = 1;
    }
};

TEST_F(watched_faults, are_told_before_whoever_was_told_until_now)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    touch_page();
    EXPECT_EQ(told, const_cast<unsigned char*>(page + 5));
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, are_told_once_by_whoever_watches_twice)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    EXPECT_TRUE(os::watch_faults(&watch));
    touch_page();
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, are_not_told_any_more_afterwards)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    os::stop_watching_faults();
    touch_page();
    EXPECT_EQ(told, nullptr);
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, are_not_what_a_program_sends_to_itself)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    if (sigsetjmp(way_out, 1) == 0)
        (void)std::raise(SIGSEGV);
    EXPECT_EQ(told, nullptr);
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, end_the_process_after_a_handler_that_is_to_be_called_once)
{
    struct sigaction once = {};
    once.sa_handler = [](int) {
        if (++handled != 1)
            _exit(handled);
    };
    once.sa_flags = static_cast<int>(SA_RESETHAND);
    (void)sigaction(SIGSEGV, &once, nullptr);
    EXPECT_TRUE(os::watch_faults(&watch));
    EXPECT_EXIT(page[5] = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(watched_faults, leave_a_handler_alone_that_was_set_afterwards)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    (void)std::signal(SIGSEGV, SIG_IGN);
    os::stop_watching_faults();
    EXPECT_EQ(std::signal(SIGSEGV, SIG_DFL), SIG_IGN);
}
} // namespace
#endif
