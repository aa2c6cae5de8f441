// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What there is to know about the heap behind new and delete. heap.cpp replaces the global operators new and delete by
/// ones that count, and else do what the standard library's do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tour {
/// Whether `heap_calls` counts. Not in programs built with a sanitizer, which has operators of its own.
extern const bool heap_counts_calls;

/// Returns: the number of calls of new that went to malloc in this process, by all threads, including ended ones. Exact
///   if no other thread is running.
std::uint64_t heap_calls() noexcept;

/// Whether `heap_bytes_of` can tell: with glibc's malloc only.
extern const bool heap_knows_block_sizes;

/// Returns: bytes that the heap uses for the block that begins at `address`, its own header included.
std::size_t heap_bytes_of(const void* address) noexcept;
} // namespace tour
