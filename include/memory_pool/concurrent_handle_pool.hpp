// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type that are referred to by handles of 8 bytes, in a pool that threads share. Any thread may destroy
/// an object at any time: `visit` keeps it alive for as long as its function runs.
///
///     create(arguments...)     ->  handle          get(handle)  ->  T*, where no other thread destroys the object
///     visit(handle, function)  ->  was it alive?   function(T&) ran, and the object was not destroyed before its end
///     destroy(handle)          ->  was it alive?   its handles are stale; the last visitor runs the destructor
///
/// The pool itself does not lock the object: if several threads may visit it at the same time, and one modifies it,
/// it needs a lock or atomic members.
///
/// Fork: as for concurrent_object_pool. An object that another thread was visiting in the parent is
/// not destroyed in the child, until `clear`.
///
/// Thread safety: any thread, but for `clear`, `release` and the destructor, which need the pool for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/refusals.hpp>
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
/// for what else it can do.
template <class T, class Policy>
class concurrent_handle_pool
    : public basic_handle_pool<T, basic_concurrent_block_pool<Policy>, detail::core::shared_places>,
      public detail::core::shared_objects
{
    using base = basic_handle_pool<T, basic_concurrent_block_pool<Policy>, detail::core::shared_places>;

    /// Of `visit`: bool, or an optional of what `Function` returns. Not of a reference, which could outlive the object.
    template <class Function, class Result = std::invoke_result_t<Function, typename base::value_type&>>
    using visit_result = std::conditional_t<std::is_void_v<Result>, bool, std::optional<std::decay_t<Result>>>;

public:
    using typename base::handle;
    using typename base::value_type;

    using base::base;

    /// Effects: as the first, with default options.
    concurrent_handle_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_no_options<concurrent_handle_pool, Given, More...>>
    explicit concurrent_handle_pool(const Given&, const More&...) = delete;

    concurrent_handle_pool(const concurrent_handle_pool&,
                           detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;

    /// Effects: calls `function(T&)`, if the object is alive. It is not destroyed before `function` ends: if `destroy`
    ///   is called meanwhile, by any thread or by `function` itself, the handle is stale at once, and the last visitor
    ///   runs the destructor at its end. `function` may use the pool, and visit any object.
    /// Returns: if `function` returns nothing, whether the object was alive; else a std::optional with a copy of what
    ///   it returns, which is empty if the object was not alive.
    /// Preconditions: a handle that is not null is from this pool: see `handle`.
    /// Throws: what `function` throws, after the visit has ended.
    /// Complexity: O(1), and `function`. Two atomic operations on the entry of the object in the table, no lock.
    /// Thread safety: any thread. Several may visit an object at the same time.
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
