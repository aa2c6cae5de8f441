// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The options of a pool. Named members rather than arguments, so that two numbers cannot be swapped.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/with_member.hpp>

#include <cstddef>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The options every pool understands. Each has a default that suits most pools.
struct pool_options
{
    /// The value of `max_capacity` that means: grow for as long as upstream gives memory.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// Blocks to allocate from upstream when the pool is made. 0: none, until the first request.
    std::size_t initial_capacity = 0;

    /// Maximum number of blocks in use; at least 1, and at least `initial_capacity`.
    std::size_t max_capacity = unbounded;

    /// Blocks by which the pool grows, within the limit. 0: the pool doubles, or quadruples while it has less than
    /// 16 KiB, by 1 MiB at most. Pools of reference-counted objects may take memory for several steps from upstream at
    /// once, up to 64 KiB.
    std::size_t growth_step = 0;

    /// Maximum number of free blocks that a thread caches in LIFO order. Those beyond are reused in address order,
    /// which suits data that is traversed. 0: the fastest size for alternating allocations and frees, up to 4,096.
    /// Below 16, 16 are cached.
    std::size_t max_cached_blocks = 0;

    /// Alignment of every block, in bytes: a power of two, or 0 for the natural one. That is the alignment of the type
    /// in a pool of objects; elsewhere the largest, from 8 to `alignof(std::max_align_t)`, that divides the block size,
    /// so that blocks of 8, 24 and 40 bytes take 8, 24 and 40. A pool of objects uses no less than the natural one.
    std::size_t alignment = 0;

    /// Write to every page when it is taken from upstream, so that no page fault comes later. Makes growth, and with
    /// `initial_capacity` creation, take time in proportion to the bytes.
    bool prefault = false;

    /// The pool's name in reports. Not copied: it must outlive the pool and its objects, as a string literal does.
    const char* name = "unnamed";

    /// Returns: these options with that `initial_capacity`.
    [[nodiscard]] constexpr pool_options with_initial_capacity(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::initial_capacity, value);
    }

    /// Returns: these options with that `max_capacity`.
    [[nodiscard]] constexpr pool_options with_max_capacity(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::max_capacity, value);
    }

    /// Returns: these options with that `growth_step`.
    [[nodiscard]] constexpr pool_options with_growth_step(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::growth_step, value);
    }

    /// Returns: these options with that `max_cached_blocks`.
    [[nodiscard]] constexpr pool_options with_max_cached_blocks(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::max_cached_blocks, value);
    }

    /// Returns: these options with that `alignment`.
    [[nodiscard]] constexpr pool_options with_alignment(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::alignment, value);
    }

    /// Returns: these options with that `prefault`.
    [[nodiscard]] constexpr pool_options with_prefault(bool value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::prefault, value);
    }

    /// Returns: these options with that `name`.
    [[nodiscard]] constexpr pool_options with_name(const char* value) const noexcept
    {
        return detail::base::with_member(*this, &pool_options::name, value);
    }
};

/// What a recycling pool does to a returned object.
enum class recycle
{
    nothing,      ///< Leaves it as it is.
    call_destroy, ///< Calls its `destroy()`, which lets go of what the object should not keep.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
