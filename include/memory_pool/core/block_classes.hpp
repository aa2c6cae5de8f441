// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which sizes of blocks a resource has pools for.
///
///     8 16 24 32 40 48 56 64 | 80 96 112 128 | 160 192 224 256 | 320 ... | ... 1 MiB
///
/// Up to 64 bytes a step of 8, and from there on four sizes to each power of two: rounding up wastes a fifth at most.
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <cstddef>

namespace memory_pool::core
{
/// The sizes up to here are in steps of `block_class_step`.
inline constexpr std::size_t finest_block_class = 64;
inline constexpr std::size_t block_class_step = 8;
/// No class is larger than this many bytes.
inline constexpr std::size_t largest_block_class = std::size_t{1} << 20;
/// Blocks of a class that is a power of two are aligned to their size, up to this.
inline constexpr std::size_t largest_class_alignment = 4096;

/// Returns: the number of the smallest class whose blocks have room for `bytes`.
/// Preconditions: `bytes` is not above largest_block_class.
constexpr std::size_t block_class_of(std::size_t bytes) noexcept
{
    if (bytes <= finest_block_class)
        return (bytes - (bytes != 0 ? 1 : 0)) / block_class_step;
    const unsigned exponent = base::highest_bit(bytes - 1);
    const unsigned first_exponent = base::highest_bit(finest_block_class);
    const std::size_t quarter = (bytes - 1) >> (exponent - 2); // 4, 5, 6 or 7
    return finest_block_class / block_class_step + 4 * (exponent - first_exponent) + quarter - 4;
}

/// How many classes there are.
inline constexpr std::size_t block_class_count = block_class_of(largest_block_class) + 1;

/// Returns: bytes in a block of that class.
constexpr std::size_t block_class_size(std::size_t number) noexcept
{
    constexpr std::size_t fine_classes = finest_block_class / block_class_step;
    if (number < fine_classes)
        return (number + 1) * block_class_step;
    const std::size_t doublings = (number - fine_classes) / 4;
    const std::size_t quarters = (number - fine_classes) % 4 + 5;
    return (finest_block_class << doublings) / 4 * quarters;
}

/// Returns: how blocks of that class are aligned, in bytes.
constexpr std::size_t block_class_alignment(std::size_t number) noexcept
{
    const std::size_t size = block_class_size(number);
    const std::size_t divisor = size & (~size + 1);
    return divisor == size ? std::min(size, largest_class_alignment) : std::min(divisor, alignof(std::max_align_t));
}

/// Returns: bytes of a block that has room for `bytes` and is aligned to `alignment`, or more than largest_block_class if no class
///   has such blocks.
constexpr std::size_t bytes_in_class(std::size_t bytes, std::size_t alignment) noexcept
{
    if (MEMORY_POOL_LIKELY(alignment <= block_class_step) || bytes > largest_block_class)
        return bytes;
    if (alignment <= alignof(std::max_align_t))
        return base::round_up(std::max<std::size_t>(bytes, 1), alignment);
    if (alignment > largest_class_alignment)
        return largest_block_class + 1;
    return base::power_of_two_at_least(std::max(bytes, alignment));
}

/// Returns: whether each class is where its size says, and aligned as its size promises.
constexpr bool block_classes_are_sound() noexcept
{
    for (std::size_t number = 0; number != block_class_count; ++number) {
        const std::size_t size = block_class_size(number);
        if (block_class_of(size) != number || size % block_class_alignment(number) != 0)
            return false;
        if (number != 0 && block_class_of(block_class_size(number - 1) + 1) != number)
            return false;
        if (size % alignof(std::max_align_t) == 0 && block_class_alignment(number) < alignof(std::max_align_t))
            return false;
        if (size > finest_block_class && size % alignof(std::max_align_t) != 0)
            return false;
    }
    return block_class_size(block_class_count - 1) == largest_block_class;
}
static_assert(block_classes_are_sound(), "the classes of blocks must have no gaps, and be as aligned as they say");
} // namespace memory_pool::core
