// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Counts what goes to malloc through new, and comes back through delete: heap.cpp replaces those operators of the
/// program.
///
/// Thread safety: one thread.
#pragma once

#include <cstddef>

namespace tutorial {
/// What the heap was asked for since the program began.
struct heap_use
{
    std::size_t mallocs;
    std::size_t bytes;
    std::size_t frees;
};

/// Returns: it.
heap_use heap_so_far() noexcept;

/// Effects: none, but opaque to the compiler, which may elide a new whose object is never used.
void show(const void* object) noexcept;
} // namespace tutorial
