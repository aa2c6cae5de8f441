// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library that host.cpp loads at run time. It has its own registry of threads and pools.
#include "plugin.hpp"

memory_pool::concurrent_block_pool* make_pool(std::size_t block_size)
{
    return new memory_pool::concurrent_block_pool(block_size);
}

void destroy_pool(memory_pool::concurrent_block_pool* pool)
{
    delete pool;
}

bool use_pool(memory_pool::concurrent_block_pool& pool)
{
    return blocks_are_of(pool);
}

bool use_counted_pool(counted_pool& pool)
{
    return blocks_are_of(pool);
}

memory_pool::synchronized_arena_resource* make_arenas()
{
    return new memory_pool::synchronized_arena_resource;
}

void destroy_arenas(memory_pool::synchronized_arena_resource* arenas)
{
    delete arenas;
}

bool use_arenas(memory_pool::synchronized_arena_resource& arenas)
{
    return blocks_are_of_arenas(arenas);
}

void clear_sessions(session_pool& sessions)
{
    sessions.release();
}
