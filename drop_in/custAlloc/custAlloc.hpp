// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `PoolAllocator`, the interface of the library poolAllocator, over concurrent_block_pool.
///
///     PoolAllocator(s, n) -> [ s bytes | s bytes | ... ]  n blocks, each at a multiple of 64 bytes
///
/// Differences from the original: a freed block is available to every thread, also after the thread that freed it has
/// ended; a thread may use any number of pools in turn; nullptr may be freed; invalid sizes are rejected. There is no
/// interface for statistics: use basic_concurrent_block_pool<counting_policy> for them. A forward declaration by the
/// program, `class PoolAllocator;`, declares another class: include this header instead. Include path: drop_in/ and
/// include/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: any thread, but for the destructor, which needs the pool for itself.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/concurrent_block_pool.hpp>

#include <cstddef>

inline namespace MEMORY_POOL_GLOBAL_ABI {
/// A pool of a fixed number of blocks of one size.
class PoolAllocator
{
public:
    /// Effects: creates a pool of `pool_size` blocks of `object_size` bytes, and allocates the memory for all of them.
    /// Throws: std::invalid_argument if either is 0; memory_pool::size_overflow, which is a std::bad_alloc, if the
    ///   total size overflows; std::bad_alloc if there is no memory.
    /// Complexity: O(1).
    PoolAllocator(std::size_t object_size, std::size_t pool_size) : blocks_(object_size, options_for(pool_size)) {}

    PoolAllocator(const PoolAllocator&) = delete;
    PoolAllocator& operator=(const PoolAllocator&) = delete;

    /// Effects: gives the memory back. Blocks still in use are gone.
    /// Thread safety: no other thread may use the pool any more.
    ~PoolAllocator() = default;

    /// Returns: a block, aligned to 64 bytes, with undefined content; nullptr if all `pool_size` are in use.
    /// Complexity: O(1); linear in threads before it returns nullptr.
    /// Thread safety: any thread.
    MEMORY_POOL_ALWAYS_INLINE void* allocate_object() noexcept { return blocks_.try_allocate(); }

    /// Effects: frees a block. nullptr is ignored.
    /// Preconditions: `object` is from this pool and in use.
    /// Complexity: O(1).
    /// Thread safety: any thread, also one that has not handed it out.
    MEMORY_POOL_ALWAYS_INLINE void deallocate_object(void* object) noexcept { blocks_.deallocate(object); }

private:
    static memory_pool::pool_options options_for(std::size_t pool_size) noexcept
    {
        memory_pool::pool_options options;
        options.initial_capacity = options.max_capacity = pool_size;
        options.alignment = 64;
        options.name = "PoolAllocator";
        return options;
    }

    memory_pool::concurrent_block_pool blocks_;
};
} // namespace MEMORY_POOL_GLOBAL_ABI
