// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `PoolAllocator`, the interface of the library poolAllocator, over concurrent_block_pool.
///
///     PoolAllocator(s, n) -> [ s bytes | s bytes | ... ]  n blocks, each at a multiple of 64 bytes
///
/// Differences from the original:
/// - A freed block is available to every thread, even after the thread that freed it has ended.
/// - A thread may use any number of pools in turn.
/// - nullptr may be freed. Invalid sizes are rejected.
/// - There are no statistics. basic_concurrent_block_pool<counting_policy> provides them.
/// - Include this header instead of declaring the class: a forward declaration by the program,
///   `class PoolAllocator;`, declares another class.
///
/// Include path: drop_in/ and include/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: any thread, except for the destructor, during which no other thread may use the pool.
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
    /// Throws: std::invalid_argument if an argument is 0; memory_pool::size_overflow, which is a std::bad_alloc, if the
    ///   total size overflows; std::bad_alloc if out of memory.
    /// Complexity: O(1).
    PoolAllocator(std::size_t object_size, std::size_t pool_size) : blocks_(object_size, options_for(pool_size)) {}

    PoolAllocator(const PoolAllocator&) = delete;
    PoolAllocator& operator=(const PoolAllocator&) = delete;

    /// Effects: frees the memory, including blocks in use.
    /// Thread safety: no other thread may use the pool.
    ~PoolAllocator() = default;

    /// Returns: a block, aligned to 64 bytes, with undefined content; nullptr if all `pool_size` blocks are in use.
    /// Complexity: O(1); linear in threads before it returns nullptr.
    /// Thread safety: any thread.
    MEMORY_POOL_ALWAYS_INLINE void* allocate_object() noexcept { return blocks_.try_allocate(); }

    /// Effects: frees a block. Ignores nullptr.
    /// Preconditions: `object` is from this pool and in use.
    /// Complexity: O(1).
    /// Thread safety: any thread, not only the one that allocated the block.
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
