// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What happens when a pool of fixed size is full: std::out_of_range, in every build, and the pool goes on.
#include <memory_pool.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {
struct clever_struct
{
    int a;
    float b;
    double c;
    int d;
};
} // namespace

int main()
{
    constexpr int room = 100; // at most memory_pool::g_MaxNumberOfObjectsInPool, which a macro raises
    memory_pool::MemoryPool<clever_struct> pool(room);

    std::vector<clever_struct*> taken;
    for (int i = 0; i != room; ++i)
        taken.push_back(pool.new_block_pt(clever_struct{i, 0.0F, 42.0, -9}));

    try {
        (void)pool.new_block_pt(clever_struct{room, 0.0F, 42.0, -9});
        return 1;
    } catch (const std::out_of_range& full) {
        std::printf("%s\n", full.what());
    }

    pool.delete_block_pt(taken.front());
    taken.front() = pool.new_block_pt(clever_struct{room, 0.0F, 42.0, -9});
    std::printf("one came back, one went out: a = %d\n", taken.front()->a);
    return 0;
}
