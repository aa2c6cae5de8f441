// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The internal interface of block pools for the pools and resources that are built on them.
///
/// Thread safety: as the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/pool_options.hpp>

#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A friend of basic_block_pool.
struct pool_access
{
    /// Returns: a pool whose slabs `listener` owns. Does not allocate from `upstream` yet.
    template <class Pool>
    static Pool make(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                     slab_listener* listener)
    {
        return Pool(block_size, options, upstream, listener);
    }

    /// Throws: size_overflow or pool_exhausted, if the pool can never have `count` blocks.
    template <class Pool>
    static void check_count(const Pool& pool, std::size_t count)
    {
        pool.check_count(count);
    }

    /// As `allocate` of the pool. On failure, tries once more if `relieve()` returns true.
    template <class Pool>
    MEMORY_POOL_ALWAYS_INLINE static void* allocate(Pool& pool, base::relief relieve)
    {
        return store(pool).allocate(relieve);
    }

    /// As the bulk forms of the pool, for pointers of any type.
    template <class Pool, class T>
    static std::size_t allocate_bulk(Pool& pool, T** blocks, std::size_t count)
    {
        return pool.allocate_many(blocks, count);
    }
    template <class Pool, class T>
    static std::size_t try_allocate_bulk(Pool& pool, T** blocks, std::size_t count) noexcept
    {
        return pool.try_allocate_many(blocks, count);
    }
    template <class Pool, class T>
    static void deallocate_bulk(Pool& pool, T* const* blocks, std::size_t count) noexcept
    {
        pool.deallocate_many(blocks, count);
    }

    /// Returns: whether `block` is a block of the pool that is in use. Any pointer is allowed.
    /// Preconditions: called from a visitor of `for_each`, or the policy checks. Otherwise, a cached block counts as in
    ///   use.
    template <class Pool>
    static bool is_in_use(const Pool& pool, const void* block) noexcept
    {
        return pool.store_.with_slabs(
            [block](const slab_store& slabs) { return is_outstanding(slabs.chunks(), block); });
    }

    /// Effects: sets the kind, in reports, of a pool or resource that is built on `pool`: `local` if it is for one
    ///   thread, `shared` if threads share it.
    template <class Pool>
    static void set_kind(const Pool& pool, const char* local, const char* shared) noexcept
    {
        const auto& blocks = store(pool);
        blocks.entry().set_kind(std::decay_t<decltype(blocks)>::is_shared ? shared : local);
    }

    /// Effects: counts a failure of a pool that is built on `pool`, if the policy counts.
    template <class Pool>
    static void count_failure(Pool& pool) noexcept
    {
        pool.store_.count_failure();
    }

    /// Effects: notifies the observer of the policy that a pool is being destroyed, before its objects are destroyed.
    template <class Pool>
    static void observe_end(Pool& pool) noexcept
    {
        pool.store_.observe_end(pool.store_.in_use(), false);
    }

    /// Returns: the store of a pool: a local_store or a shared_blocks.
    template <class Pool>
    MEMORY_POOL_ALWAYS_INLINE static auto& store(Pool& pool) noexcept
    {
        return pool.store_;
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
