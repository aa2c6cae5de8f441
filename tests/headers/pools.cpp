// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Every pool that needs no Boost, with every policy, as a user's translation unit: see headers.cmake.
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <headers/value.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>

namespace mp = memory_pool;

// An explicit instantiation generates the members of a class, but not those of its bases nor member templates: these
// are called below. Other policies do not have every member.
template class memory_pool::basic_block_pool<mp::checking_policy>;
template class memory_pool::basic_block_pool<mp::checking_policy,
                                             memory_pool::detail::core::shared_blocks<mp::checking_policy>>;
template class memory_pool::basic_object_pool<headers::value, mp::basic_block_pool<mp::checking_policy>>;
template class memory_pool::basic_object_pool<headers::value, mp::basic_concurrent_block_pool<mp::checking_policy>>;

namespace headers {
inline constexpr std::chrono::milliseconds moment(1);

template <class Policy>
std::size_t use_blocks()
{
    mp::basic_block_pool<Policy> pool(sizeof(value));
    void* blocks[3] = {};
    const std::size_t count = pool.allocate_bulk(blocks, 3);
    pool.deallocate_bulk(blocks, pool.try_allocate_bulk(blocks, count));
    pool.for_each([&](void* block) { pool.deallocate(block); });
    return use_figures(pool) + (pool.owns(blocks[0]) ? 1 : 0);
}

template <class Policy>
std::size_t use_shared_blocks()
{
    mp::pool_options options;
    options.max_capacity = 100;
    mp::basic_concurrent_block_pool<Policy> pool(sizeof(value), options);
    void* blocks[3] = {};
    const std::size_t count = pool.allocate_bulk(blocks, 3);
    pool.deallocate_bulk(blocks, pool.try_allocate_bulk(blocks, count));
    pool.deallocate(pool.try_allocate_for(moment));
    pool.deallocate(pool.try_allocate_until(std::chrono::system_clock::now()));
    pool.for_each([&](void* block) { pool.deallocate(block); });
    return use_figures(pool) + (pool.owns(blocks[0]) ? 1 : 0);
}

template <class Pool>
void use_objects(Pool& pool)
{
    value* const object = pool.create("x");
    pool.destroy(object);
    pool.destroy(pool.try_create("x"));
    pool.for_each([&](value& each) { pool.destroy(&each); });
    (void)pool.make_unique();
}

template <class Policy>
std::size_t use_objects_of_one_thread()
{
    mp::object_pool<value, Policy> pool;
    use_objects(pool);
    for (value& each : pool)
        pool.destroy(&each);
    for (auto at = pool.begin(); at != pool.end();)
        at = pool.erase(at);
    const auto& unchanged = pool;
    const auto visited = static_cast<std::size_t>(std::distance(unchanged.begin(), unchanged.end()));
    return use_figures(pool) + erase_if(pool, [](const value&) { return true; }) + visited;
}

template <class Policy>
std::size_t use_objects_of_threads()
{
    mp::concurrent_object_pool<value, Policy> pool;
    use_objects(pool);
    pool.destroy(pool.create_wait("x"));
    pool.destroy(pool.try_create_for(moment));
    pool.destroy(pool.try_create_until(std::chrono::steady_clock::now(), "x"));
    return use_figures(pool);
}

template <class Policy>
std::size_t use_shared_pointers()
{
    return use_made<mp::unsynchronized_shared_pool<value, Policy>>() + use_made<mp::shared_pool<value, Policy>>();
}

template <class Policy>
std::size_t use_recycled_shared_pointers()
{
    return use_kept<mp::unsynchronized_recycling_shared_pool<value, Policy>>() +
           use_kept<mp::recycling_shared_pool<value, Policy>>();
}

template <class Policy>
std::size_t use_all_but_recycling()
{
    return use_blocks<Policy>() + use_shared_blocks<Policy>() + use_objects_of_one_thread<Policy>() +
           use_objects_of_threads<Policy>() + use_shared_pointers<Policy>();
}

template std::size_t use_all_but_recycling<mp::default_policy>();
template std::size_t use_all_but_recycling<mp::counting_policy>();
template std::size_t use_all_but_recycling<mp::checking_policy>();
template std::size_t use_shared_pointers<mp::leak_reporting_policy<>>();
template std::size_t use_recycled_shared_pointers<mp::default_policy>();
template std::size_t use_recycled_shared_pointers<mp::counting_policy>();
template std::size_t use_recycled_shared_pointers<mp::leak_fatal_policy<>>();
} // namespace headers
