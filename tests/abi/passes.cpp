// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Passes a pool to another unit, compiled with TAKES_THE_POOL=1. Units link only if their configurations are equal.
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
