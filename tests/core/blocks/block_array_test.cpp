// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/block_array.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

using memory_pool::detail::core::block_array;
using memory_pool::detail::core::block_state;

namespace {
template <class T>
std::vector<void*> take_all(block_array<T>& blocks)
{
    std::vector<void*> taken;
    while (!blocks.is_exhausted())
        taken.push_back(blocks.take());
    return taken;
}

TEST(block_array, is_exhausted_before_allocate)
{
    block_array<int> blocks;
    EXPECT_EQ(blocks.size(), 0u);
    EXPECT_EQ(blocks.available(), 0u);
    EXPECT_TRUE(blocks.is_exhausted());
    blocks.allocate(3);
    EXPECT_EQ(blocks.size(), 3u);
    EXPECT_EQ(blocks.available(), 3u);
    EXPECT_FALSE(blocks.is_exhausted());
}

TEST(block_array, takes_each_block_once_in_address_order)
{
    for (const std::size_t count : {1u, 15u, 16u, 17u, 100u}) {
        block_array<std::uint64_t> blocks;
        blocks.allocate(count);
        const std::vector<void*> taken = take_all(blocks);
        ASSERT_EQ(taken.size(), count);
        for (std::size_t i = 0; i != count; ++i)
            EXPECT_EQ(taken[i], static_cast<std::uint64_t*>(taken[0]) + i);
        EXPECT_EQ(blocks.available(), 0u);
    }
}

TEST(block_array, reuses_freed_blocks_in_lifo_order)
{
    block_array<std::uint64_t> blocks;
    blocks.allocate(40);
    ASSERT_FALSE(blocks.is_exhausted());
    void* const first = blocks.take();
    ASSERT_FALSE(blocks.is_exhausted());
    void* const second = blocks.take();
    blocks.put(second);
    blocks.put(first);
    EXPECT_EQ(blocks.available(), 40u);
    const std::vector<void*> taken = take_all(blocks);
    ASSERT_EQ(taken.size(), 40u);
    EXPECT_EQ(taken[0], first);
    EXPECT_EQ(taken[1], second);
}

TEST(block_array, ignores_a_put_when_all_blocks_are_free)
{
    block_array<std::uint64_t> blocks;
    blocks.allocate(2);
    const std::vector<void*> taken = take_all(blocks);
    for (int i = 0; i != 3; ++i)
        for (void* block : taken)
            blocks.put(block);
    EXPECT_EQ(blocks.available(), 2u);
}

struct alignas(128) over_aligned
{
    char byte;
};

TEST(block_array, aligns_blocks_for_their_type)
{
    block_array<over_aligned> blocks;
    blocks.allocate(20);
    for (const void* block : take_all(blocks))
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 128, 0u);
}

TEST(block_array, tracks_block_states_of_types_with_destructors)
{
    block_array<std::string> blocks;
    blocks.allocate(20);
    std::vector<void*> taken = take_all(blocks);
    for (const void* block : taken)
        EXPECT_EQ(blocks.state(block), block_state::free);
    blocks.state(taken[3]) = block_state::object;
    blocks.state(taken[19]) = block_state::raw;
    std::vector<block_state> states;
    blocks.for_each([&](const void* block) { states.push_back(blocks.state(block)); });
    std::vector<block_state> expected(20, block_state::free);
    expected[3] = block_state::object;
    expected[19] = block_state::raw;
    EXPECT_EQ(states, expected);
}

TEST(block_array, owns_only_addresses_in_its_blocks)
{
    block_array<std::string> blocks;
    EXPECT_FALSE(blocks.owns(nullptr));
    EXPECT_FALSE(blocks.owns(&blocks));
    blocks.allocate(20);
    const std::vector<void*> taken = take_all(blocks);
    EXPECT_TRUE(blocks.owns(taken.front()));
    EXPECT_TRUE(blocks.owns(taken.back()));
    EXPECT_FALSE(blocks.owns(static_cast<std::string*>(taken.back()) + 1));
    EXPECT_FALSE(blocks.owns(&taken));
}

TEST(block_array, can_be_allocated_again_after_release)
{
    block_array<std::string> blocks;
    blocks.allocate(5);
    ASSERT_FALSE(blocks.is_exhausted());
    blocks.state(blocks.take()) = block_state::object;
    blocks.release();
    EXPECT_EQ(blocks.size(), 0u);
    EXPECT_TRUE(blocks.is_exhausted());
    blocks.allocate(7);
    EXPECT_EQ(take_all(blocks).size(), 7u);
    blocks.for_each([&](const void* block) { EXPECT_EQ(blocks.state(block), block_state::free); });
}

TEST(block_array, throws_size_overflow_for_an_unaddressable_size)
{
    struct large
    {
        char bytes[std::size_t{1} << 40];
    };
    block_array<large> blocks;
    EXPECT_THROW(blocks.allocate(std::size_t{1} << 24), memory_pool::size_overflow);
    EXPECT_EQ(blocks.size(), 0u);
    EXPECT_TRUE(blocks.is_exhausted());
}
} // namespace
