// SPDX-License-Identifier: MIT
#include "ArenaMR/ArenaMR.hpp"
#include "custAlloc/custAlloc.hpp"
#include "memory_pool.h"

#include <memory_resource>
#include <vector>

int main()
{
    memory_pool::MemoryPool<int> pool(10);
    int* block = pool.new_block_pt(42);
    if (*block != 42 || pool.available_capacity() != 9)
        return 1;
    pool.delete_block_pt(block);
    if (pool.available_capacity() != 10)
        return 1;

    PoolAllocator shared(sizeof(int), 1);
    void* const only = shared.allocate_object();
    if (only == nullptr || shared.allocate_object() != nullptr)
        return 1;
    shared.deallocate_object(only);

    arena_mr::UnsynchronizedArenaMR arenas(10, 10'000);
    const std::pmr::vector<int> numbers(100, 1, &arenas);
    return arenas.NumOfArenas() == 10 && arenas.UsedMemory() == 100 * sizeof(int) ? 0 : 1;
}
