// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The interface of the original np_alloc library over the np_alloc of this library. Supports C++14 programs, too.
//
//     void* np_alloc(size_t bytes);
//     void* np_alloc(size_t bytes, const char file[], int line);
//     void  np_free(void* ptr);
//     void  np_debug_print();
//
// This header also declares the names of the original's np_common.h (`NP_API`, and the types and functions of namespace
// `np`), and includes the standard headers that np_common.h includes. C++14 programs also get the C interface of
// memory_pool/np_alloc.h. Programs in C++17 or later get all of memory_pool/np_alloc.hpp.
//
// Differences from the original:
//
// - Any thread may free a block, even after the thread that allocated it has ended. nullptr may be freed.
// - Sizes are not truncated to 32 bits. If out of memory, np_alloc returns nullptr and sets errno to ENOMEM.
// - Free memory is returned to the OS. There is no pool to create or destroy, and np_alloc prints nothing by itself.
// - np_leak_report() lists blocks in use that were allocated with file and line. With NP_LEAKS=1 in the environment, it
//   also prints them on stderr when the process ends.
// - np_debug_print() prints the statistics of this library, on stderr.
// - `np_alloc(bytes)` and `np_free` have C linkage, and all functions are noexcept: include this header instead of
//   declaring them.
// - `NP_API` is empty. np_alloc is a static library, for Linux and other Unix systems.
// - `np::string`, `np::vector` and `np::array` name the types of std, so that they are not ambiguous in a program with
//   `using namespace np` and `using namespace std`. Two names remain ambiguous: `byte` (std::byte in C++17), and
//   `aligned_alloc` if the C library has it. Write `np::byte` and `np::aligned_alloc`.
// - `np::clz`, `np::ctz`, `np::popcnt` and `np::log2` take every integer type, are constexpr, and are defined for 0.
// - `np::aligned_alloc` takes the size first, like _aligned_malloc. np_free may free these blocks, too.
//
// Include path: drop_in/ and include/. Link the CMake target memory_pool::np_alloc_drop_in, which requires C++14; or
// memory_pool::drop_in and memory_pool::np_alloc, which require C++17. pkg-config: memory_pool_drop_in and
// memory_pool_np_alloc.
//
// Thread safety: any thread.
#pragma once

// As in base/config.hpp: compilers stop at an include file that does not exist, but continue after an #error.
#if __cplusplus < 201402
#include <memory_pool: this header needs C++14: -std=c++14, or CMAKE_CXX_STANDARD 14>
#endif

/// Programs written for the original may ignore results without a warning.
#define MEMORY_POOL_NP_MAY_LOSE_BLOCKS
#include <memory_pool/np_alloc.h>
#if __cplusplus >= 201703
#include <memory_pool/np_alloc.hpp>
#endif
#undef MEMORY_POOL_NP_MAY_LOSE_BLOCKS

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// Prefix of the declarations of the original; empty here.
#define NP_API

#if __cplusplus < 201703
/// Returns: as np_alloc(bytes). `file` and `line` are the call site.
/// Preconditions: `file` stays valid while the block is in use, as `__FILE__` does.
/// Complexity: as np_alloc(bytes).
/// Thread safety: any thread.
inline void* np_alloc(std::size_t bytes, const char file[], int line) noexcept
{
    return np_alloc_at(bytes, file, line);
}
#endif

/// Effects: prints the current statistics on stderr, like np_statistics_print.
/// Complexity: as np_statistics_print.
/// Thread safety: any thread.
inline void np_debug_print() noexcept
{
    np_statistics_print(np_format_text, nullptr, nullptr);
}

namespace np {
using byte = unsigned char;   ///< Not std::byte, even in C++17: programs do arithmetic with bytes.
using int32 = std::int32_t;   ///< A signed integer of 32 bits.
using int64 = std::int64_t;   ///< A signed integer of 64 bits.
using uint32 = std::uint32_t; ///< An unsigned integer of 32 bits.
using uint64 = std::uint64_t; ///< An unsigned integer of 64 bits.

// Using-declarations, which are not ambiguous in a program with `using namespace std`.
using std::array;
using std::string;
using std::vector;
} // namespace np

// NOLINTBEGIN(modernize-concat-nested-namespaces,modernize-type-traits): for C++14.
namespace memory_pool { namespace detail {
/// The unsigned type of 32 or 64 bits to which `Integer` is widened. No type if `Integer` is wider, or not an integer.
template <class Integer>
using widened = std::enable_if_t<std::is_integral<Integer>::value && sizeof(Integer) <= sizeof(np::uint64),
                                 std::conditional_t<sizeof(Integer) <= sizeof(np::uint32), np::uint32, np::uint64>>;

/// The width of the widened type in bits.
template <class Integer>
constexpr np::uint32 width() noexcept
{
    return 8 * sizeof(widened<Integer>);
}

/// Zero-extends the bits of `value`.
template <class Integer>
constexpr np::uint64 bits_of(Integer value) noexcept
{
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a negative character counts as the int that it is promoted to.
    const auto bits = static_cast<widened<Integer>>(value);
    return bits;
}

/// Counts the zeros above the highest set bit; 64 for 0.
constexpr np::uint32 leading_zeros(np::uint64 bits) noexcept
{
    return bits == 0 ? 64 : static_cast<np::uint32>(__builtin_clzll(bits));
}

/// The index of the highest set bit; 0 for 0.
constexpr np::uint32 floor_of_log2(np::uint64 bits) noexcept
{
    return bits == 0 ? 0 : 63 - leading_zeros(bits);
}
}} // namespace memory_pool::detail
// NOLINTEND(modernize-concat-nested-namespaces,modernize-type-traits)

namespace np {
/// Returns: `count` MiB in bytes: `64_MB` is 64 * 2^20.
/// Complexity: O(1).
constexpr std::size_t operator""_MB(unsigned long long count) noexcept
{
    return static_cast<std::size_t>(count) << 20;
}

/// Returns: `count` GiB in bytes: `4_GB` is 4 * 2^30.
/// Complexity: O(1).
constexpr std::size_t operator""_GB(unsigned long long count) noexcept
{
    return static_cast<std::size_t>(count) << 30;
}

// Integers of up to 32 bits are converted to np::uint32, wider integers to np::uint64.

/// Returns: the number of leading zeros; 32 or 64 for 0.
/// Complexity: O(1).
template <class Integer>
constexpr uint32 clz(Integer value) noexcept
{
    return memory_pool::detail::leading_zeros(memory_pool::detail::bits_of(value)) -
           (64 - memory_pool::detail::width<Integer>());
}

/// Returns: the number of trailing zeros; 32 or 64 for 0.
/// Complexity: O(1).
template <class Integer>
constexpr uint32 ctz(Integer value) noexcept
{
    const uint64 bits = memory_pool::detail::bits_of(value);
    return bits == 0 ? memory_pool::detail::width<Integer>() : static_cast<uint32>(__builtin_ctzll(bits));
}

/// Returns: the number of set bits.
/// Complexity: O(1).
template <class Integer>
constexpr uint32 popcnt(Integer value) noexcept
{
    return static_cast<uint32>(__builtin_popcountll(memory_pool::detail::bits_of(value)));
}

/// Returns: the index of the highest set bit, which is the logarithm to base 2, rounded down; 0 for 0.
/// Complexity: O(1).
constexpr uint32 log2(unsigned long long value) noexcept
{
    return memory_pool::detail::floor_of_log2(value);
}

// One overload per type: a template would be ambiguous with std::log2, and an int with ::log2(double).

/// Returns: as the first overload.
constexpr uint32 log2(unsigned long value) noexcept
{
    return memory_pool::detail::floor_of_log2(value);
}

/// Returns: as the first overload.
constexpr uint32 log2(unsigned value) noexcept
{
    return memory_pool::detail::floor_of_log2(value);
}

/// Returns: as the first overload.
constexpr uint32 log2(long long value) noexcept
{
    return log2(static_cast<unsigned long long>(value));
}

/// Returns: as the first overload.
constexpr uint32 log2(long value) noexcept
{
    return log2(static_cast<unsigned long>(value));
}

/// Returns: as the first overload.
constexpr uint32 log2(int value) noexcept
{
    return log2(static_cast<unsigned>(value));
}

/// Returns: a block of at least `size` bytes, aligned to `alignment`; nullptr if `alignment` is not a power of two, or
///   if out of memory. The block also has at least `alignment` bytes, so a program that passes the arguments in C11's
///   order does not overflow it.
/// Complexity: as np_aligned_alloc.
/// Thread safety: any thread.
inline void* aligned_alloc(std::size_t size, std::size_t alignment) noexcept
{
    return np_aligned_alloc(alignment, size < alignment ? alignment : size);
}

/// Effects: frees a block. Ignores nullptr.
/// Preconditions: `block` is from aligned_alloc, or from np_alloc, and in use.
/// Complexity: as np_free.
/// Thread safety: any thread.
inline void aligned_free(void* block) noexcept
{
    np_free(block);
}
} // namespace np
