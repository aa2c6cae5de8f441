// SPDX-License-Identifier: MIT
import memory_pool;

int main()
{
    memory_pool::object_pool<int> pool;
    return *pool.make_unique(42) == 42 ? 0 : 1;
}
