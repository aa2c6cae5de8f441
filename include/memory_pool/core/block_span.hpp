// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Free blocks that lie side by side in one slab, held as two addresses.
///
///        begin                           end
///          |                              |
///     -----+---------+---------+----------+-----
///          |  free   |  free   |   free   |
///     -----+---------+---------+----------+-----
///           <stride>
///
///     blocks = (end - begin) / stride
///
/// Taking from the front or adding at the end is one store. That is a third fewer than a magazine needs, and it reads
/// nothing but the span itself.
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool::core
{
/// A row of free blocks. Default-made it is empty and nowhere: no block can be added.
struct block_span
{
    char* begin = nullptr;
    char* end = nullptr;

    bool empty() const noexcept { return begin == end; }

    std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }

    /// Effects: takes the first block out, into `block`.
    /// Returns: whether there was one.
    MEMORY_POOL_ALWAYS_INLINE bool pop_front(void*& block, std::size_t stride) noexcept
    {
        char* const first = begin;
        if (MEMORY_POOL_UNLIKELY(first == end))
            return false;
        begin = first + stride;
        block = first;
        return true;
    }

    /// Returns: whether `block` is where one could be added.
    bool is_next(const void* block) const noexcept { return block == end; }
};
} // namespace memory_pool::core
