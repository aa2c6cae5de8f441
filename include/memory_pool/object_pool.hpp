// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type, made and destroyed in blocks of a pool: for one thread, and what such pools have in common with
/// those for several, concurrent_object_pool.hpp.
///
///     create(arguments...)  ->  block from the pool  ->  T constructed in it  ->  T*
///     destroy(T*)           ->  T destroyed          ->  block back to the pool
///
///     objects alive = blocks in use (outside of create and destroy)
///
/// Iteration, over the pool of one thread:
///
///     bits of 64 blocks:   1 1 0 1 0 0 1 1 ...      one load for the objects of all of them; dead ones are not touched
///                              ^
///                         the iterator
///
/// Thread safety: that of the blocks: one thread at a time may use an object_pool; an iterator that moves, and `begin`,
/// use it. Each object belongs to its user.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
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
/// A forward iterator over the objects of an object pool for one thread that are alive, in the order of addresses.
///
/// It stays valid while objects are created and destroyed in any way, its own included, and the pool grows: an object
/// that is destroyed before the iterator comes to it is never visited; one that is created meanwhile may or may not be;
/// every other is visited once. `trim`, `clear` and `release` invalidate all iterators of the pool. Any number of them
/// may live at once; they are not registered anywhere.
///
/// The cost of `create` does not change while iterators live. `destroy` and the bulk form return blocks straight to
/// their slabs for a while: the next 64 blocks after `begin`, or after an iterator noticed a change. Then they go to
/// the magazine again, and the next iterator that moves empties it: a few nanoseconds for each block in it.
///
/// Iteration is the same with each policy. `checking_policy` reports an object that is erased twice, as `destroy` does.
template <class Value, class Store>
class object_iterator
{
public:
    /// As algorithms require.
    using iterator_category = std::forward_iterator_tag;
    /// The type of the objects.
    using value_type = std::remove_cv_t<Value>;
    /// As std::iterator_traits names it.
    using difference_type = std::ptrdiff_t;
    /// A pointer to an object.
    using pointer = Value*;
    /// A reference to an object.
    using reference = Value&;

    /// Effects: makes the iterator behind the last object of any pool.
    object_iterator() noexcept = default;

    /// Effects: converts an iterator to one over const objects.
    template <class Other,
              class = std::enable_if_t<!std::is_same_v<Other, Value> && std::is_same_v<const Other, Value>>>
    object_iterator(const object_iterator<Other, Store>& other) noexcept
        : store_(other.store_), blocks_(other.blocks_), block_(other.block_), changes_(other.changes_)
    {
    }

    /// Returns: the object.
    /// Preconditions: it is alive, or another one was made in its place.
    /// Complexity: O(1).
    reference operator*() const noexcept { return *operator->(); }

    /// Returns: its address.
    /// Preconditions: as `operator*`.
    /// Complexity: O(1).
    pointer operator->() const noexcept { return std::launder(static_cast<Value*>(static_cast<void*>(block_))); }

    /// Effects: moves on to the next object. The one that it is at may have been destroyed.
    /// Preconditions: it is at an object, or where one was.
    /// Complexity: O(1), and linear in free blocks between the two, 64 at a time.
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

    /// Effects: as the other one.
    /// Returns: a copy of itself from before.
    object_iterator operator++(int) noexcept
    {
        const object_iterator before = *this;
        ++*this;
        return before;
    }

    /// Returns: whether both are at the same object, or both at the end.
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

    /// Takes a copy, as an iterator whose address is passed on is kept out of registers.
    static object_iterator behind_change(Store& store, detail::core::blocks_in_use blocks) noexcept
    {
        const detail::core::blocks_in_use next = store.next_in_use(blocks);
        return {&store, next, store.changes()};
    }

    char* lowest() const noexcept { return blocks_.first + detail::base::lowest_bit(blocks_.bits) * store_->stride(); }

    Store* store_ = nullptr;
    detail::core::blocks_in_use blocks_; ///< The lowest bit that is set is that of the block it is at.
    char* block_ = nullptr;              ///< nullptr: the end.
    std::uint64_t changes_ = 0;          ///< Those of the store when `blocks_` was read.
};

/// What an object pool has as a range: nothing, if threads share it, as the others create and destroy objects
/// meanwhile. A base of basic_object_pool.
template <class Pool>
class object_range // NOLINT(bugprone-crtp-constructor-accessibility): it has nothing that could be misused
    : public detail::core::shared_objects
{
};

/// What an object pool for one thread has as a range. See object_iterator for what may happen meanwhile.
template <class Object, class Policy>
class object_range<object_pool<Object, Policy>>
{
    using T = detail::core::checked_object<Object>; // NOLINT(readability-identifier-naming): stands for the parameter
    using pool_type = object_pool<Object, Policy>;
    using store_type = detail::core::local_store<Policy>;

public:
    /// A reference to an object.
    using reference = T&;
    /// The same, to a constant one.
    using const_reference = const T&;
    /// A number of objects.
    using size_type = std::size_t;
    /// As std::iterator_traits names it.
    using difference_type = std::ptrdiff_t;
    /// See object_iterator.
    using iterator = object_iterator<T, store_type>;
    /// The same, for constant objects.
    using const_iterator = object_iterator<const T, store_type>;

    /// Returns: an iterator at the object with the lowest address.
    /// Complexity: linear in words of 64 blocks before that object, and in blocks freed since the last iterator moved.
    /// Thread safety: that of the pool, also if it is constant: free blocks move from its caches into its slabs.
    iterator begin() noexcept { return first_in<iterator>(static_cast<pool_type&>(*this)); }
    /// Returns: the same, for constant objects.
    const_iterator begin() const noexcept { return first_in<const_iterator>(static_cast<const pool_type&>(*this)); }

    /// Returns: the iterator behind the last object, which is always the same.
    iterator end() noexcept { return {}; }
    /// Returns: the same, for constant objects.
    const_iterator end() const noexcept { return {}; }

    /// Effects: destroys the object, and frees its block.
    /// Returns: an iterator at the next object that is alive once that is done.
    /// Preconditions: as `destroy`.
    /// Complexity: as `destroy`, and as moving the iterator on.
    /// Thread safety: that of the pool.
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
        ++next.changes_; // For this change; if there were others, it still differs.
        return ++next;
    }

    /// Returns: objects alive: `in_use()`, by the name that ranges have for it.
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
/// Returns: how many.
/// Throws: what `predicate` throws. The objects before that one have been processed then.
/// Complexity: linear in blocks that were ever in use, 64 at a time, and in objects.
/// Thread safety: that of the pool.
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

    /// Destroys an object of a pool: the deleter of `unique_ptr`. Converts to a polymorphic_deleter, so that the owner
    /// of an object can become that of a base.
    class deleter
    {
    public:
        /// Effects: makes a deleter for no pool, which only nullptr may be used with.
        deleter() noexcept = default;

        /// Effects: makes a deleter for the objects of `pool`.
        explicit deleter(basic_object_pool& pool) noexcept : pool_(&pool) {}

        /// Effects: destroys `object` and frees its block.
        /// Preconditions: it is alive, from the pool, and the pool lives.
        void operator()(T* object) const noexcept { pool_->destroy(object); }

        /// Returns: the same deleter, for pointers to a base.
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

    /// Effects: as the first, with default options, from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_object_pool(Resource* upstream) : basic_object_pool(pool_options{}, upstream)
    {
    }

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<basic_object_pool, Given, More...>>
    explicit basic_object_pool(const Given&, const More&...) = delete;

    // Neither copied nor moved: its objects have deleters that refer to it.
    basic_object_pool(const basic_object_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_object_pool& operator=(const basic_object_pool&) = delete; // Hold it by a std::unique_ptr.

    /// Effects: destroys the objects that are alive, as `clear` does, and returns all memory to upstream.
    ~basic_object_pool()
    {
        // Not said of the class, as an object may have owners of others as members: so far, its type is incomplete.
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
        // Also if the count is 0: a double destroy hides a leaked object until the blocks are inspected.
        clear();
    }

    /// Returns: how many bytes of upstream memory hold `count` objects: see basic_block_pool::bytes_for.
    static constexpr std::size_t bytes_for(std::size_t count) noexcept
    {
        return Blocks::bytes_for(count, sizeof(detail::core::complete_object<T>),
                                 alignof(detail::core::complete_object<T>));
    }

    /// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate.
    /// Returns: the object.
    /// Throws: as `Blocks::allocate`, and what the constructor throws. The block is back in the pool then.
    /// Complexity: as `Blocks::allocate`, and the constructor.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] T* create(Arguments&&... arguments)
    {
        return construct(blocks_.allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, if a block is available.
    /// Returns: the object; or nullptr if the pool is at its limit, or upstream fails.
    /// Throws: what the constructor throws. The block is back in the pool then.
    /// Complexity: as `create`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] T* try_create(Arguments&&... arguments) noexcept(detail::core::is_nothrow_makeable<T, Arguments...>())
    {
        return construct_if(blocks_.try_allocate(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: makes a `T` as `create` does, as soon as a block is available.
    /// Preconditions: threads share the pool; only those of a concurrent_object_pool can wait.
    /// Returns: the object.
    /// Throws: as `Blocks::allocate_wait`, and what the constructor throws. The block is back in the pool then.
    /// Complexity: as `Blocks::allocate_wait`, and the constructor.
    /// Thread safety: any thread.
    template <class... Arguments>
    [[nodiscard]] T* create_wait(Arguments&&... arguments)
    {
        return construct(blocks_.allocate_wait(), std::forward<Arguments>(arguments)...);
    }

    /// Effects: as `create_wait`, but gives up at `deadline`, as `Blocks::try_allocate_until`.
    /// Preconditions: as `create_wait`.
    /// Returns: the object; or nullptr if no block came in time, or upstream fails and no object is alive that could be
    ///   destroyed.
    /// Throws: what the clock and the constructor throw. The block is back in the pool then.
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
    /// Preconditions: `object` is alive and from this pool. A checking policy reports a violation, before the
    ///   destructor could run, and ignores the call.
    /// Complexity: O(1), and the destructor.
    /// Thread safety: that of the blocks.
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

    /// Effects: makes `count` objects, each from `arguments` as `create` does, and writes their addresses from
    ///   `objects` on. It takes all blocks before it makes the first object.
    /// Returns: `count`.
    /// Preconditions: the constructor visits no object of the pool, and does not clear it.
    /// Throws: as `create`. The objects made so far are destroyed then, and all blocks are back in the pool.
    /// Complexity: linear in `count`; takes blocks as `Blocks::allocate_bulk`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    std::size_t create_bulk(T** objects, std::size_t count, const Arguments&... arguments)
    {
        detail::core::pool_access::allocate_bulk(blocks_, objects, count);
        construct_bulk(objects, count, arguments...);
        return count;
    }

    /// Effects: makes up to `count` objects as `create_bulk` does, as many as there are blocks available.
    /// Returns: how many.
    /// Preconditions: as `create_bulk`.
    /// Throws: what the constructor throws, as `create_bulk`.
    /// Complexity: as `create_bulk`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] std::size_t try_create_bulk(T** objects, std::size_t count, const Arguments&... arguments)
    {
        const std::size_t taken = detail::core::pool_access::try_allocate_bulk(blocks_, objects, count);
        construct_bulk(objects, taken, arguments...);
        return taken;
    }

    /// Effects: destroys `count` objects, as `destroy` does. It frees their blocks together, some time after it has
    ///   destroyed them.
    /// Preconditions: as `destroy`. Their destructors visit no object of the pool, and do not clear it.
    /// Complexity: linear in `count`, and the destructors.
    /// Thread safety: that of the blocks.
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
    /// Returns: its owner, which must not outlive the pool.
    /// Throws: as `create`.
    /// Complexity: as `create`.
    /// Thread safety: that of the blocks.
    template <class... Arguments>
    [[nodiscard]] unique_ptr make_unique(Arguments&&... arguments)
    {
        return unique_ptr(create(std::forward<Arguments>(arguments)...), deleter(*this));
    }

    /// Effects: calls `visit(T&)` for each object that is alive, in the order of addresses. `visit` may destroy objects
    ///   and create some (which may or may not be visited), but not call `trim` or `clear`.
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks that were ever in use. Costs nothing elsewhere.
    /// Thread safety: that of the blocks, but while no other thread creates or destroys objects: an object under
    ///   construction, or already destroyed, would be visited too. The same holds in the child of a fork, if a thread
    ///   of the parent was creating or destroying one.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        blocks_.for_each([&visit](void* block) { visit(*object_in(block)); });
    }

    /// Effects: destroys every object that is alive. Their destructors may destroy others, and each is destroyed
    ///   exactly once; and make new ones, which are destroyed too. Where destructors destroy others more than 1,000
    ///   deep, the next one is destroyed after they have returned, so a list of any length can be destroyed. The memory
    ///   is kept for later. Called by one of these destructors, it is a no-op. In the child of a fork, if other threads
    ///   have used the pool in the parent, it destroys none: any of them may have been half made, or half destroyed, by
    ///   a thread that does not exist there. It only takes their blocks back. Objects that are made after that are
    ///   destroyed again.
    /// Preconditions: not called by a destructor that `destroy` runs at other times, as its object would be destroyed
    ///   again; destructors that make new objects eventually stop doing so; otherwise it does not terminate.
    /// Complexity: linear in blocks that were ever in use; in slabs, if destroying a `T` does nothing.
    /// Thread safety: that of the blocks.
    void clear() noexcept
    {
        if constexpr (std::is_trivially_destructible_v<detail::core::complete_object<T>>) {
            blocks_.clear();
        } else {
            if (detail::core::pool_access::store(blocks_).has_lost_threads()) {
                blocks_.clear();
                is_clearing_ = false; // A lost thread may have been in clear().
                return;
            }
            if (std::exchange(is_clearing_, true))
                return; // called by a destructor, within clear()
            endings_ = {};
            do { // until none is left, or none can be destroyed
                endings_.count = 0;
                blocks_.for_each([this](void* block) { finish(object_in(block)); });
            } while (endings_.count != 0 && in_use() != 0);
            is_clearing_ = false;
        }
    }

    /// Effects: destroys every object that is alive, as `clear` does, and returns every slab to upstream.
    /// Preconditions: as `clear`.
    /// Complexity: as `clear`.
    /// Thread safety: as `clear`.
    void release() noexcept
    {
        clear();
        if (!is_clearing_) // Otherwise called by a destructor, within clear().
            blocks_.release();
    }

    /// Effects: as `Blocks::hand_over`.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { blocks_.hand_over(); }

    /// Effects: takes memory from upstream until `capacity()` is at least `count`.
    /// Throws: as `Blocks::reserve`.
    /// Complexity: as `Blocks::reserve`.
    /// Thread safety: that of the blocks.
    void reserve(std::size_t count) { blocks_.reserve(count); }

    /// Effects: as `Blocks::reserve_for_thread`, for a pool shared by threads.
    /// Throws: what upstream throws.
    /// Complexity: as `Blocks::reserve_for_thread`.
    /// Thread safety: that of the blocks.
    void reserve_for_thread() { blocks_.reserve_for_thread(); }

    /// Effects: returns slabs without objects alive to upstream.
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

    /// Returns: objects alive.
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

    /// Returns: bytes held from upstream, bookkeeping included.
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

    /// Returns: whether it did; not if a checking policy has reported why not.
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

    /// An object whose destructor is running during clear(), and the one whose destructor destroys it.
    struct ending
    {
        const T* object;
        const ending* outer;
    };

    /// How far clear() is. In the child of a fork, this may be the work of a thread that does not exist there.
    struct endings
    {
        const ending* innermost = nullptr;
        std::size_t depth = 0;
        std::size_t count = 0; ///< Objects destroyed since clear() began to walk over them.
    };

    /// Maximum depth of destructors that destroy others. The rest of a longer list is left to clear().
    static constexpr std::size_t deepest_ending = 1000;

    /// For destructors that destroy others.
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
        for (const ending* each = endings_.innermost; each != nullptr; each = each->outer)
            if (each->object == object)
                return;
        if (endings_.depth != deepest_ending)
            finish(object);
    }

    /// Destroys an object in use whose destructor is not running. clear() need not check that.
    void finish(T* object) noexcept
    {
        const ending here{object, endings_.innermost};
        endings_.innermost = &here;
        ++endings_.depth;
        if constexpr (detail::base::checked_policy<policy>::checks)
            (void)blocks_.check(
                detail::base::address_of(object)); // Reports an overflow; the object is destroyed anyway.
        if (destroy_now(object))
            ++endings_.count;
        --endings_.depth;
        endings_.innermost = here.outer;
    }

    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }

    Blocks blocks_;
    bool is_clearing_ = false;
    endings endings_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
