// SPDX-License-Identifier: MIT
#include <memory_pool/block_pool.hpp>
#include <memory_pool/report.hpp>

#include <iostream>

int main()
{
    memory_pool::block_pool pool(48);
    void* block = pool.allocate();
    if (pool.in_use() != 1)
        return 1;
    memory_pool::write_report(std::cout, memory_pool::report_format::json); // must compile without np_alloc
    pool.deallocate(block);
    return pool.in_use() == 0 ? 0 : 1;
}
