// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What all pools have in common whose objects return by themselves.
///
///     pool ----owns----> store ----> blocks         clear: the old store lives until its last object is back
///
/// Thread safety: that of the blocks.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/base/statistics.hpp>
#include <memory_pool/core/objects/object_store.hpp>

#include <cstddef>
#include <memory_resource>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
/// A pool over a `Store` of items.
template <class Store>
class store_pool_base
{
public:
    store_pool_base(const store_pool_base&) = delete;
    store_pool_base& operator=(const store_pool_base&) = delete;

    /// Returns: objects that there is room for, in use or not.
    std::size_t capacity() const noexcept { return blocks().capacity(); }

    /// Returns: the most objects that can be in use at one time, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return blocks().max_capacity(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return blocks().is_bounded(); }

    /// Returns: objects in use. Those that are still in use after `clear` are not among them.
    /// Complexity: O(1); linear in threads where threads share the pool.
    std::size_t in_use() const noexcept { return blocks().in_use(); }

    /// Returns: how many more objects can be had: from a bounded pool until it is exhausted, from any other one without going
    ///   upstream.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return blocks().available(); }

    /// Returns: how often the pool has taken memory from upstream since it was made or cleared: by a step, or for `reserve`.
    std::size_t enlarge_steps() const noexcept { return blocks().enlarge_steps(); }

    /// Returns: bytes taken from upstream and not given back, bookkeeping included.
    std::size_t bytes_reserved() const noexcept { return blocks().bytes_reserved() + sizeof(Store); }

    /// Returns: how the pool calls itself in reports.
    const char* name() const noexcept { return blocks().name(); }

    /// Returns: where the pool takes its memory from.
    std::pmr::memory_resource* upstream_resource() const noexcept { return blocks().upstream_resource(); }

    /// Returns: what the pool has done since it was made or cleared, exactly.
    /// Preconditions: `Policy::counts`.
    pool_statistics statistics() const noexcept { return blocks().statistics(); }

    /// Effects: takes memory from upstream until `capacity()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_capacity()`; size_overflow if so many objects do not fit into memory;
    ///   what upstream throws, and the constructors of objects that are kept. What was got before stays.
    /// Complexity: linear in slabs added, and in objects that are constructed.
    void reserve(std::size_t count) { store_->blocks.reserve(count); }

    /// Effects: gives memory in which no object is in use back upstream. Objects that are kept there are destroyed before. Their
    ///   destructors may clear or end the pool: objects that this destroys are destroyed when the memory is back.
    /// Returns: how many bytes went back.
    /// Complexity: linear in slabs, and in objects that are destroyed.
    std::size_t trim() noexcept { return store_->trim(); }

    /// Effects: makes the pool as new. Objects that are in use live on, and their memory with them, until their last reference
    ///   is gone, which no policy takes for a leak; all others are destroyed now, and their memory goes back upstream.
    /// Throws: what upstream throws, if it has not a few hundred bytes for a new beginning. Nothing is changed then.
    /// Complexity: linear in slabs, and in objects that are destroyed.
    /// Thread safety: no other thread may ask for objects at the same time; they may let go of some.
    void clear()
    {
        pool_options options = store_->options();
        options.initial_capacity = 0;
        core::object_store_owner<Store> fresh = make_like(*store_, options);
        store_.swap(fresh);
        fresh.release()->abandon_silently();
    }

    /// Returns: whether the pool is in order. For tests.
    /// Complexity: linear in blocks.
    bool is_valid() const noexcept { return blocks().is_valid(); }

protected:
    /// Effects: makes a store with `arguments`.
    template <class... Arguments>
    explicit store_pool_base(const pool_options& options, std::pmr::memory_resource* upstream, Arguments&&... arguments)
        : store_(core::make_object_store<Store>(options, upstream, std::forward<Arguments>(arguments)...))
    {
    }
    ~store_pool_base() = default;

    /// Returns: where the objects are.
    Store& store() noexcept { return *store_; }

private:
    const auto& blocks() const noexcept { return store_->blocks; }

    /// A store may have something that the next one is to have too.
    template <class Like>
    static auto make_like(const Like& store, const pool_options& options)
        -> decltype(static_cast<void>(store.reset()), core::object_store_owner<Store>())
    {
        return core::make_object_store<Store>(options, store.blocks.upstream_resource(), store.reset());
    }
    template <class Like, class... None>
    static core::object_store_owner<Store> make_like(const Like& store, const pool_options& options, None...)
    {
        return core::make_object_store<Store>(options, store.blocks.upstream_resource());
    }

    core::object_store_owner<Store> store_;
};
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
