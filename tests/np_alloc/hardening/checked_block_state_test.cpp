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
    np::block_state state{};

    void use(std::size_t bytes, allocated_by function = allocated_by::malloc)
    {
        (void)state.hand_out(bytes, function);
        state.begin_use();
    }
    void use_and_free(std::size_t bytes)
    {
        use(bytes);
        (void)state.take_back();
        state.end_use();
    }
};

TEST_F(checked_block_state, is_in_use_only_after_the_canary_is_written)
{
    EXPECT_TRUE(state.is_unknown());
    EXPECT_EQ(state.hand_out(100, allocated_by::new_object), std::nullopt);
    EXPECT_FALSE(state.is_in_use());
    EXPECT_EQ(state.bytes(), std::nullopt);
    EXPECT_EQ(state.last_bytes(), 100U);
    state.begin_use();
    EXPECT_TRUE(state.is_in_use());
    EXPECT_EQ(state.bytes(), 100U);
    EXPECT_EQ(state.function(), allocated_by::new_object);
}

TEST_F(checked_block_state, can_be_freed_only_once_and_keeps_its_size)
{
    use(100);
    EXPECT_EQ(state.take_back(), 100U);
    EXPECT_EQ(state.take_back(), std::nullopt);
    EXPECT_FALSE(state.is_given_back()) << "before the block is poisoned";
    state.end_use();
    EXPECT_TRUE(state.is_given_back());
    EXPECT_EQ(state.bytes(), std::nullopt);
    EXPECT_EQ(state.last_bytes(), 100U);
    EXPECT_EQ(state.take_back(), std::nullopt);
    EXPECT_EQ(state.hand_out(5), 100U) << "the bytes whose poison the caller verifies";
    state.begin_use();
    EXPECT_EQ(state.bytes(), 5U);
}

TEST_F(checked_block_state, changes_size_and_function_independently)
{
    use(100, allocated_by::new_object);
    state.resize(7);
    EXPECT_EQ(state.bytes(), 7U);
    EXPECT_EQ(state.function(), allocated_by::new_object);
    state.set_function(allocated_by::malloc);
    EXPECT_EQ(state.bytes(), 7U);
    EXPECT_EQ(state.function(), allocated_by::malloc);
    {
        const np::block_state::change now(state);
        EXPECT_FALSE(state.is_in_use());
        EXPECT_EQ(state.take_back(), std::nullopt) << "a free during the change";
    }
    EXPECT_EQ(state.take_back(), 7U);
}

TEST_F(checked_block_state, distinguishes_purged_from_recycled_blocks)
{
    state.start(true);
    EXPECT_TRUE(state.is_purged() && state.is_not_filled() && !state.is_recycled());
    state.start(false);
    EXPECT_TRUE(state.is_recycled() && state.is_not_filled() && !state.is_purged());
    EXPECT_EQ(state.hand_out(100), std::nullopt) << "it was never allocated";
    state.begin_use();
    EXPECT_FALSE(state.is_not_filled());
    (void)state.take_back();
    state.end_use();
    EXPECT_FALSE(state.is_not_filled());
    state.purge();
    EXPECT_TRUE(state.is_purged());
    EXPECT_EQ(state.last_bytes(), 100U) << "for reports";
    state.forget();
    EXPECT_TRUE(state.is_unknown());
    EXPECT_EQ(state.last_bytes(), 0U);
}

TEST_F(checked_block_state, keeps_its_size_through_a_remote_free)
{
    use_and_free(100);
    state.send();
    EXPECT_TRUE(state.is_sent());
    EXPECT_FALSE(state.is_given_back());
    EXPECT_EQ(state.last_bytes(), 100U);
    state.receive();
    EXPECT_TRUE(state.is_given_back());
    EXPECT_EQ(state.last_bytes(), 100U);
    state.forget();
    state.send();
    EXPECT_TRUE(state.is_unknown()) << "the contents of the block were unknown before";
}

TEST_F(checked_block_state, is_freed_by_only_one_of_several_threads)
{
    for (int round = 0; round != 100; ++round) {
        use(100);
        std::atomic<int> frees{0};
        test::in_threads(3, [&](std::size_t) { frees += state.take_back() ? 1 : 0; });
        EXPECT_EQ(frees, 1);
        state.end_use();
    }
}
} // namespace
