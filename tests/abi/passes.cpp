// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Passes a pool from one unit to another, in which TAKES_THE_POOL is 1. They link if their configurations are the
/// same.
#include <memory_pool/block_pool.hpp>

void take(memory_pool::block_pool& pool);

#if TAKES_THE_POOL
void take(memory_pool::block_pool& pool)
{
    pool.deallocate(pool.allocate());
}
#else
int main()
{
    memory_pool::block_pool pool(64);
    take(pool);
}
#endif
