// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Validates the arguments of pools.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Maximum size of a request: 2^47 bytes, the address space that a 64-bit processor commonly leaves to a program.
inline constexpr std::size_t largest_size =
    std::numeric_limits<std::ptrdiff_t>::max() / (sizeof(std::size_t) > 4 ? std::size_t{1} << 16 : 4);

/// Returns: the alignment of blocks of `block_size` bytes, in bytes; `alignment` is as in pool_options.
constexpr std::size_t alignment_of_blocks(std::size_t block_size, std::size_t alignment) noexcept
{
    const std::size_t natural = std::min(block_size & (~block_size + 1), alignof(std::max_align_t));
    return std::max(alignment != 0 ? alignment : natural, alignof(void*));
}

/// Returns: the distance between blocks of `block_size` bytes, each followed by `behind` more bytes, in bytes.
constexpr std::size_t stride_of_blocks(std::size_t block_size, std::size_t behind, std::size_t alignment) noexcept
{
    return base::round_up(block_size + behind, alignment_of_blocks(block_size, alignment));
}

/// Returns: the maximum number of blocks in a growth step.
inline std::size_t blocks_in_a_step(const pool_options& options) noexcept
{
    return options.growth_step != 0 ? options.growth_step : pool_options::unbounded;
}

/// Returns: the name of the pool.
inline const char* name_in(const pool_options& options) noexcept
{
    return options.name != nullptr ? options.name : pool_options{}.name;
}

/// Throws: std::invalid_argument if there is no upstream.
inline void check_upstream(const std::pmr::memory_resource* upstream, const char* name)
{
    if (upstream == nullptr)
        base::throw_invalid_argument(base::message(
            "memory_pool: pool '%.100s': upstream is nullptr; leave it out for std::pmr::get_default_resource()",
            name));
}

/// Throws: std::invalid_argument if `alignment` is not a power of two.
inline void check_alignment(std::size_t alignment, const char* name)
{
    if (!base::is_power_of_two(alignment))
        base::throw_invalid_argument(base::message(
            "memory_pool: pool '%.100s': alignment is %zu, which is not a power of two; use 8, 16, 32, ...", name,
            alignment));
}

/// Returns: the options with an alignment of at least `min_alignment` bytes. Leaves an invalid alignment unchanged.
inline pool_options with_alignment(std::size_t min_alignment, pool_options options) noexcept
{
    if (options.alignment == 0 || base::is_power_of_two(options.alignment)) // check_alignment reports other values
        options.alignment = std::max(options.alignment, min_alignment);
    return options;
}

/// Returns: stride_of_blocks, for validated arguments.
/// Throws: std::invalid_argument or size_overflow, for invalid arguments.
MEMORY_POOL_NOINLINE inline std::size_t checked_stride(std::size_t block_size, std::size_t behind,
                                                       const pool_options& options,
                                                       const std::pmr::memory_resource* upstream)
{
    const char* const name = name_in(options);
    check_upstream(upstream, name);
    if (block_size == 0)
        base::throw_invalid_argument(
            base::message("memory_pool: pool '%.100s': block_size is 0; ask for at least 1 byte", name));
    if (options.alignment != 0)
        check_alignment(options.alignment, name);
    if (options.max_capacity == 0)
        base::throw_invalid_argument(
            base::message("memory_pool: pool '%.100s': max_capacity is 0; ask for at least 1 block, "
                          "or leave it at pool_options::unbounded",
                          name));
    if (options.max_capacity < options.initial_capacity)
        base::throw_invalid_argument(base::message("memory_pool: pool '%.100s': max_capacity is %zu, below "
                                                   "initial_capacity, which is %zu; raise one or lower the "
                                                   "other",
                                                   name, options.max_capacity, options.initial_capacity));
    if (block_size > largest_size || options.alignment > largest_size)
        base::throw_size_overflow(std::max<std::size_t>(options.initial_capacity, 1),
                                  std::max(block_size, options.alignment));
    if (base::saturating_multiply(std::min(options.growth_step, options.max_capacity), block_size) > largest_size)
        base::throw_size_overflow(options.growth_step, block_size);
    return stride_of_blocks(block_size, behind, options.alignment);
}

/// Returns: whether an array of `count` pointers is possible.
constexpr bool is_addressable(std::size_t count) noexcept
{
    return count <= largest_size / sizeof(void*);
}

/// Throws: size_overflow or pool_exhausted, if `count` blocks exceed the limit.
inline void check_reservation(std::size_t count, std::size_t stride, std::size_t limit, const pool_identity& identity)
{
    if (base::saturating_multiply(count, stride) > largest_size)
        base::throw_size_overflow(count, stride);
    if (count > limit)
        base::throw_exhausted(identity.name, limit, identity.block_size);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
