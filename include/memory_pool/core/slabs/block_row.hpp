// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Adjacent blocks that were freed in ascending or descending order, as two addresses and a step.
///
///     ascending, step = stride:             descending, step = -stride:
///
///      first                  next           next                 first
///        |                     |               |                    |
///        +------+------+------+- - - +         + - - -+------+------+------+
///        | free | free | free |                       | free | free | free |
///        +------+------+------+- - - +         + - - -+------+------+------+
///
///     blocks = (next - first) / step
///
/// After the last block of the slab was freed, `next` is past the end of the slab. No block of another slab can be at
/// that address: there would be no room for the header of that slab.
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/block_span.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A row of freed blocks. A default-constructed row is empty, with nullptr as the next block.
struct block_row
{
    char* first = nullptr;
    char* next = nullptr;
    std::ptrdiff_t step = 0;

    bool empty() const noexcept { return first == next; }

    /// Effects: adds the block at `next` to the row.
    void extend() noexcept { next += step; }

    /// Returns: the blocks.
    block_span span() const noexcept
    {
        return step < 0 ? block_span{next - step, first - step} : block_span{first, next};
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
