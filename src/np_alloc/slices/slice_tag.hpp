// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The tag of a slice: one word that names its owner and its size class.
///
///     slice tag:               | address of a heap, a multiple of 128 | class |      a slab of that heap
///                              |                  0                   |  127  |      first slice of a large block
///                              |                  0                   |  126  |      other slice of a large block
///                              |                  0                   |   0   |      neither
///
/// Thread safety: pure functions.
#pragma once

#include "size_classes.hpp"

#include <cstdint>

namespace memory_pool::np {
/// The owner and the size class of a slice.
using slice_tag = std::uintptr_t;
inline constexpr slice_tag class_bits = 127;
inline constexpr slice_tag large_block = 127;
inline constexpr slice_tag inside_large_block = 126;
inline constexpr slice_tag mmap_block = 125; ///< Of a block outside of the region; no slice has it.
inline constexpr slice_tag no_owner = 0;

/// Returns: whether a slice with that tag is part of a slab.
constexpr bool is_of_slab(slice_tag tag) noexcept
{
    return tag > class_bits;
}

static_assert(class_count <= mmap_block, "a class and the mark of large blocks must differ");
} // namespace memory_pool::np
