// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `memorypool::boost_intrusive_pool<Item>`, the interface and the behaviour of the library boost-intrusive-pool.
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
/// - It needs C++17, and Boost 1.66.
/// - A bounded pool can be used after `clear`: the next allocate constructs the initial number of items again.
/// - `allocate` before `init` returns nullptr. `init` may be called again: items in use live on, as with `clear`.
/// - No item leaks when a constructor, `init`, a function or the heap throws. A pool that cannot grow ahead of need
///   still returns the item that it has, and grows in the next `allocate`, which throws if that fails too.
/// - Contradictory sizes and a missing function are rejected: `init` returns false, the constructor and
///   `set_recycle_method` throw std::invalid_argument.
/// - An exception of a recycle function is reported as error::hook_failed, and the item is returned.
/// - Items that release each other in a chain have bounded recursion: 256 deep, the others are deferred.
/// - A reference count does not overflow. Misuse is reported by memory_pool/base/errors.hpp: a reference released too
///   often, an item returned twice or to the wrong pool.
/// - `check` also returns whether the pool is consistent.
/// - The debug macros do not change the layout. Passing a pool between translation units that differ in them is a link
///   error.
/// - Include this header instead of declaring its classes: a forward declaration by the program, such as
///   `class boost_intrusive_pool_item;`, declares another class, and the name is ambiguous then.
///
/// As in the original, items are constructed by `new Item[n]` and stay constructed while they are free: they are not
/// poisoned for AddressSanitizer.
/// Include path: drop_in/, or the CMake target memory_pool::drop_in, and that of Boost.
///
/// Thread safety: one thread at a time may use a pool and its items.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/core/objects/reference_count.hpp>

#include <boost/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <cassert> // This and the next four: for programs that rely on this header to include them.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Each can be defined before this header is included, identically in all translation units of a program.
#ifndef BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE
#define BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE (64) ///< Initial number of items.
#endif
#ifndef BOOST_INTRUSIVE_POOL_INCREASE_STEP
#define BOOST_INTRUSIVE_POOL_INCREASE_STEP (64) ///< Items to grow by.
#endif
#ifndef BOOST_INTRUSIVE_POOL_NO_MAX_SIZE
#define BOOST_INTRUSIVE_POOL_NO_MAX_SIZE (0) ///< No limit.
#endif
#ifndef BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
#define BOOST_INTRUSIVE_POOL_DEBUG_CHECKS                                                                              \
    (0) ///< 1: `check` inspects every item, and a returned item is checked against its pool.
#endif
#ifndef BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
#define BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS (0) ///< 1: reports use by another thread than the first.
#endif
#ifdef BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT
#define BOOST_INTRUSIVE_POOL_COUNTS_POINTERS 1
#else
#define BOOST_INTRUSIVE_POOL_COUNTS_POINTERS BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
/// Maximum number of pointers to one item; more are reported if it is defined, or with BOOST_INTRUSIVE_POOL_DEBUG_CHECKS.
#define BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT (1024)
#endif

namespace memorypool
{
inline namespace MEMORY_POOL_ABI
{
// Functions with and without checks need different mangled names (one definition rule).
#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
inline namespace debug_checks
{
#endif
#if BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
inline namespace debug_thread_access
{
#endif
#if BOOST_INTRUSIVE_POOL_COUNTS_POINTERS
inline namespace debug_max_refcount
{
#endif

class boost_intrusive_pool_item;

/// What to do with a returned item.
enum recycle_method_e
{
    RECYCLE_METHOD_NONE,             ///< Nothing.
    RECYCLE_METHOD_DESTROY_FUNCTION, ///< Its `destroy()` is called.
    RECYCLE_METHOD_CUSTOM_FUNCTION,  ///< A function is called with it.
};

/// The interface of a pool for its items. Deleted by the last boost::intrusive_ptr to it.
class boost_intrusive_pool_iface
    : public boost::intrusive_ref_counter<boost_intrusive_pool_iface, boost::thread_unsafe_counter>
{
public:
    virtual ~boost_intrusive_pool_iface() = default;

    /// Effects: returns `item`, whose last pointer is gone, to the pool.
    virtual void recycle(boost_intrusive_pool_item* item) = 0;

    /// Returns: true if it never grows.
    virtual bool is_bounded() const = 0;

    /// Returns: true if an attempt to grow has failed.
    virtual bool is_memory_exhausted() const = 0;
};

/// The base class of all items. They may define `init(...)`, which is not virtual. Copying or assigning an item affects
/// neither its reference count nor its pool.
class boost_intrusive_pool_item
{
    friend struct boost_intrusive_pool_access;

public:
    /// Effects: makes an item without pointers, outside of any pool; so does copying.
    boost_intrusive_pool_item() noexcept = default;
    /// Effects: as the default constructor.
    boost_intrusive_pool_item(const boost_intrusive_pool_item&) noexcept {}
    /// Effects: none.
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned.
    boost_intrusive_pool_item& operator=(const boost_intrusive_pool_item&) noexcept { return *this; }
    virtual ~boost_intrusive_pool_item() = default;

    /// Effects: none; override it to release resources of a returned item, for RECYCLE_METHOD_DESTROY_FUNCTION.
    virtual void destroy() {}

    /// Returns: the number of pointers.
    std::size_t use_count() const noexcept
    {
        using zones = memory_pool::core::reference_zones<std::uint32_t>;
        const std::uint32_t count = pool_item_count_.read();
        return count >= zones::idle && count < zones::half ? count - zones::idle : count;
    }

    /// Returns: true if it was constructed by a pool, or will return to one.
    bool is_in_memory_pool() const noexcept
    {
        return pool_item_state_ != pool_item_state::plain || pool_item_pool_ != nullptr;
    }

    /// Effects: reports inconsistent metadata.
    /// Returns: true if the metadata is consistent.
    /// Complexity: O(1).
    bool check() const noexcept;

    // For pools: the free list, and the pool to return to. An item in use keeps its pool alive.

    /// Returns: the next item in the free list.
    boost_intrusive_pool_item* _refcounted_item_get_next() const noexcept { return pool_item_next_; }
    /// Effects: sets the next item in the free list.
    void _refcounted_item_set_next(boost_intrusive_pool_item* next) noexcept { pool_item_next_ = next; }
    /// Returns: the pool that the item returns to, or null.
    boost::intrusive_ptr<boost_intrusive_pool_iface> _refcounted_item_get_pool() const noexcept
    {
        return pool_item_pool_;
    }
    /// Effects: sets the pool that the item returns to.
    void _refcounted_item_set_pool(boost::intrusive_ptr<boost_intrusive_pool_iface> pool) noexcept
    {
        pool_item_pool_ = std::move(pool);
    }

private:
    enum class pool_item_state : std::uint32_t
    {
        plain, // created by the program, or never allocated
        in_use,
        free,
    };

    // `idle` while the item is being returned, so that temporary pointers do not return it again.
    mutable memory_pool::core::plain_reference_count<std::uint32_t> pool_item_count_{0};
    pool_item_state pool_item_state_ = pool_item_state::plain;
    boost_intrusive_pool_item* pool_item_next_ = nullptr;
    boost::intrusive_ptr<boost_intrusive_pool_iface> pool_item_pool_;
};

/// Nested returns of items in this thread.
struct boost_intrusive_pool_endings
{
    static constexpr unsigned most = 256;
    unsigned depth;
    boost_intrusive_pool_item* waiting; ///< Deferred returns, linked by their `next`.
};

// Trivially constructible and destructible, so that accesses need no initialisation guard.
inline thread_local boost_intrusive_pool_endings boost_intrusive_pool_endings_here{0, nullptr};

/// The operations on items.
struct boost_intrusive_pool_access
{
    using item = boost_intrusive_pool_item;
    using state = item::pool_item_state;

    /// Reports an error of `address`, described by `what`.
    MEMORY_POOL_SLOW_PATH static void report(memory_pool::error kind, const void* address, const char* what,
                                             const char* remedy) noexcept
    {
        const memory_pool::base::message text("memory_pool: %s: address %p, %s\n  remedy: %s",
                                              memory_pool::error_name(kind), address, what, remedy);
        memory_pool::base::report({kind, address, 0, "boost_intrusive_pool", text.c_str()});
    }

    static bool is_valid(const item& checked) noexcept
    {
        switch (checked.pool_item_state_) {
        case state::plain: return true;
        case state::in_use: return checked.pool_item_pool_ != nullptr;
        case state::free: return checked.pool_item_pool_ == nullptr && checked.pool_item_count_.read() == 0;
        }
        return false;
    }

    static bool is_free(const item& asked) noexcept { return asked.pool_item_state_ == state::free; }
    static bool is_in_use(const item& asked) noexcept { return asked.pool_item_state_ == state::in_use; }

    static void add_reference(const item& counted) noexcept
    {
        counted.pool_item_count_.add();
#if BOOST_INTRUSIVE_POOL_COUNTS_POINTERS
        if (counted.use_count() == std::size_t{BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT} + 1)
            report(memory_pool::error::leak, &counted,
                   "more pointers to it than BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT",
                   "look for pointers that are kept but not needed, or define the macro to a larger number");
#endif
    }

    static void drop_reference(item& counted) noexcept
    {
        const memory_pool::core::dropped was = counted.pool_item_count_.drop();
        if (was == memory_pool::core::dropped::the_last)
            end(counted);
        else if (MEMORY_POOL_UNLIKELY(was == memory_pool::core::dropped::one_too_many))
            report_dead(counted);
    }

    /// Marks `taken`, an item of `pool`, as in use.
    static void hand_out(item& taken, boost_intrusive_pool_iface& pool) noexcept
    {
        taken.pool_item_state_ = state::in_use;
        taken.pool_item_next_ = nullptr;
        taken.pool_item_pool_ = &pool;
    }

    /// Returns: true if `asked` is in use and its last pointer is gone.
    static bool is_returning(const item* asked) noexcept
    {
        return asked != nullptr && is_in_use(*asked) && asked->pool_item_count_.read() == 0;
    }

    /// Marks `returned` as free and links it before `next`.
    static void put_back(item& returned, item* next) noexcept
    {
        returned.pool_item_state_ = state::free;
        returned.pool_item_next_ = next;
        returned.pool_item_pool_ = nullptr;
    }

    /// Calls `end()`, which returns `ended` to `pool` or deletes it; defers that if returns are nested too deep.
    template <class End>
    static void end_in_turn(item& ended, boost_intrusive_pool_iface* pool, End&& end)
    {
        boost_intrusive_pool_endings& here = boost_intrusive_pool_endings_here;
        ended.pool_item_count_.write(memory_pool::core::reference_zones<std::uint32_t>::idle);
        ended.pool_item_pool_ = pool;
        if (MEMORY_POOL_UNLIKELY(here.depth == here.most)) {
            ended.pool_item_next_ = std::exchange(here.waiting, &ended);
            return;
        }
        ++here.depth;
        std::forward<End>(end)();
        if (here.depth == 1)
            end_waiting(here);
        --here.depth;
    }

    /// Returns: false if a new pointer to `ended` exists; it is in use again then.
    static bool has_ended(item& ended) noexcept { return ended.pool_item_count_.resume() == 0; }

private:
    /// Returns `ended`, whose last pointer is gone, to its pool, or deletes it.
    static void end(item& ended) noexcept
    {
        const boost::intrusive_ptr<boost_intrusive_pool_iface> pool = std::move(ended.pool_item_pool_);
        if (MEMORY_POOL_LIKELY(pool != nullptr))
            pool->recycle(&ended);
        else if (MEMORY_POOL_LIKELY(ended.pool_item_state_ == state::plain))
            end_in_turn(ended, nullptr, [&ended] { delete &ended; });
        else
            report_dead(ended);
    }

    static void end_waiting(boost_intrusive_pool_endings& here) noexcept
    {
        while (MEMORY_POOL_UNLIKELY(here.waiting != nullptr)) {
            item& next = *here.waiting;
            here.waiting = std::exchange(next.pool_item_next_, nullptr);
            if (has_ended(next))
                end(next);
        }
    }

    MEMORY_POOL_SLOW_PATH static void report_dead(const item& dead) noexcept
    {
        report(memory_pool::error::double_free, &dead, "reference released on an item that is not in use",
               "let boost::intrusive_ptr count, and do not create one from the address of a returned item");
    }
};

inline bool boost_intrusive_pool_item::check() const noexcept
{
    const bool is_valid = boost_intrusive_pool_access::is_valid(*this);
    if (!is_valid)
        boost_intrusive_pool_access::report(memory_pool::error::overflow, this, "item metadata is inconsistent",
                                            "find the write past the end of an item; AddressSanitizer stops at it");
    return is_valid;
}

/// Effects: increments the reference count.
/// Complexity: O(1).
inline void intrusive_ptr_add_ref(const boost_intrusive_pool_item* item) noexcept
{
    boost_intrusive_pool_access::add_reference(*item);
}

/// Effects: decrements the reference count. At 0, the item returns to its pool, or is deleted if it has none.
/// Complexity: O(1) plus the recycle function or destructor.
inline void intrusive_ptr_release(const boost_intrusive_pool_item* item) noexcept
{
    boost_intrusive_pool_access::drop_reference(const_cast<boost_intrusive_pool_item&>(*item));
}

/// Whether static_cast from the base to `Item` is possible; it is not if the base is virtual.
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
            return capacity == 0 ? init_size : 0; // after clear
        return is_limited() ? std::min(step, max_size - capacity) : step;
    }

    /// Applies the recycle method to `item`.
    void recycle(Item& item) const
    {
        using destroy_of_item = memory_pool::core::destroy_function<Item>;
        if (method == RECYCLE_METHOD_CUSTOM_FUNCTION)
            function(item);
        else if constexpr (destroy_of_item::exists)
            destroy_of_item::call(item);
        else // `Item` hides the function of the base.
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

    /// Returns: an item, or nullptr if none is free and the pool may not grow.
    /// Throws: what constructors and the heap throw; the store is exhausted then, but otherwise unchanged.
    Item* take()
    {
        note_thread();
        return MEMORY_POOL_LIKELY(unused_ != 0) ? take_unused() : grow_and_take();
    }

    void recycle(base_item* item) override
    {
        note_thread();
        if (MEMORY_POOL_UNLIKELY(!access::is_returning(item) || !is_own(item)))
            access::report(memory_pool::error::foreign_pointer, item,
                           "recycle() of nullptr, a referenced item, or an item of another pool",
                           "let boost::intrusive_ptr return items");
        else if (MEMORY_POOL_LIKELY(plan_->method == RECYCLE_METHOD_NONE))
            take_back(*item);
        else
            access::end_in_turn(*item, this, [this, item] { recycle_by_plan(*item); });
    }

    /// Effects: constructs `count` items. A nested attempt to grow, by one of their constructors, fails.
    /// Returns: true if the store has grown.
    /// Throws: what constructors and the heap throw; the store is exhausted then, but otherwise unchanged.
    bool grow(std::size_t count)
    {
        is_exhausted_ = true;
        if (count == 0 || is_growing_)
            return false;
        is_growing_ = true;
        const self_ptr self(this); // A constructor may clear the pool.
        memory_pool::base::failure_guard no_longer([this] { is_growing_ = false; });
        std::unique_ptr<Item[]> items(new Item[count]);
        arrays_.push_back(array{std::move(items), count});
        no_longer.succeeded();
        is_growing_ = is_exhausted_ = false;
        never_used_ = arrays_.back().items.get();
        capacity_ += count;
        unused_ += count;
        return true;
    }

    /// Effects: with BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS, reports use by another thread than the first.
    void note_thread() noexcept
    {
#if BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
        if (user_ == std::thread::id())
            user_ = std::this_thread::get_id();
        else if (user_ != std::this_thread::get_id())
            access::report(memory_pool::error::wrong_thread, this,
                           "a boost_intrusive_pool that another thread has used",
                           "use one pool per thread, and release items in the thread that allocated them");
#endif
    }

    /// Returns: true if the metadata is consistent.
    /// Complexity: O(1); with BOOST_INTRUSIVE_POOL_DEBUG_CHECKS linear in items, for each array.
    bool is_valid() const noexcept
    {
        const std::size_t never_used = count_of_never_used();
        if (unused_ > capacity_ || never_used > unused_ || (never_used == unused_) != (free_ == nullptr))
            return false;
        if (free_ != nullptr && !is_listed(*free_))
            return false;
#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
        return count_of_listed() + never_used == unused_ && items_are_valid();
#else
        return true;
#endif
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
            taken = &whole(*free_);
            free_ = free_->_refcounted_item_get_next();
            MEMORY_POOL_PREFETCH_FOR_WRITE(free_); // The next allocate writes to it.
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

    // Preconditions: an item is in use, which keeps this alive.
    MEMORY_POOL_NOINLINE void grow_ahead() noexcept
    {
        if (!is_bounded()) // On failure, the next allocate retries.
            (void)memory_pool::base::succeeds([this] { grow(plan_->next_step(capacity_)); });
    }

    // Preconditions: another reference keeps this alive.
    void recycle_by_plan(base_item& returned) noexcept
    {
        Item& item = whole(returned);
        const plan_ptr plan = plan_; // The function may set another one.
        if (!memory_pool::base::succeeds([&plan, &item] { plan->recycle(item); }))
            memory_pool::base::report_misuse(memory_pool::error::hook_failed, &item, sizeof item,
                                             "boost_intrusive_pool");
        if (access::has_ended(returned))
            take_back(returned);
    }

    void take_back(base_item& returned) noexcept
    {
        access::put_back(returned, free_);
        free_ = &returned;
        ++unused_;
    }

    bool is_own([[maybe_unused]] const base_item* item) const noexcept
    {
#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
        const auto address = reinterpret_cast<std::uintptr_t>(item);
        return std::any_of(arrays_.begin(), arrays_.end(), [address](const array& step) {
            return address - reinterpret_cast<std::uintptr_t>(step.items.get()) < step.count * sizeof(Item);
        });
#else
        return true;
#endif
    }

    bool is_listed(const base_item& item) const noexcept
    {
        return is_own(&item) && access::is_free(item) && access::is_valid(item);
    }

    std::size_t count_of_never_used() const noexcept
    {
        return arrays_.empty() ? 0 : static_cast<std::size_t>(end_of(arrays_.back()) - never_used_);
    }

    static const Item* end_of(const array& step) noexcept { return step.items.get() + step.count; }

#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
    // Returns: the number of valid items before the first invalid one.
    std::size_t count_of_listed() const noexcept
    {
        std::size_t count = 0;
        for (const base_item* item = free_; item != nullptr && is_listed(*item) && count != capacity_; ++count)
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
#endif

    plan_ptr plan_;
    base_item* free_ = nullptr;  // returned items
    Item* never_used_ = nullptr; // the first never-used item; they are at the end of the last array
    std::size_t unused_ = 0;     // of both kinds
    std::size_t capacity_ = 0;
    bool is_exhausted_ = false;
    bool is_growing_ = false;
    std::thread::id user_;
    std::vector<array> arrays_;
};

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
    /// Throws: std::invalid_argument where `init` returns false, and what `init` throws.
    boost_intrusive_pool(std::size_t init_size, std::size_t enlarge_step = BOOST_INTRUSIVE_POOL_INCREASE_STEP,
                         std::size_t max_size = BOOST_INTRUSIVE_POOL_NO_MAX_SIZE,
                         recycle_method_e method = RECYCLE_METHOD_NONE, recycle_function function = nullptr)
    {
        if (!init(init_size, enlarge_step, max_size, method, std::move(function)))
            memory_pool::base::throw_invalid_argument(memory_pool::base::message(
                "memory_pool: boost_intrusive_pool: invalid options: %zu items, at most %zu, recycle method %d\n"
                "  remedy: use no more than the maximum, and pass a function with RECYCLE_METHOD_CUSTOM_FUNCTION",
                init_size, max_size, static_cast<int>(method)));
    }

    /// Effects: moves items and options. `other` is then as before `init`.
    boost_intrusive_pool(boost_intrusive_pool&& other) noexcept = default;
    /// Effects: as `clear`, then as the move constructor.
    boost_intrusive_pool& operator=(boost_intrusive_pool&& other) noexcept = default;
    boost_intrusive_pool(const boost_intrusive_pool&) = delete;
    boost_intrusive_pool& operator=(const boost_intrusive_pool&) = delete;

    /// Effects: as `clear`.
    virtual ~boost_intrusive_pool() = default;

    /// Effects: resets the pool to `init_size` new items. It grows by `enlarge_step` items, up to `max_size`; with a
    ///   step of 0, not at all. Existing items in use live on.
    /// Returns: true; or false if `init_size` exceeds `max_size` or `function` is missing. On failure nothing is
    ///   changed.
    /// Throws: what constructors and the heap throw; nothing is changed then.
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

    /// Effects: sets what is done with returned items; a no-op before `init`. Items allocated before the last `clear`
    ///   keep the previous method.
    /// Throws: std::invalid_argument if `function` is missing, and std::bad_alloc; nothing is changed then.
    /// Complexity: O(1).
    void set_recycle_method(recycle_method_e method, recycle_function function = nullptr)
    {
        if (is_missing(method, function))
            memory_pool::base::throw_invalid_argument(memory_pool::base::message(
                "memory_pool: boost_intrusive_pool: RECYCLE_METHOD_CUSTOM_FUNCTION without a function\n"
                "  remedy: pass a function, or RECYCLE_METHOD_NONE"));
        if (plan_ == nullptr)
            return;
        plan_ = new plan_type(plan_->init_size, plan_->step, plan_->max_size, method, std::move(function));
        if (store_ != nullptr)
            store_->set_plan(plan_);
    }

    /// Returns: an item as it was returned, or as it was constructed; nullptr if none is free and the pool may not
    ///   grow.
    /// Throws: what constructors and the heap throw if none is free and the pool has to grow; nothing leaks then.
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
    /// Throws: as `allocate`, and what `init` throws; the item is returned then.
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
    /// Throws: as `allocate`, and what `function` throws; the item is returned then.
    /// Complexity: as `allocate`.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, Item&>>>
    item_ptr allocate_through_function(Function&& function)
    {
        item_ptr item = allocate();
        if (MEMORY_POOL_LIKELY(item != nullptr))
            std::invoke(function, *item);
        return item;
    }

    /// The same, for anything that converts to `allocate_function`.
    item_ptr allocate_through_function(const allocate_function& function)
    {
        return allocate_through_function<const allocate_function&>(function);
    }

    /// Effects: abandons all items. They are destroyed when none of them is in use, possibly at once. The next
    ///   `allocate` constructs new ones.
    /// Complexity: O(1) plus the destructors.
    void clear()
    {
        if (store_ != nullptr)
            store_->note_thread();
        store_.reset();
    }

    /// Effects: reports inconsistent metadata of the pool on stderr and to the error handler, which aborts by default.
    /// Returns: true if the metadata is consistent.
    /// Complexity: O(1); with BOOST_INTRUSIVE_POOL_DEBUG_CHECKS, linear in items.
    bool check() const noexcept
    {
        const bool is_valid = store_ == nullptr || store_->is_valid();
        if (!is_valid)
            boost_intrusive_pool_access::report(memory_pool::error::overflow, this, "pool metadata is inconsistent",
                                                "find the write past the end of an item; AddressSanitizer stops at it");
        return is_valid;
    }

    /// Returns: true if no item is in use.
    bool empty() const noexcept { return inuse_count() == 0; }
    /// Returns: true if the pool never grows, as its step is 0.
    bool is_bounded() const noexcept { return plan_ != nullptr && plan_->is_bounded(); }
    /// Returns: true if the pool has a limit: a step of 0, or a maximum.
    bool is_limited() const noexcept { return plan_ != nullptr && plan_->is_limited(); }
    /// Returns: true if an attempt to grow has failed since the pool was created, was cleared or has grown.
    bool is_memory_exhausted() const noexcept { return store_ != nullptr && store_->is_memory_exhausted(); }
    /// Returns: the number of items, in use or not.
    std::size_t capacity() const noexcept { return store_ != nullptr ? store_->capacity() : 0; }
    /// Returns: the capacity if the pool never grows; else `max_size`.
    std::size_t max_size() const noexcept { return is_bounded() || plan_ == nullptr ? capacity() : plan_->max_size; }
    /// Returns: items that `allocate` can hand out before the pool has to grow.
    std::size_t unused_count() const noexcept { return store_ != nullptr ? store_->unused() : 0; }
    /// Returns: items in use.
    std::size_t inuse_count() const noexcept { return capacity() - unused_count(); }
    /// Returns: the number of times it has grown since it was created or cleared, including the initial items.
    std::size_t enlarge_steps_done() const noexcept { return store_ != nullptr ? store_->steps() : 0; }

private:
    static bool is_missing(recycle_method_e method, const recycle_function& function) noexcept
    {
        return method == RECYCLE_METHOD_CUSTOM_FUNCTION && !function;
    }

    plan_ptr plan_;   // null before init
    store_ptr store_; // null before init, and from clear to the next allocate
};

#if BOOST_INTRUSIVE_POOL_COUNTS_POINTERS
} // namespace debug_max_refcount
#endif
#if BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
} // namespace debug_thread_access
#endif
#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
} // namespace debug_checks
#endif
} // namespace MEMORY_POOL_ABI
} // namespace memorypool
