// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The options of a pool: named members rather than arguments, so that two numbers cannot be swapped.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/with_member.hpp>

#include <cstddef>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The options of all pools. Each option has a default that suits most pools.
struct pool_options
{
    /// The `max_capacity` of a pool that only upstream limits.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// The number of blocks to allocate from upstream when the pool is made. 0: none before the first request.
    std::size_t initial_capacity = 0;

    /// The maximum number of blocks in use; at least 1, and at least `initial_capacity`.
    std::size_t max_capacity = unbounded;

    /// The number of blocks by which the pool grows, within its limit. 0: the pool doubles, or quadruples while it has
    /// less than 16 KiB, but grows by at most 1 MiB. Pools of reference-counted objects may take memory for several
    /// steps from upstream at once, up to 64 KiB.
    std::size_t growth_step = 0;

    /// The maximum number of free blocks that a thread caches in LIFO order. Further free blocks are reused in address
    /// order, which suits data that is traversed. 0: the fastest size for alternating allocations and frees, up to
    /// 4,096. Other values below 16 count as 16.
    std::size_t max_cached_blocks = 0;

    /// The alignment of every block, in bytes: a power of two, or 0 for the natural alignment. In a pool of objects,
    /// the natural alignment is that of the type, and a smaller value has no effect. In other pools, it is the largest
    /// power of two from 8 to `alignof(std::max_align_t)` that divides the block size, so that blocks of 8, 24 and 40
    /// bytes need no padding.
    std::size_t alignment = 0;

    /// Writes to every page taken from upstream, to avoid page faults later. The time to grow the pool, or to construct
    /// it with an `initial_capacity`, is then proportional to the bytes added.
    bool prefault = false;

    /// The pool's name in reports. Not copied: it must outlive the pool and its objects, as a string literal does.
    const char* name = "unnamed";

    /// Returns: a copy of these options with another `initial_capacity`.
    [[nodiscard]] constexpr pool_options with_initial_capacity(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::initial_capacity, value);
    }

    /// Returns: a copy of these options with another `max_capacity`.
    [[nodiscard]] constexpr pool_options with_max_capacity(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::max_capacity, value);
    }

    /// Returns: a copy of these options with another `growth_step`.
    [[nodiscard]] constexpr pool_options with_growth_step(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::growth_step, value);
    }

    /// Returns: a copy of these options with another `max_cached_blocks`.
    [[nodiscard]] constexpr pool_options with_max_cached_blocks(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::max_cached_blocks, value);
    }

    /// Returns: a copy of these options with another `alignment`.
    [[nodiscard]] constexpr pool_options with_alignment(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::alignment, value);
    }

    /// Returns: a copy of these options with another `prefault`.
    [[nodiscard]] constexpr pool_options with_prefault(bool value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::prefault, value);
    }

    /// Returns: a copy of these options with another `name`.
    [[nodiscard]] constexpr pool_options with_name(const char* value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::name, value);
    }
};

/// The action of a recycling pool on a returned object.
enum class recycle
{
    nothing,      ///< Leaves the object unchanged.
    call_destroy, ///< Calls `destroy()` of the object, which releases everything that the object should not keep.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
