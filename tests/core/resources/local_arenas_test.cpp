// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/local_arenas.hpp>

#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/errors.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
mp::arena_options two_small_ones()
{
    mp::arena_options options;
    options.arena_size = 1024;
    options.max_arenas = 2;
    return options;
}

struct local_arenas : testing::Test
{
    test::accounting_upstream upstream;
    core::local_arenas arenas{two_small_ones(), false, &upstream};
    const std::size_t all = arenas.store().largest_extent();

    core::arena& arena_of(const void* block) const { return *arenas.store().arena_of(block); }
};

TEST_F(local_arenas, are_empty_initially)
{
    EXPECT_EQ(arenas.bump(8, 8), nullptr);
    EXPECT_EQ(arenas.free_arenas(), 0U);
    EXPECT_EQ(upstream.calls(), 0U);
    std::byte* const first = arenas.bump_in_next(8, 8);
    EXPECT_EQ(arenas.bump(8, 8), first + 8);
}

TEST_F(local_arenas, skip_bytes_for_alignment)
{
    std::byte* const first = arenas.bump_in_next(8, 8);
    std::byte* const aligned = arenas.bump(8, 64);
    EXPECT_EQ(aligned, first + 64);
    EXPECT_EQ(arenas.bytes_in_use(), 16U);
    EXPECT_EQ(arenas.bytes_wasted(), 56U);
}

TEST_F(local_arenas, rewind_the_current_arena_when_empty)
{
    std::byte* const first = arenas.bump_in_next(8, 8);
    std::byte* const second = arenas.bump(16, 8);
    EXPECT_TRUE(arenas.take_back(arena_of(first), first, 8));
    EXPECT_EQ(arenas.bytes_wasted(), 8U);
    EXPECT_TRUE(arenas.take_back(arena_of(second), second, 16));
    EXPECT_EQ(arenas.bump(8, 8), first);
    EXPECT_TRUE(arenas.verify());
}

TEST_F(local_arenas, reuse_an_arena_that_becomes_empty)
{
    std::byte* const first = arenas.bump_in_next(all, 8);
    std::byte* const second = arenas.bump_in_next(all, 8);
    EXPECT_THROW((void)arenas.bump_in_next(8, 8), mp::pool_exhausted);
    EXPECT_TRUE(arenas.take_back(arena_of(first), first, all));
    EXPECT_EQ(arenas.bump_in_next(8, 8), first);
    EXPECT_TRUE(arenas.take_back(arena_of(second), second, all));
    EXPECT_EQ(arenas.free_arenas(), 1U);
}

TEST_F(local_arenas, reject_a_free_larger_than_the_bytes_in_use)
{
    std::byte* const block = arenas.bump_in_next(8, 8);
    std::byte* const other = arenas.bump(8, 8);
    EXPECT_TRUE(arenas.take_back(arena_of(block), block, 8));
    EXPECT_FALSE(arenas.take_back(arena_of(block), block, 16 + 8));
    EXPECT_EQ(arenas.bytes_in_use(), 8U);
    EXPECT_TRUE(arenas.verify());
    EXPECT_TRUE(arenas.take_back(arena_of(other), other, 8));
}

TEST_F(local_arenas, forget_blocks_frees_large_blocks_and_arenas)
{
    (void)arenas.bump_in_next(8, 8);
    (void)arenas.allocate_large(100'000, 8);
    arenas.forget_blocks(true);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_EQ(upstream.live_bytes(), arenas.bytes_reserved());
    EXPECT_EQ(arenas.free_arenas(), 1U);
    arenas.forget_blocks(false);
    EXPECT_EQ(upstream.live_bytes(), 0U);
    EXPECT_EQ(upstream.mismatched(), 0U);
}
} // namespace
