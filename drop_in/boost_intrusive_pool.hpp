// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `memorypool::boost_intrusive_pool<Item>`, the interface of the library boost-intrusive-pool, over recycling_pool.
///
///     allocate_through_init(...)  ->  item.init(...)  ->  boost::intrusive_ptr<Item>
///     the last pointer goes       ->  nothing, item.destroy(), or function(item)  ->  back to the pool
///
///     capacity() = unused_count() + inuse_count();   more: enlarge_step at a time, up to max_size
///
/// What differs from the original: a bounded pool works on after `clear`; `is_memory_exhausted` says how it is now;
/// nothing is lost when a constructor, `init` or the heap throws; items may outlive their pool; an item is larger by 8
/// bytes and its virtual destructor, and no macro changes that. Include path: drop_in/, or the CMake target
/// memory_pool::drop_in, and that of Boost.
///
/// Thread safety: none of its own: one thread at a time may use a pool and its items.
#pragma once

#include <memory_pool/recycling_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#define BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE (64) ///< Items to begin with.
#define BOOST_INTRUSIVE_POOL_INCREASE_STEP (64)     ///< Items to grow by.
#define BOOST_INTRUSIVE_POOL_NO_MAX_SIZE (0)        ///< Stands for: no limit.

namespace memorypool
{
inline namespace MEMORY_POOL_ABI
{
/// The base of all items. `init(...)` is up to them, and is found by its name.
class boost_intrusive_pool_item : public memory_pool::pooled<boost_intrusive_pool_item>
{
public:
    virtual ~boost_intrusive_pool_item() = default;

    /// Effects: nothing; an item lets go here of what it should not keep, for RECYCLE_METHOD_DESTROY_FUNCTION.
    virtual void destroy() {}
};

/// What is done to an item that returns.
enum recycle_method_e
{
    RECYCLE_METHOD_NONE,             ///< Nothing.
    RECYCLE_METHOD_DESTROY_FUNCTION, ///< Its `destroy()` is called.
    RECYCLE_METHOD_CUSTOM_FUNCTION,  ///< A function is called with it.
};

/// A pool of items, which are constructed by their default constructors and used again and again.
template <class Item>
class boost_intrusive_pool
{
public:
    using item_ptr = boost::intrusive_ptr<Item>;         ///< What it hands out.
    using recycle_function = std::function<void(Item&)>; ///< For RECYCLE_METHOD_CUSTOM_FUNCTION.
    using allocate_function =
        std::function<void(Item&)>; ///< For `allocate_through_function`, which takes any other, too.

    /// Effects: makes a pool that takes nothing from the heap until an item is asked for, or until `init`.
    boost_intrusive_pool() : boost_intrusive_pool(0) {}

    /// Effects: as `init`. A pool can be moved; the one it is moved from is of no use until `init`.
    boost_intrusive_pool(std::size_t init_size, std::size_t enlarge_step = BOOST_INTRUSIVE_POOL_INCREASE_STEP,
                         std::size_t max_size = BOOST_INTRUSIVE_POOL_NO_MAX_SIZE,
                         recycle_method_e method = RECYCLE_METHOD_NONE, recycle_function function = nullptr)
    {
        init(init_size, enlarge_step, max_size, method, std::move(function));
    }

    /// Effects: begins anew with `init_size` items, and grows by `enlarge_step` of them up to `max_size`, with a step
    ///   of 0 not at all. Items of before that are in use live on.
    /// Throws: std::invalid_argument if there could never be an item, if `init_size` is above `max_size`, and as
    ///   `set_recycle_method`; what constructors and the heap throw. Nothing is changed then.
    /// Complexity: linear in items.
    void init(std::size_t init_size = BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE,
              std::size_t enlarge_step = BOOST_INTRUSIVE_POOL_INCREASE_STEP,
              std::size_t max_size = BOOST_INTRUSIVE_POOL_NO_MAX_SIZE, recycle_method_e method = RECYCLE_METHOD_NONE,
              recycle_function function = nullptr)
    {
        memory_pool::pool_options options;
        options.initial_capacity = init_size;
        options.growth_step = enlarge_step != 0 ? enlarge_step : init_size; // which is needed after `clear`
        if (max_size != BOOST_INTRUSIVE_POOL_NO_MAX_SIZE)
            options.max_capacity = max_size;
        if (enlarge_step == 0)
            options.max_capacity = std::min(options.max_capacity, init_size);
        options.name = "boost_intrusive_pool";
        auto pool = std::make_unique<pool_type>(options);
        set_action(*pool, method, std::move(function));
        pool_ = std::move(pool);
    }

    /// Effects: from now on, does this to items that return. What `function` throws is reported, and the item is back.
    /// Preconditions: not called from such a function.
    /// Throws: std::invalid_argument if there is no `function` for that method; nothing is changed then.
    /// Complexity: O(1).
    void set_recycle_method(recycle_method_e method, recycle_function function = nullptr)
    {
        set_action(*pool_, method, std::move(function));
    }

    /// Returns: an item as it came back, or as it was constructed; nullptr if a bounded pool has none left.
    /// Throws: what constructors and the heap throw when the pool grows. Every item is where it was then.
    /// Complexity: O(1), but where the pool grows.
    item_ptr allocate()
    {
        return allocate_through_function([](Item&) {});
    }

    /// Returns: as `allocate`, after `item.init(arguments...)`.
    /// Throws: as `allocate`, and what `init` throws; the item is back then.
    /// Complexity: as `allocate`.
    template <class... Arguments>
    item_ptr allocate_through_init(Arguments&&... arguments)
    {
        return allocate_through_function([&](Item& item) { item.init(std::forward<Arguments>(arguments)...); });
    }

    /// Returns: as `allocate`, after `function(item)`.
    /// Throws: as `allocate`, and what `function` throws; the item is back then.
    /// Complexity: as `allocate`.
    template <class Function>
    item_ptr allocate_through_function(Function&& function)
    {
        // Where the pool cannot grow, there is nothing else that it can fail for; where it can, it is not exhausted.
        return pool_->capacity() == pool_->max_capacity()
                   ? pool_->try_allocate_through_function(std::forward<Function>(function))
                   : pool_->allocate_through_function(std::forward<Function>(function));
    }

    /// Effects: destroys the items that are not in use, and gives up those that are, which live on. The pool grows
    ///   again when it is asked for items.
    /// Throws: std::bad_alloc if there is no memory at all; nothing is changed then.
    /// Complexity: linear in items.
    void clear() { pool_->clear(); }

    /// Effects: if the records of the pool do not agree, says so on stderr and to the error handler, which aborts by
    ///   default.
    /// Returns: whether they agree.
    /// Complexity: linear in items.
    bool check() const noexcept
    {
        const bool is_valid = pool_->is_valid();
        if (!is_valid)
            memory_pool::base::report(
                {memory_pool::error::overflow, nullptr, sizeof(Item), pool_->name(),
                 "memory_pool: the records of a boost_intrusive_pool do not agree\n"
                 "  remedy: find the write past the end of an item; AddressSanitizer stops at it"});
        return is_valid;
    }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return pool_->is_bounded(); }
    /// Returns: whether `allocate` would return nullptr now.
    bool is_memory_exhausted() const noexcept { return is_bounded() && pool_->available() == 0; }
    /// Returns: items that there are, in use or not.
    std::size_t capacity() const noexcept { return pool_->capacity(); }
    /// Returns: items that `allocate` can hand out before the pool has to grow.
    std::size_t unused_count() const noexcept { return capacity() - inuse_count(); }
    /// Returns: items in use.
    std::size_t inuse_count() const noexcept { return pool_->in_use(); }
    /// Returns: whether no item is in use.
    bool empty() const noexcept { return inuse_count() == 0; }
    /// Returns: how often the pool has taken memory since it was made or cleared, the first time included.
    std::size_t enlarge_steps() const noexcept { return pool_->enlarge_steps(); }

private:
    using pool_type = memory_pool::recycling_pool<Item>;

    static void set_action(pool_type& pool, recycle_method_e method, recycle_function function)
    {
        switch (method) {
        case RECYCLE_METHOD_NONE: pool.set_recycle_action(memory_pool::recycle::nothing); break;
        case RECYCLE_METHOD_DESTROY_FUNCTION: pool.set_recycle_action(memory_pool::recycle::call_destroy); break;
        case RECYCLE_METHOD_CUSTOM_FUNCTION: pool.set_recycle_action(std::move(function)); break;
        }
    }

    std::unique_ptr<pool_type> pool_; // not the pool itself, so that `init` can change its mind about everything
};
} // namespace MEMORY_POOL_ABI
} // namespace memorypool
