// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Arithmetic on sizes and bits that C++17 lacks (C++20 has some of it in the header `bit`).
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
inline constexpr unsigned bits_per_word = 64;

/// Returns: whether exactly one bit of `value` is set.
constexpr bool is_power_of_two(std::size_t value) noexcept
{
    return value != 0 && (value & (value - 1)) == 0;
}

/// Returns: the smallest multiple of `step` that is not less than `value`.
/// Preconditions: `step` is a power of two, and the result fits.
constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept
{
    return (value + step - 1) & ~(step - 1);
}

/// Returns: `whole / part`, rounded up.
/// Preconditions: `part` is not 0.
constexpr std::size_t divide_round_up(std::size_t whole, std::size_t part) noexcept
{
    return whole / part + (whole % part != 0 ? 1 : 0);
}

/// Returns: `a * b`, or the largest std::size_t if that does not fit.
constexpr std::size_t saturating_multiply(std::size_t a, std::size_t b) noexcept
{
    constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
#if MEMORY_POOL_GNU_BUILTINS
    std::size_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? largest : product;
#else
    return b != 0 && a > largest / b ? largest : a * b;
#endif
}

/// Returns: `a + b`, or the largest std::size_t if that does not fit.
constexpr std::size_t saturating_add(std::size_t a, std::size_t b) noexcept
{
    constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
    return a > largest - b ? largest : a + b;
}

/// Returns: the position of the lowest set bit, counted from 0.
/// Preconditions: `word` is not 0.
constexpr unsigned lowest_bit(std::uint64_t word) noexcept
{
#if MEMORY_POOL_GNU_BUILTINS
    return static_cast<unsigned>(__builtin_ctzll(word));
#else
    unsigned position = 0;
    for (; (word & 1) == 0; word >>= 1)
        ++position;
    return position;
#endif
}

/// Returns: the position of the highest set bit, counted from 0.
/// Preconditions: `word` is not 0.
constexpr unsigned highest_bit(std::uint64_t word) noexcept
{
#if MEMORY_POOL_GNU_BUILTINS
    return bits_per_word - 1 - static_cast<unsigned>(__builtin_clzll(word));
#else
    unsigned position = 0;
    while ((word >>= 1) != 0)
        ++position;
    return position;
#endif
}

/// Returns: the smallest power of two that is not less than `value`, or 0 if there is none.
constexpr std::size_t power_of_two_at_least(std::size_t value) noexcept
{
    return value <= 1 ? 1 : std::size_t{2} << highest_bit(value - 1);
}

/// Returns: the number of set bits in `word`.
inline unsigned count_bits(std::uint64_t word) noexcept
{
#if MEMORY_POOL_GNU_BUILTINS
    return static_cast<unsigned>(__builtin_popcountll(word));
#else
    unsigned count = 0;
    for (; word != 0; word &= word - 1)
        ++count;
    return count;
#endif
}

/// Returns: the address of `*object`, without `const` and `volatile`.
MEMORY_POOL_ALWAYS_INLINE void* address_of(const volatile void* object) noexcept
{
    return const_cast<void*>(object);
}

/// Returns: the address `bytes` past `from`, as a void pointer for static_cast.
MEMORY_POOL_ALWAYS_INLINE void* address_past(void* from, std::size_t bytes) noexcept
{
    return static_cast<std::byte*>(from) + bytes;
}

/// Returns: whether `a` is a lower address than `b`; they need not point into one object. (std::less does this, too,
///   but its header has 6,000 lines.)
inline bool is_before(const void* a, const void* b) noexcept
{
    return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b);
}

/// Returns: a hash of a number. Similar numbers have dissimilar hashes, and no two numbers have the same hash.
constexpr std::uint64_t mixed(std::uint64_t number) noexcept
{
    number *= 0x9E37'79B9'7F4A'7C15U;
    return number ^ number >> 32U;
}

/// Returns: a word whose `count` bits from `first` upwards are set.
/// Preconditions: `count` is at least 1, and `first + count` at most 64.
constexpr std::uint64_t bit_range(unsigned first, unsigned count) noexcept
{
    return (~std::uint64_t{0} >> (bits_per_word - count)) << first;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
