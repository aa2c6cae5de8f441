// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/fork_mutex.hpp>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/heaps/heap.hpp>

#include <support/child.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#if defined(__unix__)
#include <unistd.h>
#endif

namespace np = memory_pool::np;

namespace {
TEST(fork_mutex, is_counted_by_its_owner)
{
    np::fork_mutex one(np::lock_rank::heaps);
    np::fork_mutex other(np::lock_rank::heap);
    {
        const std::lock_guard lock(one);
        const std::lock_guard another_lock(other);
        EXPECT_EQ(np::this_thread_locks, 2U);
        test::in_a_thread([&one] {
            EXPECT_FALSE(one.try_lock());
            EXPECT_EQ(np::this_thread_locks, 0U);
        });
    }
    ASSERT_TRUE(one.try_lock());
    EXPECT_EQ(np::this_thread_locks, 1U);
    one.unlock();
    EXPECT_EQ(np::this_thread_locks, 0U);
}

#if TESTS_MAY_FORK && defined(__linux__)
TEST(fork_mutex, uses_the_new_thread_id_in_the_child_of_a_fork)
{
    np_free(np_alloc(10)); // registers the fork handlers
    test::expect_in_child([] {
        np::fork_mutex one(np::lock_rank::heap);
        const std::lock_guard lock(one);
        return memory_pool::detail::os::number_of_this_thread == static_cast<std::uint32_t>(getpid());
    });
}
#endif

#if defined(__unix__)
/// Ends the process, as a signal handler would at this point.
void end_process()
{
    (void)alarm(10); // a deadlock would wait for ever
    std::exit(7);    // NOLINT(concurrency-mt-unsafe): only one thread calls it
}

struct exit_with_a_held_lock_death_test : testing::Test
{
    exit_with_a_held_lock_death_test()
    {
        testing::GTEST_FLAG(death_test_style) = "threadsafe";
        np_free(np_alloc(10));
    }
};

TEST_F(exit_with_a_held_lock_death_test, does_not_deadlock)
{
    EXPECT_EXIT(np::registry().heaps().for_each_heap([](auto&) { end_process(); }), testing::ExitedWithCode(7), "^$")
        << "lock of the heap lists";
    EXPECT_EXIT(np::registry().pages().source().with_runs([](const auto&) { return end_process(), 0; }),
                testing::ExitedWithCode(7), "^$")
        << "lock of the page heap";
}

TEST_F(exit_with_a_held_lock_death_test, reports_that_the_requested_output_is_missing)
{
    const auto end_with_locks_of_call_sites = [](np_option option) {
        (void)np_option_set(option, 1);
        (void)np_option_set(np_option_background_thread, 1);
        for (np::call_site_heap& each : np::registry().heaps().call_site_heaps)
            each.sites().lock();
        end_process();
    };
    for (const np_option each : {np_option_statistics_at_end, np_option_leaks, np_option_leaks_exit})
        EXPECT_EXIT(end_with_locks_of_call_sites(each), testing::ExitedWithCode(7),
                    "^np_alloc: a signal handler ends the process in the middle of a call");
}
#endif
} // namespace
