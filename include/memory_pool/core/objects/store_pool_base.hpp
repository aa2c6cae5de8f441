// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Bases of the pools of reference-counted objects. One pool constructs an object for each use; the other recycles its
/// objects. The usual instances are in intrusive_pool.hpp, recycling_pool.hpp and shared_pool.hpp.
///
///     constructing_pool_base  make(arguments...) -> T(arguments...) -> Pointer -> last reference dropped: T destroyed
///     recycling_pool_base     allocate()         -> existing T      -> Pointer -> last reference dropped: T reset
///
///     pool ----owns----> store ----> blocks         release: the old store lives until its last object is back
///
/// Thread safety: as the blocks.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/object_store.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
/// Returns: a `Pointer` to the object, which takes over a reference instead of adding one.
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
} // namespace detail::core

/// The common base of these pools. Moving or swapping pools does not move their stores or objects, so pointers stay
/// valid. A moved-from pool may only be destroyed or assigned to.
template <class Store>
class store_pool_base
{
public:
    /// The pool's policy.
    using policy = typename decltype(Store::blocks)::policy;

    /// Effects: takes over the store and the objects of `other`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use either pool at the same time; releasing objects is allowed.
    store_pool_base(store_pool_base&& other) noexcept = default;

    /// Effects: takes over the store and the objects of `other`, and releases this pool's previous objects as its
    ///   destructor does. Object destructors that run during the call already see the new store.
    /// Complexity: O(1) plus the destructor.
    /// Thread safety: as the move constructor.
    store_pool_base& operator=(store_pool_base&& other) noexcept = default;

    /// Returns: the number of objects allocated from upstream, in use or not.
    std::size_t capacity() const noexcept { return blocks().capacity(); }

    /// Returns: the maximum number of objects in use, or `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return blocks().max_capacity(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return blocks().is_bounded(); }

    /// Returns: the number of objects in use, except objects that outlived a `release`.
    /// Complexity: O(1), or linear in threads if threads share the pool.
    std::size_t in_use() const noexcept { return blocks().in_use(); }

    /// Returns: in a bounded pool, the number of objects left until the pool is exhausted; otherwise, the number
    ///   available without a call upstream.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return blocks().available(); }

    /// Returns: how often the pool has grown, by a step or by `reserve`, since it was constructed or last released.
    std::size_t growth_count() const noexcept { return blocks().growth_count(); }

    /// Returns: bytes allocated from upstream, including bookkeeping.
    std::size_t bytes_reserved() const noexcept { return blocks().bytes_reserved() + sizeof(Store); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return blocks().name(); }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return blocks().upstream_resource(); }

    /// Returns: exact statistics since the pool was constructed or last released.
    /// Preconditions: `Policy::counts`.
    pool_statistics statistics() const noexcept { return blocks().statistics(); }

    /// Effects: resets the peak in the statistics to the number of objects in use.
    /// Preconditions: `Policy::counts`.
    void reset_peak() noexcept { store_->blocks.reset_peak(); }

    /// Effects: allocates memory from upstream until `capacity()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_capacity()`; size_overflow if `count` objects exceed the address
    ///   space; exceptions from upstream and from constructors of recycled objects. On failure the pool keeps the
    ///   objects added before.
    /// Complexity: linear in the slabs added and the objects constructed.
    void reserve(std::size_t count) { store_->blocks.reserve(count); }

    /// Effects: as `basic_block_pool::reserve_for_thread`, for a pool shared by threads.
    /// Throws: exceptions from upstream.
    /// Complexity: as `basic_block_pool::reserve_for_thread`.
    void reserve_for_thread() { store_->blocks.reserve_for_thread(); }

    /// Effects: as basic_block_pool::hand_over, for the pool and its objects.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool or its objects at the same time.
    void hand_over() noexcept { store_->blocks.hand_over(); }

    /// Effects: returns slabs without objects in use to upstream, after destroying recycled objects in them. The
    ///   destructors may release or destroy the pool. Its other idle objects are then destroyed after the memory is
    ///   returned.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in slabs and destroyed objects.
    std::size_t trim() noexcept { return store_->trim(); }

    /// Effects: resets the pool. Objects in use and their memory live until their last reference is gone; no policy
    ///   reports them as leaks. Idle objects are destroyed now, and their memory returns to upstream.
    /// Throws: exceptions from upstream, which allocates a few hundred bytes for a new store. On failure nothing
    ///   changes.
    /// Complexity: linear in slabs and destroyed objects.
    /// Thread safety: no other thread may acquire objects at the same time; releasing them is allowed.
    void release()
    {
        pool_options options = store_->options();
        options.initial_capacity = 0;
        const auto make_like = [&](const auto&... kept) {
            return detail::core::make_object_store<Store>(options, upstream_resource(), kept...);
        };
        detail::core::object_store_owner<Store> fresh;
        if constexpr (Store::keeps_objects)
            fresh = make_like(store_->reset());
        else
            fresh = make_like();
        store_.swap(fresh);
        fresh.release()->abandon_silently();
    }

    /// Returns: whether the invariants hold. For tests.
    /// Complexity: linear in blocks.
    bool verify() const noexcept { return blocks().verify(); }

protected:
    /// Effects: makes a store with `arguments`.
    template <class... Arguments>
    explicit store_pool_base(const pool_options& options, std::pmr::memory_resource* upstream, Arguments&&... arguments)
        : store_(detail::core::make_object_store<Store>(options, upstream, std::forward<Arguments>(arguments)...))
    {
    }
    ~store_pool_base() = default;

    /// Returns: the store of the objects.
    Store& store() noexcept { return *store_; }

private:
    const auto& blocks() const noexcept { return store_->blocks; }

    detail::core::object_store_owner<Store> store_;
};

/// A pool that constructs an object for each use and destroys it afterwards. `Pointer` owns objects in use.
template <class Store, class Pointer>
class constructing_pool_base : public store_pool_base<Store>
{
public:
    /// The pooled type.
    using value_type = typename Pointer::element_type;
    /// The owning pointer type.
    using pointer = Pointer;

    /// Effects: constructs a pool with room for `options.initial_capacity` objects. All slabs are allocated from
    ///   `upstream`, aligned to 64 KiB or more.
    /// Preconditions: `upstream` outlives the pool and its objects. If threads share them, any of these threads may
    ///   call `upstream`; concurrent calls occur only if objects outlive the pool or a `release`.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1).
    explicit constructing_pool_base(const pool_options& options = {},
                                    std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream)
    {
    }

    /// Effects: as the first constructor, with default options and `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit constructing_pool_base(Resource* upstream) : constructing_pool_base(pool_options{}, upstream)
    {
    }

    /// Effects: as the move constructor of store_pool_base.
    constructing_pool_base(constructing_pool_base&&) noexcept = default;

    /// Effects: as the move assignment of store_pool_base.
    constructing_pool_base& operator=(constructing_pool_base&&) noexcept = default;

    /// Effects: releases the pool. Objects in use live until their last pointer is gone; some policies report them as
    ///   leaks.
    ~constructing_pool_base() = default;

    /// Effects: constructs an object as `T(arguments...)`, or as `T{arguments...}` if `T` is an aggregate.
    /// Returns: a pointer to the object, never nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; exceptions from upstream and the constructor. On
    ///   failure no additional object is in use.
    /// Complexity: O(1) plus the constructor; occasionally a batch from the slabs or a call upstream.
    /// Thread safety: as the pool.
    template <class... Arguments>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer make(Arguments&&... arguments)
    {
        Store& store = this->store();
        return detail::core::adopt<Pointer>(
            store.make_in(store.blocks.allocate(), std::forward<Arguments>(arguments)...));
    }

    /// Effects: as `make`, if a block is available.
    /// Returns: a pointer to the object; nullptr if the pool is at its limit or upstream fails.
    /// Throws: exceptions from the constructor.
    /// Complexity: as `make`.
    /// Thread safety: as the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer try_make(Arguments&&... arguments) noexcept(
        detail::core::is_nothrow_makeable<value_type, Arguments...>())
    {
        return make_if(this->store().blocks.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `make`, but waits for a block until another thread drops the last pointer to an object. Waiting
    ///   threads are served in FIFO order, before threads that do not wait.
    /// Returns: a pointer to the object, never nullptr.
    /// Preconditions: threads share the pool; otherwise the call does not compile. Not called by the destructor of a
    ///   pooled object: the thread may wait for the block of that very object.
    /// Throws: exceptions from upstream, if there is no object in use to wait for; exceptions from the constructor. On
    ///   failure no additional object is in use.
    /// Complexity: as `make`, plus the wait.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] Pointer make_wait(Arguments&&... arguments)
    {
        return make_if(this->store().blocks.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `make_wait`, but gives up at `deadline`, or after a century if that is sooner.
    /// Returns: a pointer to the object; nullptr after a timeout, or if upstream fails and there is no object in use to
    ///   wait for.
    /// Preconditions: as `make_wait`.
    /// Throws: exceptions from the clock and the constructor. On failure no additional object is in use.
    /// Complexity, thread safety: as `make_wait`.
    template <class Clock, class Duration, class... Arguments>
    [[nodiscard]] Pointer try_make_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                         Arguments&&... arguments)
    {
        return make_if(this->store().blocks.try_allocate_until(deadline), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `make_wait`, but gives up after `patience`, or after a century if that is sooner.
    /// Returns, throws: as `try_make_until`.
    /// Preconditions: as `make_wait`.
    /// Complexity, thread safety: as `make_wait`.
    template <class Rep, class Period, class... Arguments>
    [[nodiscard]] Pointer try_make_for(const std::chrono::duration<Rep, Period>& patience, Arguments&&... arguments)
    {
        return make_if(this->store().blocks.try_allocate_for(patience), std::forward<Arguments>(arguments)...);
    }

private:
    template <class... Arguments>
    Pointer make_if(void* block, Arguments&&... arguments)
    {
        if (block == nullptr)
            return nullptr;
        return detail::core::adopt<Pointer>(this->store().make_in(block, std::forward<Arguments>(arguments)...));
    }
};

namespace detail::core {
/// As if_no_options, for a pool of recycled objects.
template <class Pool, class... Given>
using if_no_action =
    if_wrong<a_recycling_pool_takes_a_recycle_or_a_function_a_pool_options_and_a_memory_resource,
             takes<const pool_options&, recycle_action<typename Pool::value_type>, const Pool&>, Given...>;
} // namespace detail::core

/// A pool that constructs its objects when it grows and recycles them. `Pointer` owns objects in use. `T` needs a
/// default constructor, which must not use the pool. If the constructor throws while the pool grows, the pool keeps the
/// objects constructed so far. Idle objects are poisoned for AddressSanitizer: not even other idle objects may access
/// them. LeakSanitizer does not scan them: it reports the memory they own as leaked if the process ends before the
/// pool, unless LSAN_OPTIONS has use_poisoned=1.
template <class Store, class Pointer>
class recycling_pool_base : public store_pool_base<Store>
{
public:
    /// The pooled type.
    using value_type = typename Pointer::element_type;
    /// The owning pointer type.
    using pointer = Pointer;

    /// Effects: constructs a pool and `options.initial_capacity` objects. All slabs are allocated from `upstream`,
    ///   aligned to 64 KiB or more. `action` is either a `recycle` value, which leaves returned objects unchanged or
    ///   calls their `destroy()`, or a function to call with each returned object as a `T&`. The function and
    ///   `destroy()` may use the pool; if threads share the pool, several threads may call them concurrently. If one of
    ///   them throws, the error handler is called with error_kind::hook_failed, and aborts by default; the object
    ///   returns to the pool as it is. The pool grows by `options.growth_step` objects; if this option is 0, the pool
    ///   doubles.
    /// Preconditions: `upstream` outlives the pool and its objects. If threads share them, any of these threads may
    ///   call `upstream`; concurrent calls occur only if objects outlive the pool or a `release`.
    /// Throws: as basic_block_pool; std::invalid_argument if there is no `destroy()` to call, or the function is empty;
    ///   exceptions from constructors.
    /// Complexity: linear in the objects constructed.
    explicit recycling_pool_base(const detail::core::recycle_action<value_type>& action = recycle::nothing,
                                 const pool_options& options = {},
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream, action)
    {
    }

    /// Effects: as the first constructor, with recycle::nothing.
    explicit recycling_pool_base(const pool_options& options,
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : recycling_pool_base(recycle::nothing, options, upstream)
    {
    }

    /// Effects: as the first constructor, with default options and `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit recycling_pool_base(const detail::core::recycle_action<value_type>& action, Resource* upstream)
        : recycling_pool_base(action, pool_options{}, upstream)
    {
    }

    /// Effects: as the first constructor, with recycle::nothing, default options and `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit recycling_pool_base(Resource* upstream) : recycling_pool_base(recycle::nothing, pool_options{}, upstream)
    {
    }

    /// Effects: as the move constructor of store_pool_base.
    recycling_pool_base(recycling_pool_base&&) noexcept = default;

    /// Effects: as the move assignment of store_pool_base.
    recycling_pool_base& operator=(recycling_pool_base&&) noexcept = default;

    /// Effects: destroys idle objects. Objects in use live until their last pointer is gone; some policies report them
    ///   as leaks.
    ~recycling_pool_base() = default;

    /// Effects: replaces the action for objects returned from now on. Objects that outlived the last `release` keep the
    ///   action they were allocated with.
    /// Preconditions: no thread is returning an object, this one included.
    /// Throws: std::invalid_argument if there is no `destroy()` to call, or the function is empty. On failure nothing
    ///   changes.
    /// Complexity: O(1).
    /// Thread safety: one thread at a time; no other thread may release objects at the same time.
    void set_recycle_action(detail::core::recycle_action<value_type> action)
    {
        this->store().set_reset(std::move(action));
    }

    /// Effects: allocates an object, in the state in which it was constructed or last returned.
    /// Returns: a pointer to the object, never nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; exceptions from upstream or a constructor, if
    ///   the pool cannot grow by a single object. On failure no additional object is in use.
    /// Complexity: O(1); if the pool grows, linear in the objects added.
    /// Thread safety: as the pool.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer allocate()
    {
        return allocate_through_function([](value_type&) {});
    }

    /// Effects: allocates an object and calls `object.init(arguments...)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`; exceptions from `init`, after which the object returns to the pool as `init` left it.
    /// Complexity: as `allocate`, plus `init`.
    /// Thread safety: as the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer allocate_through_init(Arguments&&... arguments)
    {
        return allocate_through_function(
            [&](value_type& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: allocates an object and calls `function(object)`.
    /// Returns: as `allocate`.
    /// Throws: as `allocate`; exceptions from `function`, after which the object returns to the pool as `function` left
    ///   it, unless `function` kept a pointer to the object.
    /// Complexity: as `allocate`, plus the function.
    /// Thread safety: as the pool.
    template <class Function>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer allocate_through_function(Function&& function)
    {
        Store& store = this->store();
        return detail::core::adopt<Pointer>(store.hand_out(store.blocks.allocate(), std::forward<Function>(function)));
    }

    /// Effects: as `allocate`, if an object is available.
    /// Returns: a pointer to the object; nullptr if the pool is at its limit, or cannot grow because upstream or a
    ///   constructor fails.
    /// Complexity: as `allocate`.
    /// Thread safety: as the pool.
    [[nodiscard]] Pointer try_allocate() noexcept
    {
        return try_allocate_through_function([](value_type&) {});
    }

    /// Effects: as `allocate_through_init`, if an object is available.
    /// Returns: as `try_allocate`.
    /// Throws: exceptions from `init`.
    /// Complexity: as `allocate_through_init`.
    /// Thread safety: as the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer try_allocate_through_init(Arguments&&... arguments)
    {
        return try_allocate_through_function(
            [&](value_type& object) { object.init(std::forward<Arguments>(arguments)...); });
    }

    /// Effects: as `allocate_through_function`, if an object is available.
    /// Returns: as `try_allocate`.
    /// Throws: exceptions from `function`.
    /// Complexity: as `allocate_through_function`.
    /// Thread safety: as the pool.
    template <class Function>
    [[nodiscard]] Pointer try_allocate_through_function(Function&& function)
    {
        return hand_out_if(this->store().blocks.try_allocate(), std::forward<Function>(function));
    }

    /// Effects: as `allocate`, but waits until another thread drops the last pointer to an object. Waiting threads are
    ///   served in FIFO order, before threads that do not wait.
    /// Returns: a pointer to the object, never nullptr.
    /// Preconditions: threads share the pool; otherwise the call does not compile. Not called while this thread resets
    ///   a pooled object: the thread may wait for that very object.
    /// Throws: exceptions from upstream or a constructor, if the pool cannot grow by a single object and there is no
    ///   object in use to wait for. On failure no additional object is in use.
    /// Complexity: as `allocate`, plus the wait.
    /// Thread safety: any thread.
    template <class Shared = Store>
    [[nodiscard]] Pointer allocate_wait()
    {
        return hand_out_if(this->store().blocks.allocate_wait(), [](value_type&) {});
    }

    /// Effects: as `allocate_wait`, but gives up at `deadline`, or after a century if that is sooner.
    /// Returns: a pointer to the object; nullptr after a timeout, or if the pool cannot grow and there is no object in
    ///   use to wait for.
    /// Preconditions: as `allocate_wait`.
    /// Throws: exceptions from the clock.
    /// Complexity, thread safety: as `allocate_wait`.
    template <class Clock, class Duration>
    [[nodiscard]] Pointer try_allocate_until(const std::chrono::time_point<Clock, Duration>& deadline)
    {
        return hand_out_if(this->store().blocks.try_allocate_until(deadline), [](value_type&) {});
    }

    /// Effects: as `allocate_wait`, but gives up after `patience`, or after a century if that is sooner.
    /// Returns: as `try_allocate_until`.
    /// Preconditions: as `allocate_wait`.
    /// Complexity, thread safety: as `allocate_wait`.
    template <class Rep, class Period>
    [[nodiscard]] Pointer try_allocate_for(const std::chrono::duration<Rep, Period>& patience)
    {
        return hand_out_if(this->store().blocks.try_allocate_for(patience), [](value_type&) {});
    }

private:
    template <class Function>
    Pointer hand_out_if(void* block, Function&& function)
    {
        if (block == nullptr)
            return nullptr;
        return detail::core::adopt<Pointer>(this->store().hand_out(block, std::forward<Function>(function)));
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
