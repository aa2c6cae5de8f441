// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A shared library, compiled with -fvisibility=hidden, that exports only two functions.
#include <memory_pool/block_pool.hpp>

#define SHOWN extern "C" __attribute__((visibility("default")))

/// Effects: frees a block twice, which the pool reports.
SHOWN void misuse_a_pool()
{
    memory_pool::basic_block_pool<memory_pool::checking_policy> pool(64);
    void* const block = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
}

/// Throws: pool_exhausted.
SHOWN void exhaust_a_pool()
{
    memory_pool::pool_options options;
    options.max_capacity = 1;
    memory_pool::block_pool pool(64, options);
    (void)pool.allocate();
    (void)pool.allocate();
}
