// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/background_work.hpp>

#include <support/child.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace np = memory_pool::np;

namespace {
/// Work of a thread that does nothing by itself: the test takes its turns.
struct background_work_test : testing::Test
{
    np::background_work its;

    ~background_work_test() override { its.stop(); }

    void start()
    {
        ASSERT_TRUE(its.start([]() -> std::uint64_t { return std::uint64_t{24} * 60 * 60 * 1000; }));
    }
    bool may_work()
    {
        const np::background_work::turn now(its);
        return now.is_on();
    }
};

TEST_F(background_work_test, may_work_as_long_as_there_is_a_thread_for_it)
{
    EXPECT_FALSE(may_work());
    start();
    EXPECT_TRUE(its.is_running());
    EXPECT_TRUE(may_work());
    its.stop();
    EXPECT_FALSE(its.is_running());
    EXPECT_FALSE(may_work());
}

TEST_F(background_work_test, does_not_begin_if_the_system_has_no_thread)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::make_thread, 1);
    EXPECT_FALSE(its.start([]() -> std::uint64_t { return 0; }));
    EXPECT_FALSE(its.is_running());
    EXPECT_FALSE(may_work());
}

TEST_F(background_work_test, never_waits_for_its_turn)
{
    start();
    const np::background_work::turn now(its);
    EXPECT_TRUE(now.is_on());
    bool others_may = true;
    test::in_a_thread([&] { others_may = may_work(); });
    EXPECT_FALSE(others_may);
}

TEST_F(background_work_test, rests_until_the_last_rest_ends_and_works_while_a_function_is_called)
{
    start();
    {
        const np::background_work::rest rest(its);
        EXPECT_FALSE(may_work());
        {
            const np::background_work::rest another(its);
            EXPECT_FALSE(may_work());
        }
        EXPECT_FALSE(may_work());
        EXPECT_TRUE(rest.interrupted_by([this] { EXPECT_TRUE(may_work()); }));
        EXPECT_FALSE(rest.interrupted_by([] {})) << "nothing was done meanwhile";
        EXPECT_FALSE(may_work());
    }
    EXPECT_TRUE(may_work());
}

TEST_F(background_work_test, is_away_in_an_excursion_only_in_which_it_may_have_itself_rest)
{
    start();
    {
        const np::background_work::excursion excursion(its);
        EXPECT_TRUE(excursion.is_on());
        EXPECT_TRUE(np::this_thread_is_away);
        EXPECT_TRUE(may_work()) << "it does not hold the lock";
        const np::background_work::rest rest(its); // Does not wait for itself.
        EXPECT_FALSE(may_work());
    }
    EXPECT_FALSE(np::this_thread_is_away);
    const np::background_work::rest rest(its);
    const np::background_work::excursion excursion(its);
    EXPECT_FALSE(excursion.is_on());
    EXPECT_FALSE(np::this_thread_is_away);
}

TEST_F(background_work_test, has_a_rest_wait_for_the_end_of_an_excursion)
{
    start();
    std::atomic<bool> is_away{false};
    std::atomic<bool> has_come_back{false};
    std::thread traveller([&] {
        const np::background_work::excursion excursion(its);
        is_away = true;
        for (int i = 0; i != 1000; ++i)
            std::this_thread::yield();
        has_come_back = true;
    });
    while (!is_away)
        std::this_thread::yield();
    {
        const np::background_work::rest rest(its);
        EXPECT_TRUE(has_come_back);
    }
    traveller.join();
}

#if TESTS_MAY_FORK
TEST_F(background_work_test, forgets_its_thread_and_rests_in_the_child_of_a_fork)
{
    start();
    const np::background_work::rest rest(its);
    test::expect_in_child([this] {
        its.lock_for_fork();
        its.forget_after_fork();
        its.unlock_after_fork();
        const bool was_running = its.is_running();
        return !was_running && its.start([]() -> std::uint64_t { return 1'000'000; }) && may_work();
    });
}
#endif
} // namespace
