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
/// Steps of 8 up to 64 bytes, then four classes for each doubling. Rounding up wastes at most a fifth of a block.
using block_sizes = size_classes<8, 64, 4, std::size_t{1} << 20>;
static_assert(block_sizes::are_sound(), "each class must be where its size says");

/// The maximum alignment of a class. Blocks whose size is a power of two are aligned to their size, up to this limit.
inline constexpr std::size_t largest_class_alignment = 4096;

/// Returns: the alignment in bytes of the blocks of a class.
constexpr std::size_t block_class_alignment(std::size_t number) noexcept
{
    const std::size_t size = block_sizes::size(number);
    const std::size_t divisor = size & (~size + 1);
    return divisor == size ? std::min(size, largest_class_alignment) : std::min(divisor, alignof(std::max_align_t));
}

/// Returns: the size to request for a block of `bytes` aligned to `alignment`; more than block_sizes::largest if no
///   class has such blocks.
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

/// Returns: whether each class has the alignment that bytes_in_class relies on.
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
