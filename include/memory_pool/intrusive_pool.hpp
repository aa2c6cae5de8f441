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
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/item_pool.hpp>
#include <memory_pool/core/returning_items.hpp>
#include <memory_pool/pooled.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool
{
/// The blocks for objects of type `T`, which says how it counts its references.
template <class T, class Policy>
using blocks_for_references =
    std::conditional_t<references_of<T>::are_shared, basic_concurrent_block_pool<Policy>, basic_block_pool<Policy>>;

/// A pool of objects of type `T`, which is derived from `pooled`. See base/policies.hpp for `Policy`.
template <class T, class Policy = default_policy>
class intrusive_pool : public core::item_pool<core::made_items<T, blocks_for_references<T, Policy>>>
{
    using base_type = core::item_pool<core::made_items<T, blocks_for_references<T, Policy>>>;

public:
    /// What the pool holds.
    using value_type = T;
    /// What it hands out.
    using pointer = boost::intrusive_ptr<T>;
    /// The variant that this pool is.
    using policy = Policy;

    /// Effects: makes a pool, and takes room for `options.initial_capacity` objects from `upstream` at once.
    /// Preconditions: `upstream` outlives the pool and its objects.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1).
    explicit intrusive_pool(const pool_options& options = {},
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream)
    {
    }

    /// Effects: lets go of its objects: those in use live on until their last pointer is gone, unless `Policy` says that this is
    ///   a leak, which is reported.
    ~intrusive_pool() = default;

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: a pointer to it, which never is nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream and the constructor throw. Nothing is in use
    ///   then that was not before.
    /// Complexity: O(1), and the constructor; now and then a batch from the slabs or a call upstream.
    /// Thread safety: that of the references.
    template <class... Arguments>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE pointer make(Arguments&&... arguments)
    {
        auto& store = this->store();
        return pointer(store.make_in(store.take(), std::forward<Arguments>(arguments)...), false);
    }

    /// Effects: makes a `T` as `make` does, if there is a block to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws.
    /// Complexity: as `make`.
    /// Thread safety: that of the references.
    template <class... Arguments>
    [[nodiscard]] pointer try_make(Arguments&&... arguments)
    {
        auto& store = this->store();
        void* const block = store.try_take();
        return pointer(block != nullptr ? store.make_in(block, std::forward<Arguments>(arguments)...) : nullptr, false);
    }
};
} // namespace memory_pool
