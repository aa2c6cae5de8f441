// SPDX-License-Identifier: MIT
// A program with libmemory_pool whose units use the library or compile the code themselves. FALLS_BACK: the options of
// this unit differ from the library's. IS_THE_ONLY_UNIT: there is no other unit.
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/report.hpp>

#include <cstddef>
#include <memory_resource>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef FALLS_BACK
static_assert(!MEMORY_POOL_USES_LIBRARY, "this unit compiles the code itself");
#else
static_assert(MEMORY_POOL_USES_LIBRARY, "this unit uses the library");
#endif

/// Returns: the number of named pools that the other unit sees: see compiled_alone.cpp.
std::size_t pools_seen_by_another();

namespace {
struct item
{
    int value;
};

void use_pool_with_name()
{
    memory_pool::pool_options named;
    named.name = "of a fork handler";
    memory_pool::block_pool pool(48, named);
    pool.deallocate(pool.allocate());
}

// A static object, initialized before the static objects of an archive: fork handlers of the pools run after the
// program's.
const int atfork = pthread_atfork(use_pool_with_name, use_pool_with_name, use_pool_with_name);

bool forks()
{
    alarm(20); // ends a deadlock
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status = -1;
    return atfork == 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The library has no instances for this type.
struct policy_of_this_program : memory_pool::counting_policy
{
};

template <class Pool>
bool works(Pool& pool)
{
    item* const first = pool.create(item{1});
    item* const second = pool.create(item{2});
    const bool is_right = first->value + second->value == 3 && pool.in_use() == 2 && pool.verify();
    pool.destroy(first);
    pool.destroy(second);
    return is_right && pool.in_use() == 0;
}

bool works_in_threads(memory_pool::concurrent_object_pool<item>& pool)
{
    bool are_right[4] = {};
    std::vector<std::thread> threads;
    for (bool& is_right : are_right)
        threads.emplace_back([&] {
            std::vector<item*> items;
            for (int i = 0; i != 1000; ++i)
                items.push_back(pool.create(item{i}));
            is_right = true;
            for (int i = 0; i != 1000; ++i) {
                is_right = is_right && items[static_cast<std::size_t>(i)]->value == i;
                pool.destroy(items[static_cast<std::size_t>(i)]);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    return are_right[0] && are_right[1] && are_right[2] && are_right[3] && pool.in_use() == 0;
}

template <class Resource>
bool works_as_resource(Resource&& resource)
{
    std::pmr::vector<int> numbers(&resource);
    for (int i = 0; i != 10'000; ++i)
        numbers.push_back(i);
    return numbers[9'999] == 9'999 && resource.verify();
}
} // namespace

int main()
{
    memory_pool::pool_options named;
    named.name = "seen by both units";
    memory_pool::object_pool<item> pool(named);
    memory_pool::object_pool<item, memory_pool::checking_policy> checked;
    memory_pool::object_pool<item, policy_of_this_program> counted;
    memory_pool::concurrent_object_pool<item> shared;
    if (!works(pool) || !works(checked) || !works(counted) || !works(shared) || !works_in_threads(shared))
        return 1;
    if (counted.statistics().allocations != 2)
        return 2;
    if (!works_as_resource(memory_pool::unsynchronized_pool_resource()) ||
        !works_as_resource(memory_pool::synchronized_pool_resource()) ||
        !works_as_resource(memory_pool::unsynchronized_arena_resource()) ||
        !works_as_resource(memory_pool::synchronized_arena_resource()))
        return 3;
    if (memory_pool::snapshot().entries.size() != 1)
        return 4;
    if (!forks())
        return 6;
#if defined(FALLS_BACK)
    return pools_seen_by_another() == 0 ? 0 : 5; // another configuration has its own library
#elif !defined(IS_THE_ONLY_UNIT)
    return pools_seen_by_another() == 1 ? 0 : 5;
#endif
}
