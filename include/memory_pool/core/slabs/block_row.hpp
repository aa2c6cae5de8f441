// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that come back side by side, in ascending or descending order, held as two addresses and a step.
///
///     ascending, step = stride:             descending, step = -stride:
///
///      first                  next           next                 first
///        |                     |               |                    |
///        +------+------+------+- - - +         + - - -+------+------+------+
///        | back | back | back |                       | back | back | back |
///        +------+------+------+- - - +         + - - -+------+------+------+
///
///     blocks = (next - first) / step
///
/// `next` runs past the end of the slab when the last block there has come back. No block of another slab is at that
/// address: between two that are a stride apart there is no room for a slab's header.
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/block_span.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A row of blocks that have come back. Default-made it is empty, and the block that comes next is nullptr.
struct block_row
{
    char* first = nullptr;
    char* next = nullptr;
    std::ptrdiff_t step = 0;

    bool empty() const noexcept { return first == next; }

    /// Effects: takes the block that continues the row in.
    void extend() noexcept { next += step; }

    /// Returns: the blocks.
    block_span span() const noexcept
    {
        return step < 0 ? block_span{next - step, first - step} : block_span{first, next};
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
