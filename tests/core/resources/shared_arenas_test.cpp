// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/shared_arenas.hpp>

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/errors.hpp>

#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <set>
#include <vector>

namespace mp = memory_pool;
namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;

namespace {
struct shared_arenas : testing::Test
{
    explicit shared_arenas(std::size_t max_arenas = 100)
        : arenas(mp::arena_options{}.with_arena_size(1024).with_max_arenas(max_arenas), false, &upstream)
    {
    }

    core::shared_arena& arena_of(const void* block) const { return *arenas.store().arena_of(block); }

    std::byte* allocate(std::size_t extent)
    {
        std::byte* const block = arenas.bump(extent, 8);
        return block != nullptr ? block : arenas.bump_in_next(extent, 8);
    }

    bool give_back(std::byte* block, std::size_t extent) { return arenas.take_back(arena_of(block), block, extent); }

    test::shared_accounting_upstream upstream;
    core::shared_arenas arenas;
    const std::size_t all = arenas.store().largest_extent();
};

struct two_shared_arenas : shared_arenas
{
    two_shared_arenas() : shared_arenas(2) {}
};

TEST_F(shared_arenas, are_empty_initially)
{
    EXPECT_EQ(arenas.current(), nullptr);
    EXPECT_EQ(arenas.bump(8, 8), nullptr);
    EXPECT_EQ(upstream.calls(), 0U);
    upstream.fail_always();
    EXPECT_THROW((void)arenas.bump_in_next(8, 8), std::bad_alloc);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    upstream.never_fail();
    std::byte* const first = arenas.bump_in_next(8, 8);
    EXPECT_EQ(arenas.bump(8, 8), first + 8);
    EXPECT_EQ(arenas.bump(8, 64), first + 64);
    EXPECT_EQ(arenas.bytes_in_use(), 24U);
    EXPECT_EQ(arenas.bytes_wasted(), 48U);
    EXPECT_TRUE(arenas.verify());
}

TEST_F(shared_arenas, undo_the_last_block_and_rewind_when_empty)
{
    std::byte* const first = allocate(40);
    std::byte* const second = allocate(16);
    EXPECT_TRUE(give_back(second, 16));
    EXPECT_EQ(allocate(24), second);
    EXPECT_TRUE(give_back(first, 40));
    EXPECT_FALSE(give_back(first, 40)) << "more than was allocated";
    EXPECT_EQ(arenas.bytes_in_use(), 24U);
    EXPECT_TRUE(give_back(second, 24));
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_EQ(allocate(8), first);
    EXPECT_TRUE(arenas.verify());
}

TEST_F(shared_arenas, belong_to_one_thread_until_it_exits)
{
    std::byte* const mine = allocate(8);
    std::byte* of_another = nullptr;
    test::in_a_thread([&] {
        of_another = allocate(8);
        EXPECT_NE(&arena_of(of_another), &arena_of(mine));
        EXPECT_EQ(allocate(8), of_another + 8);
    });
    EXPECT_EQ(allocate(8), mine + 8);
    test::in_a_thread([&] { EXPECT_EQ(allocate(8), of_another + 16) << "the next thread continues in that arena"; });
    EXPECT_EQ(arenas.bytes_in_use(), 5 * 8U);
    EXPECT_TRUE(arenas.verify());
}

TEST_F(two_shared_arenas, become_free_with_the_last_free_of_any_thread)
{
    std::byte* const first = allocate(all);
    std::byte* const second = allocate(all);
    EXPECT_THROW((void)arenas.bump_in_next(8, 8), mp::pool_exhausted);
    test::in_a_thread([&] { EXPECT_TRUE(give_back(first, all)); });
    EXPECT_EQ(arenas.bytes_in_use(), all);
    EXPECT_EQ(arenas.free_arenas(), 1U);
    test::in_a_thread([&] { EXPECT_TRUE(give_back(second, all)); });
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_EQ(arenas.free_arenas(), 2U) << "including the current arena of this thread";
    EXPECT_TRUE(arenas.verify());
    const std::set<std::byte*> again{allocate(all), allocate(all)};
    EXPECT_EQ(again, (std::set<std::byte*>{first, second}));
}

TEST_F(shared_arenas, are_trimmed_when_empty)
{
    std::vector<std::byte*> blocks;
    for (int i = 0; i != 7; ++i)
        blocks.push_back(allocate(all));
    EXPECT_EQ(arenas.trim(), 0U);
    for (std::byte* const each : blocks)
        EXPECT_TRUE(give_back(each, all));
    const std::size_t before = upstream.live_bytes();
    EXPECT_EQ(before, arenas.bytes_reserved());
    const std::size_t bytes = arenas.trim();
    EXPECT_GE(bytes, 7 * 1024U);
    EXPECT_EQ(upstream.live_bytes(), before - bytes);
    EXPECT_FALSE(arenas.contains(blocks[0]));
    EXPECT_TRUE(arenas.contains(allocate(8)));
    arenas.reserve(10);
    EXPECT_GE(arenas.free_arenas(), 9U);
    EXPECT_THROW(arenas.reserve(101), mp::pool_exhausted);
}

TEST_F(shared_arenas, track_large_blocks_separately)
{
    (void)allocate(8);
    void* const large = arenas.allocate_large(100'000, 64);
    EXPECT_EQ(arenas.bytes_in_use(), 100'008U);
    EXPECT_TRUE(arenas.contains(large));
    EXPECT_TRUE(arenas.deallocate_large(large, 100'000, 64));
    EXPECT_FALSE(arenas.contains(large));
    (void)arenas.allocate_large(100'000, 8);
    arenas.forget_blocks(true);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_EQ(upstream.live_bytes(), arenas.bytes_reserved());
    (void)allocate(8);
    arenas.forget_blocks(false);
    EXPECT_EQ(upstream.live_bytes(), 0U);
    EXPECT_EQ(upstream.mismatched(), 0U);
    EXPECT_NE(allocate(8), nullptr);
    EXPECT_TRUE(arenas.verify());
}

TEST_F(shared_arenas, lose_no_bytes_with_remote_frees)
{
    constexpr std::size_t threads = 4;
    std::array<std::vector<std::byte*>, threads> blocks;
    test::in_threads(threads, [&](std::size_t thread) {
        for (std::size_t i = 0; i != 40; ++i) {
            blocks[thread].push_back(allocate(200));
            base::permit_access(blocks[thread].back(), 200);
            std::memset(blocks[thread].back(), static_cast<int>(thread + 1), 200);
        }
    });
    EXPECT_EQ(arenas.bytes_in_use(), threads * 40 * 200);
    test::in_threads(threads, [&](std::size_t thread) {
        const std::size_t other = (thread + 1) % threads;
        const std::vector<std::byte> expected(200, std::byte(other + 1));
        for (std::byte* const each : blocks[other]) {
            EXPECT_EQ(std::memcmp(each, expected.data(), 200), 0);
            EXPECT_TRUE(give_back(each, 200));
            EXPECT_TRUE(give_back(allocate(64), 64));
        }
    });
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_TRUE(arenas.verify());
    (void)arenas.trim();
    EXPECT_EQ(arenas.free_arenas(), 0U);
}
} // namespace
