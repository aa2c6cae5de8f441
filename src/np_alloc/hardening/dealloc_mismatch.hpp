// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The matching pairs of allocation and deallocation functions.
///
///     malloc, calloc, realloc               free, free_sized, realloc; free_aligned_sized (alignment up to 16)
///     aligned_alloc (alignment over 16)     free, free_sized, realloc; free_aligned_sized (alignment over 16)
///     new, new[], also their aligned forms  the delete of the same form
///
/// The checked build records the allocation function in the block state. The plain build ignores these arguments.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../slices/size_classes.hpp"
#include "../support/internals.hpp"

#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The allocation function of a block. Fits in three bits.
enum class allocated_by : std::uint8_t
{
    malloc,
    aligned_alloc, ///< Called with an alignment that not every block has.
    new_object,
    new_array,
    new_aligned,
    new_aligned_array,
};

/// A deallocation function. The lower byte has a bit for each matching allocation function.
enum class freed_by : std::uint16_t
{
    free = 0b11,
    realloc = 0x100 | 0b11,
    free_aligned_sized = 0b10,
    free_less_aligned = 0b01, ///< free_aligned_sized with an alignment that every block has.
    delete_object = 1 << 2,
    delete_array = 1 << 3,
    delete_aligned = 1 << 4,
    delete_aligned_array = 1 << 5,
};

MEMORY_POOL_ALWAYS_INLINE constexpr bool are_pair(allocated_by one, freed_by other) noexcept
{
    return (static_cast<unsigned>(other) >> static_cast<unsigned>(one) & 1U) != 0;
}

/// Returns: whether the function allocates blocks aligned to more than alignment_of_all.
constexpr bool is_aligned(allocated_by function) noexcept
{
    return function == allocated_by::aligned_alloc || function == allocated_by::new_aligned ||
           function == allocated_by::new_aligned_array;
}

/// Returns: whether either function is a form of new or delete.
constexpr bool is_of_operators(allocated_by one, freed_by other) noexcept
{
    return one > allocated_by::aligned_alloc ||
           !(are_pair(allocated_by::malloc, other) || are_pair(allocated_by::aligned_alloc, other));
}

/// Returns: the C function recorded for the allocation of a block aligned to `alignment`, or, by
///   free_aligned_sized, for its deallocation.
constexpr allocated_by allocation_aligned_to(std::size_t alignment) noexcept
{
    return alignment <= alignment_of_all ? allocated_by::malloc : allocated_by::aligned_alloc;
}
constexpr freed_by deallocation_aligned_to(std::size_t alignment) noexcept
{
    return alignment <= alignment_of_all ? freed_by::free_less_aligned : freed_by::free_aligned_sized;
}

constexpr const char* name_of(allocated_by function) noexcept
{
    switch (function) {
    case allocated_by::malloc: return "malloc";
    case allocated_by::aligned_alloc: return "aligned_alloc";
    case allocated_by::new_object: return "new";
    case allocated_by::new_array: return "new[]";
    case allocated_by::new_aligned: return "aligned new";
    case allocated_by::new_aligned_array: break;
    }
    return "aligned new[]";
}

constexpr const char* name_of(freed_by function) noexcept
{
    switch (function) {
    case freed_by::free: return "free";
    case freed_by::realloc: return "realloc";
    case freed_by::free_aligned_sized: return "free_aligned_sized";
    case freed_by::free_less_aligned: return "free_aligned_sized with a smaller alignment";
    case freed_by::delete_object: return "delete";
    case freed_by::delete_array: return "delete[]";
    case freed_by::delete_aligned: return "aligned delete";
    case freed_by::delete_aligned_array: break;
    }
    return "aligned delete[]";
}

/// Returns: the name of the matching deallocation function.
constexpr const char* partner_of(allocated_by function) noexcept
{
    switch (function) {
    case allocated_by::malloc: return "free";
    case allocated_by::aligned_alloc: return "free, or free_aligned_sized and its alignment";
    case allocated_by::new_object: return "delete";
    case allocated_by::new_array: return "delete[]";
    case allocated_by::new_aligned: return "delete and its alignment";
    case allocated_by::new_aligned_array: break;
    }
    return "delete[] and its alignment";
}
} // namespace memory_pool::np
