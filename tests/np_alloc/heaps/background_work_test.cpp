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
/// The work of a sleeping background thread. The test takes the thread's turns.
struct background_work_test : testing::Test
{
    np::background_work work;

    ~background_work_test() override { work.stop(); }

    void start()
    {
        ASSERT_TRUE(work.start([]() -> std::uint64_t { return std::uint64_t{24} * 60 * 60 * 1000; }));
    }
    bool may_work()
    {
        const np::background_work::turn now(work);
        return now.is_on();
    }
};

TEST_F(background_work_test, works_only_while_its_thread_runs)
{
    EXPECT_FALSE(may_work());
    start();
    EXPECT_TRUE(work.is_running());
    EXPECT_TRUE(may_work());
    work.stop();
    EXPECT_FALSE(work.is_running());
    EXPECT_FALSE(may_work());
}

TEST_F(background_work_test, does_not_start_if_the_system_makes_no_thread)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::make_thread, 1);
    EXPECT_FALSE(work.start([]() -> std::uint64_t { return 0; }));
    EXPECT_FALSE(work.is_running());
    EXPECT_FALSE(may_work());
}

TEST_F(background_work_test, never_waits_for_its_turn)
{
    start();
    const np::background_work::turn now(work);
    EXPECT_TRUE(now.is_on());
    bool others_may = true;
    test::in_a_thread([&] { others_may = may_work(); });
    EXPECT_FALSE(others_may);
}

TEST_F(background_work_test, pauses_until_the_last_rest_ends)
{
    start();
    {
        const np::background_work::rest rest(work);
        EXPECT_FALSE(may_work());
        {
            const np::background_work::rest another(work);
            EXPECT_FALSE(may_work());
        }
        EXPECT_FALSE(may_work());
        EXPECT_TRUE(rest.interrupted_by([this] { EXPECT_TRUE(may_work()); }));
        EXPECT_FALSE(rest.interrupted_by([] {})) << "the thread has not worked meanwhile";
        EXPECT_FALSE(may_work());
    }
    EXPECT_TRUE(may_work());
}

TEST_F(background_work_test, may_rest_within_its_own_excursion)
{
    start();
    {
        const np::background_work::excursion excursion(work);
        EXPECT_TRUE(excursion.is_on());
        EXPECT_TRUE(np::this_thread_is_away);
        EXPECT_TRUE(may_work()) << "an excursion does not hold the lock";
        const np::background_work::rest rest(work); // Does not wait for this thread's excursion.
        EXPECT_FALSE(may_work());
    }
    EXPECT_FALSE(np::this_thread_is_away);
    const np::background_work::rest rest(work);
    const np::background_work::excursion excursion(work);
    EXPECT_FALSE(excursion.is_on());
    EXPECT_FALSE(np::this_thread_is_away);
}

TEST_F(background_work_test, makes_a_rest_wait_for_an_excursion)
{
    start();
    std::atomic<bool> is_away{false};
    std::atomic<bool> has_come_back{false};
    std::thread traveller([&] {
        const np::background_work::excursion excursion(work);
        is_away = true;
        for (int i = 0; i != 1000; ++i)
            std::this_thread::yield();
        has_come_back = true;
    });
    while (!is_away)
        std::this_thread::yield();
    {
        const np::background_work::rest rest(work);
        EXPECT_TRUE(has_come_back);
    }
    traveller.join();
}

#if TESTS_MAY_FORK
TEST_F(background_work_test, forgets_its_thread_in_the_child_of_a_fork)
{
    start();
    const np::background_work::rest rest(work);
    test::expect_in_child([this] {
        work.lock_for_fork();
        work.forget_after_fork();
        work.unlock_after_fork();
        const bool was_running = work.is_running();
        return !was_running && work.start([]() -> std::uint64_t { return 1'000'000; }) && may_work();
    });
}
#endif
} // namespace
