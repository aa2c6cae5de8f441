// SPDX-License-Identifier: MIT
#include "memory_pool.h"

int main()
{
    memory_pool::MemoryPool<int> pool(10);
    int* block = pool.new_block_pt(42);
    if (*block != 42 || pool.available_capacity() != 9)
        return 1;
    pool.delete_block_pt(block);
    return pool.available_capacity() == 10 ? 0 : 1;
}
