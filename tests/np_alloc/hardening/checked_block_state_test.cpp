// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/block_state.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <optional>

namespace np = memory_pool::np;
using np::allocated_by;

namespace {
struct checked_block_state : testing::Test
{
    np::block_state its{};

    void use(std::size_t bytes, allocated_by function = allocated_by::malloc)
    {
        (void)its.hand_out(bytes, function);
        its.begin_use();
    }
    void use_and_give_back(std::size_t bytes)
    {
        use(bytes);
        (void)its.take_back();
        its.end_use();
    }
};

TEST_F(checked_block_state, is_in_use_only_when_what_lies_behind_the_block_is_written)
{
    EXPECT_TRUE(its.is_unknown());
    EXPECT_EQ(its.hand_out(100, allocated_by::new_object), std::nullopt);
    EXPECT_FALSE(its.is_in_use());
    EXPECT_EQ(its.bytes(), std::nullopt);
    EXPECT_EQ(its.last_bytes(), 100U);
    its.begin_use();
    EXPECT_TRUE(its.is_in_use());
    EXPECT_EQ(its.bytes(), 100U);
    EXPECT_EQ(its.function(), allocated_by::new_object);
}

TEST_F(checked_block_state, is_given_back_once_and_keeps_its_size_for_reports)
{
    use(100);
    EXPECT_EQ(its.take_back(), 100U);
    EXPECT_EQ(its.take_back(), std::nullopt);
    EXPECT_FALSE(its.is_given_back()) << "it is not filled yet";
    its.end_use();
    EXPECT_TRUE(its.is_given_back());
    EXPECT_EQ(its.bytes(), std::nullopt);
    EXPECT_EQ(its.last_bytes(), 100U);
    EXPECT_EQ(its.take_back(), std::nullopt);
    EXPECT_EQ(its.hand_out(5), 100U) << "its poison has to be intact";
    its.begin_use();
    EXPECT_EQ(its.bytes(), 5U);
}

TEST_F(checked_block_state, changes_size_and_function_independently)
{
    use(100, allocated_by::new_object);
    its.resize(7);
    EXPECT_EQ(its.bytes(), 7U);
    EXPECT_EQ(its.function(), allocated_by::new_object);
    its.set_function(allocated_by::malloc);
    EXPECT_EQ(its.bytes(), 7U);
    EXPECT_EQ(its.function(), allocated_by::malloc);
    {
        const np::block_state::change now(its);
        EXPECT_FALSE(its.is_in_use());
        EXPECT_EQ(its.take_back(), std::nullopt) << "another thread is too early";
    }
    EXPECT_EQ(its.take_back(), 7U);
}

TEST_F(checked_block_state, tells_what_a_free_block_holds)
{
    its.start(true);
    EXPECT_TRUE(its.is_purged() && its.is_not_filled() && !its.is_recycled());
    its.start(false);
    EXPECT_TRUE(its.is_recycled() && its.is_not_filled() && !its.is_purged());
    EXPECT_EQ(its.hand_out(100), std::nullopt) << "it was never allocated";
    its.begin_use();
    EXPECT_FALSE(its.is_not_filled());
    (void)its.take_back();
    its.end_use();
    EXPECT_FALSE(its.is_not_filled());
    its.purge();
    EXPECT_TRUE(its.is_purged());
    EXPECT_EQ(its.last_bytes(), 100U) << "for reports";
    its.forget();
    EXPECT_TRUE(its.is_unknown());
    EXPECT_EQ(its.last_bytes(), 0U);
}

TEST_F(checked_block_state, is_sent_to_its_heap_where_it_is_filled_again)
{
    use_and_give_back(100);
    its.send();
    EXPECT_TRUE(its.is_sent());
    EXPECT_FALSE(its.is_given_back());
    EXPECT_EQ(its.last_bytes(), 100U);
    its.receive();
    EXPECT_TRUE(its.is_given_back());
    EXPECT_EQ(its.last_bytes(), 100U);
    its.forget();
    its.send();
    EXPECT_TRUE(its.is_unknown()) << "the library had written to all of it";
}

TEST_F(checked_block_state, is_given_back_by_one_of_the_threads_that_try)
{
    for (int round = 0; round != 100; ++round) {
        use(100);
        std::atomic<int> times{0};
        test::in_threads(3, [&](std::size_t) { times += its.take_back() ? 1 : 0; });
        EXPECT_EQ(times, 1);
        its.end_use();
    }
}
} // namespace
