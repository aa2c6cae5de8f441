// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The store of a boost_intrusive_pool: arrays of items, and the list of free items. See boost_intrusive_pool.hpp.
///
/// Thread safety: one thread at a time may use a store and its items.
#pragma once

#include "config.hpp"
#include "item.hpp"

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>

#include <boost/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace memorypool { inline namespace BOOST_INTRUSIVE_POOL_ABI {
/// True if static_cast can convert the base to `Item`, which is impossible if the base is virtual.
template <class Item, class = void>
inline constexpr bool boost_intrusive_pool_cast_exists = false;
template <class Item>
inline constexpr bool boost_intrusive_pool_cast_exists<
    Item, std::void_t<decltype(static_cast<Item&>(std::declval<boost_intrusive_pool_item&>()))>> = true;

/// The options of a pool. Immutable, so that the pool and its stores can share them.
template <class Item>
struct boost_intrusive_pool_plan
    : public boost::intrusive_ref_counter<boost_intrusive_pool_plan<Item>, boost::thread_unsafe_counter>
{
    std::size_t init_size;
    std::size_t step;
    std::size_t max_size;
    recycle_method_e method;
    std::function<void(Item&)> function;

    boost_intrusive_pool_plan(std::size_t first, std::size_t enlarge_step, std::size_t limit, recycle_method_e how,
                              std::function<void(Item&)> what)
        : init_size(first), step(enlarge_step), max_size(limit), method(how), function(std::move(what))
    {
    }

    bool is_bounded() const noexcept { return step == 0; }
    bool is_limited() const noexcept { return is_bounded() || max_size != BOOST_INTRUSIVE_POOL_NO_MAX_SIZE; }

    /// Returns: the number of items by which a pool with `capacity` items grows; 0 if it may not grow.
    std::size_t next_step(std::size_t capacity) const noexcept
    {
        if (is_bounded())
            return capacity == 0 ? init_size : 0; // The capacity is 0 after clear.
        return is_limited() ? std::min(step, max_size - capacity) : step;
    }

    /// Applies the recycle method to `item`.
    void recycle(Item& item) const
    {
        using destroy_of_item = memory_pool::detail::core::destroy_function<Item>;
        if (method == RECYCLE_METHOD_CUSTOM_FUNCTION)
            function(item);
        else if constexpr (destroy_of_item::exists)
            destroy_of_item::call(item);
        else // `Item` hides `destroy` of the base.
            static_cast<boost_intrusive_pool_item&>(item).destroy();
    }
};

/// The items of a pool from its construction or `clear` until the next `clear` or its destruction.
template <class Item>
class boost_intrusive_pool_store final : public boost_intrusive_pool_iface
{
    static_assert(std::is_base_of_v<boost_intrusive_pool_item, Item>,
                  "derive the items of the pool from memorypool::boost_intrusive_pool_item");
    static_assert(std::is_default_constructible_v<Item>,
                  "items are constructed before they are requested: give them a default constructor, and an init()");

    using access = boost_intrusive_pool_access;
    using base_item = boost_intrusive_pool_item;
    using self_ptr = boost::intrusive_ptr<boost_intrusive_pool_store>;

public:
    using plan_ptr = boost::intrusive_ptr<const boost_intrusive_pool_plan<Item>>;

    explicit boost_intrusive_pool_store(plan_ptr plan) : plan_(std::move(plan)) {}

    const plan_ptr& plan() const noexcept { return plan_; }
    void set_plan(plan_ptr plan) noexcept { plan_ = std::move(plan); }

    bool is_bounded() const override { return plan_->is_bounded(); }
    bool is_memory_exhausted() const override { return is_exhausted_; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t unused() const noexcept { return unused_; }
    std::size_t steps() const noexcept { return arrays_.size(); }

    /// Returns: an item, or nullptr if no item is free and the pool may not grow.
    /// Throws: exceptions from constructors and the heap. The store is then exhausted, but otherwise unchanged.
    Item* take()
    {
        note_thread();
        return MEMORY_POOL_LIKELY(unused_ != 0) ? take_unused() : grow_and_take();
    }

    void recycle(base_item* item) override
    {
        note_thread();
        if (MEMORY_POOL_UNLIKELY(!access::is_returning(item) || (BOOST_INTRUSIVE_POOL_DEBUG_CHECKS && !is_own(item))))
            access::report(memory_pool::error_kind::foreign_pointer, item,
                           "recycle() of nullptr, a referenced item, or an item of another pool",
                           "let boost::intrusive_ptr return items");
        else if (MEMORY_POOL_LIKELY(plan_->method == RECYCLE_METHOD_NONE))
            take_back(*item);
        else
            access::end_in_turn(*item, this, [this, item] { recycle_by_plan(*item); });
    }

    /// Effects: constructs `count` items. A constructor's attempt to grow the store fails.
    /// Returns: true if the store has grown.
    /// Throws: exceptions from constructors and the heap. The store is then exhausted, but otherwise unchanged.
    bool grow(std::size_t count)
    {
        is_exhausted_ = true;
        if (count == 0 || is_growing_)
            return false;
        is_growing_ = true;
        const self_ptr self(this); // A constructor may clear the pool.
        memory_pool::detail::base::failure_guard no_longer([this] { is_growing_ = false; });
        array added{std::unique_ptr<Item[]>(new Item[count]), count};
        never_used_ = arrays_.insert(first_behind(added.items.get()), std::move(added))->items.get();
        end_of_never_used_ = never_used_ + count;
        no_longer.succeeded();
        is_growing_ = is_exhausted_ = false;
        capacity_ += count;
        unused_ += count;
        return true;
    }

    /// Effects: with BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS, reports use by a thread other than the first.
    void note_thread() noexcept
    {
#if BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
        if (user_ == std::thread::id())
            user_ = std::this_thread::get_id();
        else if (user_ != std::this_thread::get_id())
            access::report(memory_pool::error_kind::wrong_thread, this,
                           "a boost_intrusive_pool that another thread has used",
                           "use one pool per thread, and release items in the thread that allocated them");
#endif
    }

    /// Returns: true if the counters are consistent and the first free item is valid.
    /// Complexity: O(1).
    bool is_valid() const noexcept
    {
        const std::size_t never_used = count_of_never_used();
        return unused_ <= capacity_ && never_used <= unused_ && (never_used == unused_) == (free_ == nullptr) &&
               (free_ == nullptr || (access::is_free(*free_) && access::is_valid(*free_)));
    }

    /// Returns: true if is_valid() and each item is valid.
    /// Complexity: n log m for n items and m arrays.
    bool verify() const noexcept
    {
        return is_valid() && count_of_listed() + count_of_never_used() == unused_ && items_are_valid();
    }

private:
    struct array
    {
        std::unique_ptr<Item[]> items;
        std::size_t count;
    };

    static Item& whole(base_item& part)
    {
        if constexpr (boost_intrusive_pool_cast_exists<Item>)
            return static_cast<Item&>(part);
        else // The base is virtual.
            return dynamic_cast<Item&>(part);
    }

    Item* take_unused()
    {
        Item* taken = nullptr;
        if (MEMORY_POOL_LIKELY(free_ != nullptr)) {
            taken = std::addressof(whole(*free_));
            free_ = free_->_refcounted_item_get_next();
            MEMORY_POOL_PREFETCH_FOR_WRITE(free_); // The next allocate writes to this item.
        } else {
            taken = never_used_++;
            MEMORY_POOL_PREFETCH_FOR_WRITE(never_used_);
        }
        access::hand_out(*taken, *this);
        if (MEMORY_POOL_UNLIKELY(--unused_ == 0))
            grow_ahead();
        return taken;
    }

    MEMORY_POOL_NOINLINE Item* grow_and_take()
    {
        const self_ptr self(this);
        return grow(plan_->next_step(capacity_)) ? take_unused() : nullptr;
    }

    // Preconditions: an item is in use, which keeps the store alive.
    MEMORY_POOL_NOINLINE void grow_ahead() noexcept
    {
        if (!is_bounded()) // On failure, the next allocate retries.
            (void)memory_pool::detail::base::succeeds([this] { grow(plan_->next_step(capacity_)); });
    }

    // Preconditions: another reference keeps the store alive.
    void recycle_by_plan(base_item& returned) noexcept
    {
        Item& item = whole(returned);
        const plan_ptr plan = plan_; // A copy, because the function may set another plan.
        if (!memory_pool::detail::base::succeeds([&plan, &item] { plan->recycle(item); }))
            memory_pool::detail::base::report_misuse(memory_pool::error_kind::hook_failed, std::addressof(item),
                                                     sizeof item, "boost_intrusive_pool");
        if (access::has_ended(returned))
            take_back(returned);
    }

    void take_back(base_item& returned) noexcept
    {
        access::put_back(returned, free_);
        free_ = &returned;
        ++unused_;
    }

    auto first_behind(const void* address) const noexcept
    {
        return std::upper_bound(arrays_.begin(), arrays_.end(), address, [](const void* sought, const array& step) {
            return memory_pool::detail::base::is_before(sought, step.items.get());
        });
    }

    bool is_own(const base_item* item) const noexcept
    {
        const auto behind = first_behind(item);
        return behind != arrays_.begin() && memory_pool::detail::base::is_before(item, end_of(*std::prev(behind)));
    }

    bool is_listed(const base_item& item) const noexcept
    {
        return is_own(&item) && access::is_free(item) && access::is_valid(item);
    }

    std::size_t count_of_never_used() const noexcept
    {
        return static_cast<std::size_t>(end_of_never_used_ - never_used_);
    }

    static const Item* end_of(const array& step) noexcept { return step.items.get() + step.count; }

    // Returns the number of listed items before the first invalid one. More than unused_ if the list has a cycle.
    std::size_t count_of_listed() const noexcept
    {
        std::size_t count = 0;
        for (const base_item* item = free_; item != nullptr && is_listed(*item) && count <= unused_; ++count)
            item = item->_refcounted_item_get_next();
        return count;
    }

    bool items_are_valid() const noexcept
    {
        std::size_t count = 0;
        std::size_t in_use = 0;
        for (const array& step : arrays_)
            for (const Item* item = step.items.get(); item != end_of(step); ++item, ++count) {
                if (!access::is_valid(*item))
                    return false;
                in_use += access::is_in_use(*item) ? 1u : 0u;
            }
        return count == capacity_ && in_use == capacity_ - unused_;
    }

    plan_ptr plan_;
    base_item* free_ = nullptr;  // The list of returned items.
    Item* never_used_ = nullptr; // The first never-used item. Never-used items end the newest array.
    Item* end_of_never_used_ = nullptr;
    std::size_t unused_ = 0; // Returned and never-used items.
    std::size_t capacity_ = 0;
    bool is_exhausted_ = false;
    bool is_growing_ = false;
    std::thread::id user_;
    std::vector<array> arrays_; // Sorted by address.
};
}} // namespace memorypool::BOOST_INTRUSIVE_POOL_ABI
