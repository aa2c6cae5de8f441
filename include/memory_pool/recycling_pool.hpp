// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of objects owned by boost::intrusive_ptr. Each object is constructed once and recycled with its contents,
/// such as the buffer of a vector, a handle or a connection. An object returns to the pool when the last pointer to it
/// goes.
///
///     the pool grows             ->  T() for each new object
///     allocate_through_init(...) ->  object.init(...)            ->  boost::intrusive_ptr<T>
///     the last pointer goes      ->  nothing, object.destroy(), or a function  ->  back to the pool
///
///     capacity = objects constructed = in_use + kept for later
///
/// Thread safety: as intrusive_pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/objects/counted_store.hpp>
#include <memory_pool/core/objects/store_pool_base.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/policies.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool of objects of type `T`, owned by boost::intrusive_ptr. `T` derives from `pooled` and has a default
/// constructor. See policies.hpp for `Policy`, which must not be a checking policy, and store_pool_base for the
/// members.
template <class T, class Policy>
class recycling_pool : public detail::core::recycling_pooled<detail::core::kept_pooled_object<T>, Policy>
{
public:
    using recycling_pool::recycling_pool_base::recycling_pool_base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    recycling_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_action<recycling_pool, Given, More...>>
    explicit recycling_pool(const Given&, const More&...) = delete;

    static_assert(detail::core::pooled_object_check<T>::is_made &&
                  detail::core::kept_object_check<detail::core::pooled_object<T>>::is_made);
};
}} // namespace memory_pool::MEMORY_POOL_ABI
