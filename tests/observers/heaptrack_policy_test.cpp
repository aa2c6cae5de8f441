// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/heaptrack_policy.hpp>

#include <memory_pool/block_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>

namespace mp = memory_pool;

namespace {
std::map<void*, std::size_t> in_use;
} // namespace

// The functions that heaptrack provides to the program that it traces.
extern "C" void heaptrack_malloc(void* block, std::size_t bytes)
{
    in_use[block] = bytes;
}

extern "C" void heaptrack_free(void* block)
{
    in_use.erase(block);
}

namespace {
TEST(heaptrack_policy, notifies_heaptrack_of_each_block)
{
    mp::basic_block_pool<mp::heaptrack_policy> pool(100);
    void* const block = pool.allocate();
    EXPECT_EQ(in_use, (std::map<void*, std::size_t>{{block, 100}}));
    pool.deallocate(block);
    EXPECT_TRUE(in_use.empty());
}
} // namespace
