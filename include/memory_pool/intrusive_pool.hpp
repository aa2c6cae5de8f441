// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of objects owned by boost::intrusive_ptr. Each object is constructed on request, and destroyed when the last
/// pointer to it goes.
///
///     make(arguments...)  ->  block  ->  T constructed in it  ->  boost::intrusive_ptr<T>
///     the last pointer goes  ->  T destroyed  ->  block back to the pool, or, if the pool is gone, to its store
///
///     in_use = objects with references
///
/// Thread safety: any thread may acquire and release objects. If the objects derive from pooled<T, plain_references>,
/// one thread at a time may use the pool and its objects.
#pragma once

#if defined(__has_include)
#if !__has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
#error "memory_pool: this header needs Boost.SmartPtr (Debian package: libboost-dev). shared_pool.hpp does not."
#endif
#endif

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/counted_store.hpp>
#include <memory_pool/core/objects/store_pool_base.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pooled.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
/// Replaces a type that does not derive from `pooled`.
struct no_pooled_object : pooled<no_pooled_object>
{
    template <class... Arguments>
    explicit no_pooled_object(Arguments&&...) noexcept
    {
    }
};

template <class T>
using pooled_object = std::conditional_t<is_pooled<T>, T, no_pooled_object>;

template <class T>
struct pooled_object_check
{
    static constexpr bool is_made = true;
    static constexpr bool is_declared_only = std::is_class_v<T> && !is_complete<T>;
    static_assert(!is_declared_only,
                  "the objects of the pool have an incomplete type here: include the header that defines it");
    static_assert(is_pooled<T> || is_declared_only,
                  "derive the objects of the pool from memory_pool::pooled: struct item : "
                  "memory_pool::pooled<item>, publicly and once, and do not make them const");
};

template <class T>
using kept_pooled_object =
    std::conditional_t<base::is_constructible<pooled_object<T>>, pooled_object<T>, no_pooled_object>;

template <class T, class Policy>
using blocks_for_pooled =
    std::conditional_t<references_of<T>::are_shared, basic_concurrent_block_pool<Policy>, basic_block_pool<Policy>>;

template <class T, class Policy>
using constructing_pooled =
    constructing_pool_base<constructing_store<T, blocks_for_pooled<T, Policy>>, boost::intrusive_ptr<T>>;
template <class T, class Policy>
using recycling_pooled = recycling_pool_base<recycling_store<T, blocks_for_pooled<T, Policy>>, boost::intrusive_ptr<T>>;
} // namespace detail::core

/// The pool of blocks for objects of type `T`: shared by threads if `T` counts references atomically.
template <class T, class Policy>
using blocks_for_references = detail::core::blocks_for_pooled<detail::core::pooled_object<T>, Policy>;

/// A pool of objects of type `T`, owned by boost::intrusive_ptr. `T` derives from `pooled`. See policies.hpp for
/// `Policy`, and store_pool_base for the members.
template <class T, class Policy>
class intrusive_pool : public detail::core::constructing_pooled<detail::core::pooled_object<T>, Policy>
{
public:
    using intrusive_pool::constructing_pool_base::constructing_pool_base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    intrusive_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<intrusive_pool, Given, More...>>
    explicit intrusive_pool(const Given&, const More&...) = delete;

    static_assert(detail::core::pooled_object_check<T>::is_made);
};
}} // namespace memory_pool::MEMORY_POOL_ABI
