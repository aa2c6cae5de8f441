// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The functions of the engine in the checked build: each block is verified when it is allocated, and when it is freed.
///
///     allocate(bytes):  | with room for a canary           | -> pattern intact? -> state, canary    -> the program
///     free(block):      in use? -> canary intact? -> a pair? -> fill             -> | quarantine | -> magazine
///
///     block in use      = its state says so, and the bytes behind those that were asked for are the canary
///     block given back  = its state says so, and all of its bytes have the fill pattern
///
/// So what is freed twice, by whatever thread and wherever the block is meanwhile, is found when it is freed, as is
/// what is no block; what is written behind a block, when that is freed, resized, or asked for its size; and what is
/// written to a free block, when that is allocated again. Blocks outside of the region have no state, and are not
/// filled: a table says which are in use, and the memory of one that is free is gone.
///
/// A block of 0 bytes lies in a guarded page.
///
/// Thread safety: any thread.
#pragma once

#include "../hardening/pairs.hpp"
#include "../support/internals.hpp"

#include <cstddef>

namespace memory_pool::np {
/// What is inline in the plain build: see plain_paths. Defined only where blocks are checked.
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

/// Returns: whether the program, or one of its libraries, has an operator new or delete of its own. It may call another
///   form, or malloc or free, so mismatches with operators need not be errors. Always false except in libnp_malloc.
bool operators_are_replaced() noexcept;
} // namespace memory_pool::np
