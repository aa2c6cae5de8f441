// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/fault.hpp>

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <gtest/gtest.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <vector>

#if defined(__unix__)
#include <csignal>
#include <unistd.h>

namespace os = memory_pool::detail::os;

namespace {
/// An inaccessible page, and the faults reported for it.
struct watched_faults : testing::Test
{
    static inline const void* reported_address = nullptr;
    static inline os::access reported_access = os::access::unknown;
    static inline int handled = 0;
    static inline sigjmp_buf way_out;
    volatile unsigned char* page = static_cast<unsigned char*>(os::reserve_addresses(os::page_size()));
    struct sigaction before = {};

    watched_faults()
    {
        reported_address = nullptr;
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

    static void watch(const void* address, os::access how)
    {
        reported_address = address;
        reported_access = how;
    }

    void touch_page() const
    {
        if (sigsetjmp(way_out, 1) == 0)
            page[5] = 1;
    }
};

TEST_F(watched_faults, are_reported_before_the_previous_handler_runs)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    touch_page();
    EXPECT_EQ(reported_address, const_cast<unsigned char*>(page + 5));
    EXPECT_EQ(handled, 1);
}

#if defined(__linux__) && defined(__x86_64__)
TEST_F(watched_faults, are_reported_as_read_or_write)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    touch_page();
    EXPECT_EQ(reported_access, os::access::write);
    if (sigsetjmp(way_out, 1) == 0)
        (void)page[5];
    EXPECT_EQ(reported_access, os::access::read);
}
#endif

TEST_F(watched_faults, are_reported_once_if_watched_twice)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    EXPECT_TRUE(os::watch_faults(&watch));
    touch_page();
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, are_not_reported_after_watching_stopped)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    os::stop_watching_faults();
    touch_page();
    EXPECT_EQ(reported_address, nullptr);
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, are_not_reported_on_a_small_alternate_stack)
{
    for (const std::size_t bytes : {std::size_t{8192}, std::size_t{65'536}}) {
        reported_address = nullptr;
        std::vector<unsigned char> memory(bytes);
        stack_t alternate = {};
        alternate.ss_sp = memory.data();
        alternate.ss_size = bytes;
        stack_t stack_before = {};
        ASSERT_EQ(sigaltstack(&alternate, &stack_before), 0);
        struct sigaction on_stack = {};
        on_stack.sa_handler = [](int) { siglongjmp(way_out, 1); };
        on_stack.sa_flags = SA_ONSTACK;
        (void)sigaction(SIGSEGV, &on_stack, nullptr);
        EXPECT_TRUE(os::watch_faults(&watch));
        touch_page();
        os::stop_watching_faults();
        EXPECT_EQ(reported_address == &page[5], bytes > 8192) << bytes;
        ASSERT_EQ(sigaltstack(&stack_before, nullptr), 0);
    }
}

TEST_F(watched_faults, exclude_raised_signals)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    if (sigsetjmp(way_out, 1) == 0)
        (void)std::raise(SIGSEGV);
    EXPECT_EQ(reported_address, nullptr);
    EXPECT_EQ(handled, 1);
}

TEST_F(watched_faults, kill_the_process_after_a_one_shot_handler)
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

/// A signal handler of the program that records how it is called.
struct handlers_of_faults : watched_faults
{
    static inline std::array<unsigned char, std::size_t{64} * 1024> other_stack;
    static inline bool is_on_other_stack = false;
    static inline bool is_masked = false;
    stack_t stack_before = {};

    handlers_of_faults()
    {
        stack_t stack = {};
        stack.ss_sp = other_stack.data();
        stack.ss_size = other_stack.size();
        (void)sigaltstack(&stack, &stack_before);
    }
    ~handlers_of_faults() override { (void)sigaltstack(&stack_before, nullptr); }

    static void handle(int)
    {
        stack_t now = {};
        (void)sigaltstack(nullptr, &now);
        is_on_other_stack = (now.ss_flags & SS_ONSTACK) != 0;
        sigset_t masked;
        (void)pthread_sigmask(SIG_SETMASK, nullptr, &masked);
        is_masked = sigismember(&masked, SIGUSR1) == 1;
    }

    static void set_handler(int flags, bool masks)
    {
        struct sigaction action = {};
        action.sa_handler = &handle;
        action.sa_flags = flags;
        if (masks)
            (void)sigaddset(&action.sa_mask, SIGUSR1);
        (void)sigaction(SIGSEGV, &action, nullptr);
    }

    static int flags_now()
    {
        struct sigaction now = {};
        (void)sigaction(SIGSEGV, nullptr, &now);
        return now.sa_flags;
    }
};

TEST_F(handlers_of_faults, keep_their_flags_and_mask)
{
    for (const bool wants_it : {false, true}) {
        set_handler(wants_it ? SA_ONSTACK | SA_RESTART : 0, wants_it);
        EXPECT_TRUE(os::watch_faults(&watch));
        (void)std::raise(SIGSEGV);
        EXPECT_EQ(is_on_other_stack, wants_it);
        EXPECT_EQ(is_masked, wants_it || MEMORY_POOL_TSAN != 0)
            << "ThreadSanitizer masks all signals while it calls a handler";
        EXPECT_EQ((flags_now() & SA_RESTART) != 0, wants_it) << "interrupted system calls restart";
        os::stop_watching_faults();
    }
}

TEST_F(handlers_of_faults, restart_system_calls_if_the_signal_is_ignored)
{
    (void)std::signal(SIGSEGV, SIG_IGN);
    EXPECT_TRUE(os::watch_faults(&watch));
    EXPECT_NE(flags_now() & SA_RESTART, 0);
    (void)std::raise(SIGSEGV);
    EXPECT_EQ(reported_address, nullptr);
}

TEST_F(watched_faults, keep_a_handler_that_was_set_later)
{
    EXPECT_TRUE(os::watch_faults(&watch));
    (void)std::signal(SIGSEGV, SIG_IGN);
    os::stop_watching_faults();
    EXPECT_EQ(std::signal(SIGSEGV, SIG_DFL), SIG_IGN);
}
} // namespace
#endif
