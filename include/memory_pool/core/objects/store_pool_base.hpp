// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools of reference-counted objects: one constructs an object for each use, one recycles it. intrusive_pool.hpp,
/// recycling_pool.hpp and shared_pool.hpp have the usual instances.
///
///     constructing_pool_base  make(arguments...) -> T(arguments...) -> Pointer -> last reference dropped: T destroyed
///     recycling_pool_base     allocate()         -> existing T      -> Pointer -> last reference dropped: T reset
///
///     pool ----owns----> store ----> blocks         release: the old store lives until its last object is back
///
/// Thread safety: that of the blocks.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/refusals.hpp>
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
/// Returns: a `Pointer` that owns the reference which `object` already has.
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

/// The common part of these pools, over a `Store` of objects. They can be moved, and so swapped: the store stays where
/// it is, and so do the objects and the pointers to them. A pool that was moved from may be destroyed or assigned to,
/// and nothing else.
template <class Store>
class store_pool_base
{
public:
    /// The pool's policy.
    using policy = typename decltype(Store::blocks)::policy;

    /// Effects: takes the store and the objects of `other`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use either pool at the same time; releasing objects is allowed.
    store_pool_base(store_pool_base&& other) noexcept = default;

    /// Effects: releases what this pool had, as its destructor does, and takes the store and the objects of `other`.
    ///   Destructors that run meanwhile find the new store in this pool.
    /// Complexity: O(1), and that of the destructor.
    /// Thread safety: as the move constructor.
    store_pool_base& operator=(store_pool_base&& other) noexcept = default;

    /// Returns: the number of objects allocated from upstream, in use or not.
    std::size_t capacity() const noexcept { return blocks().capacity(); }

    /// Returns: the maximum number of objects in use, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return blocks().max_capacity(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return blocks().is_bounded(); }

    /// Returns: objects in use. Those that outlived a `release` are not counted.
    /// Complexity: O(1); linear in threads where threads share the pool.
    std::size_t in_use() const noexcept { return blocks().in_use(); }

    /// Returns: how many more objects are available: in a bounded pool until it is exhausted, in any other without a
    ///   call upstream.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return blocks().available(); }

    /// Returns: how often the pool has grown since it was made or released, by a step or by `reserve`.
    std::size_t growth_count() const noexcept { return blocks().growth_count(); }

    /// Returns: bytes held from upstream, bookkeeping included.
    std::size_t bytes_reserved() const noexcept { return blocks().bytes_reserved() + sizeof(Store); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return blocks().name(); }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return blocks().upstream_resource(); }

    /// Returns: exact statistics since the pool was made or released.
    /// Preconditions: `Policy::counts`.
    pool_statistics statistics() const noexcept { return blocks().statistics(); }

    /// Effects: makes the objects in use now the peak of the statistics.
    /// Preconditions: `Policy::counts`.
    void reset_peak() noexcept { store_->blocks.reset_peak(); }

    /// Effects: takes memory from upstream until `capacity()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_capacity()`; size_overflow if `count` objects exceed the address
    ///   space; what upstream and constructors of recycled objects throw. What was added before is kept.
    /// Complexity: linear in slabs added, and in objects that are constructed.
    void reserve(std::size_t count) { store_->blocks.reserve(count); }

    /// Effects: as `basic_block_pool::reserve_for_thread`, for a pool shared by threads.
    /// Throws: what upstream throws.
    /// Complexity: as `basic_block_pool::reserve_for_thread`.
    void reserve_for_thread() { store_->blocks.reserve_for_thread(); }

    /// Effects: as basic_block_pool::hand_over, for the pool and its objects.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool or its objects at the same time.
    void hand_over() noexcept { store_->blocks.hand_over(); }

    /// Effects: returns slabs without objects in use to upstream. Recycled objects there are destroyed first. Their
    ///   destructors may release or destroy the pool: objects that this destroys are destroyed once the memory is
    ///   returned.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in slabs, and in objects that are destroyed.
    std::size_t trim() noexcept { return store_->trim(); }

    /// Effects: resets the pool. Objects in use live on, with their memory, until their last reference is gone, which
    ///   no policy reports as a leak; all others are destroyed now, and their memory returns to upstream.
    /// Throws: what upstream throws when asked for a few hundred bytes for a new store. On failure nothing has changed.
    /// Complexity: linear in slabs, and in objects that are destroyed.
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

/// A pool whose objects are constructed and destroyed at each use, owned by `Pointer`.
template <class Store, class Pointer>
class constructing_pool_base : public store_pool_base<Store>
{
public:
    /// The pooled type.
    using value_type = typename Pointer::element_type;
    /// The owning pointer type.
    using pointer = Pointer;

    /// Effects: makes a pool, and allocates room for `options.initial_capacity` objects from `upstream`, in slabs
    ///   aligned to 64 KiB or more.
    /// Preconditions: `upstream` outlives the pool and its objects. Where threads share them, it may be called by any
    ///   of them; by two at the same time only when objects outlive the pool, or a `release`.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1).
    explicit constructing_pool_base(const pool_options& options = {},
                                    std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream)
    {
    }

    /// Effects: as the first, with default options, from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit constructing_pool_base(Resource* upstream) : constructing_pool_base(pool_options{}, upstream)
    {
    }

    /// Effects: as that of store_pool_base.
    constructing_pool_base(constructing_pool_base&&) noexcept = default;

    /// Effects: as that of store_pool_base.
    constructing_pool_base& operator=(constructing_pool_base&&) noexcept = default;

    /// Effects: releases its objects: those in use live on until their last pointer is gone, unless the policy reports
    ///   that as a leak.
    ~constructing_pool_base() = default;

    /// Effects: makes an object from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: a pointer to it, never nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream and the constructor throw. On
    ///   failure no additional object is in use.
    /// Complexity: O(1), and the constructor; occasionally a batch from the slabs or a call upstream.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer make(Arguments&&... arguments)
    {
        Store& store = this->store();
        return detail::core::adopt<Pointer>(
            store.make_in(store.blocks.allocate(), std::forward<Arguments>(arguments)...));
    }

    /// Effects: makes an object as `make` does, if a block is available.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws.
    /// Complexity: as `make`.
    /// Thread safety: that of the pool.
    template <class... Arguments>
    [[nodiscard]] Pointer try_make(Arguments&&... arguments) noexcept(
        detail::core::is_nothrow_makeable<value_type, Arguments...>())
    {
        return make_if(this->store().blocks.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes an object as `make` does, as soon as a block is available: another thread drops the last pointer
    ///   to an object. Waiting threads are served in FIFO order, and before any that does not wait.
    /// Returns: a pointer to it, never nullptr.
    /// Preconditions: threads share the pool; otherwise it does not compile. Not called by a destructor of its objects,
    ///   whose block may be the one that it waits for.
    /// Throws: what upstream throws, if no object is in use that could come back; what the constructor throws. On
    ///   failure no additional object is in use.
    /// Complexity: as `make`, and the wait.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] Pointer make_wait(Arguments&&... arguments)
    {
        return make_if(this->store().blocks.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `make_wait`, but gives up at `deadline`; or after a century, if that is sooner.
    /// Returns: a pointer to the object; or nullptr if no block came in time, or upstream fails and no object is in use
    ///   that could come back.
    /// Preconditions: as `make_wait`.
    /// Throws: what the clock and the constructor throw. On failure no additional object is in use.
    /// Complexity, thread safety: as `make_wait`.
    template <class Clock, class Duration, class... Arguments>
    [[nodiscard]] Pointer try_make_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                         Arguments&&... arguments)
    {
        return make_if(this->store().blocks.try_allocate_until(deadline), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `make_wait`, but gives up after `patience`; or after a century, if that is sooner.
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

/// A pool whose objects are constructed once, when it grows, and recycled, owned by `Pointer`. They need a default
/// constructor, which must not use the pool. If it throws while the pool grows, the objects constructed so far stay in
/// the pool. Objects that are not in use are poisoned for AddressSanitizer, also for each other, and LeakSanitizer does
/// not scan them: what they own is reported as leaked if the process ends before the pool, unless LSAN_OPTIONS has
/// use_poisoned=1.
template <class Store, class Pointer>
class recycling_pool_base : public store_pool_base<Store>
{
public:
    /// The pooled type.
    using value_type = typename Pointer::element_type;
    /// The owning pointer type.
    using pointer = Pointer;

    /// Effects: makes a pool, and constructs `options.initial_capacity` objects in memory from `upstream`, in slabs
    ///   aligned to 64 KiB or more. `action` is a `recycle`, or a function of a `T&`: returned objects are left
    ///   unchanged, have their `destroy()` called, or are passed to the function. It may use the pool. What it or
    ///   `destroy()` throws goes to the error handler as error_kind::hook_failed, which aborts unless it was replaced;
    ///   the object is back, unchanged. Where threads share the pool, several may call it concurrently. When the pool
    ///   grows, it constructs `options.growth_step` objects, or if that is 0, as many as it has.
    /// Preconditions: `upstream` outlives the pool and its objects. Where threads share them, it may be called by any
    ///   of them; by two at the same time only when objects outlive the pool, or a `release`.
    /// Throws: as basic_block_pool; std::invalid_argument if there is no `destroy()` to call, or the function is empty;
    ///   what constructors throw.
    /// Complexity: linear in objects constructed.
    explicit recycling_pool_base(const detail::core::recycle_action<value_type>& action = recycle::nothing,
                                 const pool_options& options = {},
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_pool_base<Store>(options, upstream, action)
    {
    }

    /// Effects: as the first, with recycle::nothing.
    explicit recycling_pool_base(const pool_options& options,
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : recycling_pool_base(recycle::nothing, options, upstream)
    {
    }

    /// Effects: as the first, with default options, from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit recycling_pool_base(const detail::core::recycle_action<value_type>& action, Resource* upstream)
        : recycling_pool_base(action, pool_options{}, upstream)
    {
    }

    /// Effects: as the first, with recycle::nothing and default options, from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit recycling_pool_base(Resource* upstream) : recycling_pool_base(recycle::nothing, pool_options{}, upstream)
    {
    }

    /// Effects: as that of store_pool_base.
    recycling_pool_base(recycling_pool_base&&) noexcept = default;

    /// Effects: as that of store_pool_base.
    recycling_pool_base& operator=(recycling_pool_base&&) noexcept = default;

    /// Effects: releases its objects: those in use live on until their last pointer is gone, unless the policy reports
    ///   that as a leak. All others are destroyed.
    ~recycling_pool_base() = default;

    /// Effects: applies `action` to objects returned from now on, instead of the previous action. Objects that outlived
    ///   the last `release` keep the action they were handed out with.
    /// Preconditions: no object is being returned, in this thread or another.
    /// Throws: std::invalid_argument if there is no `destroy()` to call, or the function is empty; nothing has changed
    ///   then.
    /// Complexity: O(1).
    /// Thread safety: one thread at a time, and no other may release objects.
    void set_recycle_action(detail::core::recycle_action<value_type> action)
    {
        this->store().set_reset(std::move(action));
    }

    /// Effects: hands out an object, as it was returned, or as its constructor made it.
    /// Returns: a pointer to it, never nullptr.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream or a constructor throws, if the
    ///   pool cannot grow by a single object. No additional object is in use then.
    /// Complexity: O(1), and occasionally growth, which is linear in the objects it adds.
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
    /// Throws: as `allocate`, and what `function` throws: the object is back in the pool then, as `function` has left
    ///   it, unless that has kept a pointer to it.
    /// Complexity: as `allocate`, and the function.
    /// Thread safety: that of the pool.
    template <class Function>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Pointer allocate_through_function(Function&& function)
    {
        Store& store = this->store();
        return detail::core::adopt<Pointer>(store.hand_out(store.blocks.allocate(), std::forward<Function>(function)));
    }

    /// Effects: as `allocate`, if an object is available.
    /// Returns: a pointer to it; or nullptr if the pool is at its limit, or cannot grow, as upstream or a constructor
    ///   fails.
    /// Complexity: as `allocate`.
    /// Thread safety: that of the pool.
    [[nodiscard]] Pointer try_allocate() noexcept
    {
        return try_allocate_through_function([](value_type&) {});
    }

    /// Effects: as `allocate_through_init`, if an object is available.
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

    /// Effects: as `allocate_through_function`, if an object is available.
    /// Returns: as `try_allocate`.
    /// Throws: what `function` throws.
    /// Complexity: as `allocate_through_function`.
    /// Thread safety: that of the pool.
    template <class Function>
    [[nodiscard]] Pointer try_allocate_through_function(Function&& function)
    {
        return hand_out_if(this->store().blocks.try_allocate(), std::forward<Function>(function));
    }

    /// Effects: as `allocate`, as soon as an object is available: another thread drops the last pointer to one. Waiting
    ///   threads are served in FIFO order, and before any that does not wait.
    /// Returns: a pointer to it, never nullptr.
    /// Preconditions: threads share the pool; otherwise it does not compile. Not called while this thread resets one of
    ///   its objects, which may be the one that it waits for.
    /// Throws: what upstream or a constructor throws, if the pool cannot grow by a single object and none is in use
    ///   that could come back. No additional object is in use then.
    /// Complexity: as `allocate`, and the wait.
    /// Thread safety: any thread.
    template <class Shared = Store>
    [[nodiscard]] Pointer allocate_wait()
    {
        return hand_out_if(this->store().blocks.allocate_wait(), [](value_type&) {});
    }

    /// Effects: as `allocate_wait`, but gives up at `deadline`; or after a century, if that is sooner.
    /// Returns: a pointer to the object; or nullptr if none came in time, or the pool cannot grow and no object is in
    ///   use that could come back.
    /// Preconditions: as `allocate_wait`.
    /// Throws: what the clock throws.
    /// Complexity, thread safety: as `allocate_wait`.
    template <class Clock, class Duration>
    [[nodiscard]] Pointer try_allocate_until(const std::chrono::time_point<Clock, Duration>& deadline)
    {
        return hand_out_if(this->store().blocks.try_allocate_until(deadline), [](value_type&) {});
    }

    /// Effects: as `allocate_wait`, but gives up after `patience`; or after a century, if that is sooner.
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
