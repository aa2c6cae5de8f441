// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools of objects owned by std::shared_ptr and std::weak_ptr. An object and its control block are in the same block
/// of the pool: no malloc after the warm-up.
///
///     make(arguments...)  ->  block [ control block [ T ] ]  ->  std::shared_ptr<T>
///     the last shared_ptr goes  ->  T destroyed            the last weak_ptr goes  ->  block back to the pool
///
///     in_use = objects that any shared_ptr or weak_ptr points to
///
/// `pool_options::alignment` applies to the blocks, which begin with the control block. An object has the alignment of
/// its type.
///
/// Thread safety: shared_pool and recycling_shared_pool: any thread, within the rules of std::shared_ptr.
/// unsynchronized_shared_pool and unsynchronized_recycling_shared_pool: one thread at a time may use the pool and its
/// pointers.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/shared_ptr_store.hpp>
#include <memory_pool/core/objects/store_pool_base.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

#include <memory>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
template <class T, class Blocks>
using making_shared_pool = constructing_pool_base<constructing_shared_store<T, Blocks>, std::shared_ptr<T>>;
template <class T, class Blocks>
using keeping_shared_pool = recycling_pool_base<recycling_shared_store<T, Blocks>, std::shared_ptr<T>>;
} // namespace detail::core

/// A pool of objects of any type `T`, owned by std::shared_ptr, over `Blocks`: a basic_block_pool or a
/// basic_concurrent_block_pool. See store_pool_base for the members. std::enable_shared_from_this works.
template <class T, class Blocks>
class basic_shared_pool : public detail::core::making_shared_pool<detail::core::returning_object<T>, Blocks>
{
public:
    using basic_shared_pool::constructing_pool_base::constructing_pool_base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    basic_shared_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<basic_shared_pool, Given, More...>>
    explicit basic_shared_pool(const Given&, const More&...) = delete;

    static_assert(detail::core::returning_object_check<T>::is_made);
};

/// A basic_shared_pool that constructs each object once, when the pool grows, and recycles it, as recycling_pool does.
/// An object is reset when its last shared_ptr goes, and free when its last weak_ptr goes. `T` must not derive from
/// std::enable_shared_from_this, which contains a weak_ptr.
template <class T, class Blocks>
class basic_recycling_shared_pool : public detail::core::keeping_shared_pool<detail::core::kept_object<T>, Blocks>
{
public:
    using basic_recycling_shared_pool::recycling_pool_base::recycling_pool_base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    basic_recycling_shared_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_no_action<basic_recycling_shared_pool, Given, More...>>
    explicit basic_recycling_shared_pool(const Given&, const More&...) = delete;

    static_assert(detail::core::kept_object_check<T>::is_made);
};
}} // namespace memory_pool::MEMORY_POOL_ABI
