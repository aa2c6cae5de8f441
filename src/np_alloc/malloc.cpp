// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// malloc and its relatives, by their own names: for a library that is loaded before the C library's.
///
/// operator new and delete are in operators.cpp.
///
/// Thread safety: any thread.
#include "engine.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/pages.hpp>

#include <cerrno>
#include <cstddef>

namespace np = memory_pool::np;
namespace base = memory_pool::base;
namespace os = memory_pool::os;

// What <stdlib.h> and <malloc.h> declare with attributes of their own is not declared here a second time, but defined.
#define MEMORY_POOL_EXPORTED extern "C" __attribute__((visibility("default")))

MEMORY_POOL_EXPORTED void* malloc(std::size_t bytes)
{
    return np::allocate(bytes);
}

MEMORY_POOL_EXPORTED void free(void* block)
{
    np::free_block(block);
}

MEMORY_POOL_EXPORTED void* calloc(std::size_t count, std::size_t size)
{
    return np::allocate_zeroed(count, size);
}

MEMORY_POOL_EXPORTED void* realloc(void* block, std::size_t bytes)
{
    return np::reallocate(block, bytes);
}

MEMORY_POOL_EXPORTED void* reallocarray(void* block, std::size_t count, std::size_t size)
{
    return np_reallocarray(block, count, size);
}

MEMORY_POOL_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes)
{
    return np_aligned_alloc(alignment, bytes);
}

/// As the C library's: an alignment that is none is rounded up to one.
MEMORY_POOL_EXPORTED void* memalign(std::size_t alignment, std::size_t bytes)
{
    return np_aligned_alloc(base::power_of_two_at_least(alignment != 0 ? alignment : 1), bytes);
}

MEMORY_POOL_EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes)
{
    return np_posix_memalign(block, alignment, bytes);
}

MEMORY_POOL_EXPORTED void* valloc(std::size_t bytes)
{
    return np_aligned_alloc(os::page_size(), bytes);
}

MEMORY_POOL_EXPORTED void* pvalloc(std::size_t bytes)
{
    const std::size_t whole_pages = base::saturating_add(bytes, os::page_size() - 1) & ~(os::page_size() - 1);
    if (whole_pages < bytes) {
        errno = ENOMEM;
        return nullptr;
    }
    return np_aligned_alloc(os::page_size(), whole_pages);
}

MEMORY_POOL_EXPORTED std::size_t malloc_usable_size(void* block)
{
    return np::usable_size(block);
}

MEMORY_POOL_EXPORTED int malloc_trim(std::size_t)
{
    return np::trim() != 0 ? 1 : 0;
}

MEMORY_POOL_EXPORTED void cfree(void* block)
{
    np::free_block(block);
}

MEMORY_POOL_EXPORTED void free_sized(void* block, std::size_t bytes)
{
    np_free_sized(block, bytes);
}

MEMORY_POOL_EXPORTED void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes)
{
    np_free_aligned_sized(block, alignment, bytes);
}
