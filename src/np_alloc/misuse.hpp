// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports of misuse of np_alloc, and how many there were.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include <atomic>
#include <cstddef>

namespace memory_pool::np
{
/// Reports so far.
inline std::atomic<std::size_t> misuse_reports{0};

/// Effects: reports what was done to `block`, which has `block_bytes`, or 0 if nobody knows. `where` is what it was given to.
MEMORY_POOL_SLOW_PATH inline void report_misuse(error kind, const void* block, std::size_t block_bytes,
                                                const char* where = "np_alloc") noexcept
{
    misuse_reports.fetch_add(1, std::memory_order_relaxed);
    base::report_misuse(kind, block, block_bytes, where);
}
} // namespace memory_pool::np
