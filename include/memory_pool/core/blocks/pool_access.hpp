// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What pools built on block pools need, beyond the public interface.
///
/// Thread safety: that of the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// A friend of basic_block_pool.
struct pool_access
{
    /// Returns: a pool whose slabs `listener` owns. Nothing is taken from `upstream` yet.
    template <class Pool>
    static Pool make(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                     slab_listener* listener)
    {
        return Pool(block_size, options, upstream, listener);
    }

    template <class Pool>
    MEMORY_POOL_ALWAYS_INLINE static const slab_layout& layout(const Pool& pool) noexcept
    {
        return pool.store_.layout();
    }

    /// Returns: whether this is the child of a fork, and other threads have used the pool before: what is in the blocks
    ///   that they were about to take or to free may be half made, or half gone. True until `clear` or `release`.
    template <class Pool>
    static bool has_lost_threads(const Pool& pool) noexcept
    {
        return pool.store_.has_lost_threads();
    }

    /// Effects: stops taking blocks back; they go to the listener instead.
    /// Returns: how many blocks are in use.
    /// Preconditions: the pool has a listener, and no thread allocates any more. Other threads may be freeing blocks.
    /// Complexity: linear in threads, slabs and free blocks.
    template <class Pool>
    static std::size_t abandon(Pool& pool) noexcept
    {
        return pool.store_.abandon();
    }

    /// Effects: calls `visit(void*)` for each block that was not in use when the pool was abandoned.
    template <class Pool, class Visit>
    static void for_each_free(const Pool& pool, Visit&& visit)
    {
        pool.store_.for_each_free(visit);
    }
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
