// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/engine/engine.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/engine/defrag.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
bool is_filled(const void* block, unsigned char value, std::size_t bytes)
{
    const auto* const first = static_cast<const unsigned char*>(block);
    return std::all_of(first, first + bytes, [value](unsigned char each) { return each == value; });
}

TEST(plain_blocks, shrink_in_place_down_to_half_their_size)
{
    void* const block = std::memset(np::allocate(1000), 7, 1000);
    const std::size_t usable = np::usable_size(block);
    EXPECT_EQ(np::reallocate(block, usable), block);
    EXPECT_EQ(np::reallocate(block, usable / 2), block);
    void* const smaller = np::reallocate(block, usable / 2 - 1);
    EXPECT_NE(smaller, block);
    EXPECT_TRUE(is_filled(smaller, 7, usable / 2 - 1));
    void* const larger = np::reallocate(smaller, 5000);
    EXPECT_NE(larger, smaller);
    EXPECT_TRUE(is_filled(larger, 7, usable / 2 - 1));
    np::free_block(larger);
}

TEST(plain_blocks, keep_their_contents_when_moved)
{
    constexpr std::size_t bytes = 3'000'000;
    void* const block = std::memset(np::allocate(bytes), 7, bytes);
    void* const behind = np::allocate(bytes); // Keeps the block from growing in place.
    void* const moved = np::reallocate(block, 4 * bytes);
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(is_filled(moved, 7, bytes));
    EXPECT_GE(np::usable_size(moved), 4 * bytes);
    EXPECT_EQ(np::reallocate(moved, 4 * bytes + bytes / 4), moved) << "there is room to grow";
    np::free_block(moved);
    np::free_block(behind);
}

TEST(plain_blocks, expand_in_place_or_not_at_all)
{
    void* const block = np::allocate(1000);
    const std::size_t usable = np::usable_size(block);
    EXPECT_TRUE(np::expand(block, usable));
    errno = 0;
    EXPECT_FALSE(np::expand(block, usable + 1));
    EXPECT_EQ(errno, ENOMEM);
    np::free_block(block);
}

TEST(plain_blocks, are_aligned_as_requested)
{
    for (const std::size_t alignment : {std::size_t{16}, std::size_t{256}, std::size_t{4096}, std::size_t{1} << 20})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{30'000}, std::size_t{300'000}}) {
            void* const block = np::allocate_aligned(alignment, bytes);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U) << bytes;
            EXPECT_GE(np::usable_size(block), bytes);
            np::free_block(block);
        }
}

TEST(plain_blocks, know_their_heap)
{
    const test::error_recorder recorder;
    np_heap* const heap = np_heap_create();
    np::shared_heap& home = *np::home_of(np_heap_alloc(heap, 1));
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}, std::size_t{300'000}}) {
        void* const in_heap = np::allocate_in(home, bytes, 64);
        EXPECT_EQ(np::home_of(in_heap), &home);
        EXPECT_TRUE(np::is_block_of(home, in_heap));
        EXPECT_EQ(np::home_of(np::reallocate(in_heap, 3 * bytes)), &home);
    }
    void* const of_none = np::allocate(100);
    EXPECT_EQ(np::home_of(of_none), nullptr);
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_FALSE(np::is_block_of(home, of_none));
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::foreign_pointer});
    np::free_block(of_none);
    np_heap_destroy(heap);
}

TEST(plain_blocks, report_interior_pointers)
{
    const test::error_recorder recorder;
    EXPECT_EQ(np::usable_size(nullptr), 0U);
    auto* const block = static_cast<std::byte*>(np::allocate(1000));
    EXPECT_EQ(np::usable_size(block + 1), 0U);
    errno = 0;
    EXPECT_EQ(np::reallocate(block + 1, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_FALSE(np::expand(block + 1, 10));
    EXPECT_EQ(np::home_of(block + 1), nullptr);
    EXPECT_EQ(recorder.kinds(), test::kinds(4, error_kind::misaligned_pointer));
    np::free_block(block);
}

TEST(plain_blocks, move_out_of_sparse_slabs)
{
    std::vector<void*> blocks(20'000);
    std::generate(blocks.begin(), blocks.end(), [] { return np::allocate(1000); });
    std::vector<void*> kept;
    for (std::size_t i = 0; i != blocks.size(); ++i) // Keeps one in 32 of the first half, one in 2 of the second half.
        if (i < blocks.size() / 2 ? i % 32 == 0 : i % 2 == 0)
            kept.push_back(std::memset(blocks[i], 7, 1000));
        else
            np::free_block(blocks[i]);
    (void)np_trim(); // Returns cached blocks to their slabs.
    void* const moved = np::move_to_denser_slab(kept.front());
    ASSERT_NE(moved, nullptr);
    EXPECT_NE(moved, kept.front());
    EXPECT_TRUE(is_filled(moved, 7, 1000));
    kept.front() = moved;
    EXPECT_EQ(np::move_to_denser_slab(kept.back()), nullptr) << "its slab is dense";
    std::for_each(kept.begin(), kept.end(), [](void* block) { np::free_block(block); });
}
} // namespace
