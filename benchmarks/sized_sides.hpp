// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools and arenas behind one interface, for blocks whose size is chosen at run time. The programs of the benchmark
/// report use them.
///
///     side(bytes)         for blocks of `bytes` bytes; starts empty, and allocates its memory with new and delete
///     allocate()          -> a block
///     deallocate(block)   <- a block
///
/// The wrappers are always inlined, so the measured cost is the cost of calling the pool directly.
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/pool_resource.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>
#include <set>
#include <string>
#include <string_view>

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
#include <boost/pool/pool.hpp>
#endif

namespace sized_sides {
/// The malloc of the process.
class new_delete
{
public:
    explicit new_delete(std::size_t bytes) : bytes_(bytes) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() const { return ::operator new(bytes_); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) const { ::operator delete(block, bytes_); }

private:
    std::size_t bytes_;
};

template <class Pool>
class pool
{
public:
    explicit pool(std::size_t bytes) : pool_(bytes) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.allocate(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.deallocate(block); }

private:
    Pool pool_;
};

template <class Resource>
class over
{
public:
    explicit over(std::size_t bytes) : bytes_(bytes) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return resource_.allocate(bytes_); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { resource_.deallocate(block, bytes_); }

private:
    Resource resource_{std::pmr::new_delete_resource()};
    std::size_t bytes_;
};

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
class boost_pool
{
public:
    explicit boost_pool(std::size_t bytes) : pool_(bytes) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.malloc(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.free(block); }

private:
    boost::pool<> pool_;
};
#endif

/// Names a type without constructing one.
template <class Side>
struct type
{
    using side = Side;
};

/// Effects: calls `action(name, type<Side>())` for each side that one thread uses.
template <class Action>
void for_each_unshared(Action&& action)
{
    action("new_delete", type<new_delete>());
    action("block_pool", type<pool<memory_pool::block_pool>>());
    action("unsynchronized_pool_resource", type<over<memory_pool::unsynchronized_pool_resource>>());
    action("unsynchronized_arena_resource", type<over<memory_pool::unsynchronized_arena_resource>>());
    action("pmr_unsynchronized_pool", type<over<std::pmr::unsynchronized_pool_resource>>());
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    action("boost_pool", type<boost_pool>());
#endif
}

/// Effects: calls `action(name, type<Side>())` for each side that threads share.
template <class Action>
void for_each_shared(Action&& action)
{
    action("new_delete", type<new_delete>());
    action("concurrent_block_pool", type<pool<memory_pool::concurrent_block_pool>>());
    action("synchronized_pool_resource", type<over<memory_pool::synchronized_pool_resource>>());
    action("pmr_synchronized_pool", type<over<std::pmr::synchronized_pool_resource>>());
}

/// Effects: calls `action(type<Side>())` for the side of that name.
/// Returns: false if there is no such side.
template <class Action>
bool with_side(std::string_view wanted, Action&& action)
{
    bool is_found = false;
    const auto try_one = [&](std::string_view name, auto side) {
        if (name == wanted && !is_found) {
            is_found = true;
            action(side);
        }
    };
    for_each_unshared(try_one);
    for_each_shared(try_one);
    return is_found;
}

/// Returns: the names of all sides.
inline std::string names()
{
    std::set<std::string> each_once;
    const auto add = [&each_once](const char* name, auto) { each_once.insert(name); };
    for_each_unshared(add);
    for_each_shared(add);
    std::string all;
    for (const std::string& name : each_once)
        all.append(all.empty() ? "" : ", ").append(name);
    return all;
}

/// Returns: an error message.
inline std::string no_such_side(const std::string& wanted)
{
    return "no such side: '" + wanted + "' (there are " + names() + ")";
}
} // namespace sized_sides
