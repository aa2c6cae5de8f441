// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Heaps of the program: the C interface of shared heaps.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>

#include "../engine/block_lookup.hpp"
#include "../heaps/shared_heap.hpp"
#include "../support/arguments.hpp"
#include "../support/misuse.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;

namespace {
/// Effects: reports a pointer that is not a heap: the program never created the heap, or has destroyed it.
MEMORY_POOL_SLOW_PATH void report_no_heap(const void* pointer) noexcept
{
    const np::slice_tag tag = np::tag_of(pointer);
    if (np::report_if_wrong(tag, pointer))
        return;
    const bool was_one = (tag & ~np::class_bits) == np::registry().heaps().internal.own_tag();
    np::report_misuse(was_one ? memory_pool::error_kind::double_free : memory_pool::error_kind::foreign_pointer,
                      pointer, 0, "np_heap",
                      "destroy each heap of np_heap_create once; set the pointer to nullptr afterwards");
}

/// Effects: reports an invalid heap, and sets errno to EINVAL.
/// Returns: the heap; nullptr if the heap is invalid.
np::shared_heap* find(np_heap* heap) noexcept
{
    np::shared_heap* const found = np::registry().heaps().living(heap);
    if (found == nullptr)
        errno = EINVAL;
    return found;
}

/// Effects: reports a block that does not belong to `heap`, and sets errno to EINVAL.
/// Returns: whether the block belongs to `heap`.
bool has(np_heap* heap, void* block) noexcept
{
    const np::shared_heap* const home = find(heap);
    const bool has_block = home != nullptr && np::is_block_of(*home, block);
    if (!has_block)
        errno = EINVAL;
    return has_block;
}

void* allocate(np_heap* heap, std::size_t bytes, std::size_t alignment = np::alignment_of_all) noexcept
{
    np::shared_heap* const home = find(heap);
    return home != nullptr ? np::allocate_in(*home, bytes, alignment) : nullptr;
}

void* allocate_zeroed(np_heap* heap, std::size_t count, std::size_t size,
                      std::size_t alignment = np::alignment_of_all) noexcept
{
    np::shared_heap* const home = find(heap);
    return home != nullptr ? np::allocate_zeroed_in(*home, count, size, alignment) : nullptr;
}

void* reallocate(np_heap* heap, void* block, std::size_t bytes, std::size_t alignment = np::alignment_of_all) noexcept
{
    if (block == nullptr)
        return allocate(heap, bytes, alignment);
    return has(heap, block) ? np::reallocate(block, bytes, alignment) : nullptr;
}

char* copy(np_heap* heap, const char* text, std::size_t length) noexcept
{
    return np::copy_text(text, length, [heap](std::size_t bytes) { return allocate(heap, bytes); });
}

/// Effects: calls `free()` if `block` belongs to `heap`. Preserves errno.
template <class Free>
void free_if_owned(np_heap* heap, void* block, Free&& free) noexcept
{
    const np::errno_as_it_was kept;
    if (block != nullptr && has(heap, block))
        free();
}
} // namespace

extern "C" {
np_heap* np_heap_create(void) noexcept
{
    return np_heap_create_named(nullptr);
}

np_heap* np_heap_create_named(const char* name) noexcept
{
    const bool has_name = name != nullptr && *name != '\0';
    np::shared_heap* const created =
        has_name ? np::registry().heaps().create_heap(name) : np::registry().heaps().create_heap();
    if (created == nullptr)
        errno = ENOMEM;
    return reinterpret_cast<np_heap*>(created);
}

void* np_heap_alloc(np_heap* heap, size_t bytes) noexcept
{
    return allocate(heap, bytes);
}

void* np_heap_zalloc(np_heap* heap, size_t bytes) noexcept
{
    return allocate_zeroed(heap, 1, bytes);
}

void* np_heap_calloc(np_heap* heap, size_t count, size_t size) noexcept
{
    return allocate_zeroed(heap, count, size);
}

void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) noexcept
{
    return reallocate(heap, block, bytes);
}

void* np_heap_reallocarray(np_heap* heap, void* block, size_t count, size_t size) noexcept
{
    return reallocate(heap, block, base::saturating_multiply(count, size));
}

void* np_heap_aligned_alloc(np_heap* heap, size_t alignment, size_t bytes) noexcept
{
    return np::is_alignment(alignment) ? allocate(heap, bytes, alignment) : nullptr;
}

void* np_heap_aligned_calloc(np_heap* heap, size_t alignment, size_t count, size_t size) noexcept
{
    return np::is_alignment(alignment) ? allocate_zeroed(heap, count, size, alignment) : nullptr;
}

void* np_heap_aligned_realloc(np_heap* heap, void* block, size_t alignment, size_t bytes) noexcept
{
    return np::is_alignment(alignment) ? reallocate(heap, block, bytes, alignment) : nullptr;
}

char* np_heap_strdup(np_heap* heap, const char* text) noexcept
{
    return copy(heap, text, std::strlen(text));
}

char* np_heap_strndup(np_heap* heap, const char* text, size_t max_length) noexcept
{
    return copy(heap, text, np::length_of(text, max_length));
}

void np_heap_free(np_heap* heap, void* block) noexcept
{
    free_if_owned(heap, block, [block] { np::free_block(block); });
}

void np_heap_free_sized(np_heap* heap, void* block, size_t bytes) noexcept
{
    free_if_owned(heap, block, [block, bytes] { np::free_sized(block, bytes); });
}

void np_heap_free_aligned_sized(np_heap* heap, void* block, [[maybe_unused]] size_t alignment, size_t bytes) noexcept
{
    free_if_owned(heap, block, [=] { np::free_sized(block, bytes, np::deallocation_aligned_to(alignment)); });
}

np_heap* np_heap_of(const void* block) noexcept
{
    np::shared_heap* const home = block != nullptr ? np::home_of(const_cast<void*>(block)) : nullptr;
    return reinterpret_cast<np_heap*>(home != nullptr && np::registry().heaps().is_made(*home) ? home : nullptr);
}

int np_heap_get_statistics_sized(np_heap* heap, np_heap_statistics* statistics, size_t bytes) noexcept
{
    np_heap_statistics result{};
    np::shared_heap* const found = np::registry().heaps().living(heap);
    if (found != nullptr) {
        const np::heap_statistics counted = found->statistics();
        result.blocks_in_use = counted.outstanding_blocks + counted.large_blocks;
        result.bytes_in_use = counted.outstanding_bytes + counted.large_bytes;
        result.bytes_reserved = counted.slab_bytes + counted.large_bytes;
        result.large_blocks = counted.large_blocks;
        result.bytes_large = counted.large_bytes;
        result.slabs = counted.slabs;
    }
    np::write_sized(statistics, bytes, result);
    return found != nullptr ? 0 : EINVAL;
}

void np_heap_clear(np_heap* heap) noexcept
{
    const np::errno_as_it_was kept;
    if (np::shared_heap* const found = np::registry().heaps().living(heap))
        found->free_all();
}

void np_heap_destroy(np_heap* heap) noexcept
{
    if (heap == nullptr)
        return;
    const np::errno_as_it_was kept;
    if (np::registry().heaps().is_heap(heap))
        np::registry().heaps().destroy_heap(*reinterpret_cast<np::shared_heap*>(heap));
    else
        report_no_heap(heap);
}
}
