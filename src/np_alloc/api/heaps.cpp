// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Heaps that a program makes: shared heaps under another name.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include "../engine/block_lookup.hpp"
#include "../heaps/shared_heap.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"

#include <cerrno>
#include <cstddef>

namespace np = memory_pool::np;

namespace {
/// Effects: reports a pointer where no heap begins that the program has made and not destroyed.
MEMORY_POOL_SLOW_PATH void report_no_heap(const void* pointer) noexcept
{
    const np::slice_tag tag = np::tag_of(pointer);
    if (np::report_if_wrong(tag, pointer))
        return;
    const bool was_one = (tag & ~np::class_bits) == np::registry().internal().own_tag();
    np::report_misuse(was_one ? memory_pool::error::double_free : memory_pool::error::foreign_pointer, pointer, 0,
                      "np_heap", "destroy what np_heap_create has made, once; set the pointer to nullptr afterwards");
}
} // namespace

extern "C" {
np_heap* np_heap_create(void) noexcept
{
    np::shared_heap* const created = np::registry().create_heap();
    if (created == nullptr)
        errno = ENOMEM;
    return reinterpret_cast<np_heap*>(created);
}

void* np_heap_alloc(np_heap* heap, size_t bytes) noexcept
{
    np::shared_heap* const its = np::shared_heap::living(heap);
    return its != nullptr ? np::allocate_in(*its, bytes) : nullptr;
}

void* np_heap_calloc(np_heap* heap, size_t count, size_t size) noexcept
{
    np::shared_heap* const its = np::shared_heap::living(heap);
    return its != nullptr ? np::allocate_zeroed_in(*its, count, size) : nullptr;
}

void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) noexcept
{
    if (block == nullptr)
        return np_heap_alloc(heap, bytes);
    const np::shared_heap* const its = np::shared_heap::living(heap);
    return its != nullptr && np::is_block_of(*its, block) ? np::reallocate(block, bytes) : nullptr;
}

void np_heap_free(np_heap* heap, void* block) noexcept
{
    if (block == nullptr)
        return;
    const np::shared_heap* const its = np::shared_heap::living(heap);
    if (its != nullptr && np::is_block_of(*its, block))
        np::free_block(block);
}

void np_heap_destroy(np_heap* heap) noexcept
{
    if (heap == nullptr)
        return;
    const np::errno_as_it_was kept;
    if (np::registry().is_heap(heap))
        np::registry().destroy_heap(*reinterpret_cast<np::shared_heap*>(heap));
    else
        report_no_heap(heap);
}
}
