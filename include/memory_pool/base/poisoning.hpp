// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tells AddressSanitizer and Valgrind which bytes of a pool a program may touch.
///
/// A pool takes large chunks from upstream, so on their own these tools take every byte in them for fair use. Built
/// under AddressSanitizer, or with MEMORY_POOL_VALGRIND=1, a block that is not in use is out of bounds for the program,
/// in every policy; elsewhere these functions are empty.
///
/// Thread safety: as far as the bytes concerned are not shared.
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
/// Effects: `bytes` at `memory` may not be touched until a block there is handed out.
inline void forbid_access([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_poison_memory_region(memory, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, (void)VALGRIND_MAKE_MEM_NOACCESS(memory, bytes);)
}

/// Effects: `bytes` at `memory` may be read and written.
inline void permit_access([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_unpoison_memory_region(memory, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);)
}

/// Returns: whether AddressSanitizer stops at an access to the byte at `address`, which may be any pointer.
MEMORY_POOL_ALWAYS_INLINE bool is_access_forbidden([[maybe_unused]] const void* address) noexcept
{
#if MEMORY_POOL_ASAN
    // Not __asan_address_is_poisoned, which crashes where a wild pointer has no shadow.
    return __asan_region_is_poisoned(const_cast<void*>(address), 1) != nullptr;
#else
    return false;
#endif
}

/// Effects: pointers that stand in the `bytes` at `memory` count when it is looked for leaks: what they point to is
///   none. LeakSanitizer looks into what malloc gave by itself, but not into pages of the system.
inline void search_for_pointers([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __lsan_register_root_region(memory, bytes);)
}

/// Effects: ends what `search_for_pointers` began with the same arguments.
inline void stop_searching_for_pointers([[maybe_unused]] const void* memory,
                                        [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __lsan_unregister_root_region(memory, bytes);)
}

/// Effects: announces that `pool` exists. `pool` is an address that no other pool has.
inline void pool_made([[maybe_unused]] const void* pool) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_CREATE_MEMPOOL(pool, 0, 0);)
}

/// Effects: announces that `pool` and all its blocks are gone.
inline void pool_gone([[maybe_unused]] const void* pool) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_DESTROY_MEMPOOL(pool);)
}

/// True if AddressSanitizer or Valgrind tracks each block.
inline constexpr bool tools_watch_blocks = MEMORY_POOL_ASAN != 0 || MEMORY_POOL_VALGRIND != 0;

/// Effects: the block may be touched; its content is undefined.
MEMORY_POOL_ALWAYS_INLINE void block_handed_out([[maybe_unused]] const void* pool, [[maybe_unused]] const void* block,
                                                [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_unpoison_memory_region(block, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MEMPOOL_ALLOC(pool, block, bytes);)
}

/// Effects: what is in the block is what was in it when it was given back.
MEMORY_POOL_ALWAYS_INLINE void block_content_is_kept([[maybe_unused]] const void* block,
                                                     [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MAKE_MEM_DEFINED(block, bytes);)
}

/// Effects: what is in `bytes` at `memory` may be read still, although an object has ended there: for MemorySanitizer,
///   that has left nothing.
inline void content_outlives_object([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_MSAN, __msan_unpoison(memory, bytes);)
}

/// Effects: the block may not be touched any more.
MEMORY_POOL_ALWAYS_INLINE void block_given_back([[maybe_unused]] const void* pool, [[maybe_unused]] const void* block,
                                                [[maybe_unused]] std::size_t bytes) noexcept
{
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, __asan_poison_memory_region(block, bytes);)
    MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, VALGRIND_MEMPOOL_FREE(pool, block);)
}

/// Effects: as block_handed_out, for an arena.
MEMORY_POOL_ALWAYS_INLINE void arena_block_handed_out(const void* arena, void* block, std::size_t bytes) noexcept
{
    block_handed_out(arena, block, bytes);
    MEMORY_POOL_IF(MEMORY_POOL_ASAN, std::memset(block, 0, std::min(bytes, sizeof(std::uintptr_t)));)
}

/// Effects: as block_given_back, for an arena. An arena has no record of a block, so that under AddressSanitizer a mark
///   in the block distinguishes a free block from a block in use that the program has poisoned itself.
/// Returns: false, and has no other effect, if AddressSanitizer knows that the block is free.
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
