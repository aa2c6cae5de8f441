// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Distinguishes the plain build of the library from the checked build.
///
/// Thread safety: a constant.
#pragma once

/// The checked build defines this as 1.
#ifndef MEMORY_POOL_NP_CHECKED
#define MEMORY_POOL_NP_CHECKED 0
#endif

#include <cstddef>

namespace memory_pool::np {
/// True if each block is verified when it is allocated and freed: see checked.hpp.
inline constexpr bool is_checked = MEMORY_POOL_NP_CHECKED != 0;

/// Bytes of the guard page at the end of each slab. On systems with another page size, these bytes are not guarded.
inline constexpr std::size_t guard_bytes = is_checked ? 4096 : 0;

/// The smallest canary behind the requested bytes of a block of a slab.
inline constexpr std::size_t min_canary = is_checked ? 8 : 0;

/// Returns: minimum bytes of a slab's block for a request of `bytes`. With a canary, more than 16: the library may
///   write 16 bytes into a free block, and must not overwrite the canary.
constexpr std::size_t with_canary(std::size_t bytes) noexcept
{
    constexpr std::size_t min_bytes = 9;
    return is_checked ? (bytes > min_bytes ? bytes : min_bytes) + min_canary : bytes;
}
} // namespace memory_pool::np
