// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports of misuse of np_alloc, and how many there were.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "options.hpp"

#include <atomic>
#include <cstddef>

namespace memory_pool::np
{
/// Reports so far.
inline std::atomic<std::size_t> misuse_reports{0};

/// Effects: says, for the first of them, that a pointer from elsewhere is ignored.
MEMORY_POOL_SLOW_PATH inline void ignore_foreign(const void* pointer) noexcept
{
    static std::atomic<bool> was_said{false};
    if (!was_said.exchange(true, std::memory_order_relaxed))
        base::print(
            base::message(
                "np_alloc: foreign pointer: address %p is not of np_alloc, and ignored, as are any that follow\n"
                "  remedy: free a block by the malloc that it is from; NP_FATAL_FOREIGN=1 ends the program here",
                pointer)
                .c_str());
}

/// Effects: reports what was done to `block`, which has `block_bytes`, or 0 if nobody knows. `where` is what it was given to.
///   Pointers from elsewhere are ignored instead if the user wants that.
MEMORY_POOL_SLOW_PATH inline void report_misuse(error kind, const void* block, std::size_t block_bytes,
                                                const char* where = "np_alloc") noexcept
{
    misuse_reports.fetch_add(1, std::memory_order_relaxed);
    if (kind == error::foreign_pointer && the_options.get(np_option_fatal_foreign) == 0)
        ignore_foreign(block);
    else
        base::report_misuse(kind, block, block_bytes, where);
}
} // namespace memory_pool::np
