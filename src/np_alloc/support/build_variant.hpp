// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which build of the library this is: the plain one, or the checked one.
///
/// Thread safety: a constant.
#pragma once

/// The checked build defines it to 1.
#ifndef MEMORY_POOL_NP_CHECKED
#define MEMORY_POOL_NP_CHECKED 0
#endif

#include <cstddef>

namespace memory_pool::np {
/// Is each block verified when it is allocated and when it is freed? See checked.hpp.
inline constexpr bool is_checked = MEMORY_POOL_NP_CHECKED != 0;

/// At the end of each slab, in bytes: a guard page. Where pages have another size, it is not guarded.
inline constexpr std::size_t guard_bytes = is_checked ? 4096 : 0;

/// The least canary behind the requested bytes of a block of a slab.
inline constexpr std::size_t least_canary = is_checked ? 8 : 0;

/// Returns: bytes of a block of a slab for a request of `bytes`. With a canary, more than 16: the library may write 16
///   bytes into a free block, and must not overwrite its canary.
constexpr std::size_t with_canary(std::size_t bytes) noexcept
{
    constexpr std::size_t least_bytes = 9;
    return is_checked ? (bytes > least_bytes ? bytes : least_bytes) + least_canary : bytes;
}
} // namespace memory_pool::np
