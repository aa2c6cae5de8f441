// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tells AddressSanitizer and Valgrind which bytes of a pool the program may access.
///
/// A pool takes large chunks from upstream. To these tools, every byte of a chunk is accessible. Built with
/// AddressSanitizer, or with MEMORY_POOL_VALGRIND=1, the pool therefore makes all blocks that are not in use
/// inaccessible, with every policy. In other builds, these functions are empty.
///
/// Thread safety: any thread, each with bytes of its own.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>
#if MEMORY_POOL_ASAN
#include <algorithm>
#include <cstdint>
#include <cstring>
#endif

#if MEMORY_POOL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif
#if MEMORY_POOL_MSAN
#include <sanitizer/msan_interface.h>
#endif
#if MEMORY_POOL_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Effects: makes the `bytes` at `memory` inaccessible until a block there is allocated.
inline void forbid_access([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_poison_memory_region(memory, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, (void)VALGRIND_MAKE_MEM_NOACCESS(memory, bytes);)
}

/// Effects: makes the `bytes` at `memory` accessible.
inline void permit_access([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_unpoison_memory_region(memory, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);)
}

/// Returns: whether AddressSanitizer stops at an access to the byte at `address`, which may be any pointer.
MEMORY_POOL_ALWAYS_INLINE bool is_access_forbidden([[maybe_unused]] const void* address) noexcept
{
#if MEMORY_POOL_ASAN
    // Not __asan_address_is_poisoned, which crashes for a wild pointer without shadow memory.
    return __asan_region_is_poisoned(const_cast<void*>(address), 1) != nullptr;
#else
    return false;
#endif
}

/// Effects: makes LeakSanitizer search the `bytes` at `memory` for pointers: a block that they point to is not a leak.
///   LeakSanitizer searches malloc's blocks anyway, but not pages of the system.
inline void search_for_pointers([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __lsan_register_root_region(memory, bytes);)
}

/// Effects: ends a search that `search_for_pointers` began with the same arguments.
inline void stop_searching_for_pointers([[maybe_unused]] const void* memory,
                                        [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __lsan_unregister_root_region(memory, bytes);)
}

/// Effects: announces a new pool, identified by an address that no other pool has.
inline void pool_made([[maybe_unused]] const void* pool) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_CREATE_MEMPOOL(pool, 0, 0);)
}

/// Effects: announces the end of `pool` and of all its blocks.
inline void pool_gone([[maybe_unused]] const void* pool) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_DESTROY_MEMPOOL(pool);)
}

/// True if AddressSanitizer or Valgrind tracks each block.
inline constexpr bool tools_watch_blocks = MEMORY_POOL_ASAN != 0 || MEMORY_POOL_VALGRIND != 0;

/// Effects: makes a block accessible, with undefined contents.
MEMORY_POOL_ALWAYS_INLINE void block_allocated([[maybe_unused]] const void* pool, [[maybe_unused]] const void* block,
                                               [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_unpoison_memory_region(block, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MEMPOOL_ALLOC(pool, block, bytes);)
}

/// Effects: marks the contents of a block as defined: they are unchanged since the block was freed.
MEMORY_POOL_ALWAYS_INLINE void block_content_is_kept([[maybe_unused]] const void* block,
                                                     [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MAKE_MEM_DEFINED(block, bytes);)
}

/// Effects: keeps the `bytes` at `memory` readable after the object there was destroyed. Otherwise, MemorySanitizer
///   would treat them as uninitialized.
inline void content_outlives_object([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_MSAN, __msan_unpoison(memory, bytes);)
}

/// Effects: makes a freed block inaccessible.
MEMORY_POOL_ALWAYS_INLINE void block_given_back([[maybe_unused]] const void* pool, [[maybe_unused]] const void* block,
                                                [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_poison_memory_region(block, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MEMPOOL_FREE(pool, block);)
}

/// Effects: as block_allocated, for an arena.
MEMORY_POOL_ALWAYS_INLINE void arena_block_allocated(const void* arena, void* block, std::size_t bytes) noexcept
{
    block_allocated(arena, block, bytes);
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, std::memset(block, 0, std::min(bytes, sizeof(std::uintptr_t)));)
}

/// Effects: as block_given_back, for an arena. An arena keeps no record of its blocks: under AddressSanitizer, a mark
///   in the block distinguishes a free block from a block in use that the program has poisoned itself.
/// Returns: false, without any effect, if AddressSanitizer shows that the block is already free.
MEMORY_POOL_ALWAYS_INLINE bool arena_block_given_back(const void* arena, void* block, std::size_t bytes) noexcept
{
#if MEMORY_POOL_ASAN
    const std::uintptr_t mark = ~reinterpret_cast<std::uintptr_t>(block);
    const std::size_t marked_bytes = std::min(bytes, sizeof mark);
    const bool may_be_free = marked_bytes != 0 && is_access_forbidden(block);
    permit_access(block, marked_bytes);
    const bool is_free = may_be_free && std::memcmp(block, &mark, marked_bytes) == 0;
    std::memcpy(block, &mark, marked_bytes);
    forbid_access(block, marked_bytes);
    if (is_free)
        return false;
#endif
    block_given_back(arena, block, bytes);
    return true;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
