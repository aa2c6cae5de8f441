// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Every resource and allocator, with every policy, as a user's translation unit: see headers.cmake.
#include <memory_pool/memory_pool.hpp>

#include <cstddef>
#include <list>
#include <memory_resource>
#include <string>
#include <vector>

namespace mp = memory_pool;

template class memory_pool::block_resource<mp::basic_block_pool<mp::counting_policy>>;
template class memory_pool::block_resource<mp::concurrent_block_pool>;
template class memory_pool::resource_allocator<int, mp::unsynchronized_arena_resource>;
template class memory_pool::resource_allocator<int, mp::synchronized_pool_resource>;

namespace headers {
/// Effects: calls the members common to all arena and pool resources.
template <class Resource>
std::size_t use_resource()
{
    Resource resource;
    {
        std::pmr::vector<std::pmr::string> lines(&resource);
        std::list<int, mp::resource_allocator<int, Resource>> numbers(resource);
        lines.emplace_back("a text that is too long to fit into the object itself");
        numbers.push_back(1);
    }
    resource.deallocate(resource.allocate(100'000, 64), 100'000, 64);
    const std::size_t bytes = resource.trim() + resource.bytes_in_use() + resource.bytes_reserved();
    resource.release();
    return bytes + (resource.verify() && resource.upstream_resource() != nullptr ? 1 : 0);
}

template <class Policy>
std::size_t use_resources()
{
    return use_resource<mp::basic_unsynchronized_arena_resource<Policy>>() +
           use_resource<mp::basic_synchronized_arena_resource<Policy>>() +
           use_resource<mp::basic_unsynchronized_pool_resource<Policy>>() +
           use_resource<mp::basic_synchronized_pool_resource<Policy>>();
}

template std::size_t use_resources<mp::default_policy>();
template std::size_t use_resources<mp::checking_policy>();

std::size_t use_adaptors();
std::size_t use_adaptors()
{
    mp::page_resource pages;
    mp::synchronized_resource synchronized(&pages);
    mp::limit_resource limited(100'000, &synchronized);
    mp::failing_resource failing(mp::failure_chance{}, &limited);
    mp::tracking_resource tracked(&failing);
    std::size_t bytes = 0;
    {
        const std::pmr::vector<int> numbers(100, 1, tracked.for_site());
        tracked.for_each_site(
            [&](const mp::call_site&, const mp::resource_statistics& site) { bytes += site.bytes_in_use; });
        bytes += numbers.size();
    }
    mp::block_pool pool(48);
    mp::block_resource<mp::block_pool> blocks(pool);
    const std::pmr::list<int> numbers(10, 1, &blocks);
    return bytes + tracked.bytes_in_use() + limited.bytes_in_use() + pages.bytes_in_use() + numbers.size();
}
} // namespace headers
