// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool that threads share, whose objects have 8-byte handles. Any thread may destroy an object at any time: `visit`
/// keeps the object alive while its function runs.
///
///     create(arguments...)     ->  handle          get(handle)  ->  T*, if no other thread destroys the object
///     visit(handle, function)  ->  was it alive?   function(T&) runs; the object lives at least until it returns
///     destroy(handle)          ->  was it alive?   its handles are stale; the last visitor runs the destructor
///
/// The pool does not lock its objects. If one thread modifies an object that other threads may visit at the same time,
/// the object needs a lock or atomic members.
///
/// Fork: as concurrent_object_pool. An object that another thread of the parent was visiting is not destroyed in the
/// child before `clear`.
///
/// Thread safety: any thread; `clear`, `release` and the destructor need exclusive access.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/pool_handle.hpp>
#include <memory_pool/core/objects/shared_places.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/policies.hpp>

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool of objects of type `T` with handles, for many threads. See policies.hpp for `Policy`, and basic_handle_pool
/// for more members.
template <class T, class Policy>
class concurrent_handle_pool
    : public basic_handle_pool<T, basic_concurrent_block_pool<Policy>, detail::core::shared_places>,
      public detail::core::shared_objects
{
    using base = basic_handle_pool<T, basic_concurrent_block_pool<Policy>, detail::core::shared_places>;

    /// The result of `visit`: bool, or an optional copy of the result of `Function`. A reference could dangle.
    template <class Function, class Result = std::invoke_result_t<Function, typename base::value_type&>>
    using visit_result = std::conditional_t<std::is_void_v<Result>, bool, std::optional<std::decay_t<Result>>>;

public:
    using typename base::handle;
    using typename base::value_type;

    using base::base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    concurrent_handle_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_no_options<concurrent_handle_pool, Given, More...>>
    explicit concurrent_handle_pool(const Given&, const More&...) = delete;

    concurrent_handle_pool(const concurrent_handle_pool&,
                           detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;

    /// Effects: calls `function(T&)`, if the object is alive, and keeps the object alive until `function` returns. If
    ///   any thread, or `function` itself, calls `destroy` during the visit, the handle becomes stale at once, and the
    ///   last visitor runs the destructor after its visit. `function` may use the pool, and visit any object.
    /// Returns: if `function` returns void, whether the object was alive; otherwise, a std::optional with a copy of the
    ///   result of `function`, empty if the object was not alive.
    /// Preconditions: a non-null handle is from this pool: see `handle`.
    /// Throws: what `function` throws, after the visit has ended.
    /// Complexity: O(1), plus `function`. Needs two atomic operations on the object's entry in the table, and no lock.
    /// Thread safety: any thread. Several threads may visit an object at the same time.
    template <class Function>
    visit_result<Function> visit(handle visited, Function&& function)
    {
        const auto destroy_ended = [&](typename base::place& ended, void* object) {
            this->destroy_now(ended, visited.index, object);
        };
        const auto visit_with = [&](auto&& use) {
            return this->is_of_this(visited) &&
                   this->places().visit(visited.index, visited.generation, use, destroy_ended);
        };
        if constexpr (std::is_same_v<visit_result<Function>, bool>) {
            return visit_with([&](void* object) { std::invoke(function, *base::object_in(object)); });
        } else {
            visit_result<Function> result;
            (void)visit_with([&](void* object) { result.emplace(std::invoke(function, *base::object_in(object))); });
            return result;
        }
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
