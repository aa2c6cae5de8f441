// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Functions that a program and a library call on each other's pools.
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <array>
#include <cstddef>
#include <functional>

/// Calls a function in its destructor.
struct session
{
    session() = default;
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session()
    {
        if (at_end)
            at_end();
    }

    std::function<void()> at_end;
};

using session_pool = memory_pool::unsynchronized_recycling_shared_pool<session>;
using counted_pool = memory_pool::basic_concurrent_block_pool<memory_pool::counting_policy>;

extern "C" {
memory_pool::concurrent_block_pool* make_pool(std::size_t block_size);
void destroy_pool(memory_pool::concurrent_block_pool* pool);
bool use_pool(memory_pool::concurrent_block_pool& pool);
bool use_counted_pool(counted_pool& pool);
memory_pool::synchronized_arena_resource* make_arenas();
void destroy_arenas(memory_pool::synchronized_arena_resource* arenas);
bool use_arenas(memory_pool::synchronized_arena_resource& arenas);
void clear_sessions(session_pool& sessions);
}

inline constexpr int rounds_of_a_use = 10;
inline constexpr int blocks_of_a_use = rounds_of_a_use * 300;

/// Allocates and frees blocks. Compiled into the program and into the library.
/// Returns: whether the pool owned all blocks.
template <class Pool>
bool blocks_are_of(Pool& pool)
{
    bool own = true;
    std::array<void*, 300> blocks{};
    for (int round = 0; round != rounds_of_a_use; ++round) {
        for (void*& block : blocks) {
            block = pool.allocate();
            own = own && pool.owns(block);
        }
        for (void* const block : blocks)
            pool.deallocate(block);
    }
    return own;
}

/// Allocates and frees blocks of arenas; returns whether the arenas owned all blocks.
inline bool blocks_are_of_arenas(memory_pool::synchronized_arena_resource& arenas)
{
    bool own = true;
    std::array<void*, 300> blocks{};
    for (int round = 0; round != rounds_of_a_use; ++round) {
        for (void*& block : blocks) {
            block = arenas.allocate(1000);
            own = own && arenas.owns(block);
        }
        for (void* const block : blocks)
            arenas.deallocate(block, 1000);
    }
    return own && arenas.bytes_in_use() == 0;
}
