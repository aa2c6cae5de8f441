// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of plain structs with the drop-in MemoryPool: two ways to fill a block, and one way to free it.
#include <memory_pool.h>

#include <cstdio>

namespace {
struct sample
{
    int sensor;
    double value;
};
} // namespace

int main()
{
    memory_pool::MemoryPool<sample> pool(4);

    // First way: allocate a block, then assign to it.
    sample* first = pool.new_block_pt();
    *first = sample{1, 20.5};

    // Second way: pass the value for the block.
    sample* second = pool.new_block_pt(sample{2, 21.0});

    std::printf("sensor %d: %.1f, sensor %d: %.1f\n", first->sensor, first->value, second->sensor, second->value);
    std::printf("free blocks: %d of %d\n", static_cast<int>(pool.available_capacity()), static_cast<int>(pool.size()));

    pool.delete_block_pt(first); // Sets `first` to nullptr.
    std::printf("after deleting one: %d, and the pointer is %s\n", static_cast<int>(pool.available_capacity()),
                first == nullptr ? "null" : "dangling");
    return 0;
}
