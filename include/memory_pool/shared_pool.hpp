// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects held by std::shared_ptr and std::weak_ptr, with their control blocks in the same block of a pool: no malloc once the
/// pool is warm.
///
///     make(arguments...)  ->  block [ T | control block ]  ->  std::shared_ptr<T>
///     the last shared_ptr goes  ->  T destroyed            the last weak_ptr goes  ->  block back to the pool
///
///     in_use = objects that any shared_ptr or weak_ptr points to
///
/// Thread safety: shared_pool and recycling_shared_pool: one thread at a time may use the pool and its pointers.
/// concurrent_shared_pool and concurrent_recycling_shared_pool: any thread, as far as std::shared_ptr itself allows.
#pragma once

#include <memory_pool/base/policies.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/item_pool.hpp>
#include <memory_pool/core/recycle_action.hpp>
#include <memory_pool/core/shared_items.hpp>

#include <functional>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool
{
/// A pool of objects of type `T`, any type, that are constructed and destroyed at each use, over `Blocks`: a basic_block_pool or
/// a basic_concurrent_block_pool.
template <class T, class Blocks>
class basic_shared_pool : public core::item_pool<core::shared_items<T, Blocks, false>>
{
    using base_type = core::item_pool<core::shared_items<T, Blocks, false>>;

public:
    /// What the pool holds.
    using value_type = T;
    /// What it hands out.
    using pointer = std::shared_ptr<T>;
    /// The variant that this pool is.
    using policy = typename Blocks::policy;

    /// Effects: makes a pool, and takes room for `options.initial_capacity` objects from `upstream` at once.
    /// Preconditions: `upstream` outlives the pool and all pointers to its objects.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1).
    explicit basic_shared_pool(const pool_options& options = {},
                               std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream)
    {
    }

    /// Effects: lets go of its objects: those in use live on until their last pointer is gone, unless the policy says that this
    ///   is a leak, which is reported.
    ~basic_shared_pool() = default;

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: a pointer to it, which never is nullptr. std::enable_shared_from_this works.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream and the constructor throw. Nothing is in use
    ///   then that was not before.
    /// Complexity: O(1), and the constructor; now and then a batch from the slabs or a call upstream.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] pointer make(Arguments&&... arguments)
    {
        auto& store = this->store();
        return store.make_in(store.blocks.allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `make` does, if there is a block to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws.
    /// Complexity: as `make`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] pointer try_make(Arguments&&... arguments)
    {
        auto& store = this->store();
        void* const block = store.blocks.try_allocate();
        return block != nullptr ? store.make_in(block, std::forward<Arguments>(arguments)...) : nullptr;
    }
};

/// A pool of objects of type `T` that are constructed once, when the pool grows, and used again and again, as in recycling_pool.
template <class T, class Blocks>
class basic_recycling_shared_pool : public core::item_pool<core::shared_items<T, Blocks, true>>
{
    using base_type = core::item_pool<core::shared_items<T, Blocks, true>>;

public:
    /// What the pool holds.
    using value_type = T;
    /// What it hands out.
    using pointer = std::shared_ptr<T>;
    /// The variant that this pool is.
    using policy = typename Blocks::policy;

    /// Effects: makes a pool, and constructs `options.initial_capacity` objects in memory from `upstream`. Objects that come back
    ///   are left as they are, or have their `destroy()` called.
    /// Preconditions: `upstream` outlives the pool and all pointers to its objects.
    /// Throws: as basic_block_pool; std::invalid_argument if `T` has no `destroy()` to call; what constructors throw.
    /// Complexity: linear in objects constructed.
    explicit basic_recycling_shared_pool(recycle action = recycle::nothing, const pool_options& options = {},
                                         std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream, core::recycle_action<T>(action))
    {
    }

    /// Effects: as the first, where nothing is done to objects that come back.
    explicit basic_recycling_shared_pool(const pool_options& options,
                                         std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : basic_recycling_shared_pool(recycle::nothing, options, upstream)
    {
    }

    /// Effects: as the first, but calls `function(T&)` for each object that comes back: as in recycling_pool.
    /// Throws: as the first; std::invalid_argument if `function` is empty.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, T&>>>
    explicit basic_recycling_shared_pool(Function function, const pool_options& options = {},
                                         std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : base_type(options, upstream, core::recycle_action<T>(std::function<void(T&)>(std::move(function))))
    {
    }

    /// Effects: as that of basic_shared_pool. Objects that are not in use are destroyed.
    ~basic_recycling_shared_pool() = default;

    /// Effects: hands out an object, as it came back, or as its constructor made it.
    /// Returns: a pointer to it, which never is nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream throws, and the constructors of the objects
    ///   that the pool grows by. Nothing is in use then that was not before.
    /// Complexity: O(1), and now and then growth, which is linear in the objects it adds.
    /// Thread safety: that of the blocks.
    [[nodiscard]] pointer allocate()
    {
        return allocate_through_function([](T&) {});
    }

    /// Effects: hands out an object after `function(object)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `function` throws: the object is back in the pool then, as `function` has left it.
    /// Complexity: as `allocate`, and the function.
    /// Thread safety: that of the blocks.
    template <class Function>
    [[nodiscard]] pointer allocate_through_function(Function&& function)
    {
        auto& store = this->store();
        return store.hand_out(store.blocks.allocate(), std::forward<Function>(function));
    }

    /// Effects: hands out an object after `object.init(arguments...)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `init` throws: the object is back in the pool then, as `init` has left it.
    /// Complexity: as `allocate`, and `init`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] pointer allocate_through_init(Arguments&&... arguments)
    {
        return allocate_through_function([&](T& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: as `allocate`, if there is an object to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or cannot grow, as upstream or a constructor fails.
    /// Complexity: as `allocate`.
    /// Thread safety: that of the blocks.
    [[nodiscard]] pointer try_allocate()
    {
        auto& store = this->store();
        void* const block = store.blocks.try_allocate();
        return block != nullptr ? store.hand_out(block, [](T&) {}) : nullptr;
    }
};

/// Objects for std::shared_ptr, for one thread.
template <class T, class Policy = default_policy>
using shared_pool = basic_shared_pool<T, basic_block_pool<Policy>>;

/// Objects for std::shared_ptr that threads share.
template <class T, class Policy = default_policy>
using concurrent_shared_pool = basic_shared_pool<T, basic_concurrent_block_pool<Policy>>;

/// Objects for std::shared_ptr that are kept, for one thread.
template <class T, class Policy = default_policy>
using recycling_shared_pool = basic_recycling_shared_pool<T, basic_block_pool<Policy>>;

/// Objects for std::shared_ptr that are kept, and that threads share.
template <class T, class Policy = default_policy>
using concurrent_recycling_shared_pool = basic_recycling_shared_pool<T, basic_concurrent_block_pool<Policy>>;
} // namespace memory_pool
