// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/process_pools.hpp>

#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/policies.hpp>

#include <support/error_recorder.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
/// A policy for each test, so that each test has its own pools.
template <int>
struct policy : mp::default_policy
{
};
template <int Number>
using pools = core::process_pools<mp::basic_concurrent_block_pool<policy<Number>>>;

TEST(process_pools, allocate_blocks_of_any_size_and_alignment)
{
    struct block
    {
        void* address;
        std::size_t bytes;
        std::size_t alignment;
    };
    std::vector<block> blocks;
    for (std::size_t bytes = 0; bytes < 100'000; bytes += 1 + bytes / 3)
        for (std::size_t alignment = 1; alignment <= 16'384; alignment *= 4) {
            blocks.push_back({pools<0>::allocate(bytes, alignment), bytes, alignment});
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().address) % alignment, 0u);
            std::memset(blocks.back().address, static_cast<int>(blocks.size() % 251), bytes);
        }
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        const auto* const first = static_cast<unsigned char*>(blocks[i].address);
        for (std::size_t byte = 0; byte != blocks[i].bytes; ++byte)
            ASSERT_EQ(first[byte], (i + 1) % 251);
        pools<0>::deallocate(blocks[i].address, blocks[i].bytes, blocks[i].alignment);
    }
    EXPECT_EQ(pools<0>::bytes_in_use(), 0u);
    EXPECT_TRUE(pools<0>::verify());
}

TEST(process_pools, are_separate_for_each_policy)
{
    void* const block = pools<1>::allocate(100, 16);
    EXPECT_EQ(pools<1>::bytes_in_use(), 112u);
    EXPECT_EQ(pools<2>::bytes_in_use(), 0u);
    pools<1>::deallocate(block, 100, 16);
}

TEST(process_pools, count_large_blocks)
{
    const std::size_t reserved = pools<3>::bytes_reserved();
    void* const large = pools<3>::allocate(pools<3>::largest_block + 1, 16);
    EXPECT_EQ(pools<3>::bytes_in_use(), pools<3>::largest_block + 1);
    EXPECT_GT(pools<3>::bytes_reserved(), reserved + pools<3>::largest_block);
    pools<3>::deallocate(large, pools<3>::largest_block + 1, 16);
    EXPECT_EQ(pools<3>::bytes_in_use(), 0u);
    EXPECT_EQ(pools<3>::bytes_reserved(), reserved);
}

TEST(process_pools, report_a_large_block_with_another_alignment)
{
    const test::error_recorder recorder;
    void* const large = pools<6>::allocate(100'000, 64);
    pools<6>::deallocate(large, 100'000, 128);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::foreign_pointer});
    EXPECT_EQ(pools<6>::bytes_in_use(), 100'000U);
    pools<6>::deallocate(large, 100'000, 64);
    EXPECT_EQ(pools<6>::bytes_in_use(), 0U);
}

TEST(process_pools, ignore_nullptr)
{
    pools<4>::deallocate(nullptr, 100, 16);
    pools<4>::deallocate(nullptr, 100'000, 16);
    pools<4>::deallocate(pools<4>::allocate(100, 16), 100, 16);
    pools<4>::deallocate(nullptr, 100, 16);
    EXPECT_EQ(pools<4>::bytes_in_use(), 0u);
}

TEST(process_pools, are_created_once)
{
    std::array<void*, 8> blocks{};
    test::in_threads(blocks.size(), [&](std::size_t thread) { blocks[thread] = pools<5>::allocate(200, 16); });
    EXPECT_EQ(pools<5>::bytes_in_use(), blocks.size() * 224);
    for (void* const block : blocks)
        pools<5>::deallocate(block, 200, 16);
    EXPECT_EQ(pools<5>::bytes_in_use(), 0u);
    EXPECT_TRUE(pools<5>::verify());
    EXPECT_GT(pools<5>::trim(), 0u);
}
} // namespace
