// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/engine/checked_lookup.hpp>

#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/block_lookup.hpp>
#include <np_alloc/slices/size_classes.hpp>
#include <np_alloc/support/fill_pattern.hpp>

#include <support/np_samples.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

namespace np = memory_pool::np;

namespace {
/// Blocks in slabs of one slice and of several slices, and a large block.
constexpr std::array<std::size_t, 4> sizes_of_all_kinds{100, 5000, 30'000, 300'000};

std::optional<np::checked::checked_block> find(const std::byte* address)
{
    return np::checked::find_block(np::tag_of(address), const_cast<std::byte*>(address));
}

std::byte* some_block(std::size_t bytes)
{
    return static_cast<std::byte*>(np_alloc(bytes));
}

TEST(checked_lookup, finds_blocks_only_at_their_beginning)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        std::byte* const block = some_block(bytes);
        const auto found = find(block);
        ASSERT_TRUE(found) << bytes;
        EXPECT_EQ(found->begin, block);
        EXPECT_EQ(found->is_large(), bytes == 300'000);
        EXPECT_FALSE(found->is_outside());
        EXPECT_FALSE(found->is_zero_size());
        EXPECT_GE(found->block_bytes, bytes);
        for (const std::size_t inside : {std::size_t{1}, std::size_t{16}, bytes / 2})
            EXPECT_FALSE(find(block + inside)) << bytes << ' ' << inside;
        np_free(block);
    }
    EXPECT_FALSE(find(nullptr));
}

TEST(checked_lookup, knows_the_requested_size_after_free)
{
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}}) {
        std::byte* const block = some_block(bytes);
        const auto found = find(block);
        ASSERT_TRUE(found);
        EXPECT_TRUE(np::checked::is_in_use(*found));
        EXPECT_EQ(np::checked::last_asked(*found), bytes);
        np_free(block);
        EXPECT_FALSE(np::checked::is_in_use(*found));
        EXPECT_EQ(np::checked::last_asked(*found), bytes);
    }
}

TEST(checked_lookup, knows_the_requested_size_at_interior_addresses)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        std::byte* const block = some_block(bytes);
        for (const std::size_t inside : {0U, 1U, 99U})
            EXPECT_EQ(np::checked::last_asked_around(np::tag_of(block), block + inside), bytes);
        np_free(block);
    }
    int on_the_stack = 0;
    EXPECT_EQ(np::checked::last_asked_around(np::tag_of(&on_the_stack), &on_the_stack), 0U);
    std::byte* const block = some_block(100);
    const np::checked_slice& slab = np::pages().region().record_of(block);
    const std::size_t behind_all = std::size_t{slab.capacity} * slab.block_bytes;
    EXPECT_EQ(np::checked::last_asked_around(np::tag_of(block), slab.begin + behind_all), 0U);
    np_free(block);
}

TEST(checked_lookup, finds_samples_outside_the_region)
{
    auto* const block = reinterpret_cast<std::byte*>(test::sample(100));
    const auto found = find(block);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_outside());
    EXPECT_TRUE(np::checked::is_in_use(*found));
    EXPECT_EQ(np::checked::last_asked(*found), 100U);
    np_free(block);
    EXPECT_FALSE(np::checked::is_in_use(*found));
    EXPECT_FALSE(find(block));
}

TEST(checked_lookup, writes_the_canary_up_to_the_end_of_the_block)
{
    for (const std::size_t bytes : {std::size_t{101}, std::size_t{5001}, std::size_t{300'001}}) {
        std::byte* const block = some_block(bytes);
        const auto found = find(block);
        ASSERT_TRUE(found);
        std::byte* const end = block + found->block_bytes;
        std::memset(block, 1, bytes);
        std::memset(block + bytes, 0, static_cast<std::size_t>(end - block) - bytes);
        EXPECT_FALSE(np::the_canary.is_intact(block + bytes, end));
        np::checked::write_canary(*found, bytes);
        EXPECT_TRUE(np::the_canary.is_intact(block + bytes, end));
        EXPECT_EQ(block[bytes - 1], std::byte{1});
        np_free(block);
    }
}

TEST(checked_lookup, writes_no_canary_to_blocks_of_0_bytes)
{
    std::byte* const block = some_block(0);
    const auto found = find(block);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_zero_size());
    EXPECT_EQ(np::checked::last_asked(*found), 0U);
    np::checked::write_canary(*found, 0); // A write would fault: the block is inaccessible.
    np_free(block);
}
} // namespace
