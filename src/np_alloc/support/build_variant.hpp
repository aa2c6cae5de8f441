// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which of the two libraries this is: the one that is fast, or the one that checks.
///
/// Thread safety: a constant.
#pragma once

/// The libraries that check define it to 1.
#ifndef MEMORY_POOL_NP_CHECKED
#define MEMORY_POOL_NP_CHECKED 0
#endif

#include <cstddef>

namespace memory_pool::np
{
/// Is each block looked at when it is handed out and when it comes back? See checked.hpp.
inline constexpr bool is_checked = MEMORY_POOL_NP_CHECKED != 0;

/// At the end of each slab, in bytes: a page that nobody may touch. Where pages have another size, it may be touched.
inline constexpr std::size_t guard_bytes = is_checked ? 4096 : 0;
} // namespace memory_pool::np
