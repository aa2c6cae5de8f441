// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The functions of the engine in the checked build, which verify each block when it is allocated and when it is freed.
///
///     allocate(bytes):  | with room for a canary           | -> pattern intact? -> state, canary    -> the program
///     free(block):      in use? -> canary intact? -> functions match? -> fill    -> | quarantine | -> magazine
///
///     block in use   state: in use     the bytes behind the requested bytes are the canary
///     freed block    state: freed      all of its bytes hold the fill pattern
///
/// A free detects a double free, by any thread and wherever the block has gone, and an address where no block begins. A
/// write behind a block is detected when the program frees or resizes the block, or asks for its size. A write to a
/// free block is detected when the block is allocated again. Blocks outside of the region have no state and are not
/// filled: a table contains the blocks in use, and a freed block has no memory.
///
/// A block of 0 bytes lies in a guarded page.
///
/// Thread safety: any thread.
#pragma once

#include "../hardening/dealloc_mismatch.hpp"
#include "../support/internals.hpp"

#include <cstddef>

namespace memory_pool::np {
/// The counterpart of plain_paths in the checked build, where it is defined.
struct checked_paths
{
    static void* allocate(std::size_t bytes, allocated_by function = allocated_by::malloc) noexcept;
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, allocated_by function) noexcept;
    /// Effects: reports if `function` does not match the allocation.
    static void free(void* block, freed_by function = freed_by::free) noexcept;
    /// Effects: as `free`; reports if `bytes` is not the requested size.
    static void free_sized(void* block, std::size_t bytes, freed_by function = freed_by::free) noexcept;
    /// Effects: records `function` as the allocation function, if `block` is a block in use.
    static void note_function(void* block, allocated_by function) noexcept;
};

/// Returns: whether the program or one of its libraries replaces operator new or delete. A replaced operator may call
///   another form, or malloc or free, so mismatches with operators need not be errors. Always false except in
///   libnp_malloc.
bool operators_are_replaced() noexcept;
} // namespace memory_pool::np
