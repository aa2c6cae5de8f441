// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/magazine.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t stride = 16;
constexpr std::size_t row = core::magazine::row_length;

class magazine_test : public testing::Test
{
protected:
    void* block(std::size_t index) { return memory_.data() + index * stride; }

    void push_ascending(std::size_t first, std::size_t count)
    {
        for (std::size_t i = 0; i != count; ++i)
            ASSERT_TRUE(magazine_.push(block(first + i)));
    }

    std::array<void*, 100> array_{};
    std::vector<char> memory_ = std::vector<char>(1000 * stride);
    core::magazine magazine_;
};

TEST_F(magazine_test, rejects_push_and_pop_without_an_array)
{
    void* popped = nullptr;
    EXPECT_FALSE(magazine_.push(block(0)));
    EXPECT_FALSE(magazine_.pop(popped));
    EXPECT_FALSE(magazine_.open(10));
    EXPECT_EQ(magazine_.size(), 0u);
    EXPECT_EQ(magazine_.room(), 0u);
}

TEST_F(magazine_test, is_empty_without_its_array)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(3);
    push_ascending(0, 3);
    magazine_.adopt(nullptr, 0);
    EXPECT_TRUE(magazine_.empty());
    EXPECT_EQ(magazine_.room(), 0u);
    EXPECT_FALSE(magazine_.push(block(0)));
}

TEST_F(magazine_test, is_closed_until_opened)
{
    magazine_.adopt(array_.data(), array_.size());
    EXPECT_FALSE(magazine_.push(block(0)));
    EXPECT_TRUE(magazine_.open(1));
    EXPECT_TRUE(magazine_.push(block(0)));
    EXPECT_FALSE(magazine_.push(block(1))) << "past the limit";
}

TEST_F(magazine_test, pops_in_lifo_order)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(3);
    push_ascending(0, 3);
    for (std::size_t i = 3; i-- != 0;) {
        void* popped = nullptr;
        ASSERT_TRUE(magazine_.pop(popped));
        EXPECT_EQ(popped, block(i));
    }
    EXPECT_TRUE(magazine_.empty());
}

TEST_F(magazine_test, is_limited_by_its_array)
{
    magazine_.adopt(array_.data(), 4);
    EXPECT_TRUE(magazine_.open(1000));
    push_ascending(0, 4);
    EXPECT_FALSE(magazine_.push(block(4)));
    EXPECT_FALSE(magazine_.open(1000));
}

TEST_F(magazine_test, rejects_pushes_when_closed_even_after_pops)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(10);
    push_ascending(0, 5);
    magazine_.close();
    void* popped = nullptr;
    ASSERT_TRUE(magazine_.pop(popped));
    EXPECT_FALSE(magazine_.push(popped));
    EXPECT_EQ(magazine_.size(), 4u);
}

TEST_F(magazine_test, detects_and_takes_a_row)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(100);
    ASSERT_TRUE(magazine_.push(block(500)));
    push_ascending(7, row);
    ASSERT_EQ(magazine_.step_of_row(stride), static_cast<std::ptrdiff_t>(stride));
    const core::block_row taken = magazine_.take_row(stride);
    EXPECT_EQ(taken.span().begin, block(7));
    EXPECT_EQ(taken.span().end, block(7 + row));
    EXPECT_EQ(taken.next, block(7 + row));
    EXPECT_EQ(magazine_.size(), 1u);
    EXPECT_EQ(magazine_.blocks()[0], block(500));
}

TEST_F(magazine_test, detects_a_descending_row)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(100);
    for (std::size_t i = row; i-- != 0;)
        ASSERT_TRUE(magazine_.push(block(10 + i)));
    const std::ptrdiff_t step = magazine_.step_of_row(stride);
    ASSERT_EQ(step, -static_cast<std::ptrdiff_t>(stride));
    const core::block_row taken = magazine_.take_row(step);
    EXPECT_EQ(taken.span().begin, block(10));
    EXPECT_EQ(taken.span().end, block(10 + row));
    EXPECT_EQ(taken.next, block(9));
    EXPECT_TRUE(magazine_.empty());
}

TEST_F(magazine_test, detects_no_row_with_a_gap)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(100);
    push_ascending(0, row - 1);
    EXPECT_EQ(magazine_.step_of_row(stride), 0) << "too few";
    ASSERT_TRUE(magazine_.push(block(row)));
    EXPECT_EQ(magazine_.step_of_row(stride), 0) << "a gap at the end";
    magazine_.clear();
    ASSERT_TRUE(magazine_.push(block(row)));
    push_ascending(1, row - 1);
    EXPECT_EQ(magazine_.step_of_row(stride), 0) << "the first block is elsewhere";
    magazine_.clear();
    push_ascending(0, row / 2);
    push_ascending(row, row / 2);
    EXPECT_EQ(magazine_.step_of_row(stride), 0) << "a gap in the middle";
    magazine_.clear();
    for (std::size_t i = 0; i != row; ++i)
        ASSERT_TRUE(magazine_.push(block(2 * i)));
    EXPECT_EQ(magazine_.step_of_row(stride), 0) << "every other block";
}

TEST_F(magazine_test, forget_oldest_keeps_the_order_of_the_rest)
{
    magazine_.adopt(array_.data(), array_.size());
    magazine_.open(5);
    push_ascending(0, 5);
    magazine_.forget_oldest(2);
    ASSERT_EQ(magazine_.size(), 3u);
    for (std::size_t i = 0; i != 3; ++i)
        EXPECT_EQ(magazine_.blocks()[i], block(i + 2));
}

TEST_F(magazine_test, moves_its_blocks_to_a_new_array)
{
    magazine_.adopt(array_.data(), 3);
    magazine_.open(3);
    push_ascending(0, 3);
    std::array<void*, 8> larger{};
    magazine_.adopt(larger.data(), larger.size());
    EXPECT_EQ(magazine_.array(), larger.data());
    EXPECT_EQ(magazine_.room(), larger.size());
    ASSERT_EQ(magazine_.size(), 3u);
    EXPECT_EQ(magazine_.blocks()[2], block(2));
}

TEST_F(magazine_test, fills_from_a_source)
{
    magazine_.adopt(array_.data(), 4);
    magazine_.fill([&](void** slots, std::size_t room) {
        EXPECT_EQ(room, 4u);
        slots[0] = block(9);
        slots[1] = block(8);
        return std::size_t{2};
    });
    void* popped = nullptr;
    ASSERT_TRUE(magazine_.pop(popped));
    EXPECT_EQ(popped, block(8));
    EXPECT_EQ(magazine_.size(), 1u);
}

TEST_F(magazine_test, moves_blocks_in_bulk_and_skips_nullptr)
{
    magazine_.adopt(array_.data(), array_.size());
    void* const blocks[] = {block(0), block(1), nullptr, block(2), block(3)};
    std::vector<void*> accepted;
    const auto accept = [&accepted](void* pushed) { accepted.push_back(pushed); };
    EXPECT_EQ(magazine_.push(blocks, 5, accept), 0u) << "closed";
    (void)magazine_.open(4);
    EXPECT_EQ(magazine_.push(blocks, 5, accept), 4u);
    EXPECT_EQ(accepted, (std::vector<void*>{block(0), block(1), block(2)}));
    EXPECT_EQ(magazine_.size(), 3u);
    EXPECT_EQ(magazine_.push(blocks + 4, 1, accept), 1u) << "nullptr takes no room";
    EXPECT_EQ(magazine_.push(blocks + 4, 1, accept), 0u);

    char* popped[5] = {};
    EXPECT_EQ(magazine_.pop(popped, 2), 2u);
    EXPECT_EQ(popped[0], block(3)) << "lifo order";
    EXPECT_EQ(popped[1], block(2));
    EXPECT_EQ(magazine_.pop(popped, 5), 2u) << "the remaining blocks";
    EXPECT_EQ(magazine_.pop(popped, 5), 0u);
}
} // namespace
