// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Counts the calls of malloc by new, and of free by delete. heap.cpp replaces these operators of the program.
///
/// Thread safety: one thread.
#pragma once

#include <cstddef>

namespace tutorial {
/// The use of the heap since the program began.
struct heap_use
{
    std::size_t mallocs;
    std::size_t bytes;
    std::size_t frees;
};

/// Returns: the use of the heap so far.
heap_use heap_so_far() noexcept;

/// Effects: none. Opaque to the compiler, which may otherwise elide a new whose object is never used.
void show(const void* object) noexcept;
} // namespace tutorial
