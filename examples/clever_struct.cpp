// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A full pool of fixed size throws std::out_of_range, in every build, and stays usable.
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
    constexpr int room = 100; // At most memory_pool::g_MaxNumberOfObjectsInPool, which a macro can raise.
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
    std::printf("one object was deleted, another one created: a = %d\n", taken.front()->a);
    return 0;
}
