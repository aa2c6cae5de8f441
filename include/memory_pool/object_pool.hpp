// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of objects of one type for one thread, and the common part of all object pools. The pool that threads share
/// is in concurrent_object_pool.hpp.
///
///     create(arguments...)  ->  block from the pool  ->  T constructed in it  ->  T*
///     destroy(T*)           ->  T destroyed          ->  block back to the pool
///
///     live objects = blocks in use (outside of create and destroy)
///
/// Iteration, over the pool of one thread:
///
///     bits of 64 blocks:   1 1 0 1 0 0 1 1 ...      one load finds the objects in all 64; free blocks are not touched
///                              ^
///                         the iterator
///
/// Thread safety: as the block pool: one thread at a time may use an object_pool. `begin`, and `operator++` of an
/// iterator, use the pool. Users synchronize access to the objects themselves.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/slabs/block_walk.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory> // also for the tags of iterators: <iterator> may include streams
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A forward iterator over the live objects of an object_pool, in address order.
///
/// An iterator stays valid when the pool grows, and when any object is created or destroyed, including the current
/// object. An object destroyed before the iterator reaches it is not visited. An object created during the iteration
/// may or may not be visited. Every other object is visited exactly once. `trim`, `clear` and `release` invalidate all
/// iterators of the pool. Any number of iterators may exist; the pool does not register them.
///
/// Iterators do not slow down `create`. After `begin`, or after an iterator has noticed a change, `destroy` and
/// `destroy_bulk` return the next 64 blocks directly to their slabs. Later blocks go to the magazine again. The next
/// iterator that moves then empties the magazine, which takes a few nanoseconds per block.
///
/// Iteration works the same with every policy. With `checking_policy`, erasing an object twice is reported, as by
/// `destroy`.
template <class Value, class Store>
class object_iterator
{
public:
    /// The category of the iterator.
    using iterator_category = std::forward_iterator_tag;
    /// The type of the objects.
    using value_type = std::remove_cv_t<Value>;
    /// The difference of two iterators, as std::iterator_traits requires.
    using difference_type = std::ptrdiff_t;
    /// A pointer to an object.
    using pointer = Value*;
    /// A reference to an object.
    using reference = Value&;

    /// Effects: makes the end iterator, which is the same for every pool.
    object_iterator() noexcept = default;

    /// Effects: converts an iterator to a const_iterator.
    template <class Other,
              class = std::enable_if_t<!std::is_same_v<Other, Value> && std::is_same_v<const Other, Value>>>
    object_iterator(const object_iterator<Other, Store>& other) noexcept
        : store_(other.store_), blocks_(other.blocks_), block_(other.block_), changes_(other.changes_)
    {
    }

    /// Returns: the object.
    /// Preconditions: the object is alive, or another object was created in its block.
    /// Complexity: O(1).
    reference operator*() const noexcept { return *operator->(); }

    /// Returns: the address of the object.
    /// Preconditions: as `operator*`.
    /// Complexity: O(1).
    pointer operator->() const noexcept { return std::launder(static_cast<Value*>(static_cast<void*>(block_))); }

    /// Effects: advances to the next object. The current object may have been destroyed.
    /// Preconditions: this is not the end iterator.
    /// Complexity: O(1), plus linear in free blocks between the two objects, 64 at a time.
    object_iterator& operator++() noexcept
    {
        const std::uint64_t behind = blocks_.bits & (blocks_.bits - 1);
        if (MEMORY_POOL_UNLIKELY(changes_ != store_->changes())) {
            *this = behind_change(*store_, blocks_);
            return *this;
        }
        if (behind != 0) {
            blocks_.bits = behind;
        } else if (MEMORY_POOL_UNLIKELY(!blocks_.move_plainly(store_->stride()))) {
            *this = object_iterator(store_, store_->next_in_use_behind(blocks_), changes_);
            return *this;
        }
        block_ = lowest();
        return *this;
    }

    /// Effects: as the prefix form.
    /// Returns: the iterator before it advanced.
    object_iterator operator++(int) noexcept
    {
        const object_iterator before = *this;
        ++*this;
        return before;
    }

    /// Returns: whether both iterators refer to the same object, or both are end iterators.
    friend bool operator==(const object_iterator& a, const object_iterator& b) noexcept { return a.block_ == b.block_; }
    friend bool operator!=(const object_iterator& a, const object_iterator& b) noexcept { return a.block_ != b.block_; }

private:
    template <class Other, class OthersStore>
    friend class object_iterator;
    template <class Pool>
    friend class object_range;

    object_iterator(Store* store, const detail::core::blocks_in_use& blocks, std::uint64_t changes) noexcept
        : store_(store), blocks_(blocks), block_(blocks.home != nullptr ? lowest() : nullptr), changes_(changes)
    {
    }

    /// Takes `blocks` by value: passing its address would keep the iterator out of registers.
    static object_iterator behind_change(Store& store, detail::core::blocks_in_use blocks) noexcept
    {
        const detail::core::blocks_in_use next = store.next_in_use(blocks);
        return {&store, next, store.changes()};
    }

    char* lowest() const noexcept { return blocks_.first + detail::base::lowest_bit(blocks_.bits) * store_->stride(); }

    Store* store_ = nullptr;
    detail::core::blocks_in_use blocks_; ///< The lowest set bit stands for the current block.
    char* block_ = nullptr;              ///< nullptr: the end.
    std::uint64_t changes_ = 0;          ///< `changes()` of the store when `blocks_` was read.
};

/// The range interface of an object pool, a base of basic_object_pool. Empty if threads share the pool, because other
/// threads may create and destroy objects during the iteration.
template <class Pool>
class object_range // NOLINT(bugprone-crtp-constructor-accessibility): the class is empty
    : public detail::core::shared_objects
{
};

/// The range interface of an object pool for one thread. See object_iterator for changes during the iteration.
template <class Object, class Policy>
class object_range<object_pool<Object, Policy>>
{
    using T = detail::core::checked_object<Object>; // NOLINT(readability-identifier-naming): stands for the parameter
    using pool_type = object_pool<Object, Policy>;
    using store_type = detail::core::local_store<Policy>;

public:
    /// A reference to an object.
    using reference = T&;
    /// A reference to a constant object.
    using const_reference = const T&;
    /// A number of objects.
    using size_type = std::size_t;
    /// The difference of two iterators, as std::iterator_traits requires.
    using difference_type = std::ptrdiff_t;
    /// An iterator over the objects: see object_iterator.
    using iterator = object_iterator<T, store_type>;
    /// An iterator over constant objects.
    using const_iterator = object_iterator<const T, store_type>;

    /// Returns: an iterator to the object with the lowest address.
    /// Complexity: linear in words of 64 blocks before that object, and in blocks freed since an iterator last moved.
    /// Thread safety: as the pool, even if the pool is const: free blocks move from its caches into its slabs.
    iterator begin() noexcept { return first_in<iterator>(static_cast<pool_type&>(*this)); }
    /// Returns: as the non-const overload.
    const_iterator begin() const noexcept { return first_in<const_iterator>(static_cast<const pool_type&>(*this)); }

    /// Returns: the end iterator, which never changes.
    iterator end() noexcept { return {}; }
    /// Returns: as the non-const overload.
    const_iterator end() const noexcept { return {}; }

    /// Effects: destroys the object, and frees its block.
    /// Returns: an iterator to the next object that is alive after the destructor has run.
    /// Preconditions: as `destroy`.
    /// Complexity: as `destroy` and `operator++`.
    /// Thread safety: as the pool.
    iterator erase(const_iterator position) noexcept
    {
        auto& pool = static_cast<pool_type&>(*this);
        T* const object = const_cast<T*>(position.operator->());
        iterator next(position.store_, position.blocks_, position.changes_);
        if (detail::base::checked_policy<Policy>::checks || pool.is_clearing_) {
            pool.destroy(object);
            return iterator::behind_change(*next.store_, next.blocks_);
        }
        detail::core::destroy_object(object);
        next.store_->deallocate(*next.blocks_.home, next.blocks_.lowest());
        ++next.changes_; // Counts this change. After any other change, the numbers still differ.
        return ++next;
    }

    /// Returns: the number of live objects, as `in_use()`.
    /// Complexity: O(1).
    size_type size() const noexcept { return static_cast<const pool_type&>(*this).in_use(); }

protected:
    object_range() = default;
    ~object_range() = default;

private:
    template <class Iterator, class Pool>
    static Iterator first_in(Pool& pool) noexcept
    {
        store_type& store = detail::core::pool_access::store(pool.blocks_);
        const detail::core::blocks_in_use first = store.next_in_use({});
        return {&store, first, store.changes()};
    }
};

/// Effects: destroys each object of `pool` for which `predicate(object)` is true.
/// Returns: the number of objects destroyed.
/// Throws: what `predicate` throws. All objects before the current one have been processed at that point.
/// Complexity: linear in blocks ever used, 64 at a time, and in objects.
/// Thread safety: as the pool.
template <class Object, class Policy, class Predicate>
std::size_t erase_if(object_pool<Object, Policy>& pool, Predicate predicate)
{
    std::size_t erased = 0;
    for (auto at = pool.begin(); at != pool.end();) {
        if (predicate(*at)) {
            at = pool.erase(at);
            ++erased;
        } else {
            ++at;
        }
    }
    return erased;
}

/// A pool of objects of type `Object`, over `Blocks`: a basic_block_pool or a basic_concurrent_block_pool.
template <class Object, class Blocks>
class basic_object_pool : public object_range<basic_object_pool<Object, Blocks>>
{
    using T = detail::core::checked_object<Object>; // NOLINT(readability-identifier-naming): stands for the parameter

public:
    /// The pooled type.
    using value_type = T;
    /// The pool's policy.
    using policy = typename Blocks::policy;

    /// The deleter of `unique_ptr`: destroys an object of a pool. Converts to a polymorphic_deleter, so an owner of an
    /// object converts to an owner of its base.
    class deleter
    {
    public:
        /// Effects: makes a deleter without a pool, for nullptr only.
        deleter() noexcept = default;

        /// Effects: makes a deleter for the objects of `pool`.
        explicit deleter(basic_object_pool& pool) noexcept : pool_(&pool) {}

        /// Effects: destroys `object` and frees its block.
        /// Preconditions: `object` is alive and from the pool, which still exists.
        void operator()(T* object) const noexcept { pool_->destroy(object); }

        /// Returns: a deleter that destroys the object through a pointer to its base.
        operator polymorphic_deleter() const noexcept
        {
            return {pool_, [](void* pool, void* object) noexcept {
                        static_cast<basic_object_pool*>(pool)->destroy(static_cast<T*>(object));
                    }};
        }

    private:
        basic_object_pool* pool_ = nullptr;
    };

    /// A std::unique_ptr that returns its object to the pool.
    using unique_ptr = std::unique_ptr<T, deleter>;

    /// Effects: makes a pool, and allocates room for `options.initial_capacity` objects from `upstream`.
    /// Preconditions: `upstream` outlives the pool.
    /// Throws: as `Blocks`.
    /// Complexity: as `Blocks`.
    explicit basic_object_pool(const pool_options& options = {},
                               std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : blocks_(sizeof(detail::core::complete_object<T>),
                  detail::core::with_alignment(alignof(detail::core::complete_object<T>), options), upstream)
    {
        detail::core::pool_access::set_kind(blocks_, "object_pool", "concurrent_object_pool");
    }

    /// Effects: makes a pool with default options that allocates from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_object_pool(Resource* upstream) : basic_object_pool(pool_options{}, upstream)
    {
    }

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<basic_object_pool, Given, More...>>
    explicit basic_object_pool(const Given&, const More&...) = delete;

    // Neither copyable nor movable: the deleters of the objects refer to the pool.
    basic_object_pool(const basic_object_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_object_pool& operator=(const basic_object_pool&) = delete; // Hold the pool in a std::unique_ptr.

    /// Effects: destroys all live objects, as `clear` does, and returns all memory to upstream.
    ~basic_object_pool()
    {
        // Not asserted in the class, where `T` may still be incomplete: an object may own other objects of the pool.
        using complete = detail::core::complete_object<T>;
        static_assert(detail::base::is_destructible<complete>,
                      "the pool must be able to destroy its objects: make the "
                      "destructor public, or memory_pool::lifetime_access a friend");
        static_assert(detail::base::is_nothrow_destructible<complete> || !detail::base::is_destructible<complete>,
                      "destroying a pooled object must not throw");
        if constexpr (std::is_trivially_destructible_v<complete>)
            return;
        hand_over();
        detail::core::pool_access::observe_end(blocks_);
        // Even if `in_use()` is 0: a double destroy hides a leaked object until the blocks are inspected.
        clear();
    }

    /// Returns: the bytes of upstream memory that `count` objects need: see basic_block_pool::bytes_for.
    static constexpr std::size_t bytes_for(std::size_t count) noexcept
    {
        return Blocks::bytes_for(count, sizeof(detail::core::complete_object<T>),
                                 alignof(detail::core::complete_object<T>));
    }

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: the object.
    /// Throws: as `Blocks::allocate`, and what the constructor throws. On failure the block is freed.
    /// Complexity: as `Blocks::allocate`, plus the constructor.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] T* create(Arguments&&... arguments)
    {
        return construct(blocks_.allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, if a block is available.
    /// Returns: the object; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws. On failure the block is freed.
    /// Complexity: as `create`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] T* try_create(Arguments&&... arguments) noexcept(detail::core::is_nothrow_makeable<T, Arguments...>())
    {
        return construct_if(blocks_.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, after waiting for a block if none is available.
    /// Preconditions: threads share the pool. Only a concurrent_object_pool supports waiting.
    /// Returns: the object.
    /// Throws: as `Blocks::allocate_wait`, and what the constructor throws. On failure the block is freed.
    /// Complexity: as `Blocks::allocate_wait`, plus the constructor.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] T* create_wait(Arguments&&... arguments)
    {
        return construct(blocks_.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up at `deadline`, as `Blocks::try_allocate_until`.
    /// Preconditions: as `create_wait`.
    /// Returns: the object; or nullptr if no block became available in time, or upstream fails while no object is
    ///   alive.
    /// Throws: what the clock and the constructor throw. On failure the block is freed.
    /// Complexity, thread safety: as `create_wait`.
    template <class Clock, class Duration, class... Arguments>
    [[nodiscard]] T* try_create_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                      Arguments&&... arguments)
    {
        return construct_if(blocks_.try_allocate_until(deadline), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up after `patience`, as `Blocks::try_allocate_for`.
    /// Preconditions: as `create_wait`.
    /// Returns, throws: as `try_create_until`.
    /// Complexity, thread safety: as `create_wait`.
    template <class Rep, class Period, class... Arguments>
    [[nodiscard]] T* try_create_for(const std::chrono::duration<Rep, Period>& patience, Arguments&&... arguments)
    {
        return construct_if(blocks_.try_allocate_for(patience), std::forward<Arguments>(arguments)...);
    }

    /// Effects: destroys `object` and frees its block. nullptr is ignored.
    /// Preconditions: `object` is alive and from this pool. A checking policy reports a violation without running the
    ///   destructor, and ignores the call.
    /// Complexity: O(1), plus the destructor.
    /// Thread safety: as `Blocks`.
    MEMORY_POOL_ALWAYS_INLINE void destroy(T* object) noexcept
    {
        if (object == nullptr)
            return;
        if constexpr (detail::base::checked_policy<policy>::checks) {
            if (!detail::core::pool_access::store(blocks_).note_use(detail::base::address_of(object)))
                return;
        }
        if constexpr (!std::is_trivially_destructible_v<detail::core::complete_object<T>>) {
            if (MEMORY_POOL_UNLIKELY(is_clearing_)) {
                destroy_while_clearing(object);
                return;
            }
        }
        if constexpr (detail::base::checked_policy<policy>::checks) {
            (void)destroy_now(object);
        } else {
            detail::core::destroy_object(object);
            blocks_.deallocate(const_cast<std::remove_cv_t<T>*>(object));
        }
    }

    /// Effects: makes `count` objects, each from `arguments` as `create` does, and writes their addresses to the array
    ///   `objects`. Allocates all blocks before it makes the first object.
    /// Returns: `count`.
    /// Preconditions: the constructor neither iterates over the pool nor clears it.
    /// Throws: as `create`. On failure the objects made so far are destroyed, and all blocks are freed.
    /// Complexity: linear in `count`; allocates blocks as `Blocks::allocate_bulk`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    std::size_t create_bulk(T** objects, std::size_t count, const Arguments&... arguments)
    {
        detail::core::pool_access::allocate_bulk(blocks_, objects, count);
        construct_bulk(objects, count, arguments...);
        return count;
    }

    /// Effects: makes up to `count` objects as `create_bulk` does, one for each available block.
    /// Returns: the number of objects made.
    /// Preconditions: as `create_bulk`.
    /// Throws: what the constructor throws, as `create_bulk`.
    /// Complexity: as `create_bulk`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] std::size_t try_create_bulk(T** objects, std::size_t count, const Arguments&... arguments)
    {
        const std::size_t taken = detail::core::pool_access::try_allocate_bulk(blocks_, objects, count);
        construct_bulk(objects, taken, arguments...);
        return taken;
    }

    /// Effects: destroys `count` objects, as `destroy` does. May free their blocks only after the last destructor.
    /// Preconditions: as `destroy`. The destructors neither iterate over the pool nor clear it.
    /// Complexity: linear in `count`, plus the destructors.
    /// Thread safety: as `Blocks`.
    void destroy_bulk(T* const* objects, std::size_t count) noexcept
    {
        if (detail::base::checked_policy<policy>::checks || is_clearing_) {
            std::for_each(objects, objects + count, [this](T* object) { destroy(object); });
            return;
        }
        if constexpr (!std::is_trivially_destructible_v<detail::core::complete_object<T>>)
            std::for_each(objects, objects + count, [](T* object) {
                if (object != nullptr)
                    detail::core::destroy_object(object);
            });
        detail::core::pool_access::deallocate_bulk(blocks_, objects, count);
    }

    /// Effects: makes a `T` as `create` does.
    /// Returns: the owner of the object, which must not outlive the pool.
    /// Throws: as `create`.
    /// Complexity: as `create`.
    /// Thread safety: as `Blocks`.
    template <class... Arguments>
    [[nodiscard]] unique_ptr make_unique(Arguments&&... arguments)
    {
        return unique_ptr(create(std::forward<Arguments>(arguments)...), deleter(*this));
    }

    /// Effects: calls `visit(T&)` for each live object, in address order. `visit` may destroy and create objects, but
    ///   must not call `trim` or `clear`. Objects created by `visit` may or may not be visited.
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks ever used. Other functions bear no cost.
    /// Thread safety: as `Blocks`, but no other thread may create or destroy objects at the same time: objects under
    ///   construction, or already destroyed, would be visited too. In the child of a fork, objects that another thread
    ///   of the parent was creating or destroying are visited too.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        blocks_.for_each([&visit](void* block) { visit(*object_in(block)); });
    }

    /// Effects: destroys all live objects, and keeps the memory for later. Destructors may destroy other objects; each
    ///   object is destroyed exactly once. Destructors may also create objects, which `clear` destroys too. If
    ///   destructors destroy other objects more than 1,000 levels deep, the next object is destroyed after they have
    ///   returned, so a list of any length can be destroyed. `clear` is a no-op if one of these destructors calls it.
    ///   In the child of a fork, if other threads of the parent used the pool, `clear` runs no destructors and only
    ///   frees the blocks: a thread that does not exist in the child may have left an object half constructed or half
    ///   destroyed. Objects created after that are destroyed as usual.
    /// Preconditions: not called by a destructor that `destroy` runs outside of `clear`: the object of that destructor
    ///   would be destroyed twice. Destructors stop creating objects at some point; otherwise `clear` does not
    ///   terminate.
    /// Complexity: linear in blocks ever used; in slabs if `T` is trivially destructible.
    /// Thread safety: as `Blocks`.
    void clear() noexcept
    {
        if constexpr (std::is_trivially_destructible_v<detail::core::complete_object<T>>) {
            blocks_.clear();
        } else {
            if (detail::core::pool_access::store(blocks_).has_lost_threads()) {
                blocks_.clear();
                is_clearing_ = false; // A thread of the parent may have been in clear().
                return;
            }
            if (std::exchange(is_clearing_, true))
                return; // A destructor within clear() called clear().
            progress_ = {};
            do { // until no object is left, or none can be destroyed
                progress_.count = 0;
                blocks_.for_each([this](void* block) { finish(object_in(block)); });
            } while (progress_.count != 0 && in_use() != 0);
            is_clearing_ = false;
        }
    }

    /// Effects: destroys all live objects, as `clear` does, and returns every slab to upstream.
    /// Preconditions: as `clear`.
    /// Complexity: as `clear`.
    /// Thread safety: as `clear`.
    void release() noexcept
    {
        clear();
        if (!is_clearing_) // Otherwise a destructor within clear() called release().
            blocks_.release();
    }

    /// Effects: as `Blocks::hand_over`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { blocks_.hand_over(); }

    /// Effects: takes memory from upstream until `capacity()` is at least `count`.
    /// Throws: as `Blocks::reserve`.
    /// Complexity: as `Blocks::reserve`.
    /// Thread safety: as `Blocks`.
    void reserve(std::size_t count) { blocks_.reserve(count); }

    /// Effects: as `Blocks::reserve_for_thread`, for a pool shared by threads.
    /// Throws: what upstream throws.
    /// Complexity: as `Blocks::reserve_for_thread`.
    /// Thread safety: as `Blocks`.
    void reserve_for_thread() { blocks_.reserve_for_thread(); }

    /// Effects: returns slabs without live objects to upstream.
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

    /// Returns: the number of live objects.
    /// Complexity: as `Blocks::in_use`.
    std::size_t in_use() const noexcept { return blocks_.in_use(); }

    /// Returns: whether no object is alive.
    /// Complexity: as `Blocks::in_use`.
    [[nodiscard]] bool empty() const noexcept { return in_use() == 0; }

    /// Returns: as `Blocks::available`.
    /// Complexity: as `Blocks::available`.
    std::size_t available() const noexcept { return blocks_.available(); }

    /// Returns: as `Blocks::growth_count`.
    /// Complexity: O(1).
    std::size_t growth_count() const noexcept { return blocks_.growth_count(); }

    /// Returns: the bytes allocated from upstream, including bookkeeping.
    std::size_t bytes_reserved() const noexcept { return blocks_.bytes_reserved(); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return blocks_.name(); }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return blocks_.upstream_resource(); }

    /// Returns: exact statistics of the pool so far.
    /// Preconditions: `policy::counts`.
    pool_statistics statistics() const noexcept { return blocks_.statistics(); }

    /// Effects: as `Blocks::reset_peak`.
    /// Preconditions: `policy::counts`.
    void reset_peak() noexcept { blocks_.reset_peak(); }

    /// Returns: whether the invariants hold, as `Blocks::verify`. For tests.
    /// Complexity: linear in blocks.
    bool verify() const noexcept { return blocks_.verify(); }

private:
    friend object_range<basic_object_pool>;

    template <class... Arguments>
    T* construct_if(void* block,
                    Arguments&&... arguments) noexcept(detail::core::is_nothrow_makeable<T, Arguments...>())
    {
        return block != nullptr ? construct(block, std::forward<Arguments>(arguments)...) : nullptr;
    }

    template <class... Arguments>
    T* construct(void* block, Arguments&&... arguments)
    {
        if constexpr (detail::core::is_nothrow_makeable<T, Arguments...>()) {
            return detail::core::construct_at<T>(block, std::forward<Arguments>(arguments)...);
        } else {
            detail::base::failure_guard guard([this, block] { detail::core::give_back_ended(blocks_, block); });
            T* const object = detail::core::construct_at<T>(block, std::forward<Arguments>(arguments)...);
            guard.succeeded();
            return object;
        }
    }

    /// Makes an object in each of `count` blocks, or in none.
    template <class... Arguments>
    void construct_bulk(T** blocks, std::size_t count, const Arguments&... arguments)
    {
        std::size_t made = 0;
        detail::base::failure_guard guard([&] {
            destroy_bulk(blocks, made);
            std::for_each(blocks + made, blocks + count, [this](T* block) {
                detail::core::give_back_ended(blocks_, detail::base::address_of(block));
            });
        });
        for (; made != count; ++made)
            (void)detail::core::construct_at<T>(detail::base::address_of(blocks[made]), arguments...);
        guard.succeeded();
    }

    /// Returns: false if a checking policy reported misuse and the object was not destroyed.
    MEMORY_POOL_ALWAYS_INLINE bool destroy_now(T* object) noexcept
    {
        if constexpr (detail::base::checked_policy<policy>::checks) {
            if (!blocks_.check(detail::base::address_of(object)))
                return false;
        }
        detail::core::destroy_object(object);
        detail::core::give_back_ended(blocks_, detail::base::address_of(object));
        return true;
    }

    /// An object whose destructor is running within clear(), and the object whose destructor destroys it.
    struct running_destructor
    {
        const T* object;
        const running_destructor* outer;
    };

    /// The progress of clear(). In the child of a fork, it may belong to a thread that does not exist there.
    struct clear_progress
    {
        const running_destructor* innermost = nullptr;
        std::size_t depth = 0;
        std::size_t count = 0; ///< Objects destroyed in the current pass over the blocks.
    };

    /// The maximum nesting of destructors that destroy other objects. clear() destroys deeper objects later.
    static constexpr std::size_t max_destructor_depth = 1000;

    /// The implementation of destroy() when a destructor that clear() runs calls it.
    MEMORY_POOL_NOINLINE void destroy_while_clearing(T* object) noexcept
    {
        if (!detail::core::pool_access::is_in_use(
                blocks_, detail::base::address_of(object))) { // clear() has already destroyed it
            if constexpr (detail::base::checked_policy<policy>::checks) {
                if (!blocks_.owns(detail::base::address_of(object)))
                    (void)blocks_.check(detail::base::address_of(object));
            }
            return;
        }
        if (detail::core::pool_access::store(blocks_).has_lost_threads()) {
            (void)destroy_now(object);
            return;
        }
        for (const running_destructor* each = progress_.innermost; each != nullptr; each = each->outer)
            if (each->object == object)
                return;
        if (progress_.depth != max_destructor_depth)
            finish(object);
    }

    /// Destroys a live object whose destructor is not running.
    void finish(T* object) noexcept
    {
        const running_destructor here{object, progress_.innermost};
        progress_.innermost = &here;
        ++progress_.depth;
        if constexpr (detail::base::checked_policy<policy>::checks)
            (void)blocks_.check(
                detail::base::address_of(object)); // Reports an overflow; the object is destroyed anyway.
        if (destroy_now(object))
            ++progress_.count;
        --progress_.depth;
        progress_.innermost = here.outer;
    }

    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }

    Blocks blocks_;
    bool is_clearing_ = false;
    clear_progress progress_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
