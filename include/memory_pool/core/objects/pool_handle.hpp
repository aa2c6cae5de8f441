// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A handle to an object in a handle_pool or a concurrent_handle_pool: 8 bytes that are safe to use even after the
/// object is destroyed.
///
///     { index of the object's place, generation: distinguishes the successive objects of a place }
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
/// A handle to an object of type `T`. `pool_handle<T>{}` is the null handle, which refers to no object. The members may
/// be stored or sent elsewhere: a handle with the same numbers is the same handle. `T` may be incomplete, so an object
/// may contain handles to objects of its own type.
template <class T>
struct pool_handle
{
    std::uint32_t index = 0;      ///< The place of the object in the table of the pool.
    std::uint32_t generation = 0; ///< Odd. Later objects at this place have greater generations.

    /// Returns: whether this is the null handle. Any other handle may be stale: see `contains` of the pool.
    constexpr bool is_null() const noexcept { return generation == 0; }

    /// Handles of one pool are equal if they refer to one object. They are ordered by index, then by generation.
    friend constexpr bool operator==(pool_handle a, pool_handle b) noexcept { return a.bits() == b.bits(); }
    friend constexpr bool operator!=(pool_handle a, pool_handle b) noexcept { return !(a == b); }
    friend constexpr bool operator<(pool_handle a, pool_handle b) noexcept { return a.bits() < b.bits(); }
    friend constexpr bool operator>(pool_handle a, pool_handle b) noexcept { return b < a; }
    friend constexpr bool operator<=(pool_handle a, pool_handle b) noexcept { return !(b < a); }
    friend constexpr bool operator>=(pool_handle a, pool_handle b) noexcept { return !(a < b); }

    /// Returns: both members in one number, with the index in the upper half.
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
        // Mixed because hash tables whose number of buckets is a power of two use only the lower bits.
        return memory_pool::detail::base::mixed(handle.bits());
    }
};
