// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The size classes of a resource's pools.
///
///     8 16 24 32 40 48 56 64 | 80 96 112 128 | 160 192 224 256 | 320 ... | ... 1 MiB
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/resources/size_classes.hpp>

#include <algorithm>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Up to 64 bytes in steps of 8, from there on four to each power of two: rounding up wastes a fifth at most.
using block_sizes = size_classes<8, 64, 4, std::size_t{1} << 20>;
static_assert(block_sizes::are_sound(), "each class must be where its size says");

/// Blocks of a class that is a power of two are aligned to their size, up to this.
inline constexpr std::size_t largest_class_alignment = 4096;

/// Returns: the alignment of blocks of that class, in bytes.
constexpr std::size_t block_class_alignment(std::size_t number) noexcept
{
    const std::size_t size = block_sizes::size(number);
    const std::size_t divisor = size & (~size + 1);
    return divisor == size ? std::min(size, largest_class_alignment) : std::min(divisor, alignof(std::max_align_t));
}

/// Returns: bytes of a block that has room for `bytes` and is aligned to `alignment`, or more than block_sizes::largest
///   if no class has such blocks.
constexpr std::size_t bytes_in_class(std::size_t bytes, std::size_t alignment) noexcept
{
    if (MEMORY_POOL_LIKELY(alignment <= block_sizes::step) || bytes > block_sizes::largest)
        return bytes;
    if (alignment <= alignof(std::max_align_t))
        return base::round_up(std::max<std::size_t>(bytes, 1), alignment);
    if (alignment > largest_class_alignment)
        return block_sizes::largest + 1;
    return base::power_of_two_at_least(std::max(bytes, alignment));
}

/// Returns: whether each class is aligned as bytes_in_class relies on.
constexpr bool block_alignments_are_sound() noexcept
{
    for (std::size_t number = 0; number != block_sizes::count; ++number) {
        const std::size_t size = block_sizes::size(number);
        if (size % block_class_alignment(number) != 0)
            return false;
        if (size % alignof(std::max_align_t) == 0 && block_class_alignment(number) < alignof(std::max_align_t))
            return false;
        if (size > block_sizes::finest && size % alignof(std::max_align_t) != 0)
            return false;
    }
    return true;
}
static_assert(block_alignments_are_sound(), "the blocks of a class must be as aligned as their size promises");
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
