// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A handle of an object in a handle_pool or a concurrent_handle_pool: 8 bytes that stay safe to use after the object
/// is destroyed.
///
///     { index of the object's place, generation: which object of that place }
///
/// Thread safety: as an int.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A handle of an object of type `T`. `pool_handle<T>{}` is the null handle, which is never one of an object. The
/// members may be stored and sent elsewhere: a handle made of the same numbers is the same handle. `T` may be
/// incomplete, so an object may have handles of its own kind.
template <class T>
struct pool_handle
{
    std::uint32_t index = 0;      ///< The place of the object in the table of the pool.
    std::uint32_t generation = 0; ///< Odd. Objects that come later at the same place have a greater one.

    /// Returns: whether it is the null handle. Any other handle may be stale: see `contains` of the pool.
    constexpr bool is_null() const noexcept { return generation == 0; }

    /// Handles of one pool are equal if they are of the same object. The order is that of index, then generation.
    friend constexpr bool operator==(pool_handle a, pool_handle b) noexcept { return a.bits() == b.bits(); }
    friend constexpr bool operator!=(pool_handle a, pool_handle b) noexcept { return !(a == b); }
    friend constexpr bool operator<(pool_handle a, pool_handle b) noexcept { return a.bits() < b.bits(); }
    friend constexpr bool operator>(pool_handle a, pool_handle b) noexcept { return b < a; }
    friend constexpr bool operator<=(pool_handle a, pool_handle b) noexcept { return !(b < a); }
    friend constexpr bool operator>=(pool_handle a, pool_handle b) noexcept { return !(a < b); }

    /// Returns: both numbers in one, the index in the upper half.
    constexpr std::uint64_t bits() const noexcept { return std::uint64_t{index} << 32 | generation; }
};
}} // namespace memory_pool::MEMORY_POOL_ABI

/// Hashes a handle.
template <class T>
struct std::hash<memory_pool::pool_handle<T>>
{
    /// Returns: the hash.
    std::size_t operator()(memory_pool::pool_handle<T> handle) const noexcept
    {
        // Mixed, as hash tables with a power of two of buckets use only the lower bits.
        return memory_pool::detail::base::mixed(handle.bits());
    }
};
