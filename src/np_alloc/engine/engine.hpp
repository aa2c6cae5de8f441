// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Inline implementation shared by np_alloc and malloc, so that their functions need not call one another.
///
///     allocate:   up to 1 KiB   this thread's magazine                            -> allocate_slowly
///     free:       a block of this thread's slabs   this thread's magazine         -> free_slowly
///
/// Failures return nullptr and set errno, as malloc does. free and realloc make only the checks that cost nothing;
/// misuse goes to the error handler, and is ignored if the handler returns. In the checked build, the functions of
/// checked.hpp wrap these functions. Functions that are not inline and differ between the builds are in plain.cpp and
/// checked.cpp; each build has one of these files.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../hardening/dealloc_mismatch.hpp"
#include "../heaps/heap_registry.hpp"
#include "../heaps/shared_heap.hpp"
#include "../heaps/thread_cache.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"
#include "../support/options.hpp"
#include "checked.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memory_pool::np {
// Constant-initialized and hidden, like the registry. (A `thread_local` object may need construction, so every use
// would check whether the object was constructed.)
MEMORY_POOL_HIDDEN extern __thread thread_state this_thread;

/// Largest request served from a slab.
inline constexpr std::size_t largest_asked_in_slab = largest_in_slab - min_canary;

/// Returns: whether the requested bytes of new blocks are zeroed: NP_ZERO=alloc, in the checked build.
inline bool clears_new_blocks() noexcept
{
    if constexpr (is_checked)
        return (the_options.get(np_option_zero) & NP_ZERO_ALLOC) != 0;
    return false;
}

/// Returns: the slabs, large blocks and free memory of all heaps.
inline page_heap& pages() noexcept
{
    return registry().pages();
}

/// Effects: sets errno, as malloc does if there is no memory.
/// Returns: nullptr.
inline void* out_of_memory() noexcept
{
    errno = ENOMEM;
    return nullptr;
}

// Slow paths.
void* allocate_slowly(std::size_t size_class, std::size_t bytes) noexcept;
void* allocate_more(std::size_t bytes) noexcept;
void free_slowly(void* block) noexcept;
void free_to_full(std::size_t size_class, void* block) noexcept;
void free_sized_slowly(void* block, std::size_t bytes) noexcept;

/// Effects: runs periodic maintenance; called from slow paths.
/// Returns: whether this thread's magazines may be empty now, or slabs freed.
bool run_maintenance() noexcept;

// Other functions.
void* allocate_zeroed(std::size_t count, std::size_t size) noexcept;
void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept;
void* allocate_aligned_zeroed(std::size_t alignment, std::size_t count, std::size_t size) noexcept;
void* reallocate(void* block, std::size_t bytes, std::size_t alignment = alignment_of_all) noexcept;
bool expand(void* block, std::size_t bytes) noexcept;
std::size_t usable_size(const void* block) noexcept;
std::size_t trim() noexcept;

// Shared heaps. Their blocks are freed like all other blocks, and `reallocate` leaves a block in its heap.

/// Returns: a block of `home`. If there is no memory, sets errno and returns nullptr.
void* allocate_in(shared_heap& home, std::size_t bytes, std::size_t alignment = alignment_of_all) noexcept;

/// Returns: a block of `home` that replaces another block of `home`. If `home` gets no memory, a block of another heap,
///   unless the program created `home`.
void* allocate_like_in(shared_heap& home, std::size_t bytes, std::size_t alignment) noexcept;

/// Returns: a block of `home`, filled with zeros.
void* allocate_zeroed_in(shared_heap& home, std::size_t count, std::size_t size,
                         std::size_t alignment = alignment_of_all) noexcept;

/// Effects: reports an invalid block.
/// Returns: the shared heap of a block; nullptr if the block has none or is invalid.
shared_heap* home_of(void* block) noexcept;

/// Effects: reports a block that does not belong to `home`.
/// Returns: whether `block` belongs to `home`.
bool is_block_of(const shared_heap& home, const void* block) noexcept;

/// Returns: the size class for a request of `bytes`; class_count if a large block is needed.
constexpr std::size_t class_for(std::size_t bytes, std::size_t alignment) noexcept
{
    return bytes <= largest_asked_in_slab ? aligned_class(with_canary(bytes), alignment) : class_count;
}

/// Returns: a block of that class, for a request of `bytes`.
MEMORY_POOL_ALWAYS_INLINE void* allocate_in_class(std::size_t size_class, std::size_t bytes) noexcept
{
    void* block = nullptr;
    return MEMORY_POOL_LIKELY(this_thread.cache.pop(size_class, block)) ? block : allocate_slowly(size_class, bytes);
}

/// Effects: caches a block. Calls `free_slowly(block)` if the block is in no slab of this thread, or
///   `free_to_full(size_class, block)` if its magazine is full.
template <class FreeSlowly, class FreeToFull>
MEMORY_POOL_ALWAYS_INLINE void free_or(void* block, FreeSlowly&& free_slowly, FreeToFull&& free_to_full) noexcept
{
    const page_heap::region_type& all = registry().pages().region();
    const std::uintptr_t granule = all.granule_index(block);
    if (MEMORY_POOL_UNLIKELY(!all.is_committed(granule))) {
        free_slowly(block);
        return;
    }
    thread_cache& cache = this_thread.cache;
    const slice_tag size_class = cache.class_in(all.tag_after(granule).load(std::memory_order_relaxed));
    if (MEMORY_POOL_UNLIKELY(size_class >= class_count)) {
        free_slowly(block);
        return;
    }
    if (MEMORY_POOL_UNLIKELY(!cache.push(size_class, block)))
        free_to_full(size_class, block);
}

/// The functions of the engine without checks. The checked build calls them through checked_paths.
struct plain_paths
{
    MEMORY_POOL_ALWAYS_INLINE static void* allocate(std::size_t bytes, allocated_by = allocated_by::malloc) noexcept
    {
        const std::size_t last = bytes - 1; // 0 wraps around
        return MEMORY_POOL_LIKELY(last < largest_small) ? allocate_in_class(last / sizes::step, bytes)
                                                        : allocate_more(bytes);
    }

    MEMORY_POOL_ALWAYS_INLINE static void free(void* block, freed_by = freed_by::free) noexcept
    {
        free_or(block, free_slowly, free_to_full);
    }

    MEMORY_POOL_ALWAYS_INLINE static void free_sized(void* block, std::size_t bytes, freed_by = freed_by::free) noexcept
    {
        free_or(
            block, [bytes](void* slow) { free_sized_slowly(slow, bytes); },
            [bytes](std::size_t, void* slow) { free_sized_slowly(slow, bytes); });
    }
};

using paths_of_build = std::conditional_t<is_checked, checked_paths, plain_paths>;

/// Returns: a block of `bytes`, requested by `function`.
MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes, allocated_by function = allocated_by::malloc) noexcept
{
    return paths_of_build::allocate(bytes, function);
}

/// Effects: frees a block that the program passed to `function`.
MEMORY_POOL_ALWAYS_INLINE void free_block(void* block, freed_by function = freed_by::free) noexcept
{
    paths_of_build::free(block, function);
}

/// Effects: as free_block. `bytes`: the requested size, according to the program.
MEMORY_POOL_ALWAYS_INLINE void free_sized(void* block, std::size_t bytes, freed_by function = freed_by::free) noexcept
{
    paths_of_build::free_sized(block, bytes, function);
}
} // namespace memory_pool::np
