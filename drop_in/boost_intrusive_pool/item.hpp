// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The items of a boost_intrusive_pool: reference counts and return to the pool. See boost_intrusive_pool.hpp.
///
/// Thread safety: one thread at a time may use an item.
#pragma once

#include "config.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/objects/reference_count.hpp>

#include <boost/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memorypool { inline namespace BOOST_INTRUSIVE_POOL_ABI {
class boost_intrusive_pool_item;

/// The action on a returned item.
enum recycle_method_e
{
    RECYCLE_METHOD_NONE,             ///< None.
    RECYCLE_METHOD_DESTROY_FUNCTION, ///< Call the item's `destroy()`.
    RECYCLE_METHOD_CUSTOM_FUNCTION,  ///< Call a function with the item.
};

/// The interface of a pool for its items. Deleted by the last boost::intrusive_ptr to it.
class boost_intrusive_pool_iface
    : public boost::intrusive_ref_counter<boost_intrusive_pool_iface, boost::thread_unsafe_counter>
{
public:
    virtual ~boost_intrusive_pool_iface() = default;

    /// Effects: returns `item`, whose last pointer is gone, to the pool.
    virtual void recycle(boost_intrusive_pool_item* item) = 0;

    /// Returns: true if the pool never grows.
    virtual bool is_bounded() const = 0;

    /// Returns: true if an attempt to grow has failed.
    virtual bool is_memory_exhausted() const = 0;
};

/// The base class of all items. Items may define `init(...)`, which is not virtual. Copying or assigning an item
/// affects neither its reference count nor its pool.
class boost_intrusive_pool_item
{
    friend struct boost_intrusive_pool_access;

public:
    /// Effects: constructs an item without pointers, outside of any pool.
    boost_intrusive_pool_item() noexcept = default;
    /// Effects: as the default constructor.
    boost_intrusive_pool_item(const boost_intrusive_pool_item&) noexcept {}
    /// Effects: none.
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): assigns nothing.
    boost_intrusive_pool_item& operator=(const boost_intrusive_pool_item&) noexcept { return *this; }
    virtual ~boost_intrusive_pool_item() = default;

    /// Effects: none. Override it to release resources of a returned item, for RECYCLE_METHOD_DESTROY_FUNCTION.
    virtual void destroy() {}

    /// Returns: the number of pointers.
    std::size_t use_count() const noexcept
    {
        using zones = memory_pool::detail::core::reference_zones<std::uint32_t>;
        const std::uint32_t count = pool_item_count_.read();
        return count >= zones::idle && count < zones::half ? count - zones::idle : count;
    }

    /// Returns: true if a pool has allocated the item, or the item will return to a pool.
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
        plain, // Created by the program, or never allocated.
        in_use,
        free,
    };

    // `idle` during a return, so that temporary pointers do not return the item again.
    mutable memory_pool::detail::core::plain_reference_count<std::uint32_t> pool_item_count_{0};
    pool_item_state pool_item_state_ = pool_item_state::plain;
    boost_intrusive_pool_item* pool_item_next_ = nullptr;
    boost::intrusive_ptr<boost_intrusive_pool_iface> pool_item_pool_;
};

/// Nested returns of items in this thread.
struct boost_intrusive_pool_endings
{
    static constexpr unsigned max_depth = 256;
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
    MEMORY_POOL_SLOW_PATH static void report(memory_pool::error_kind kind, const void* address, const char* what,
                                             const char* remedy) noexcept
    {
        const memory_pool::detail::base::message text("memory_pool: %s: address %p, %s\n  remedy: %s",
                                                      memory_pool::error_name(kind), address, what, remedy);
        memory_pool::detail::base::report({kind, address, 0, "boost_intrusive_pool", text.c_str()});
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
            report(memory_pool::error_kind::leak, &counted,
                   "more pointers to it than BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT",
                   "look for pointers that are kept but not needed, or define the macro to a larger number");
#endif
    }

    static void drop_reference(item& counted) noexcept
    {
        const memory_pool::detail::core::dropped was = counted.pool_item_count_.drop();
        if (was == memory_pool::detail::core::dropped::the_last)
            end(counted);
        else if (MEMORY_POOL_UNLIKELY(was == memory_pool::detail::core::dropped::one_too_many))
            report_dead(counted);
    }

    /// Marks `taken`, an item of `pool`, as in use.
    static void hand_out(item& taken, boost_intrusive_pool_iface& pool) noexcept
    {
        taken.pool_item_state_ = state::in_use;
        taken.pool_item_next_ = nullptr;
        taken.pool_item_pool_ = &pool;
    }

    /// Returns whether `asked` is in use and its last pointer is gone.
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

    /// Calls `end()`, which returns `ended` to `pool` or deletes it. Defers the return if returns are nested too deep.
    template <class End>
    static void end_in_turn(item& ended, boost_intrusive_pool_iface* pool, End&& end)
    {
        boost_intrusive_pool_endings& here = boost_intrusive_pool_endings_here;
        ended.pool_item_count_.write(memory_pool::detail::core::reference_zones<std::uint32_t>::idle);
        ended.pool_item_pool_ = pool;
        if (MEMORY_POOL_UNLIKELY(here.depth == here.max_depth)) {
            ended.pool_item_next_ = std::exchange(here.waiting, &ended);
            return;
        }
        ++here.depth;
        std::forward<End>(end)();
        if (here.depth == 1)
            end_waiting(here);
        --here.depth;
    }

    /// Returns false if there is a new pointer to `ended`, which is then in use again.
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
        report(memory_pool::error_kind::double_free, &dead, "reference released on an item that is not in use",
               "let boost::intrusive_ptr count, and do not create one from the address of a returned item");
    }
};

inline bool boost_intrusive_pool_item::check() const noexcept
{
    const bool is_valid = boost_intrusive_pool_access::is_valid(*this);
    if (!is_valid)
        boost_intrusive_pool_access::report(memory_pool::error_kind::buffer_overflow, this,
                                            "item metadata is inconsistent",
                                            "find the write past the end of an item; AddressSanitizer stops at it");
    return is_valid;
}

/// Effects: increments the reference count.
/// Complexity: O(1).
inline void intrusive_ptr_add_ref(const boost_intrusive_pool_item* item) noexcept
{
    boost_intrusive_pool_access::add_reference(*item);
}

/// Effects: decrements the reference count. At 0, returns the item to its pool, or deletes an item without a pool.
/// Complexity: O(1) plus the recycle function or destructor.
inline void intrusive_ptr_release(const boost_intrusive_pool_item* item) noexcept
{
    boost_intrusive_pool_access::drop_reference(const_cast<boost_intrusive_pool_item&>(*item));
}
}} // namespace memorypool::BOOST_INTRUSIVE_POOL_ABI
