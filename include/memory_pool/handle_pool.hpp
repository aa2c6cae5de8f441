// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type that are referred to by handles of 8 bytes: for one thread, and what such pools have in common
/// with those for several, concurrent_handle_pool.hpp. A handle becomes stale when its object is destroyed, and stays
/// so if another object reuses its place or its memory.
///
///     create(arguments...)  ->  handle          get(handle)  ->  T*, or nullptr if the object is gone
///     destroy(handle)       ->  was it alive?   for (T& object : pool)
///
///     handle { index, generation }  ->  table of places: | generation | object |  ->  block: | T | index |
///
///     alive: the generation in the handle is that in the table, which changes when the object is destroyed
///
/// The blocks, and so the memory of the objects, are returned to upstream as in any pool. The table stays until the
/// pool ends: without its generations, a handle could mean a later object.
///
/// Thread safety: that of the blocks: one thread at a time may use a handle_pool. Each object belongs to its user.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
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
    /// A handle of an object. Pools of the same type have the same type of handle: use one only with its own pool. A
    /// checking policy reports a handle of another pool, and the call does nothing, as for a stale handle. That is
    /// certain if at most 1,000 pools of the type were made from the one to the other and no place has had more than
    /// 200,000 objects; else, 255 of 256 such handles are reported if no place has had more than 4 million.
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

    /// Effects: as the first, with default options, from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_handle_pool(Resource* upstream) : basic_handle_pool(pool_options{}, upstream)
    {
    }

    // Neither copied nor moved: its objects may refer to it.
    basic_handle_pool(const basic_handle_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_handle_pool& operator=(const basic_handle_pool&) = delete; // Hold it by a std::unique_ptr.

    /// Effects: destroys the objects that are alive, as `clear` does, and returns all memory to upstream.
    ~basic_handle_pool()
    {
        // Not asserted in the class: an object may contain handles of its own type, which is incomplete there.
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

    /// Returns: how many bytes of upstream memory hold `count` objects and their places: see
    ///   basic_block_pool::bytes_for. A buffer must be aligned to `T` and to 64 bytes.
    static constexpr std::size_t bytes_for(std::size_t count) noexcept { return store::bytes_for_objects(count); }

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: its handle.
    /// Throws: as `Blocks::allocate`; pool_exhausted at 2^28 - 64 objects; what the constructor throws. The block and
    ///   the place are free again then.
    /// Complexity: as `Blocks::allocate`, and the constructor.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] handle create(Arguments&&... arguments)
    {
        return this->construct(blocks_.allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, if a block is available.
    /// Returns: its handle; or the null handle if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws. Nothing is lost then.
    /// Complexity: as `create`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] handle try_create(Arguments&&... arguments) noexcept(
        detail::core::is_nothrow_makeable<T, Arguments...>())
    {
        return this->construct_if(blocks_.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, as soon as a block is available.
    /// Preconditions: threads share the pool; only those of a concurrent_handle_pool can wait.
    /// Returns: its handle.
    /// Throws: as `Blocks::allocate_wait`, and what `create` throws. Nothing is lost then.
    /// Complexity: as `Blocks::allocate_wait`, and the constructor.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] handle create_wait(Arguments&&... arguments)
    {
        return this->construct(blocks_.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up at `deadline`, as `Blocks::try_allocate_until`.
    /// Preconditions: as `create_wait`.
    /// Returns: the handle; or the null handle if no block came in time, or upstream fails.
    /// Throws: what the clock and the constructor throw. Nothing is lost then.
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

    /// Effects: destroys the object, if it is alive: first its handles become stale, then its destructor runs, in which
    ///   `destroy` and `create` of the same pool may be called, then its block is free. While `clear` runs, the
    ///   destructor runs later in it. Where threads share the pool and the object is being visited, its last visitor
    ///   destroys it. A checking policy reports an overflow; the object is destroyed anyway.
    /// Returns: whether the object was alive; false for a stale handle and the null handle, which are ignored.
    /// Preconditions: a handle that is not null is from this pool: see `handle`.
    /// Complexity: O(1), and the destructor.
    /// Thread safety: that of the blocks. Of several threads that destroy the same object, one gets true.
    MEMORY_POOL_ALWAYS_INLINE bool destroy(handle destroyed) noexcept { return this->destroy_one(destroyed); }

    /// Effects: makes `count` objects, each from `arguments` as `create` does, and writes their handles to `handles`.
    ///   It takes all blocks and places before it makes the first object, and the objects become alive together, after
    ///   the last constructor: before that, nothing visits them, and no handle finds them.
    /// Returns: `count`.
    /// Preconditions: the constructor does not clear the pool.
    /// Throws: as `create`. The objects made so far are destroyed then, and all blocks and places are free again.
    /// Complexity: linear in `count`; takes blocks as `Blocks::allocate_bulk`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    std::size_t create_bulk(handle* handles, std::size_t count, const Arguments&... arguments)
    {
        this->prepare_many(handles, count);
        this->construct_many(handles, count, arguments...);
        return count;
    }

    /// Effects: makes up to `count` objects as `create_bulk` does, as many as blocks and places are available for.
    /// Returns: how many.
    /// Preconditions: as `create_bulk`.
    /// Throws: what the constructor throws, as `create_bulk`.
    /// Complexity: as `create_bulk`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] std::size_t try_create_bulk(handle* handles, std::size_t count, const Arguments&... arguments)
    {
        const std::size_t prepared = this->try_prepare_many(handles, count);
        this->construct_many(handles, prepared, arguments...);
        return prepared;
    }

    /// Effects: destroys, in order and as `destroy` does, the objects of `count` handles that are alive. Their blocks
    ///   are freed in batches, after the destructors.
    /// Returns: how many were alive. Stale, null and repeated handles are ignored.
    /// Preconditions: as `destroy`. The destructors do not clear the pool.
    /// Complexity: linear in `count`, and the destructors.
    /// Thread safety: that of the blocks.
    std::size_t destroy_bulk(const handle* handles, std::size_t count) noexcept
    {
        return this->destroy_many(handles, count);
    }

    /// Returns: the object, or nullptr if it is gone, or the handle is null. The pointer is valid until the object is
    ///   destroyed.
    /// Preconditions: as `destroy`. Where threads share the pool, no other thread destroys the object while the pointer
    ///   is used: where one could, use `visit`.
    /// Complexity: O(1).
    /// Thread safety: that of the blocks.
    MEMORY_POOL_ALWAYS_INLINE T* get(handle of) noexcept { return object_in(this->find(of)); }
    /// Returns: as the other.
    MEMORY_POOL_ALWAYS_INLINE const T* get(handle of) const noexcept { return object_in(this->find(of)); }

    /// Returns: whether the object is alive.
    /// Preconditions: as `destroy`.
    /// Complexity: O(1).
    /// Thread safety: that of the blocks. Other threads may destroy the object at any time.
    bool contains(handle sought) const noexcept { return this->find(sought) != nullptr; }

    /// Returns: the handle of an object of this pool.
    /// Preconditions: its constructor has ended, and its destructor has not begun. (If another thread has called
    ///   `destroy` during a visit, the handle is a stale one.) A checking policy reports an object of another pool, and
    ///   returns the null handle.
    /// Complexity: O(1); with a checking policy, as `owns`.
    /// Thread safety: that of the blocks.
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

    /// Effects: calls `visit(T&)` for each object that is alive, in the order of places. `visit` may destroy objects,
    ///   and create some (which may or may not be visited), but not call `clear` or `release`.
    /// Throws: what `visit` throws.
    /// Complexity: linear in the greatest number of objects alive since the last `clear`.
    /// Thread safety: that of the blocks. Where threads share the pool, each object is visited as by `visit`.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        this->note_visit();
        for (typename Places::walk all; all.next(places_);)
            places_.visit(
                all.place(), [&](void* object) { visit(*object_in(object)); },
                [&](place& ended, void* object) { destroy_now(ended, all.index(), object); });
    }

    /// Effects: destroys every object that is alive, and makes all handles stale. Destructors may destroy other
    ///   objects, of which each is destroyed exactly once, one after the other, so a list of any length can be
    ///   destroyed; and make new ones, which are destroyed too. A handle is stale from the moment in which the
    ///   destructor of its object begins, or in which it was destroyed. The memory is kept for later. Called by one of
    ///   these destructors, it is a no-op. In the child of a fork, if other threads have used the pool in the parent,
    ///   it runs no destructors, as basic_object_pool.
    /// Preconditions: not called by a constructor, or by a destructor that `destroy` runs; destructors that make new
    ///   objects eventually stop doing so; no object is being visited.
    /// Complexity: linear in the greatest number of objects alive since the last `clear`.
    /// Thread safety: no other thread may use the pool at the same time.
    void clear() noexcept { this->destroy_all_alive(); }

    /// Effects: destroys every object that is alive, as `clear` does, and returns all memory to upstream but for the
    ///   table of places, so that old handles stay stale.
    /// Preconditions: as `clear`.
    /// Complexity: as `clear`.
    /// Thread safety: as `clear`.
    void release() noexcept
    {
        clear();
        if (!this->is_clearing()) // Otherwise called by a destructor, within clear().
            blocks_.release();
    }

    /// Effects: as `Blocks::hand_over`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { blocks_.hand_over(); }

    /// Effects: takes memory from upstream until `capacity()` is at least `count`, and there is a place for each.
    /// Throws: as `Blocks::reserve`; pool_exhausted if `count` is above 2^28 - 64.
    /// Complexity: as `Blocks::reserve`, and linear in places added.
    /// Thread safety: that of the blocks.
    void reserve(std::size_t count) { this->reserve_all(count); }

    /// Effects: as `Blocks::reserve_for_thread`, for a pool shared by threads.
    /// Throws: what upstream throws.
    /// Complexity: as `Blocks::reserve_for_thread`.
    /// Thread safety: that of the blocks.
    void reserve_for_thread() { blocks_.reserve_for_thread(); }

    /// Effects: returns slabs without objects alive to upstream. The table of places stays.
    /// Returns: the number of bytes returned.
    /// Complexity: as `Blocks::trim`.
    /// Thread safety: that of the blocks.
    std::size_t trim() noexcept { return blocks_.trim(); }

    /// Returns: whether a block of this pool starts at `object`. Any pointer is allowed.
    /// Complexity: logarithmic in slabs.
    bool owns(const T* object) const noexcept { return blocks_.owns(object); }

    /// Returns: the number of objects allocated from upstream, alive or not.
    std::size_t capacity() const noexcept { return blocks_.capacity(); }

    /// Returns: the maximum number of objects alive, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return blocks_.max_capacity(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return blocks_.is_bounded(); }

    /// Returns: objects alive, including those that are destroyed but still being visited.
    /// Complexity: as `Blocks::in_use`.
    std::size_t in_use() const noexcept { return blocks_.in_use(); }

    /// Returns: the same, by the name that containers have for it.
    std::size_t size() const noexcept { return in_use(); }

    /// Returns: whether `size()` is 0.
    [[nodiscard]] bool empty() const noexcept { return in_use() == 0; }

    /// Returns: as `Blocks::available`.
    /// Complexity: as `Blocks::available`.
    std::size_t available() const noexcept { return blocks_.available(); }

    /// Returns: as `Blocks::growth_count`.
    /// Complexity: O(1).
    std::size_t growth_count() const noexcept { return blocks_.growth_count(); }

    /// Returns: bytes held from upstream, bookkeeping and the table of places included.
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

    /// Returns: whether the invariants hold, as `Blocks::verify`, and each place is free or has one of the objects
    ///   alive. For tests.
    /// Complexity: linear in blocks and places.
    bool verify() const noexcept { return blocks_.verify() && places_.verify(in_use()); }

protected:
    /// An entry of the table.
    using store::destroy_now;
    using store::is_of_this;
    using store::note_visit;
    using store::object_in;
    using typename store::place;

    /// Returns: the table.
    Places& places() noexcept { return places_; }
    /// Returns: the table.
    const Places& places() const noexcept { return places_; }

private:
    using store::blocks_;
    using store::places_;
};

/// Effects: destroys each object of `pool` for which `predicate(object)` is true.
/// Returns: how many.
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

/// A pool of objects of type `T` with handles, which is also a range of the objects that are alive. See policies.hpp
/// for `Policy`, and basic_handle_pool for what else it can do.
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

    /// Effects: as the first, with default options.
    handle_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<handle_pool, Given, More...>>
    explicit handle_pool(const Given&, const More&...) = delete;

    handle_pool(const handle_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;

    /// An iterator over the objects that are alive, in the order of their places. It is valid until its object is
    /// destroyed; others may be created and destroyed meanwhile.
    using iterator = iterator_of<false>;
    /// The same, for objects that are not changed.
    using const_iterator = iterator_of<true>;

    /// Returns: an iterator to the first object, or `end()`.
    /// Complexity: linear in free places before the first object.
    iterator begin() noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as the other.
    const_iterator begin() const noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as the other.
    const_iterator cbegin() const noexcept { return begin(); }

    /// Returns: the iterator behind the last object, which stays the same.
    /// Complexity: O(1).
    iterator end() noexcept { return {}; }
    /// Returns: as the other.
    const_iterator end() const noexcept { return {}; }
    /// Returns: as the other.
    const_iterator cend() const noexcept { return end(); }

    /// Effects: destroys the object at `position`.
    /// Returns: an iterator to the next one, or `end()`.
    /// Preconditions: the object is alive.
    /// Complexity: as `destroy`, and linear in free places up to the next object.
    iterator erase(const_iterator position) noexcept
    {
        (void)this->destroy(position.handle());
        // Not before: the destructor may destroy the next one.
        return {this, position.walk_};
    }

private:
    /// An iterator.
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

        /// Effects: makes an iterator that may only be assigned to.
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

        /// Effects: goes on to the next object.
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

        /// Returns: whether both are at the same object of the same pool.
        friend bool operator==(const iterator_of& a, const iterator_of& b) noexcept { return a.index() == b.index(); }
        friend bool operator!=(const iterator_of& a, const iterator_of& b) noexcept { return a.index() != b.index(); }

    private:
        friend handle_pool;
        template <bool>
        friend class iterator_of;

        /// At the first object behind `walk`.
        iterator_of(pool_type* pool, places_type::walk walk) noexcept : pool_(pool), walk_(walk) { go_on(); }

        void go_on() noexcept
        {
            if (!walk_.next_alive(pool_->places()))
                walk_ = {};
        }

        std::uint32_t index() const noexcept { return walk_.index(); }

        pool_type* pool_ = nullptr;
        places_type::walk walk_; ///< At the end, before the first place.
    };
};
}} // namespace memory_pool::MEMORY_POOL_ABI
