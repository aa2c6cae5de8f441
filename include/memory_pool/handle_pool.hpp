// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool for one thread whose objects have 8-byte handles, and the common part of all pools with handles. The pool
/// that threads share is in concurrent_handle_pool.hpp. A handle becomes stale when its object is destroyed, and stays
/// stale when another object reuses the object's place or memory.
///
///     create(arguments...)  ->  handle          get(handle)  ->  T*, or nullptr if the object is gone
///     destroy(handle)       ->  was it alive?   for (T& object : pool)
///
///     handle { index, generation }  ->  table of places: | generation | object |  ->  block: | T | index |
///
///     alive: handle and table have the same generation; destroying the object changes the generation in the table
///
/// The memory of the objects returns to upstream as in any pool. The table exists until the pool is destroyed: without
/// its generations, a stale handle could refer to a later object.
///
/// Thread safety: as the block pool: one thread at a time may use a handle_pool. Users synchronize access to the
/// objects themselves.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/handle_store.hpp>
#include <memory_pool/core/objects/local_places.hpp>
#include <memory_pool/core/objects/pool_handle.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The common part of handle_pool and concurrent_handle_pool, over `Blocks`: a basic_block_pool or a
/// basic_concurrent_block_pool.
template <class Object, class Blocks, class Places>
class basic_handle_pool : detail::core::handle_store<detail::core::object_or_none<Object>, Blocks, Places>
{
    using T = detail::core::checked_object<Object>; // NOLINT(readability-identifier-naming): stands for the parameter
    using store = detail::core::handle_store<detail::core::object_or_none<Object>, Blocks, Places>;

public:
    /// The pooled type.
    using value_type = T;
    /// The pool's policy.
    using policy = typename Blocks::policy;
    /// A handle of an object. Pools of the same type share one type of handle: use a handle only with its own pool. A
    /// checking policy reports a handle of another pool, and treats it as stale. It reports every such handle if at
    /// most 1,000 pools of the type were made between the two pools, and no place has had more than 200,000 objects.
    /// Otherwise, it reports 255 of 256 such handles if no place has had more than 4 million objects.
    using handle = pool_handle<T>;

    /// Effects: makes a pool, and allocates room for `options.initial_capacity` objects from `upstream`.
    /// Preconditions: `upstream` outlives the pool.
    /// Throws: as `Blocks`.
    /// Complexity: as `Blocks`, and linear in `options.initial_capacity`.
    explicit basic_handle_pool(const pool_options& options = {},
                               std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store(options, upstream)
    {
    }

    /// Effects: makes a pool with default options that allocates from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_handle_pool(Resource* upstream) : basic_handle_pool(pool_options{}, upstream)
    {
    }

    // Neither copyable nor movable: the objects may refer to the pool.
    basic_handle_pool(const basic_handle_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_handle_pool& operator=(const basic_handle_pool&) = delete; // Hold the pool in a std::unique_ptr.

    /// Effects: destroys all live objects, as `clear` does, and returns all memory to upstream.
    ~basic_handle_pool()
    {
        // Not asserted in the class, where `T` may still be incomplete: an object may contain handles of its own type.
        using complete = detail::core::complete_object<T>;
        static_assert(detail::base::is_destructible<complete>,
                      "the pool must be able to destroy its objects: make the "
                      "destructor public, or memory_pool::lifetime_access a friend");
        static_assert(detail::base::is_nothrow_destructible<complete> || !detail::base::is_destructible<complete>,
                      "destroying a pooled object must not throw");
        if constexpr (!std::is_trivially_destructible_v<complete>) {
            hand_over();
            detail::core::pool_access::observe_end(blocks_);
            clear();
        }
    }

    /// Returns: the bytes of upstream memory that `count` objects and their places need: see
    ///   basic_block_pool::bytes_for. A buffer must be aligned to `T` and to 64 bytes.
    static constexpr std::size_t bytes_for(std::size_t count) noexcept { return store::bytes_for_objects(count); }

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: the handle of the object.
    /// Throws: as `Blocks::allocate`; pool_exhausted at 2^28 - 64 objects; what the constructor throws. On failure the
    ///   block and the place are freed.
    /// Complexity: as `Blocks::allocate`, plus the constructor.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] handle create(Arguments&&... arguments)
    {
        return this->construct(blocks_.allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, if a block is available.
    /// Returns: the handle of the object; or the null handle if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws. On failure the block and the place are freed.
    /// Complexity: as `create`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] handle try_create(Arguments&&... arguments) noexcept(
        detail::core::is_nothrow_makeable<T, Arguments...>())
    {
        return this->construct_if(blocks_.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, after waiting for a block if none is available.
    /// Preconditions: threads share the pool. Only a concurrent_handle_pool supports waiting.
    /// Returns: the handle of the object.
    /// Throws: as `Blocks::allocate_wait` and `create`. On failure the block and the place are freed.
    /// Complexity: as `Blocks::allocate_wait`, plus the constructor.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] handle create_wait(Arguments&&... arguments)
    {
        return this->construct(blocks_.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up at `deadline`, as `Blocks::try_allocate_until`.
    /// Preconditions: as `create_wait`.
    /// Returns: the handle of the object; or the null handle if no block became available in time, or upstream fails.
    /// Throws: what the clock and the constructor throw. On failure the block and the place are freed.
    /// Complexity, thread safety: as `create_wait`.
    template <class Clock, class Duration, class... Arguments>
    [[nodiscard]] handle try_create_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                          Arguments&&... arguments)
    {
        return this->construct_if(blocks_.try_allocate_until(deadline), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up after `patience`, as `Blocks::try_allocate_for`.
    /// Preconditions: as `create_wait`.
    /// Returns, throws: as `try_create_until`.
    /// Complexity, thread safety: as `create_wait`.
    template <class Rep, class Period, class... Arguments>
    [[nodiscard]] handle try_create_for(const std::chrono::duration<Rep, Period>& patience, Arguments&&... arguments)
    {
        return this->construct_if(blocks_.try_allocate_for(patience), std::forward<Arguments>(arguments)...);
    }

    /// Effects: destroys the object, if it is alive: first its handles become stale, then its destructor runs, then its
    ///   block is freed. The destructor may call `destroy` and `create` of the same pool. During `clear`, the
    ///   destructor runs later within `clear`. If threads share the pool and the object is being visited, the last
    ///   visitor destroys it. A checking policy reports an overflow; the object is destroyed anyway.
    /// Returns: whether the object was alive; false for a stale handle and the null handle, which are ignored.
    /// Preconditions: a non-null handle is from this pool: see `handle`.
    /// Complexity: O(1), plus the destructor.
    /// Thread safety: as `Blocks`. If several threads destroy an object, exactly one call returns true.
    MEMORY_POOL_ALWAYS_INLINE bool destroy(handle destroyed) noexcept { return this->destroy_one(destroyed); }

    /// Effects: makes `count` objects, each from `arguments` as `create` does, and writes their handles to `handles`.
    ///   Allocates all blocks and places before it makes the first object. All objects become alive together, after the
    ///   last constructor: before that, they are not visited, and no handle finds them.
    /// Returns: `count`.
    /// Preconditions: the constructor does not clear the pool.
    /// Throws: as `create`. On failure the objects made so far are destroyed, and all blocks and places are freed.
    /// Complexity: linear in `count`; allocates blocks as `Blocks::allocate_bulk`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    std::size_t create_bulk(handle* handles, std::size_t count, const Arguments&... arguments)
    {
        this->prepare_many(handles, count);
        this->construct_many(handles, count, arguments...);
        return count;
    }

    /// Effects: makes up to `count` objects as `create_bulk` does, one for each available block and place.
    /// Returns: the number of objects made.
    /// Preconditions: as `create_bulk`.
    /// Throws: what the constructor throws, as `create_bulk`.
    /// Complexity: as `create_bulk`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] std::size_t try_create_bulk(handle* handles, std::size_t count, const Arguments&... arguments)
    {
        const std::size_t prepared = this->try_prepare_many(handles, count);
        this->construct_many(handles, prepared, arguments...);
        return prepared;
    }

    /// Effects: destroys the live objects of `count` handles, in order, as `destroy` does. May free their blocks in
    ///   batches, after several destructors. Stale, null and repeated handles are ignored.
    /// Returns: the number of objects that were alive.
    /// Preconditions: as `destroy`. The destructors do not clear the pool.
    /// Complexity: linear in `count`, plus the destructors.
    /// Thread safety: as `Blocks`.
    std::size_t destroy_bulk(const handle* handles, std::size_t count) noexcept
    {
        return this->destroy_many(handles, count);
    }

    /// Returns: the object, or nullptr if the handle is stale or null. The pointer is valid until the object is
    ///   destroyed.
    /// Preconditions: as `destroy`. If threads share the pool, no other thread destroys the object while the pointer is
    ///   used. If another thread could, use `visit`.
    /// Complexity: O(1).
    /// Thread safety: as `Blocks`.
    MEMORY_POOL_ALWAYS_INLINE T* get(handle of) noexcept { return object_in(this->find(of)); }
    /// Returns: as the non-const overload.
    MEMORY_POOL_ALWAYS_INLINE const T* get(handle of) const noexcept { return object_in(this->find(of)); }

    /// Returns: whether the object is alive.
    /// Preconditions: as `destroy`.
    /// Complexity: O(1).
    /// Thread safety: as `Blocks`. Other threads may destroy the object at any time.
    bool contains(handle sought) const noexcept { return this->find(sought) != nullptr; }

    /// Returns: the handle of an object of this pool.
    /// Preconditions: the object's constructor has returned, and its destructor has not begun. (If another thread calls
    ///   `destroy` during a visit, the handle is stale.) A checking policy reports an object of another pool, and
    ///   returns the null handle.
    /// Complexity: O(1); with a checking policy, as `owns`.
    /// Thread safety: as `Blocks`.
    handle handle_of(const T* object) const noexcept
    {
        if constexpr (detail::base::checked_policy<policy>::checks)
            if (!owns(object)) {
                detail::base::report_misuse(error_kind::foreign_pointer, object, sizeof(T), name());
                return {};
            }
        const std::uint32_t index = store::index_in(detail::base::address_of(object));
        return {index, places_.generation(index)};
    }

    /// Effects: calls `visit(T&)` for each live object, in the order of places. `visit` may destroy and create objects,
    ///   but must not call `clear` or `release`. Objects created by `visit` may or may not be visited.
    /// Throws: what `visit` throws.
    /// Complexity: linear in the peak number of live objects since the last `clear`.
    /// Thread safety: as `Blocks`. If threads share the pool, each object is visited as by the function `visit`.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        this->note_visit();
        for (typename Places::walk all; all.next(places_);)
            places_.visit(
                all.place(), [&](void* object) { visit(*object_in(object)); },
                [&](place& ended, void* object) { destroy_now(ended, all.index(), object); });
    }

    /// Effects: destroys all live objects, makes all handles stale, and keeps the memory for later. A handle becomes
    ///   stale when `destroy` is called with it, or when the destructor of its object begins. Destructors may destroy
    ///   other objects. Objects are destroyed exactly once, one after another, so a list of any length can be
    ///   destroyed. Destructors may also create objects, which `clear` destroys too. `clear` is a no-op if one of these
    ///   destructors calls it. In the child of a fork, if other threads of the parent used the pool, `clear` runs no
    ///   destructors, as in basic_object_pool.
    /// Preconditions: not called by a constructor, or by a destructor that `destroy` runs. Destructors stop creating
    ///   objects at some point. No object is being visited.
    /// Complexity: linear in the peak number of live objects since the last `clear`.
    /// Thread safety: no other thread may use the pool at the same time.
    void clear() noexcept { this->destroy_all_alive(); }

    /// Effects: destroys all live objects, as `clear` does, and returns all memory to upstream except the table of
    ///   places, so stale handles stay stale.
    /// Preconditions: as `clear`.
    /// Complexity: as `clear`.
    /// Thread safety: as `clear`.
    void release() noexcept
    {
        clear();
        if (!this->is_clearing()) // Otherwise a destructor within clear() called release().
            blocks_.release();
    }

    /// Effects: as `Blocks::hand_over`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { blocks_.hand_over(); }

    /// Effects: takes memory from upstream until there are blocks and places for at least `count` objects.
    /// Throws: as `Blocks::reserve`; pool_exhausted if `count` is above 2^28 - 64.
    /// Complexity: as `Blocks::reserve`, plus linear in places added.
    /// Thread safety: as `Blocks`.
    void reserve(std::size_t count) { this->reserve_all(count); }

    /// Effects: as `Blocks::reserve_for_thread`, for a pool shared by threads.
    /// Throws: what upstream throws.
    /// Complexity: as `Blocks::reserve_for_thread`.
    /// Thread safety: as `Blocks`.
    void reserve_for_thread() { blocks_.reserve_for_thread(); }

    /// Effects: returns slabs without live objects to upstream, and keeps the table of places.
    /// Returns: the number of bytes returned.
    /// Complexity: as `Blocks::trim`.
    /// Thread safety: as `Blocks`.
    std::size_t trim() noexcept { return blocks_.trim(); }

    /// Returns: whether a block of this pool starts at `object`. Any pointer is allowed.
    /// Complexity: logarithmic in slabs.
    bool owns(const T* object) const noexcept { return blocks_.owns(object); }

    /// Returns: the number of objects allocated from upstream, alive or not.
    std::size_t capacity() const noexcept { return blocks_.capacity(); }

    /// Returns: the maximum number of live objects; `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return blocks_.max_capacity(); }

    /// Returns: whether the number of live objects is limited.
    bool is_bounded() const noexcept { return blocks_.is_bounded(); }

    /// Returns: the number of live objects and of destroyed objects that are still being visited.
    /// Complexity: as `Blocks::in_use`.
    std::size_t in_use() const noexcept { return blocks_.in_use(); }

    /// Returns: `in_use()`.
    std::size_t size() const noexcept { return in_use(); }

    /// Returns: whether `size()` is 0.
    [[nodiscard]] bool empty() const noexcept { return in_use() == 0; }

    /// Returns: as `Blocks::available`.
    /// Complexity: as `Blocks::available`.
    std::size_t available() const noexcept { return blocks_.available(); }

    /// Returns: as `Blocks::growth_count`.
    /// Complexity: O(1).
    std::size_t growth_count() const noexcept { return blocks_.growth_count(); }

    /// Returns: the bytes allocated from upstream, including bookkeeping and the table of places.
    std::size_t bytes_reserved() const noexcept { return blocks_.bytes_reserved() + this->bytes_of_places(); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return blocks_.name(); }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return blocks_.upstream_resource(); }

    /// Returns: exact statistics of the pool so far.
    /// Preconditions: `policy::counts`.
    pool_statistics statistics() const noexcept
    {
        pool_statistics statistics = blocks_.statistics();
        statistics.bytes_reserved += this->bytes_of_places();
        return statistics;
    }

    /// Effects: as `Blocks::reset_peak`.
    /// Preconditions: `policy::counts`.
    void reset_peak() noexcept { blocks_.reset_peak(); }

    /// Returns: whether the invariants hold: those of `Blocks::verify`, and that each place is free or has a live
    ///   object. For tests.
    /// Complexity: linear in blocks and places.
    bool verify() const noexcept { return blocks_.verify() && places_.verify(in_use()); }

protected:
    using store::destroy_now;
    using store::is_of_this;
    using store::note_visit;
    using store::object_in;
    using typename store::place;

    /// Returns: the table of places.
    Places& places() noexcept { return places_; }
    /// Returns: the table of places.
    const Places& places() const noexcept { return places_; }

private:
    using store::blocks_;
    using store::places_;
};

/// Effects: destroys each object of `pool` for which `predicate(object)` is true.
/// Returns: the number of objects destroyed.
/// Throws: what `predicate` throws.
/// Complexity: as `for_each`.
/// Thread safety: as `for_each`.
template <class Object, class Blocks, class Places, class Predicate>
std::size_t erase_if(basic_handle_pool<Object, Blocks, Places>& pool, Predicate predicate)
{
    std::size_t destroyed = 0;
    pool.for_each([&](auto& object) {
        const auto handle = pool.handle_of(std::addressof(object));
        if (predicate(object) && pool.destroy(handle))
            ++destroyed;
    });
    return destroyed;
}

/// A pool of objects of type `T` with handles, and a range of its live objects. See policies.hpp for `Policy`, and
/// basic_handle_pool for more members.
template <class T, class Policy>
class handle_pool : public basic_handle_pool<T, basic_block_pool<Policy>, detail::core::local_places>
{
    using base = basic_handle_pool<T, basic_block_pool<Policy>, detail::core::local_places>;

    using places_type = detail::core::local_places;

    template <bool IsConst>
    class iterator_of;

public:
    using typename base::handle;
    using typename base::value_type;

    using base::base;

    /// Effects: makes a pool with default options that allocates from the default resource.
    handle_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<handle_pool, Given, More...>>
    explicit handle_pool(const Given&, const More&...) = delete;

    handle_pool(const handle_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;

    /// An iterator over the live objects, in the order of their places. The iterator stays valid until its object is
    /// destroyed, even if other objects are created or destroyed.
    using iterator = iterator_of<false>;
    /// An iterator over constant objects.
    using const_iterator = iterator_of<true>;

    /// Returns: an iterator to the first object, or `end()`.
    /// Complexity: linear in free places before the first object.
    iterator begin() noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as the non-const overload.
    const_iterator begin() const noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as `begin`.
    const_iterator cbegin() const noexcept { return begin(); }

    /// Returns: the end iterator, which never changes.
    /// Complexity: O(1).
    iterator end() noexcept { return {}; }
    /// Returns: as the non-const overload.
    const_iterator end() const noexcept { return {}; }
    /// Returns: as `end`.
    const_iterator cend() const noexcept { return end(); }

    /// Effects: destroys the object at `position`.
    /// Returns: an iterator to the next object, or `end()`.
    /// Preconditions: the object is alive.
    /// Complexity: as `destroy`, plus linear in free places up to the next object.
    iterator erase(const_iterator position) noexcept
    {
        (void)this->destroy(position.handle());
        // Advances only now, because the destructor may destroy the next object.
        return {this, position.walk_};
    }

private:
    template <bool IsConst>
    class iterator_of
    {
        using pool_type = std::conditional_t<IsConst, const handle_pool, handle_pool>;

    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::remove_cv_t<typename base::value_type>;
        using difference_type = std::ptrdiff_t;
        using pointer = std::conditional_t<IsConst, const typename base::value_type*, typename base::value_type*>;
        using reference = std::conditional_t<IsConst, const typename base::value_type&, typename base::value_type&>;

        /// Effects: makes the end iterator.
        iterator_of() noexcept = default;

        /// Effects: makes a const_iterator from an iterator.
        template <bool IsOtherConst, class = std::enable_if_t<IsConst && !IsOtherConst>>
        iterator_of(iterator_of<IsOtherConst> other) noexcept : pool_(other.pool_), walk_(other.walk_)
        {
        }

        /// Returns: the object.
        reference operator*() const noexcept { return *operator->(); }
        pointer operator->() const noexcept { return base::object_in(walk_.place().object); }

        /// Returns: the handle of the object.
        typename base::handle handle() const noexcept { return {walk_.index(), walk_.place().generation}; }

        /// Effects: advances to the next object.
        iterator_of& operator++() noexcept
        {
            go_on();
            return *this;
        }
        iterator_of operator++(int) noexcept
        {
            const iterator_of before = *this;
            ++*this;
            return before;
        }

        /// Returns: whether both iterators refer to the same object, or both are end iterators.
        /// Preconditions: both are iterators of the same pool, or end iterators.
        friend bool operator==(const iterator_of& a, const iterator_of& b) noexcept { return a.index() == b.index(); }
        friend bool operator!=(const iterator_of& a, const iterator_of& b) noexcept { return a.index() != b.index(); }

    private:
        friend handle_pool;
        template <bool>
        friend class iterator_of;

        /// An iterator to the first object behind `walk`.
        iterator_of(pool_type* pool, places_type::walk walk) noexcept : pool_(pool), walk_(walk) { go_on(); }

        void go_on() noexcept
        {
            if (!walk_.next_alive(pool_->places()))
                walk_ = {};
        }

        std::uint32_t index() const noexcept { return walk_.index(); }

        pool_type* pool_ = nullptr;
        places_type::walk walk_; ///< Before the first place if this is the end iterator.
    };
};
}} // namespace memory_pool::MEMORY_POOL_ABI
