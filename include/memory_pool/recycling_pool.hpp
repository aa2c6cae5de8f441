// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that are constructed once and used again and again, with what they have in them: the buffer of a vector, a handle, a
/// connection. They return when the last boost::intrusive_ptr to them is gone.
///
///     the pool grows             ->  T() for each new object
///     allocate_through_init(...) ->  object.init(...)            ->  boost::intrusive_ptr<T>
///     the last pointer goes      ->  nothing, object.destroy(), or a function  ->  back to the pool
///
///     capacity = objects constructed = in_use + kept for later
///
/// Thread safety: that of the references, as in intrusive_pool.hpp.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/core/item_pool.hpp>
#include <memory_pool/core/recycle_action.hpp>
#include <memory_pool/core/returning_items.hpp>
#include <memory_pool/intrusive_pool.hpp>

#include <functional>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool
{
/// A pool of objects of type `T`, which is derived from `pooled` and has a default constructor. It is run while the pool grows,
/// and must not use the pool. `Policy` may not check.
template <class T, class Policy = default_policy>
class recycling_pool : public core::item_pool<core::kept_items<T, blocks_for_references<T, Policy>>>
{
    using base_type = core::item_pool<core::kept_items<T, blocks_for_references<T, Policy>>>;

public:
    /// What the pool holds.
    using value_type = T;
    /// What it hands out.
    using pointer = boost::intrusive_ptr<T>;
    /// The variant that this pool is.
    using policy = Policy;

    /// Effects: makes a pool, and constructs `options.initial_capacity` objects in memory from `upstream`. Objects that come back
    ///   are left as they are, or have their `destroy()` called.
    /// Preconditions: `upstream` outlives the pool and its objects.
    /// Throws: as basic_block_pool; std::invalid_argument if `T` has no `destroy()` to call; what constructors throw.
    /// Complexity: linear in objects constructed.
    explicit recycling_pool(recycle action = recycle::nothing, const pool_options& options = {},
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream, core::recycle_action<T>(action))
    {
    }

    /// Effects: as the first, where nothing is done to objects that come back.
    explicit recycling_pool(const pool_options& options,
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : recycling_pool(recycle::nothing, options, upstream)
    {
    }

    /// Effects: as the first, but calls `function(T&)` for each object that comes back. It may use the pool; what it throws is
    ///   reported as error::hook_failed, and the object is back as it is. Where threads share the pool, several may call it.
    /// Throws: as the first; std::invalid_argument if `function` is empty.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, T&>>>
    explicit recycling_pool(Function function, const pool_options& options = {},
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream, core::recycle_action<T>(std::function<void(T&)>(std::move(function))))
    {
    }

    /// Effects: lets go of its objects: those in use live on until their last pointer is gone, unless `Policy` says that this is
    ///   a leak, which is reported. All others are destroyed.
    ~recycling_pool() = default;

    /// Effects: hands out an object, as it came back, or as its constructor made it.
    /// Returns: a pointer to it, which never is nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream throws, and the constructors of the objects
    ///   that the pool grows by. Nothing is in use then that was not before.
    /// Complexity: O(1), and now and then growth, which is linear in the objects it adds.
    /// Thread safety: that of the references.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE pointer allocate()
    {
        return allocate_through_function([](T&) {});
    }

    /// Effects: hands out an object after `object.init(arguments...)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `init` throws: the object is back in the pool then, as `init` has left it.
    /// Complexity: as `allocate`, and `init`.
    /// Thread safety: that of the references.
    template <class... Arguments>
    [[nodiscard]] pointer allocate_through_init(Arguments&&... arguments)
    {
        return allocate_through_function([&](T& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: hands out an object after `function(object)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `function` throws: the object is back in the pool then, as `function` has left it.
    /// Complexity: as `allocate`, and the function.
    /// Thread safety: that of the references.
    template <class Function>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE pointer allocate_through_function(Function&& function)
    {
        auto& store = this->store();
        return pointer(store.hand_out(store.take(), std::forward<Function>(function)), false);
    }

    /// Effects: as `allocate`, if there is an object to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or cannot grow, as upstream or a constructor fails.
    /// Complexity: as `allocate`.
    /// Thread safety: that of the references.
    [[nodiscard]] pointer try_allocate()
    {
        return try_allocate_through_function([](T&) {});
    }

    /// Effects: as `allocate_through_init`, if there is an object to be had.
    /// Returns: as `try_allocate`.
    /// Throws: what `init` throws.
    /// Complexity: as `allocate_through_init`.
    /// Thread safety: that of the references.
    template <class... Arguments>
    [[nodiscard]] pointer try_allocate_through_init(Arguments&&... arguments)
    {
        return try_allocate_through_function([&](T& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: as `allocate_through_function`, if there is an object to be had.
    /// Returns: as `try_allocate`.
    /// Throws: what `function` throws.
    /// Complexity: as `allocate_through_function`.
    /// Thread safety: that of the references.
    template <class Function>
    [[nodiscard]] pointer try_allocate_through_function(Function&& function)
    {
        auto& store = this->store();
        void* const block = store.try_take();
        return pointer(block != nullptr ? store.hand_out(block, std::forward<Function>(function)) : nullptr, false);
    }
};
} // namespace memory_pool
