// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Every pool that needs no Boost, with every policy, as a user's translation unit: see headers.cmake.
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pooled_frame.hpp>
#include <memory_pool/shared_pool.hpp>

#include <headers/value.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <memory_resource>

namespace mp = memory_pool;

// An explicit instantiation generates the members of a class, but neither the members of its bases nor member
// templates: the code below calls these. Other policies do not have every member.
template class memory_pool::basic_block_pool<mp::checking_policy>;
template class memory_pool::basic_block_pool<mp::checking_policy,
                                             memory_pool::detail::core::shared_blocks<mp::checking_policy>>;
template class memory_pool::basic_object_pool<headers::value, mp::basic_block_pool<mp::checking_policy>>;
template class memory_pool::basic_object_pool<headers::value, mp::basic_concurrent_block_pool<mp::checking_policy>>;

template class memory_pool::basic_handle_pool<headers::value, mp::basic_block_pool<mp::checking_policy>,
                                              memory_pool::detail::core::local_places>;
template class memory_pool::basic_handle_pool<headers::value, mp::basic_concurrent_block_pool<mp::checking_policy>,
                                              memory_pool::detail::core::shared_places>;
template class memory_pool::handle_pool<headers::value, mp::checking_policy>;
template class memory_pool::concurrent_handle_pool<headers::value, mp::checking_policy>;

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
    return use_statistics(pool) + (pool.owns(blocks[0]) ? 1 : 0);
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
    return use_statistics(pool) + (pool.owns(blocks[0]) ? 1 : 0);
}

template <class Frame>
struct promise : Frame
{
};

template <class Policy>
std::size_t use_frames(std::pmr::memory_resource* resource)
{
    using pooled = mp::basic_pooled_frame<Policy, 64>;
    delete new promise<pooled>;
    delete new promise<mp::nothrow_frame<pooled>>;
    using frame = mp::nothrow_frame<mp::resource_frame>;
    delete new promise<frame>;
    frame::operator delete(frame::operator new(1, std::allocator_arg, resource, 2), 1);
    int object = 0;
    frame::operator delete(frame::operator new(1, object, std::allocator_arg, resource), 1);
    return pooled::trim() + pooled::bytes_in_use() + pooled::bytes_reserved() + (pooled::verify() ? 1 : 0);
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
    return use_statistics(pool) + erase_if(pool, [](const value&) { return true; }) + visited;
}

template <class Policy>
std::size_t use_objects_of_threads()
{
    mp::concurrent_object_pool<value, Policy> pool;
    use_objects(pool);
    pool.destroy(pool.create_wait("x"));
    pool.destroy(pool.try_create_for(moment));
    pool.destroy(pool.try_create_until(std::chrono::steady_clock::now(), "x"));
    return use_statistics(pool);
}

template <class Pool>
std::size_t use_handles(Pool& pool)
{
    const auto object = pool.create("x");
    (void)pool.destroy(pool.try_create("x"));
    std::size_t count = pool.contains(object) && pool.handle_of(pool.get(object)) == object ? pool.size() : 0;
    pool.for_each([&](value& each) { count += each.text.size(); });
    return count + erase_if(pool, [](const value&) { return true; }) + use_statistics(pool);
}

template <class Policy>
std::size_t use_handles_of_one_thread()
{
    mp::handle_pool<value, Policy> pool;
    std::size_t count = use_handles(pool);
    (void)pool.create("x");
    for (const value& each : pool)
        count += each.text.size();
    (void)pool.erase(pool.begin());
    return count;
}

template <class Policy>
std::size_t use_handles_of_threads()
{
    mp::concurrent_handle_pool<value, Policy> pool;
    (void)pool.destroy(pool.create_wait("x"));
    (void)pool.destroy(pool.try_create_for(moment));
    const auto last = pool.try_create_until(std::chrono::steady_clock::now(), "x");
    const bool is_visited = pool.visit(last, [](value& object) { object.text.clear(); });
    const auto size = pool.visit(last, [](const value& object) { return object.text.size(); });
    return use_handles(pool) + (is_visited ? 1 : 0) + size.value_or(0);
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
           use_objects_of_threads<Policy>() + use_handles_of_one_thread<Policy>() + use_handles_of_threads<Policy>() +
           use_shared_pointers<Policy>();
}

template std::size_t use_all_but_recycling<mp::default_policy>();
template std::size_t use_all_but_recycling<mp::counting_policy>();
template std::size_t use_all_but_recycling<mp::checking_policy>();
template std::size_t use_frames<mp::default_policy>(std::pmr::memory_resource*);
template std::size_t use_frames<mp::checking_policy>(std::pmr::memory_resource*);
template std::size_t use_shared_pointers<mp::leak_reporting_policy<>>();
template std::size_t use_recycled_shared_pointers<mp::default_policy>();
template std::size_t use_recycled_shared_pointers<mp::counting_policy>();
template std::size_t use_recycled_shared_pointers<mp::leak_fatal_policy<>>();
} // namespace headers
