// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that are constructed when they are asked for, and destroyed and given back when the last boost::intrusive_ptr to
/// them is gone.
///
///     make(arguments...)  ->  block  ->  T constructed in it  ->  boost::intrusive_ptr<T>
///     the last pointer goes  ->  T destroyed  ->  block back to the pool, or, if the pool is gone, to its store
///
///     in_use = objects that anybody points to
///
/// Thread safety: that of the references: with atomic_references, any thread may ask for objects and let go of them; with
/// plain_references, one thread at a time may use the pool and its objects.
#pragma once

#if defined(__has_include)
#if !__has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
#error "memory_pool: this header needs Boost.SmartPtr (Debian package: libboost-dev). shared_pool.hpp does without."
#endif
#endif

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/making_pool.hpp>
#include <memory_pool/core/returning_items.hpp>
#include <memory_pool/pooled.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <type_traits>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
template <class T, class Policy>
struct blocks_for_pooled
{
    static_assert(is_pooled<T>, "derive the objects of the pool from memory_pool::pooled: struct item : "
                                "memory_pool::pooled<item>; publicly, and once");

    /// Without such a base, the above is all there is to say.
    static constexpr bool are_shared()
    {
        if constexpr (is_pooled<T>)
            return references_of<T>::are_shared;
        else
            return false;
    }

    using type = std::conditional_t<are_shared(), basic_concurrent_block_pool<Policy>, basic_block_pool<Policy>>;
};
} // namespace core

/// The blocks for objects of type `T`, which says how it counts its references.
template <class T, class Policy>
using blocks_for_references = typename core::blocks_for_pooled<T, Policy>::type;

/// A pool of objects of type `T`, which is derived from `pooled`, held by boost::intrusive_ptr. See base/policies.hpp for
/// `Policy`, and core/making_pool.hpp for what it can do.
template <class T, class Policy = default_policy>
class intrusive_pool
    : public making_pool<core::made_items<T, blocks_for_references<T, Policy>>, boost::intrusive_ptr<T>>
{
    using base_type = making_pool<core::made_items<T, blocks_for_references<T, Policy>>, boost::intrusive_ptr<T>>;

public:
    using base_type::base_type;

    /// The variant that this pool is.
    using policy = Policy;
};
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
