// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <custAlloc/custAlloc.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace {
std::vector<void*> all_blocks_of(PoolAllocator& pool)
{
    std::vector<void*> blocks;
    while (void* const block = pool.allocate_object())
        blocks.push_back(block);
    return blocks;
}

void deallocate_all(PoolAllocator& pool, const std::vector<void*>& blocks)
{
    for (void* const block : blocks)
        pool.deallocate_object(block);
}

template <class Work>
void in_another_thread(Work&& work)
{
    std::thread(work).join();
}

TEST(PoolAllocator, allocates_as_many_blocks_as_its_size)
{
    for (const std::size_t pool_size : {1U, 2U, 63U, 1000U, 10'000U}) {
        PoolAllocator pool(24, pool_size);
        for (int round = 0; round != 3; ++round) {
            const std::vector<void*> blocks = all_blocks_of(pool);
            EXPECT_EQ(blocks.size(), pool_size);
            EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), pool_size);
            EXPECT_EQ(pool.allocate_object(), nullptr);
            deallocate_all(pool, blocks);
        }
    }
}

// This test must compile with warnings as errors: a program for the original may ignore the result.
TEST(PoolAllocator, does_not_require_its_result_to_be_used)
{
    PoolAllocator pool(24, 2);
    pool.allocate_object();
    EXPECT_EQ(all_blocks_of(pool).size(), 1U);
}

TEST(PoolAllocator, recovers_with_each_freed_block)
{
    PoolAllocator pool(24, 5);
    const std::vector<void*> blocks = all_blocks_of(pool);
    pool.deallocate_object(blocks[3]);
    EXPECT_EQ(pool.allocate_object(), blocks[3]);
    EXPECT_EQ(pool.allocate_object(), nullptr);
}

#if MEMORY_POOL_ASAN
TEST(PoolAllocator, reports_a_block_that_address_sanitizer_has_poisoned)
{
    const test::error_recorder recorder;
    PoolAllocator pool(24, 5);
    void* const block = pool.allocate_object();
    pool.deallocate_object(block);
    pool.deallocate_object(block);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::double_free});
    EXPECT_EQ(all_blocks_of(pool).size(), 5U);
}
#endif

TEST(PoolAllocator, aligns_blocks_to_64_bytes_without_overlap)
{
    for (const std::size_t object_size : {1U, 24U, 64U, 65U, 1000U}) {
        PoolAllocator pool(object_size, 300);
        const std::vector<void*> blocks = all_blocks_of(pool);
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i]) % 64, 0U);
            std::memset(blocks[i], static_cast<int>(i % 251), object_size);
        }
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            const auto* const bytes = static_cast<const unsigned char*>(blocks[i]);
            ASSERT_TRUE(std::all_of(bytes, bytes + object_size, [i](unsigned char byte) { return byte == i % 251; }));
        }
    }
}

TEST(PoolAllocator, ignores_nullptr)
{
    PoolAllocator pool(24, 2);
    pool.deallocate_object(nullptr);
    EXPECT_EQ(all_blocks_of(pool).size(), 2U);
    pool.deallocate_object(nullptr);
    EXPECT_EQ(pool.allocate_object(), nullptr);
}

TEST(PoolAllocator, rejects_invalid_sizes)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(PoolAllocator(0, 10), std::invalid_argument);
    EXPECT_THROW(PoolAllocator(24, 0), std::invalid_argument);
    EXPECT_THROW(PoolAllocator(most, 1), std::bad_alloc);
    EXPECT_THROW(PoolAllocator(24, most), std::bad_alloc);
    EXPECT_THROW(PoolAllocator(24, most - 1), std::bad_alloc);
    EXPECT_THROW(PoolAllocator(most / 2, 2), std::bad_alloc);
}

TEST(PoolAllocator, loses_no_block_when_two_pools_are_used_in_turn)
{
    PoolAllocator one(24, 1000);
    PoolAllocator other(100, 500);
    for (int round = 0; round != 10; ++round) {
        std::vector<void*> blocks;
        while (void* const block = one.allocate_object()) {
            blocks.push_back(block);
            void* const others = other.allocate_object();
            ASSERT_NE(others, nullptr);
            other.deallocate_object(others);
        }
        EXPECT_EQ(blocks.size(), 1000U);
        for (void* const block : blocks) {
            one.deallocate_object(block);
            other.deallocate_object(other.allocate_object());
        }
    }
    EXPECT_EQ(all_blocks_of(other).size(), 500U);
}

TEST(PoolAllocator, loses_no_block_when_a_thread_ends)
{
    PoolAllocator pool(24, 64);
    for (int i = 0; i != 200; ++i)
        in_another_thread([&pool] { pool.deallocate_object(pool.allocate_object()); });
    EXPECT_EQ(all_blocks_of(pool).size(), 64U);
}

TEST(PoolAllocator, lets_no_thread_hoard_freed_blocks)
{
    PoolAllocator pool(24, 1000);
    deallocate_all(pool, all_blocks_of(pool)); // This thread stays alive.
    std::size_t seen_by_another = 0;
    in_another_thread([&] {
        const std::vector<void*> blocks = all_blocks_of(pool);
        seen_by_another = blocks.size();
        deallocate_all(pool, blocks);
    });
    EXPECT_EQ(seen_by_another, 1000U);
}

TEST(PoolAllocator, frees_blocks_from_any_thread)
{
    PoolAllocator pool(24, 1000);
    for (int round = 0; round != 10; ++round) {
        const std::vector<void*> blocks = all_blocks_of(pool);
        ASSERT_EQ(blocks.size(), 1000U);
        in_another_thread([&] { deallocate_all(pool, blocks); });
    }
}

TEST(PoolAllocator, allocates_each_block_to_one_thread_only)
{
    constexpr std::size_t thread_count = 4;
    constexpr std::size_t pool_size = 1000;
    PoolAllocator pool(sizeof(std::size_t), pool_size);
    for (int round = 0; round != 20; ++round) {
        std::vector<std::vector<void*>> blocks(thread_count);
        std::vector<std::thread> threads;
        threads.reserve(thread_count);
        for (std::vector<void*>& mine : blocks)
            threads.emplace_back([&pool, &mine] { mine = all_blocks_of(pool); });
        for (std::thread& thread : threads)
            thread.join();
        std::set<void*> all;
        std::size_t count = 0;
        for (const std::vector<void*>& mine : blocks) {
            all.insert(mine.begin(), mine.end());
            count += mine.size();
        }
        EXPECT_EQ(count, pool_size);
        EXPECT_EQ(all.size(), pool_size);
        threads.clear();
        for (std::size_t i = 0; i != thread_count; ++i)
            threads.emplace_back([&, i] { deallocate_all(pool, blocks[(i + 1) % thread_count]); });
        for (std::thread& thread : threads)
            thread.join();
    }
}

TEST(PoolAllocator, allocates_its_memory_at_once_and_frees_it)
{
    test::accounting_upstream upstream;
    std::pmr::memory_resource* const usual = std::pmr::set_default_resource(&upstream);
    {
        PoolAllocator pool(24, 1000);
        EXPECT_GE(upstream.live_bytes(), 64'000U);
        EXPECT_LE(upstream.live_bytes(), 96'000U);
        (void)all_blocks_of(pool);
    }
    std::pmr::set_default_resource(usual);
    EXPECT_EQ(upstream.live_bytes(), 0U);
    EXPECT_EQ(upstream.mismatched(), 0U);
}

TEST(PoolAllocator, is_not_copyable)
{
    EXPECT_FALSE(std::is_copy_constructible_v<PoolAllocator>);
    EXPECT_FALSE(std::is_copy_assignable_v<PoolAllocator>);
}
} // namespace
