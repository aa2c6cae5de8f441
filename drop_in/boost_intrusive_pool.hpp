// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `memorypool::boost_intrusive_pool<Item>`: the interface and the behaviour of the library boost-intrusive-pool.
///
///     pool --counted--> store [ arrays of items | free list | items never used ]
///                         ^
///     item in use --------+ counted: lives until the pool and the last item in use are gone, then destroys its items
///
///     new Item             ->  the last pointer deletes it
///     pool.allocate()      ->  the last pointer: nothing, item.destroy(), or function(item)  ->  back to the free list
///     pool.clear()         ->  the pool releases the store; the next allocate creates another one
///
///     capacity() = unused_count() + inuse_count();   grows when its last unused item is allocated
///
/// Differences from the original:
/// - It requires C++17 and Boost 1.66.
/// - A bounded pool can be used after `clear`: the next allocate constructs the initial number of items again.
/// - `allocate` before `init` returns nullptr. `init` may be called again: items in use stay valid, as with `clear`.
/// - No item leaks if a constructor, `init`, a function or the heap throws. A pool that fails to grow ahead of need
///   still returns its last item. The next `allocate` retries, and throws if the pool cannot grow.
/// - Contradictory sizes and a missing function are rejected: `init` returns false; the constructor and
///   `set_recycle_method` throw std::invalid_argument.
/// - An exception from a recycle function is reported as error_kind::hook_failed. The item returns to the pool.
/// - If items release each other in a chain, the recursion is at most 256 deep; further releases are deferred.
/// - Reference counts do not overflow. Misuse is reported as in memory_pool/base/errors.hpp: a reference released too
///   often, an item returned twice or to the wrong pool.
/// - `check` also returns whether the pool is consistent; `verify` inspects each item.
/// - The debug macros do not change the layout. Passing a pool between translation units with different values is a
///   link error.
/// - Include this header instead of declaring its classes: a forward declaration by the program, such as
///   `class boost_intrusive_pool_item;`, declares another class, and makes the name ambiguous.
///
/// As in the original, items are constructed by `new Item[n]` and stay constructed while they are free, so they are not
/// poisoned for AddressSanitizer.
/// Include path: drop_in/, or the CMake target memory_pool::drop_in, and the include path of Boost.
///
/// Thread safety: one thread at a time may use a pool and its items.
#pragma once

#include "boost_intrusive_pool/config.hpp"
#include "boost_intrusive_pool/item.hpp"
#include "boost_intrusive_pool/store.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include <boost/intrusive_ptr.hpp>

#include <cassert> // Programs may rely on these five includes.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <cstddef>
#include <functional>
#include <utility>

namespace memorypool { inline namespace BOOST_INTRUSIVE_POOL_ABI {
/// A pool of items that are default-constructed once and reused.
template <class Item>
class boost_intrusive_pool
{
    using plan_type = boost_intrusive_pool_plan<Item>;
    using plan_ptr = boost::intrusive_ptr<const plan_type>;
    using store = boost_intrusive_pool_store<Item>;
    using store_ptr = boost::intrusive_ptr<store>;

public:
    using item_ptr = boost::intrusive_ptr<Item>;          ///< The type of allocated items.
    using allocate_function = std::function<void(Item&)>; ///< For `allocate_through_function`.
    using recycle_function = std::function<void(Item&)>;  ///< For RECYCLE_METHOD_CUSTOM_FUNCTION.

    /// Effects: creates a pool without items; it cannot allocate until `init`.
    boost_intrusive_pool() noexcept = default;

    /// Effects: as `init`.
    /// Throws: std::invalid_argument if `init` returns false; exceptions from `init`.
    boost_intrusive_pool(std::size_t init_size, std::size_t enlarge_step = BOOST_INTRUSIVE_POOL_INCREASE_STEP,
                         std::size_t max_size = BOOST_INTRUSIVE_POOL_NO_MAX_SIZE,
                         recycle_method_e method = RECYCLE_METHOD_NONE, recycle_function function = nullptr)
    {
        if (!init(init_size, enlarge_step, max_size, method, std::move(function)))
            memory_pool::detail::base::throw_invalid_argument(memory_pool::detail::base::message(
                "memory_pool: boost_intrusive_pool: invalid options: %zu items, at most %zu, recycle method %d\n"
                "  remedy: use no more than the maximum, and pass a function with RECYCLE_METHOD_CUSTOM_FUNCTION",
                init_size, max_size, static_cast<int>(method)));
    }

    /// Effects: moves items and options. Leaves `other` in the state before `init`.
    boost_intrusive_pool(boost_intrusive_pool&& other) noexcept = default;
    /// Effects: as `clear`, then as the move constructor.
    boost_intrusive_pool& operator=(boost_intrusive_pool&& other) noexcept = default;
    boost_intrusive_pool(const boost_intrusive_pool&) = delete;
    boost_intrusive_pool& operator=(const boost_intrusive_pool&) = delete;

    /// Effects: as `clear`.
    virtual ~boost_intrusive_pool() = default;

    /// Effects: resets the pool to `init_size` new items. The pool grows by `enlarge_step` items, up to `max_size`. If
    ///   the step is 0, the pool does not grow. Items in use stay valid.
    /// Returns: false if `init_size` exceeds `max_size`, or `function` is missing; otherwise true. On failure nothing
    ///   changes.
    /// Throws: exceptions from constructors and the heap. On failure nothing changes.
    /// Complexity: linear in items.
    bool init(std::size_t init_size = BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE,
              std::size_t enlarge_step = BOOST_INTRUSIVE_POOL_INCREASE_STEP,
              std::size_t max_size = BOOST_INTRUSIVE_POOL_NO_MAX_SIZE, recycle_method_e method = RECYCLE_METHOD_NONE,
              recycle_function function = nullptr)
    {
        if ((max_size != BOOST_INTRUSIVE_POOL_NO_MAX_SIZE && init_size > max_size) || is_missing(method, function))
            return false;
        plan_ptr plan(new plan_type(init_size, enlarge_step, max_size, method, std::move(function)));
        store_ptr items(new store(plan));
        if (init_size != 0)
            items->grow(init_size);
        plan_.swap(plan);
        store_.swap(items);
        return true;
    }

    /// Effects: sets the recycle method for returned items. A no-op before `init`. Items allocated before the last
    ///   `clear` keep the previous method.
    /// Throws: std::invalid_argument if `function` is missing; std::bad_alloc. On failure nothing changes.
    /// Complexity: O(1).
    void set_recycle_method(recycle_method_e method, recycle_function function = nullptr)
    {
        if (is_missing(method, function))
            memory_pool::detail::base::throw_invalid_argument(memory_pool::detail::base::message(
                "memory_pool: boost_intrusive_pool: RECYCLE_METHOD_CUSTOM_FUNCTION without a function\n"
                "  remedy: pass a function, or RECYCLE_METHOD_NONE"));
        if (plan_ == nullptr)
            return;
        plan_ = new plan_type(plan_->init_size, plan_->step, plan_->max_size, method, std::move(function));
        if (store_ != nullptr)
            store_->set_plan(plan_);
    }

    /// Returns: an item, in the state in which it was constructed or last returned; nullptr if no item is free and the
    ///   pool may not grow.
    /// Throws: exceptions from constructors and the heap, if no item is free and the pool must grow. Nothing leaks.
    /// Complexity: O(1), except when the pool grows.
    item_ptr allocate()
    {
        if (MEMORY_POOL_UNLIKELY(store_ == nullptr)) {
            if (plan_ == nullptr)
                return nullptr;
            store_ = new store(plan_);
        }
        return item_ptr(store_->take());
    }

    /// Returns: as `allocate`, after `item.init(arguments...)`.
    /// Throws: as `allocate`; exceptions from `init`, after which the item returns to the pool.
    /// Complexity: as `allocate`.
    template <class... Arguments>
    item_ptr allocate_through_init(Arguments&&... arguments)
    {
        item_ptr item = allocate();
        if (MEMORY_POOL_LIKELY(item != nullptr))
            item->init(std::forward<Arguments>(arguments)...);
        return item;
    }

    /// Returns: as `allocate`, after `function(item)`.
    /// Throws: as `allocate`; exceptions from `function`, after which the item returns to the pool.
    /// Complexity: as `allocate`.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, Item&>>>
    item_ptr allocate_through_function(Function&& function)
    {
        item_ptr item = allocate();
        if (MEMORY_POOL_LIKELY(item != nullptr))
            std::invoke(function, *item);
        return item;
    }

    /// As the other overload, for types that convert to `allocate_function`.
    item_ptr allocate_through_function(const allocate_function& function)
    {
        return allocate_through_function<const allocate_function&>(function);
    }

    /// Effects: abandons all items. They are destroyed when none of them is in use, possibly at once. The next
    ///   `allocate` constructs new items.
    /// Complexity: O(1) plus the destructors.
    void clear()
    {
        if (store_ != nullptr)
            store_->note_thread();
        store_.reset();
    }

    /// Effects: reports inconsistent metadata of the pool on stderr and to the error handler, which aborts by default.
    /// Returns: true if the metadata is consistent.
    /// Complexity: O(1).
    bool check() const noexcept
    {
        const bool is_valid = store_ == nullptr || store_->is_valid();
        if (!is_valid)
            boost_intrusive_pool_access::report(memory_pool::error_kind::buffer_overflow, this,
                                                "pool metadata is inconsistent",
                                                "find the write past the end of an item; AddressSanitizer stops at it");
        return is_valid;
    }

    /// Returns: true if the metadata of the pool and of each item is consistent. For tests.
    /// Complexity: n log m for n items and m growth steps.
    bool verify() const noexcept { return store_ == nullptr || store_->verify(); }

    /// Returns: true if no item is in use.
    bool empty() const noexcept { return inuse_count() == 0; }
    /// Returns: true if the step is 0, so that the pool never grows.
    bool is_bounded() const noexcept { return plan_ != nullptr && plan_->is_bounded(); }
    /// Returns: true if the pool has a limit: a step of 0, or a maximum.
    bool is_limited() const noexcept { return plan_ != nullptr && plan_->is_limited(); }
    /// Returns: true if an attempt to grow has failed since the pool was created, was cleared, or last grew.
    bool is_memory_exhausted() const noexcept { return store_ != nullptr && store_->is_memory_exhausted(); }
    /// Returns: the number of items, in use or not.
    std::size_t capacity() const noexcept { return store_ != nullptr ? store_->capacity() : 0; }
    /// Returns: the capacity if the pool never grows; otherwise `max_size`.
    std::size_t max_size() const noexcept { return is_bounded() || plan_ == nullptr ? capacity() : plan_->max_size; }
    /// Returns: the number of items available before the pool must grow.
    std::size_t unused_count() const noexcept { return store_ != nullptr ? store_->unused() : 0; }
    /// Returns: the number of items in use.
    std::size_t inuse_count() const noexcept { return capacity() - unused_count(); }
    /// Returns: how often the pool has grown since it was created or cleared, including the initial items.
    std::size_t enlarge_steps_done() const noexcept { return store_ != nullptr ? store_->steps() : 0; }

private:
    static bool is_missing(recycle_method_e method, const recycle_function& function) noexcept
    {
        return method == RECYCLE_METHOD_CUSTOM_FUNCTION && !function;
    }

    plan_ptr plan_;   // Null before init.
    store_ptr store_; // Null before init, and from clear to the next allocate.
};
}} // namespace memorypool::BOOST_INTRUSIVE_POOL_ABI
