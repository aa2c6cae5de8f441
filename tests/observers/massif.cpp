// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Allocates 1,000 blocks of 1,000 bytes from a pool, in a function that massif_test.py looks for.
#include <memory_pool/massif_policy.hpp>

#include <memory_pool/block_pool.hpp>

#include <cstdio>
#include <vector>

namespace mp = memory_pool;

namespace {
[[gnu::noinline]] std::vector<void*> take_all(mp::basic_block_pool<mp::massif_policy>& pool)
{
    std::vector<void*> blocks(1000);
    for (void*& block : blocks)
        block = pool.allocate();
    return blocks;
}
} // namespace

int main()
{
    mp::basic_block_pool<mp::massif_policy> pool(1000, mp::pool_options{}.with_initial_capacity(1000));
    const std::vector<void*> blocks = take_all(pool);
    for (void* block : blocks)
        pool.deallocate(block);
    std::puts("done");
}
