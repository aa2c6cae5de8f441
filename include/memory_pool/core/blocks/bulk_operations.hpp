// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Many blocks at once, for every pool that can hand out one.
///
/// Thread safety: that of the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>

#include <cstddef>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// The bulk forms of `Pool`, which derives from this.
template <class Pool>
class bulk_operations
{
public:
    /// Effects: hands out `count` blocks and writes their addresses from `blocks` on.
    /// Returns: `count`.
    /// Throws: as `allocate`. No block is handed out then.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    std::size_t allocate_bulk(void** blocks, std::size_t count)
    {
        std::size_t done = 0;
        base::failure_guard guard([&] { pool().deallocate_bulk(blocks, done); });
        for (; done != count; ++done)
            blocks[done] = pool().allocate();
        guard.succeeded();
        return count;
    }

    /// Effects: hands out up to `count` blocks, as many as are to be had, and writes their addresses from `blocks` on.
    /// Returns: how many.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    std::size_t try_allocate_bulk(void** blocks, std::size_t count) noexcept
    {
        for (std::size_t i = 0; i != count; ++i) {
            blocks[i] = pool().try_allocate();
            if (blocks[i] == nullptr)
                return i;
        }
        return count;
    }

    /// Effects: takes `count` blocks back, as `deallocate` does.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    void deallocate_bulk(void* const* blocks, std::size_t count) noexcept
    {
        for (std::size_t i = 0; i != count; ++i)
            pool().deallocate(blocks[i]);
    }

private:
    friend Pool; // The only class that may derive from it.
    bulk_operations() = default;
    ~bulk_operations() = default;

    Pool& pool() noexcept { return static_cast<Pool&>(*this); }
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
