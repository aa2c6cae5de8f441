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
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
