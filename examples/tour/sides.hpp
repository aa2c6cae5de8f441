// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The sides that the tour compares: each creates and destroys nodes of one type. To add a side, write a class template
/// like those below, and add a line to the table in tour.cpp. A side has three functions:
///
///     create(arguments...)  ->  a new node T{arguments...}
///     destroy(node)         ->  nothing; destroys the node
///     bytes_held(for_each)  ->  the bytes of all nodes of this side now, with the allocator's overhead. For sides that
///                               need to visit all nodes to sum up: `for_each(visit)` calls visit(T&) for every node
///
/// Threads may share new_delete_nodes, concurrent_object_pool_nodes and faulty_nodes.
#pragma once

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_options.hpp>

#include "heap.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace tour {
/// New and delete: the side to which the other sides are compared.
template <class T>
class new_delete_nodes
{
public:
    template <class... Arguments>
    T* create(Arguments&&... arguments)
    {
        return new T{std::forward<Arguments>(arguments)...};
    }

    void destroy(T* node) noexcept { delete node; }

    template <class ForEach>
    std::optional<std::size_t> bytes_held(ForEach&& for_each) const
    {
        if (!heap_knows_block_sizes)
            return std::nullopt;
        std::size_t bytes = 0;
        for_each([&bytes](const T& node) { bytes += heap_bytes_of(&node); });
        return bytes;
    }
};

/// A pool of the library for objects of one type.
template <class T, class Pool>
class pool_nodes
{
public:
    template <class... Arguments>
    T* create(Arguments&&... arguments)
    {
        return pool_.create(std::forward<Arguments>(arguments)...);
    }

    void destroy(T* node) noexcept { pool_.destroy(node); }

    template <class ForEach>
    std::optional<std::size_t> bytes_held(ForEach&&) const
    {
        return pool_.bytes_reserved();
    }

private:
    Pool pool_{memory_pool::pool_options{}.with_name("nodes of the job")};
};

template <class T>
using object_pool_nodes = pool_nodes<T, memory_pool::object_pool<T>>;

/// One pool for all threads. Any thread may create and destroy nodes.
template <class T>
using concurrent_object_pool_nodes = pool_nodes<T, memory_pool::concurrent_object_pool<T>>;

/// The library's pool of raw blocks. The user constructs and destroys the objects.
template <class T>
class block_pool_nodes
{
public:
    template <class... Arguments>
    T* create(Arguments&&... arguments)
    {
        return ::new (pool_.allocate()) T{std::forward<Arguments>(arguments)...};
    }

    void destroy(T* node) noexcept
    {
        node->~T();
        pool_.deallocate(node);
    }

    template <class ForEach>
    std::optional<std::size_t> bytes_held(ForEach&&) const
    {
        return pool_.bytes_reserved();
    }

private:
    memory_pool::block_pool pool_{sizeof(T), memory_pool::pool_options{}.with_name("nodes of the job")};
};

/// Corrupts some nodes, to show that the tour detects it: see --faulty.
template <class T>
class faulty_nodes : public new_delete_nodes<T>
{
public:
    template <class... Arguments>
    T* create(Arguments&&... arguments)
    {
        T* const node = new_delete_nodes<T>::create(std::forward<Arguments>(arguments)...);
        if (node->offset % 10 == 9)
            --node->offset;
        return node;
    }
};
} // namespace tour
