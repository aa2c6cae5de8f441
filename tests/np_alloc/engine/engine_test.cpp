// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/engine/engine.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/support/misuse.hpp>

#include <support/error_recorder.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
/// Sizes of blocks from magazines and from slabs of several slices, and of a large block.
constexpr std::array<std::size_t, 4> sizes_of_all_kinds{100, 5000, 30'000, 300'000};

bool is_filled(const void* block, unsigned char value, std::size_t bytes)
{
    const auto* const first = static_cast<const unsigned char*>(block);
    return std::all_of(first, first + bytes, [value](unsigned char each) { return each == value; });
}

/// Frees a filled block, so that the next block of that size may reuse its memory.
void fill_and_free(std::size_t bytes)
{
    np::free_block(std::memset(np::allocate(bytes), 0xFF, bytes));
}

TEST(engine, finds_the_class_for_a_size_and_an_alignment)
{
    EXPECT_LT(np::class_for(np::largest_asked_in_slab, np::alignment_of_all), np::class_count);
    EXPECT_EQ(np::class_for(np::largest_asked_in_slab + 1, np::alignment_of_all), np::class_count);
    for (const std::size_t alignment : {std::size_t{64}, std::size_t{1024}}) {
        const std::size_t size_class = np::class_for(65, alignment);
        ASSERT_LT(size_class, np::class_count);
        EXPECT_EQ(np::sizes::size(size_class) % alignment, 0U);
    }
}

TEST(engine, reuses_the_last_freed_block_first)
{
    void* const first = np::allocate(100);
    void* const second = np::allocate(100);
    np::free_block(first);
    np::free_block(second);
    EXPECT_EQ(np::allocate(100), second);
    EXPECT_EQ(np::allocate(100), first);
    np::free_sized(first, 100);
    np::free_sized(second, 100);
    EXPECT_EQ(np::allocate(100), second);
    np::free_block(second);
}

TEST(engine, zeroes_recycled_memory)
{
    np_heap* const heap = np_heap_create();
    np::shared_heap& home = *np::home_of(np_heap_alloc(heap, 1));
    for (const std::size_t bytes : sizes_of_all_kinds) {
        fill_and_free(bytes);
        void* const block = np::allocate_zeroed(bytes / 10, 10);
        EXPECT_TRUE(is_filled(block, 0, bytes)) << bytes;
        std::memset(block, 0xFF, bytes);
        np::free_block(block);
        void* const aligned = np::allocate_aligned_zeroed(256, 1, bytes);
        EXPECT_TRUE(is_filled(aligned, 0, bytes)) << bytes;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 256, 0U);
        np::free_block(aligned);
        np_heap_free(heap, std::memset(np::allocate_in(home, bytes), 0xFF, bytes));
        EXPECT_TRUE(is_filled(np::allocate_zeroed_in(home, 1, bytes), 0, bytes)) << bytes;
    }
    np_heap_destroy(heap);
}

TEST(engine, sets_enomem_if_a_product_overflows)
{
    const volatile std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
    errno = 0;
    EXPECT_EQ(np::allocate(max_bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np::allocate_zeroed(max_bytes / 2, 3), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np::allocate_aligned_zeroed(64, max_bytes / 2, 3), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(engine, preserves_errno_in_free)
{
    std::vector<void*> blocks;
    for (const std::size_t bytes : sizes_of_all_kinds)
        test::in_a_thread([&blocks, bytes] { blocks.push_back(np::allocate(bytes)); });
    for (std::size_t i = 0; i != 3000; ++i)
        blocks.push_back(np::allocate(100));
    errno = E2BIG;
    std::for_each(blocks.begin(), blocks.end(), [](void* block) { np::free_block(block); });
    np::free_block(nullptr);
    EXPECT_EQ(errno, E2BIG);
}

TEST(engine, reports_invalid_pointers_and_counts_size_mismatches)
{
    const test::error_recorder recorder;
    alignas(16) int on_the_stack = 0;
    np::free_block(&on_the_stack);
    auto* const block = static_cast<std::byte*>(np::allocate(5000));
    np::free_block(block + 1);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::foreign_pointer, error_kind::misaligned_pointer}));
    np::free_block(block);
    const std::size_t before = np::size_mismatches;
    np::free_sized(np::allocate(300'000), 1'000'000);
    EXPECT_EQ(np::size_mismatches, before + 1);
}

TEST(engine, drains_magazines_on_request_and_returns_memory_on_trim)
{
    fill_and_free(100);
    const std::size_t size_class = np::class_for(100, np::alignment_of_all);
    ASSERT_GT(np::this_thread.cache.held(size_class), 0U);
    (void)np::registry().maintenance().ask_for_drains();
    EXPECT_TRUE(np::run_maintenance());
    EXPECT_EQ(np::this_thread.cache.held(size_class), 0U);
    fill_and_free(3'000'000);
    EXPECT_GE(np::trim(), 3'000'000U);
}
} // namespace
