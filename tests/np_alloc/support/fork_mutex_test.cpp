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
TEST(fork_mutex, is_counted_by_the_thread_that_has_it)
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
TEST(fork_mutex, is_taken_under_another_number_in_the_child_of_a_fork)
{
    np_free(np_alloc(10)); // From then on, forks are noticed.
    test::expect_in_child([] {
        np::fork_mutex one(np::lock_rank::heap);
        const std::lock_guard lock(one);
        return memory_pool::detail::os::number_of_this_thread == static_cast<std::uint32_t>(getpid());
    });
}
#endif

#if defined(__unix__)
/// Ends the process, as a handler of a signal would that has come now.
void end_process()
{
    (void)alarm(10); // It would wait for ever.
    std::exit(7);    // NOLINT(concurrency-mt-unsafe): one thread does
}

struct process_that_ends_with_a_lock_death_test : testing::Test
{
    process_that_ends_with_a_lock_death_test()
    {
        testing::GTEST_FLAG(death_test_style) = "threadsafe";
        np_free(np_alloc(10));
    }
};

TEST_F(process_that_ends_with_a_lock_death_test, ends_nevertheless)
{
    EXPECT_EXIT(np::registry().heaps().for_each_heap([](auto&) { end_process(); }), testing::ExitedWithCode(7), "^$")
        << "that of the lists";
    EXPECT_EXIT(np::registry().pages().source().with_runs([](const auto&) { return end_process(), 0; }),
                testing::ExitedWithCode(7), "^$")
        << "that of the page heap";
}

TEST_F(process_that_ends_with_a_lock_death_test, says_that_it_prints_nothing_where_something_was_to_be_printed)
{
    const auto end_with_locks_of_call_sites = [](np_option option) {
        (void)np_option_set(option, 1);
        (void)np_option_set(np_option_background_thread, 1);
        for (np::traced_heap& each : np::registry().heaps().traced)
            each.sites().lock();
        end_process();
    };
    for (const np_option each : {np_option_statistics_at_end, np_option_leaks, np_option_leaks_exit})
        EXPECT_EXIT(end_with_locks_of_call_sites(each), testing::ExitedWithCode(7),
                    "^np_alloc: a handler of a signal ends the process in the middle of a call");
}
#endif
} // namespace
