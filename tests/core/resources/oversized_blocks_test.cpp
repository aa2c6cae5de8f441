// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/oversized_blocks.hpp>

#include <memory_pool/base/poisoning.hpp>

#include <support/cpu_time.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

namespace mp = memory_pool;
using mp::detail::core::oversized_blocks;

namespace {
class oversized_blocks_test : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
    oversized_blocks blocks_{&upstream_};
};

TEST_F(oversized_blocks_test, are_allocated_from_upstream_individually)
{
    void* const a = blocks_.allocate(1000, 16);
    void* const b = blocks_.allocate(33, 4096);
    EXPECT_EQ(upstream_.live_chunks(), 2u);
    EXPECT_EQ(blocks_.bytes_in_use(), 1033u);
    EXPECT_EQ(blocks_.bytes_reserved(), upstream_.live_bytes());
    EXPECT_TRUE(blocks_.deallocate(a, 1000, 16));
    EXPECT_EQ(upstream_.live_chunks(), 1u);
    EXPECT_TRUE(blocks_.deallocate(b, 33, 4096));
    EXPECT_EQ(blocks_.bytes_in_use(), 0u);
    EXPECT_EQ(blocks_.bytes_reserved(), 0u);
    EXPECT_EQ(upstream_.mismatched(), 0u);
}

TEST_F(oversized_blocks_test, can_be_freed_in_any_order)
{
    for (int leaving = 0; leaving != 3; ++leaving) {
        void* const blocks[] = {blocks_.allocate(100, 8), blocks_.allocate(100, 8), blocks_.allocate(100, 8)};
        EXPECT_TRUE(blocks_.deallocate(blocks[leaving], 100, 8));
        EXPECT_EQ(upstream_.live_chunks(), 2u);
        for (int i = 0; i != 3; ++i)
            EXPECT_EQ(blocks_.misuse(blocks[i], {0, 1})->kind == mp::error_kind::foreign_pointer, i == leaving);
        blocks_.release();
        EXPECT_EQ(upstream_.live_chunks(), 0u);
        EXPECT_EQ(blocks_.bytes_reserved(), 0u);
    }
    EXPECT_EQ(upstream_.mismatched(), 0u);
}

TEST_F(oversized_blocks_test, are_not_freed_with_mismatched_arguments)
{
    void* const block = blocks_.allocate(1000, 16);
    EXPECT_FALSE(blocks_.deallocate(block, 1000, 32));
    EXPECT_FALSE(blocks_.deallocate(block, 999, 16)) << "despite the same position of the node";
    EXPECT_EQ(upstream_.live_chunks(), 1u);
}

TEST_F(oversized_blocks_test, classify_misuse_of_any_pointer)
{
    void* const block = blocks_.allocate(1000, 16);
    EXPECT_FALSE(blocks_.misuse(block, {1000, 16}));
    for (const mp::detail::base::block_request& other : {mp::detail::base::block_request{100'000, 16}, {1000, 8}}) {
        EXPECT_EQ(blocks_.misuse(block, other)->kind, mp::error_kind::size_mismatch);
        EXPECT_EQ(blocks_.misuse(block, other)->actual, (mp::detail::base::block_request{1000, 16}));
    }
    EXPECT_EQ(blocks_.misuse(this, {1000, 16})->kind, mp::error_kind::foreign_pointer);
    EXPECT_TRUE(blocks_.deallocate(block, 1000, 16));
    EXPECT_EQ(blocks_.misuse(block, {1000, 16})->kind, mp::error_kind::foreign_pointer);
}

TEST_F(oversized_blocks_test, detect_a_write_behind_a_block)
{
    auto* const block = static_cast<char*>(blocks_.allocate(1000, 16));
    mp::detail::base::permit_access(block + 1000, 1); // Otherwise, AddressSanitizer would report the write.
    block[1000] = 1;
    EXPECT_EQ(blocks_.misuse(block, {1000, 16})->kind, mp::error_kind::buffer_overflow);
    EXPECT_FALSE(blocks_.misuse(block, {1000, 16})) << "reported once";
    EXPECT_TRUE(blocks_.deallocate(block, 1000, 16)) << "the write has not hit the node";
}

TEST_F(oversized_blocks_test, are_found_by_address_during_changes)
{
    std::vector<std::byte*> blocks;
    for (std::size_t round = 0; round != 300; ++round) {
        blocks.push_back(static_cast<std::byte*>(blocks_.allocate(200, 16)));
        if (round % 3 != 0) { // The test frees some blocks without a prior search.
            EXPECT_TRUE(blocks_.owns(blocks.back()));
            EXPECT_TRUE(blocks_.contains(blocks.back() + 199));
            EXPECT_FALSE(blocks_.owns(blocks.back() + 1));
            EXPECT_FALSE(blocks_.contains(blocks.back() - 1));
        }
        if (round % 2 != 0) {
            std::byte* const leaving = blocks[round / 4];
            EXPECT_TRUE(blocks_.deallocate(leaving, 200, 16));
            EXPECT_FALSE(blocks_.contains(leaving));
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(round / 4));
        }
    }
    for (std::byte* const block : blocks)
        EXPECT_FALSE(blocks_.misuse(block, {200, 16}));
    blocks_.release();
    EXPECT_FALSE(blocks_.contains(blocks.front()));
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST(oversized_blocks, are_checked_and_freed_without_a_linear_search)
{
    const auto free_oldest_first = [](std::size_t count) {
        oversized_blocks large(std::pmr::new_delete_resource());
        std::vector<void*> blocks(count);
        for (void*& block : blocks)
            block = large.allocate(100, 16);
        for (void* const block : blocks) {
            EXPECT_FALSE(large.misuse(block, {100, 16}));
            EXPECT_TRUE(large.owns(block) && large.contains(block));
            EXPECT_TRUE(large.deallocate(block, 100, 16));
        }
    };
    EXPECT_LT(test::ratio_of_times(16'000, 1000, free_oldest_first), 100) << "would be 256 for linear searches";
}

TEST_F(oversized_blocks_test, reject_unaddressable_sizes_without_an_upstream_call)
{
    constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();
    for (const std::size_t bytes : {max_size, max_size - 8, max_size / 2, mp::detail::core::largest_size + 1})
        EXPECT_THROW((void)blocks_.allocate(bytes, 8), mp::size_overflow);
    EXPECT_THROW((void)blocks_.allocate(8, max_size / 2 + 1), mp::size_overflow);
    EXPECT_EQ(upstream_.calls(), 0u);
}
} // namespace
