// SPDX-License-Identifier: MIT
#include <memory_pool/block_pool.hpp>

int main()
{
    memory_pool::block_pool pool(48);
    void* block = pool.allocate();
    if (pool.in_use() != 1)
        return 1;
    pool.deallocate(block);
    return pool.in_use() == 0 ? 0 : 1;
}
