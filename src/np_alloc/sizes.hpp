// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which blocks np_alloc cuts slabs into, and how many of them move at a time.
///
///     up to 1 KiB:   steps of 16 bytes      slabs of 64 KiB
///     up to 8 KiB:   8 to each doubling     slabs of 256 KiB
///     up to 32 KiB:  the same               slabs of 512 KiB
///     larger:        whole slices
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/core/size_classes.hpp>

#include "region.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
using sizes = core::size_classes<16, 1024, 8, std::size_t{32} * 1024>;
static_assert(sizes::are_sound(), "each class must be where its size says");

/// Up to this many bytes, the class is found by shifting.
inline constexpr std::size_t largest_small = sizes::finest;
/// Above this many bytes, a block is whole slices.
inline constexpr std::size_t largest_in_slab = sizes::largest;
inline constexpr std::size_t class_count = sizes::count;

/// Returns: slices in a slab of that class.
constexpr std::uint32_t slab_slices(std::size_t number) noexcept
{
    const std::size_t size = sizes::size(number);
    return size <= 1024 ? 1 : (size <= 8 * std::size_t{1024} ? 4 : 8);
}

/// Returns: blocks in a slab of that class.
constexpr std::uint32_t slab_capacity(std::size_t number) noexcept
{
    return static_cast<std::uint32_t>(slab_slices(number) * slice_bytes / sizes::size(number));
}

/// Bytes in the array of a magazine of the smallest classes. All arrays end at a multiple of it.
inline constexpr std::size_t magazine_bytes = 1024;

/// Returns: bytes in the array of a magazine of that class, a power of two: up to 128 blocks, and about 128 KiB of them.
constexpr std::size_t magazine_bytes_of(std::size_t number) noexcept
{
    const std::size_t size = sizes::size(number);
    if (size <= largest_small)
        return magazine_bytes;
    return size <= 4 * std::size_t{1024} ? magazine_bytes / 4 : magazine_bytes / 16;
}

/// Returns: blocks that a magazine of that class has room for.
constexpr std::uint32_t magazine_room(std::size_t number) noexcept
{
    return static_cast<std::uint32_t>(magazine_bytes_of(number) / sizeof(void*));
}

/// Returns: blocks that are taken out of the slabs at a time: half a magazine, but no more than 16 KiB of them, if that is one.
constexpr std::uint32_t refill_count(std::size_t number) noexcept
{
    const std::size_t affordable = std::max<std::size_t>(std::size_t{16} * 1024 / sizes::size(number), 1);
    return static_cast<std::uint32_t>(std::min<std::size_t>(affordable, magazine_room(number) / 2));
}
} // namespace memory_pool::np
