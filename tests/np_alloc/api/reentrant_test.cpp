// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Signal handlers that allocate while they interrupt a call of np_alloc.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/heaps/heap.hpp>
#include <np_alloc/support/fork_mutex.hpp>

#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>

#if defined(__unix__)
#include <signal.h> // NOLINT(modernize-deprecated-headers): <csignal> has no sigaction.
#include <sys/time.h>
#include <unistd.h>
#endif

namespace np = memory_pool::np;

namespace {
constexpr const char* report = "^np_alloc: reentrant call: a signal handler allocates, frees or forks .*\n"
                               "  remedy: call async-signal-safe functions only in signal handlers; .*\n$";
constexpr std::size_t large_bytes = std::size_t{1} << 20;

TEST(locks, are_not_in_transition_once_a_thread_holds_none)
{
    np::fork_mutex one(np::lock_rank::heap);
    one.lock();
    one.unlock();
    const np::counted_lock counted;
    EXPECT_EQ(np::this_thread_transition, nullptr);
    one.lock();
    EXPECT_EQ(np::this_thread_transition, nullptr) << "the lock has an owner";
    one.unlock();
    EXPECT_EQ(np::this_thread_transition, nullptr);
    EXPECT_EQ(np::this_thread_locks, 1U);
}

TEST(locks, can_be_waited_for_by_a_thread_that_holds_another)
{
    np::fork_mutex mine(np::lock_rank::heaps);
    np::fork_mutex of_another(np::lock_rank::heap);
    std::atomic<bool> is_taken{false};
    std::atomic<int> step{0};
    std::thread another([&] {
        const std::lock_guard lock(of_another);
        is_taken = true;
        while (step != 1)
            std::this_thread::yield();
        step = 2;
    });
    while (!is_taken)
        std::this_thread::yield();
    {
        const std::lock_guard lock(mine);
        step = 1;
        const std::lock_guard other_lock(of_another);
        EXPECT_EQ(step, 2);
        EXPECT_EQ(np::this_thread_transition, &mine);
    }
    another.join();
    EXPECT_EQ(np::this_thread_locks, 0U);
}

#if defined(__unix__)
struct reentrant_call_death_test : testing::Test
{
    reentrant_call_death_test()
    {
        testing::GTEST_FLAG(death_test_style) = "threadsafe";
        np_free(np_alloc(10));
    }
};

/// Allocates like a handler; the alarm ends a deadlock.
void* allocate_in_handler(std::size_t bytes)
{
    (void)alarm(10);
    return np_alloc(bytes);
}

TEST_F(reentrant_call_death_test, is_reported_when_the_thread_holds_the_lock)
{
    EXPECT_DEATH(
        np::registry().pages().source().with_runs([](const auto&) { return allocate_in_handler(large_bytes); }), report)
        << "lock of the page heap";
    EXPECT_DEATH(np::registry().heaps().for_each_heap([](auto&) {
        (void)alarm(10);
        (void)np_trim();
    }),
                 report)
        << "lock of the lists of heaps";
    const auto with_lock_of_heap = [] {
        np::misuse_list found;
        const np::heap::scoped_lock lock(np::this_thread.cache.heap().slabs, found);
        for (;;)
            (void)allocate_in_handler(1'000);
    };
    EXPECT_DEATH(with_lock_of_heap(), report);
    const auto with_lock_of_call_sites = [] {
        for (np::call_site_heap& each : np::registry().heaps().call_site_heaps)
            each.sites().lock();
        (void)alarm(10);
        (void)np_alloc_at(10, __FILE__, __LINE__);
    };
    EXPECT_DEATH(with_lock_of_call_sites(), report);
}

TEST_F(reentrant_call_death_test, is_reported_when_the_lock_has_no_owner_yet)
{
    static np::fork_mutex one(np::lock_rank::heap);
    const auto interrupted = [] {
        one.lock_for_fork(); // Sets no owner.
        np::this_thread_transition = &one;
        ++np::this_thread_locks;
        (void)alarm(30);
        one.lock();
    };
    EXPECT_DEATH(interrupted(), report);
}

void allocate_and_free(int)
{
    np_free(np_alloc(large_bytes));
}

/// Allocates and frees large blocks, taking a lock each time, while signals call `allocate_and_free`.
[[noreturn]] void be_interrupted()
{
    (void)alarm(60);
    struct sigaction action = {};
    action.sa_handler = &allocate_and_free;
    (void)sigaction(SIGVTALRM, &action, nullptr);
    const itimerval often{{0, 100}, {0, 100}};
    (void)setitimer(ITIMER_VIRTUAL, &often, nullptr);
    for (;;)
        np_free(np_alloc(large_bytes));
}

TEST_F(reentrant_call_death_test, is_reported_in_a_signal_handler)
{
    if (test::under_a_sanitizer)
        GTEST_SKIP() << "sanitizers delay signal handlers until a call has ended";
    EXPECT_DEATH(be_interrupted(), report);
}
#endif
} // namespace
