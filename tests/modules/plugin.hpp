// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a program and a library that it loads at run time do with each other's pools.
#pragma once

#include <memory_pool/concurrent_block_pool.hpp>

#include <array>
#include <cstddef>

extern "C" {
memory_pool::concurrent_block_pool* make_pool(std::size_t block_size);
void destroy_pool(memory_pool::concurrent_block_pool* pool);
bool use_pool(memory_pool::concurrent_block_pool& pool);
}

/// Takes blocks, and gives them back. Compiled into the program and into the library.
/// Returns: whether they were the pool's own.
inline bool blocks_are_of(memory_pool::concurrent_block_pool& pool)
{
    bool own = true;
    std::array<void*, 300> blocks{};
    for (int round = 0; round != 10; ++round) {
        for (void*& block : blocks) {
            block = pool.allocate();
            own = own && pool.owns(block);
        }
        for (void* const block : blocks)
            pool.deallocate(block);
    }
    return own;
}
