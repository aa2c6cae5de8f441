// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Statistics of the heap behind new and delete. heap.cpp replaces the global operators new and delete by counting
/// versions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tour {
/// True if `heap_calls` counts; false in programs built with a sanitizer, which has its own operators.
extern const bool heap_counts_calls;

/// Returns: the number of calls of new in this process, by all threads, including ended threads. Exact if no other
///   thread is running.
std::uint64_t heap_calls() noexcept;

/// True if `heap_bytes_of` is supported: with glibc's malloc only.
extern const bool heap_knows_block_sizes;

/// Returns: the bytes that the heap uses for the block at `address`, including the heap's header.
std::size_t heap_bytes_of(const void* address) noexcept;
} // namespace tour
