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

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace np = memory_pool::np;
namespace base = memory_pool::base;
namespace os = memory_pool::os;

// What <stdlib.h> and <malloc.h> declare with attributes of their own is not declared here a second time, but defined; with the
// names of parameters that those have.
#define MEMORY_POOL_EXPORTED extern "C" __attribute__((visibility("default")))

MEMORY_POOL_EXPORTED void* malloc(std::size_t size)
{
    return np::allocate(size);
}

MEMORY_POOL_EXPORTED void free(void* ptr)
{
    np::free_block(ptr);
}

MEMORY_POOL_EXPORTED void* calloc(std::size_t nmemb, std::size_t size)
{
    return np::allocate_zeroed(nmemb, size);
}

MEMORY_POOL_EXPORTED void* realloc(void* ptr, std::size_t size)
{
    return np::reallocate(ptr, size);
}

MEMORY_POOL_EXPORTED void* reallocarray(void* ptr, std::size_t nmemb, std::size_t size)
{
    return np_reallocarray(ptr, nmemb, size);
}

MEMORY_POOL_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    return np_aligned_alloc(alignment, size);
}

/// As the C library's: an alignment that is none is rounded up to one.
MEMORY_POOL_EXPORTED void* memalign(std::size_t alignment, std::size_t bytes)
{
    return np_aligned_alloc(base::power_of_two_at_least(alignment != 0 ? alignment : 1), bytes);
}

MEMORY_POOL_EXPORTED int posix_memalign(void** memptr, std::size_t alignment, std::size_t size)
{
    return np_posix_memalign(memptr, alignment, size);
}

MEMORY_POOL_EXPORTED void* valloc(std::size_t size)
{
    return np_aligned_alloc(os::page_size(), size);
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

/// What glibc calls mallinfo2, as the function.
struct figures_of_glibc
{
    std::size_t arena;    ///< Bytes reserved, but for large blocks.
    std::size_t ordblks;  ///< Unknown: 0.
    std::size_t smblks;   ///< Unknown: 0.
    std::size_t hblks;    ///< Large blocks.
    std::size_t hblkhd;   ///< Bytes in those.
    std::size_t usmblks;  ///< The most bytes reserved at one time.
    std::size_t fsmblks;  ///< Bytes at hand of threads.
    std::size_t uordblks; ///< Bytes in use, but for large blocks.
    std::size_t fordblks; ///< The other bytes of `arena`.
    std::size_t keepcost; ///< Bytes that malloc_trim would give back.
};

MEMORY_POOL_EXPORTED figures_of_glibc mallinfo2()
{
    np_statistics all;
    np_get_statistics(&all);
    // While other threads are at work, they need not fit together.
    const std::size_t in_use = all.bytes_in_use - std::min(all.bytes_in_use, all.bytes_large);
    figures_of_glibc info{};
    info.arena = all.bytes_reserved - all.bytes_large;
    info.hblks = all.large_blocks;
    info.hblkhd = all.bytes_large;
    info.usmblks = all.peak_bytes_reserved;
    info.fsmblks = all.bytes_at_hand;
    info.uordblks = std::min(in_use, info.arena);
    info.fordblks = info.arena - info.uordblks;
    info.keepcost = all.bytes_dirty;
    return info;
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
