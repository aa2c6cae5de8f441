// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/fwd.hpp>

namespace {
namespace mp = memory_pool;

/// A header that names pools, and needs no other declaration.
struct owner
{
    mp::block_pool* blocks;
    mp::concurrent_object_pool<int>* numbers;
    mp::handle_pool<owner>* owners;
    mp::pool_handle<owner>* handle;
    mp::concurrent_handle_pool<owner>* shared_owners;
    mp::intrusive_pool<owner>* sessions;
    mp::recycling_shared_pool<int>* buffers;
    mp::synchronized_arena_resource* arenas;
    mp::basic_unsynchronized_pool_resource<mp::checking_policy>* pools;
    mp::page_resource* pages;
    const mp::pool_options* options;
};
} // namespace

#include <memory_pool/memory_pool.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace {
TEST(fwd, declares_the_pools_of_the_other_headers)
{
    mp::block_pool blocks(48);
    mp::concurrent_object_pool<int> numbers;
    mp::handle_pool<owner> owners;
    mp::concurrent_handle_pool<owner> shared_owners;
    mp::handle_pool<owner>::handle handle;
    mp::recycling_shared_pool<int> buffers;
    mp::synchronized_arena_resource arenas;
    mp::basic_unsynchronized_pool_resource<mp::checking_policy> pools;
    mp::page_resource pages;
    const mp::pool_options options;
    const owner all{&blocks,  &numbers, &owners, &handle, &shared_owners, nullptr,
                    &buffers, &arenas,  &pools,  &pages,  &options};
    const std::shared_ptr<int> buffer = all.buffers->allocate();
    EXPECT_NE(buffer, nullptr);
    EXPECT_EQ(all.blocks->block_size(), 48u);
}
} // namespace
