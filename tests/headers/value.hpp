// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The pooled types of these units, and calls of the members common to pools that recycle their objects.
#pragma once

#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/pool_options.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace headers {
/// A type with a constructor, a destructor, and the functions that recycling pools may call.
struct value
{
    explicit value(std::string initial = {}) : text(std::move(initial)) {}
    void init(const char* initial) { text = initial; }
    void destroy() { text.clear(); }

    std::string text;
};

/// Effects: calls the members common to all pools.
template <class Pool>
std::size_t use_statistics(Pool& pool)
{
    pool.reserve(10);
    const std::size_t bytes = pool.trim() + pool.bytes_reserved();
    pool.release();
    return bytes + pool.capacity() + pool.max_capacity() + pool.in_use() + pool.available() +
           (pool.is_bounded() && pool.verify() && pool.name() != nullptr && pool.upstream_resource() != nullptr ? 1
                                                                                                                : 0);
}

/// Effects: calls the members of pools that construct objects for each use.
template <class Pool>
std::size_t use_made()
{
    Pool pool;
    const auto object = pool.make("x");
    const auto perhaps = pool.try_make();
    return use_statistics(pool) + object->text.size() + (perhaps ? perhaps->text.size() : 0);
}

/// Effects: calls the members of recycling pools.
template <class Pool>
std::size_t use_kept()
{
    using object = typename Pool::value_type;
    Pool pool([](object& each) { each.destroy(); });
    Pool destroying(memory_pool::recycle::call_destroy);
    pool.set_recycle_action(memory_pool::recycle::nothing);
    pool.set_recycle_action([](object& each) { each.destroy(); });
    const auto first = pool.allocate();
    const auto second = pool.allocate_through_init("x");
    const auto third = pool.allocate_through_function([](object& each) { each.init("x"); });
    const auto perhaps = pool.try_allocate();
    const auto other = destroying.try_allocate_through_init("x");
    return use_statistics(pool) + first->text.size() + second->text.size() + third->text.size() +
           (perhaps ? perhaps->text.size() : 0) + (other ? other->text.size() : 0);
}
} // namespace headers
