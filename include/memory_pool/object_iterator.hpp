// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Iteration over the objects of a pool for one thread: object_pool.hpp.
///
///     bits of 64 blocks:   1 1 0 1 0 0 1 1 ...      one load for the objects of all of them; dead ones are not touched
///                              ^
///                         the iterator
///
/// Thread safety: that of the pool: an iterator that moves, and `begin`, use it.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/slabs/block_walk.hpp>
#include <memory_pool/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>

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
}} // namespace memory_pool::MEMORY_POOL_ABI
