// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// malloc and related functions under their standard names, for a library that is loaded before the C library.
///
/// operator new and delete are in operators.cpp.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <limits>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;
namespace os = memory_pool::detail::os;

// <stdlib.h> and <malloc.h> declare these functions with attributes. So this file only defines the functions, without
// further declarations, and with the parameter names of the headers.
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

/// As in the C library, an invalid alignment is rounded up to a power of two.
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

namespace {
/// glibc's `struct mallinfo2` with std::size_t, and `struct mallinfo` with int.
template <class Number>
struct statistics_of_glibc
{
    Number arena;    ///< Bytes reserved, without large blocks.
    Number ordblks;  ///< Unknown: 0.
    Number smblks;   ///< Unknown: 0.
    Number hblks;    ///< Large blocks.
    Number hblkhd;   ///< Bytes in large blocks.
    Number usmblks;  ///< Peak of the bytes reserved.
    Number fsmblks;  ///< Bytes cached by threads.
    Number uordblks; ///< Bytes in use, without large blocks.
    Number fordblks; ///< The other bytes of `arena`.
    Number keepcost; ///< Bytes that malloc_trim would release.
};

static_assert(sizeof(statistics_of_glibc<int>) == 10 * sizeof(int));
static_assert(sizeof(statistics_of_glibc<std::size_t>) == 10 * sizeof(std::size_t));

/// Saturates, because statistics taken while other threads run may be inconsistent.
std::size_t difference(std::size_t whole, std::size_t part) noexcept
{
    return whole - std::min(whole, part);
}

statistics_of_glibc<std::size_t> take_statistics_of_glibc() noexcept
{
    np_statistics all;
    np_get_statistics(&all);
    statistics_of_glibc<std::size_t> info{};
    info.arena = difference(all.bytes_reserved, all.bytes_large);
    info.hblks = all.large_blocks;
    info.hblkhd = all.bytes_large;
    info.usmblks = all.peak_bytes_reserved;
    info.fsmblks = all.bytes_cached;
    info.uordblks = std::min(difference(all.bytes_in_use, all.bytes_large), info.arena);
    info.fordblks = info.arena - info.uordblks;
    info.keepcost = all.bytes_dirty;
    return info;
}

/// Converts, saturating at the largest int.
int as_int(std::size_t value) noexcept
{
    return static_cast<int>(std::min<std::size_t>(value, std::numeric_limits<int>::max()));
}
} // namespace

MEMORY_POOL_EXPORTED statistics_of_glibc<std::size_t> mallinfo2()
{
    return take_statistics_of_glibc();
}

/// As mallinfo2, saturating at the largest int.
MEMORY_POOL_EXPORTED statistics_of_glibc<int> mallinfo()
{
    const statistics_of_glibc<std::size_t> all = take_statistics_of_glibc();
    return {as_int(all.arena),   as_int(all.ordblks), as_int(all.smblks),   as_int(all.hblks),    as_int(all.hblkhd),
            as_int(all.usmblks), as_int(all.fsmblks), as_int(all.uordblks), as_int(all.fordblks), as_int(all.keepcost)};
}

/// Prints the text of np_statistics_print on stderr.
MEMORY_POOL_EXPORTED void malloc_stats()
{
    np_statistics_print(np_format_text, nullptr, nullptr);
}

/// Prints glibc's XML format, with the statistics of np_alloc.
MEMORY_POOL_EXPORTED int malloc_info(int options, std::FILE* stream)
{
    if (options != 0)
        return EINVAL;
    const statistics_of_glibc<std::size_t> all = take_statistics_of_glibc();
    (void)std::fprintf(stream,
                       "<malloc version=\"1\">\n"
                       "<total type=\"fast\" count=\"0\" size=\"%zu\"/>\n"
                       "<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
                       "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
                       "<system type=\"current\" size=\"%zu\"/>\n"
                       "<system type=\"max\" size=\"%zu\"/>\n"
                       "</malloc>\n",
                       all.fsmblks, difference(all.fordblks, all.fsmblks), all.hblks, all.hblkhd,
                       all.arena + all.hblkhd, all.usmblks);
    return 0;
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
