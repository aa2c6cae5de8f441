// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Checks whether all bytes of a range have one value, or each word one of three values. Uses the processor's widest
/// vectors.
///
/// Comparing the memory with itself, shifted by 8 bytes, by `memcmp` reads everything twice. A loop with the
/// architecture's baseline vectors is even slower.
///
/// Thread safety: as for reading the memory.
#pragma once

#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
namespace platform {
/// Returns: whether the first 8 bytes are `expected` and the other bytes repeat them.
/// Preconditions: there are at least 8 bytes.
inline bool are_all_by_comparing(const std::byte* first, std::size_t bytes, std::uint64_t expected) noexcept
{
    // The second comparison compares each byte with the byte 8 before it, so all bytes repeat the first 8.
    return std::memcmp(first, &expected, sizeof expected) == 0 &&
           std::memcmp(first, first + sizeof expected, bytes - sizeof expected) == 0;
}

#if defined(__x86_64__) && defined(__GNUC__)
using wide_vector = std::uint64_t __attribute__((vector_size(32)));

__attribute__((target("avx2"))) inline wide_vector load_wide(const std::byte* from) noexcept
{
    wide_vector loaded;
    std::memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

/// Preconditions: there are at least 64 bytes.
__attribute__((target("avx2"), noinline)) inline bool are_all_by_vectors(const std::byte* first, std::size_t bytes,
                                                                         std::uint64_t expected) noexcept
{
    constexpr std::size_t step = 2 * sizeof(wide_vector);
    const wide_vector wanted = {expected, expected, expected, expected};
    const std::byte* const last = first + bytes - step; // Some bytes may be read twice.
    wide_vector one = load_wide(last) ^ wanted;
    wide_vector other = load_wide(last + step / 2) ^ wanted;
    for (; first < last; first += step) {
        one |= load_wide(first) ^ wanted;
        other |= load_wide(first + step / 2) ^ wanted;
    }
    one |= other;
    return (one[0] | one[1] | one[2] | one[3]) == 0;
}

/// Returns: a mask of the words that have one of the values.
__attribute__((target("avx2"))) inline auto find_any_of(const std::byte* from,
                                                        const std::array<std::uint64_t, 3>& values) noexcept
{
    const wide_vector loaded = load_wide(from);
    return (loaded == values[0]) | (loaded == values[1]) | (loaded == values[2]);
}

/// Preconditions: there are at least 32 bytes.
__attribute__((target("avx2"), noinline)) inline bool are_any_of_by_vectors(
    const std::byte* first, std::size_t bytes, const std::array<std::uint64_t, 3>& values) noexcept
{
    const std::byte* const last = first + bytes - sizeof(wide_vector); // Some bytes may be read twice.
    auto are_all = find_any_of(last, values);
    for (; first < last; first += sizeof(wide_vector))
        are_all &= find_any_of(first, values);
    return (are_all[0] & are_all[1] & are_all[2] & are_all[3]) != 0;
}
#endif
} // namespace platform

/// Returns: whether all bytes have the value.
/// Preconditions: there are at least 8 bytes.
inline bool are_all(const void* memory, std::size_t bytes, unsigned char value) noexcept
{
    const auto* const first = static_cast<const std::byte*>(memory);
    const std::uint64_t expected = 0x0101'0101'0101'0101U * value;
#if defined(__x86_64__) && defined(__GNUC__)
    constexpr std::size_t min_bytes_for_vectors = 64;
    if (bytes >= min_bytes_for_vectors && MEMORY_POOL_LIKELY(__builtin_cpu_supports("avx2")))
        return platform::are_all_by_vectors(first, bytes, expected);
#endif
    return platform::are_all_by_comparing(first, bytes, expected);
}

/// Returns: whether each word of 8 bytes has one of the values.
/// Preconditions: the address and the size are multiples of 8.
inline bool are_any_of(const void* memory, std::size_t bytes, const std::array<std::uint64_t, 3>& values) noexcept
{
#if defined(__x86_64__) && defined(__GNUC__)
    constexpr std::size_t min_bytes_for_vectors = 32;
    if (bytes >= min_bytes_for_vectors && MEMORY_POOL_LIKELY(__builtin_cpu_supports("avx2")))
        return platform::are_any_of_by_vectors(static_cast<const std::byte*>(memory), bytes, values);
#endif
    const auto* const first = static_cast<const std::uint64_t*>(memory);
    return std::all_of(first, first + bytes / sizeof *first, [&values](std::uint64_t word) {
        return word == values[0] || word == values[1] || word == values[2];
    });
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
