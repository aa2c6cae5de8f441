// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/thread_cache.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
class cache_slot_test : public testing::Test
{
protected:
    static constexpr std::size_t room = 4;

    void* pop()
    {
        void* block = nullptr;
        return slot_.pop(block) ? block : nullptr;
    }

    core::cache_slot slot_;
    std::array<void*, room> array_{};
    std::array<void*, room> other_array_{};
    std::array<int, 2 * room> blocks_{};
};

TEST_F(cache_slot_test, is_closed_when_zero)
{
    EXPECT_FALSE(slot_.is_open());
    EXPECT_EQ(pop(), nullptr);
    EXPECT_FALSE(slot_.push(&blocks_[0]));
}

TEST_F(cache_slot_test, is_a_bounded_stack)
{
    slot_.open(array_.data(), room);
    EXPECT_EQ(pop(), nullptr) << "empty";
    for (std::size_t i = 0; i != room; ++i)
        EXPECT_TRUE(slot_.push(&blocks_[i]));
    EXPECT_FALSE(slot_.push(&blocks_[room])) << "full";
    for (std::size_t i = room; i-- != 0;)
        EXPECT_EQ(pop(), &blocks_[i]);
    EXPECT_EQ(pop(), nullptr);
}

TEST_F(cache_slot_test, rejects_push_and_pop_when_closed)
{
    slot_.open(array_.data(), room);
    EXPECT_TRUE(slot_.push(&blocks_[0]));
    slot_.close();
    EXPECT_FALSE(slot_.is_open());
    EXPECT_EQ(pop(), nullptr);
    EXPECT_FALSE(slot_.push(&blocks_[1]));
    EXPECT_EQ(slot_.wait_for_top(), array_.data() + 1) << "keeps its blocks";
}

TEST_F(cache_slot_test, wait_for_top_waits_for_the_owner)
{
    slot_.open(array_.data(), room);
    void** const top = slot_.begin();
    EXPECT_EQ(slot_.top.load(), nullptr);
    test::in_threads(2, [&](std::size_t thread) {
        if (thread == 0) {
            std::this_thread::yield();
            slot_.end(top + 1);
        } else {
            EXPECT_EQ(slot_.wait_for_top(), top + 1);
        }
    });
}

TEST_F(cache_slot_test, continues_in_a_new_array_unless_closed)
{
    slot_.open(array_.data(), room);
    (void)slot_.begin();
    slot_.reload(other_array_.data(), room);
    slot_.end(other_array_.data());
    EXPECT_TRUE(slot_.push(&blocks_[0]));
    EXPECT_EQ(other_array_[0], &blocks_[0]);

    void** const top = slot_.begin();
    slot_.close();
    slot_.reload(array_.data(), room);
    slot_.end(top);
    EXPECT_FALSE(slot_.is_open());
    EXPECT_EQ(pop(), nullptr);
}
} // namespace
