// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/process_barrier.hpp>

#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace os = memory_pool::detail::os;

namespace {
TEST(process_barrier, is_available_on_linux)
{
#if defined(__linux__)
    EXPECT_TRUE(os::has_process_barrier());
#endif
}

TEST(process_barrier, can_be_hidden_by_tests)
{
    os::platform::process_barrier_is_hidden = true;
    EXPECT_FALSE(os::has_process_barrier());
    os::platform::process_barrier_is_hidden = false;
}

#if defined(__linux__)
TEST(process_barrier, is_unavailable_if_the_system_refuses)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::barrier, 1);
    EXPECT_FALSE(os::platform::register_process_barrier());
}

TEST(process_barrier, registers_again_if_the_registration_is_lost)
{
    ASSERT_TRUE(os::has_process_barrier());
    const test::system_calls calls;
    calls.refuse(test::system_call::barrier, 1);
    os::process_barrier();
    EXPECT_EQ(calls.made(test::system_call::barrier), 3U);
}

TEST(process_barrier, ends_the_program_if_it_fails_later)
{
    ASSERT_TRUE(os::has_process_barrier());
    EXPECT_DEATH(
        {
            const test::system_calls calls;
            calls.refuse_from(test::system_call::barrier, 1);
            os::process_barrier();
        },
        "membarrier\\(\\) was there when the first pool was made, and fails now");
}
#endif

TEST(process_barrier, preserves_errno)
{
    errno = 42;
    if (os::has_process_barrier())
        os::process_barrier();
    EXPECT_EQ(errno, 42);
}

TEST(process_barrier, orders_stores_and_loads_of_threads_without_barriers)
{
    if (!os::has_process_barrier())
        GTEST_SKIP() << "this system has no process barrier";
    // Without the barrier, a few of these rounds end with neither thread seeing the store of the other: a processor may
    // execute a load before its store is visible to other threads.
    constexpr int rounds = 2'000;
    alignas(64) std::atomic<int> mine{0};
    alignas(64) std::atomic<int> theirs{0};
    alignas(64) std::atomic<int> round_of_owner{0};
    alignas(64) std::atomic<int> round_of_other{0};
    int seen_by_owner = 0;
    int missed_by_both = 0;
    test::in_threads(2, [&](std::size_t thread) {
        for (int round = 1; round <= rounds; ++round) {
            if (thread == 0) {
                mine.store(round, std::memory_order_relaxed);
                std::atomic_signal_fence(std::memory_order_seq_cst);
                seen_by_owner = theirs.load(std::memory_order_relaxed);
                round_of_owner.store(round, std::memory_order_release);
                while (round_of_other.load(std::memory_order_acquire) != round)
                    std::this_thread::yield();
            } else {
                theirs.store(round, std::memory_order_relaxed);
                os::process_barrier();
                const int seen_by_other = mine.load(std::memory_order_relaxed);
                while (round_of_owner.load(std::memory_order_acquire) != round)
                    std::this_thread::yield();
                missed_by_both += seen_by_owner != round && seen_by_other != round ? 1 : 0;
                round_of_other.store(round, std::memory_order_release);
            }
        }
    });
    EXPECT_EQ(missed_by_both, 0);
}
} // namespace
