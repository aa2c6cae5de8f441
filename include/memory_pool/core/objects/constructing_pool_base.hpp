// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools of objects that return by themselves, behind their faces: one constructs an object for each use, one keeps it. The faces
/// are intrusive_pool.hpp, recycling_pool.hpp and shared_pool.hpp.
///
///     constructing_pool_base   make(arguments...)  ->  T(arguments...)  ->  Pointer  ->  the last one goes: T
/// destroyed
///     recycling_pool_base      allocate()          ->  T from before    ->  Pointer  ->  the last one goes: T reset,
/// and kept
///
/// Thread safety: that of the store.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/core/objects/store_pool_base.hpp>

#include <functional>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// Returns: `object`, which has a reference that nobody holds yet, as a `Pointer` that does.
template <class Pointer, class T>
MEMORY_POOL_ALWAYS_INLINE Pointer adopt(T* object)
{
    return Pointer(object, false);
}
template <class Pointer>
Pointer adopt(Pointer pointer)
{
    return pointer;
}

} // namespace core

/// A pool whose objects are constructed and destroyed at each use, and held by `Pointer`.
template <class Store, class Pointer>
class constructing_pool_base : public store_pool_base<Store>
{
public:
    /// What the pool holds.
    using value_type = typename Pointer::element_type;
    /// What it hands out.
    using pointer = Pointer;

    /// Effects: makes a pool, and takes room for `options.initial_capacity` objects from `upstream` at once, which is asked for it
    ///   in slabs aligned to 64 KiB or more.
    /// Preconditions: `upstream` outlives the pool and its objects. Where threads share them, it may be called by any of them;
    ///   by two at the same time only when objects outlive the pool, or a `clear`.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1).
    explicit constructing_pool_base(const pool_options& options = {},
                                    std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream)
    {
    }

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More,
              class = core::if_none_of<Given, const pool_options&, const constructing_pool_base&>>
    explicit constructing_pool_base(const Given&, const More&...) : constructing_pool_base()
    {
        static_assert(core::is_of_use<Given>,
                      "a pool takes a pool_options, and then a memory resource: set initial_capacity "
                      "or max_capacity in the options for a number of objects");
    }

    constructing_pool_base(const constructing_pool_base&) = delete;
    constructing_pool_base& operator=(const constructing_pool_base&) = delete;

    /// Effects: lets go of its objects: those in use live on until their last pointer is gone, unless the policy says that this
    ///   is a leak, which is reported.
    ~constructing_pool_base() = default;

    /// Effects: makes an object from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: a pointer to it, which never is nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream and the constructor throw. Nothing is in use
    ///   then that was not before.
    /// Complexity: O(1), and the constructor; now and then a batch from the slabs or a call upstream.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer make(Arguments&&... arguments)
    {
        Store& store = this->store();
        return core::adopt<Pointer>(store.make_in(store.blocks.allocate(), std::forward<Arguments>(arguments)...));
    }

    /// Effects: makes an object as `make` does, if there is a block to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws.
    /// Complexity: as `make`.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer try_make(Arguments&&... arguments)
    {
        Store& store = this->store();
        void* const block = store.blocks.try_allocate();
        if (block == nullptr)
            return nullptr;
        return core::adopt<Pointer>(store.make_in(block, std::forward<Arguments>(arguments)...));
    }
};

/// A pool whose objects are constructed once, when it grows, and used again and again, held by `Pointer`. They have a default
/// constructor, which must not use the pool. If it throws while the pool grows, the objects constructed so far stay in
/// the pool. Objects that are not in use are poisoned for AddressSanitizer, also for each other, and LeakSanitizer does
/// not scan them: what they hold on to counts as lost if the process ends before the pool, unless LSAN_OPTIONS has
/// use_poisoned=1.
template <class Store, class Pointer>
class recycling_pool_base : public store_pool_base<Store>
{
public:
    /// What the pool holds.
    using value_type = typename Pointer::element_type;
    /// What it hands out.
    using pointer = Pointer;

    /// Effects: makes a pool, and constructs `options.initial_capacity` objects in memory from `upstream`, which is asked for it
    ///   in slabs aligned to 64 KiB or more. Objects that come back are left as they are, or have their `destroy()` called.
    ///   When the pool grows, it constructs `options.growth_step` objects, or if that is 0, as many as it has.
    /// Preconditions: `upstream` outlives the pool and its objects. Where threads share them, it may be called by any of them;
    ///   by two at the same time only when objects outlive the pool, or a `clear`.
    /// Throws: as basic_block_pool; std::invalid_argument if there is no `destroy()` to call; what constructors throw.
    /// Complexity: linear in objects constructed.
    explicit recycling_pool_base(recycle action = recycle::nothing, const pool_options& options = {},
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream, core::recycle_action<value_type>(action))
    {
    }

    /// Effects: as the first, where nothing is done to objects that come back.
    explicit recycling_pool_base(const pool_options& options,
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : recycling_pool_base(recycle::nothing, options, upstream)
    {
    }

    /// Effects: as the first, but calls `function(T&)` for each object that comes back. It may use the pool. What it throws, or
    ///   `destroy()`, goes to the error handler as error::hook_failed, which aborts unless it was replaced; the object is back,
    ///   as it is. Where threads share the pool, several may call it.
    /// Throws: as the first; std::invalid_argument if `function` is empty.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, value_type&>>>
    explicit recycling_pool_base(Function function, const pool_options& options = {},
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(
              options, upstream,
              core::recycle_action<value_type>(std::function<void(value_type&)>(std::move(function))))
    {
    }

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More,
              class = core::if_none_of<Given, const pool_options&, recycle, const recycling_pool_base&>,
              class = std::enable_if_t<!std::is_invocable_v<const Given&, value_type&> &&
                                       !std::is_invocable_v<Given&, value_type&>>>
    explicit recycling_pool_base(const Given&, const More&...) : recycling_pool_base()
    {
        static_assert(core::is_of_use<Given>, "a recycling pool takes a recycle, or a function of an object, a "
                                              "pool_options, and then a memory resource: set initial_capacity or "
                                              "max_capacity in the options for a number of objects");
    }

    recycling_pool_base(const recycling_pool_base&) = delete;
    recycling_pool_base& operator=(const recycling_pool_base&) = delete;

    /// Effects: lets go of its objects: those in use live on until their last pointer is gone, unless the policy says that this
    ///   is a leak, which is reported. All others are destroyed.
    ~recycling_pool_base() = default;

    /// Effects: from now on, does this to objects that come back, instead of what the pool was made with. Those that were in use
    ///   at the last `clear` come back to what they were handed out from, as before.
    /// Preconditions: no object is on its way back, in this thread or another.
    /// Throws: std::invalid_argument if there is no `destroy()` to call; nothing is changed then.
    /// Complexity: O(1).
    /// Thread safety: one thread at a time, and no other may let go of objects.
    void set_recycle_action(recycle action) { this->store().set_reset(core::recycle_action<value_type>(action)); }

    /// Effects: as the first, but from now on calls `function(T&)`.
    /// Throws: std::invalid_argument if `function` is empty; nothing is changed then.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, value_type&>>>
    void set_recycle_action(Function function)
    {
        this->store().set_reset(
            core::recycle_action<value_type>(std::function<void(value_type&)>(std::move(function))));
    }

    /// Effects: hands out an object, as it came back, or as its constructor made it.
    /// Returns: a pointer to it, which never is nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream or a constructor throws, if the
    ///   pool cannot grow by a single object. No additional object is in use then.
    /// Complexity: O(1), and now and then growth, which is linear in the objects it adds.
    /// Thread safety: that of the pool.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer allocate()
    {
        return allocate_through_function([](value_type&) {});
    }

    /// Effects: hands out an object after `object.init(arguments...)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `init` throws: the object is back in the pool then, as `init` has left it.
    /// Complexity: as `allocate`, and `init`.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer allocate_through_init(Arguments&&... arguments)
    {
        return allocate_through_function(
            [&](value_type& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: hands out an object after `function(object)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`, and what `function` throws: the object is back in the pool then, as `function` has left it, unless
    ///   that has kept a pointer to it.
    /// Complexity: as `allocate`, and the function.
    /// Thread safety: that of the pool.
    template <class Function>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer allocate_through_function(Function&& function)
    {
        Store& store = this->store();
        return core::adopt<Pointer>(store.hand_out(store.blocks.allocate(), std::forward<Function>(function)));
    }

    /// Effects: as `allocate`, if there is an object to be had.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or cannot grow, as upstream or a constructor fails.
    /// Complexity: as `allocate`.
    /// Thread safety: that of the pool.
    [[nodiscard]] Pointer try_allocate()
    {
        return try_allocate_through_function([](value_type&) {});
    }

    /// Effects: as `allocate_through_init`, if there is an object to be had.
    /// Returns: as `try_allocate`.
    /// Throws: what `init` throws.
    /// Complexity: as `allocate_through_init`.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer try_allocate_through_init(Arguments&&... arguments)
    {
        return try_allocate_through_function(
            [&](value_type& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: as `allocate_through_function`, if there is an object to be had.
    /// Returns: as `try_allocate`.
    /// Throws: what `function` throws.
    /// Complexity: as `allocate_through_function`.
    /// Thread safety: that of the pool.
    template <class Function>
    [[nodiscard]] Pointer try_allocate_through_function(Function&& function)
    {
        Store& store = this->store();
        void* const block = store.blocks.try_allocate();
        if (block == nullptr)
            return nullptr;
        return core::adopt<Pointer>(store.hand_out(block, std::forward<Function>(function)));
    }
};
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
