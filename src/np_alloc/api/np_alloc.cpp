// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The C functions of np_alloc.h.
///
/// Thread safety: any thread.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include "../engine/block_lookup.hpp"
#include "../engine/engine.hpp"
#include "../engine/large_alloc.hpp"
#include "../slices/size_classes.hpp"
#include "../support/arguments.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;

extern "C" {
int np_version(void) noexcept
{
    return NP_ALLOC_VERSION;
}

void* np_alloc(size_t bytes) noexcept
{
    return np::allocate(bytes);
}

void np_free(void* block) noexcept
{
    np::free_block(block);
}

void* np_calloc(size_t count, size_t size) noexcept
{
    return np::allocate_zeroed(count, size);
}

void* np_zalloc(size_t bytes) noexcept
{
    return np::allocate_zeroed(1, bytes);
}

void* np_realloc(void* block, size_t bytes) noexcept
{
    return np::reallocate(block, bytes);
}

void* np_reallocarray(void* block, size_t count, size_t size) noexcept
{
    return np::reallocate(block, base::saturating_multiply(count, size));
}

void* np_aligned_alloc(size_t alignment, size_t bytes) noexcept
{
    return np::is_alignment(alignment) ? np::allocate_aligned(alignment, bytes) : nullptr;
}

void* np_aligned_calloc(size_t alignment, size_t count, size_t size) noexcept
{
    return np::is_alignment(alignment) ? np::allocate_aligned_zeroed(alignment, count, size) : nullptr;
}

void* np_aligned_realloc(void* block, size_t alignment, size_t bytes) noexcept
{
    return np::is_alignment(alignment) ? np::reallocate(block, bytes, alignment) : nullptr;
}

void* np_expand(void* block, size_t bytes) noexcept
{
    return np::expand(block, bytes) ? block : nullptr;
}

char* np_strdup(const char* text) noexcept
{
    return np::copy_text(text, std::strlen(text), &np_alloc);
}

char* np_strndup(const char* text, size_t max_length) noexcept
{
    return np::copy_text(text, np::length_of(text, max_length), &np_alloc);
}

int np_posix_memalign(void** block, size_t alignment, size_t bytes) noexcept
{
    if (!base::is_power_of_two(alignment) || alignment % sizeof(void*) != 0)
        return EINVAL;
    const int error_before = errno;
    void* const aligned = np::allocate_aligned(alignment, bytes);
    errno = error_before;
    if (aligned == nullptr)
        return ENOMEM;
    *block = aligned;
    return 0;
}

size_t np_usable_size(const void* block) noexcept
{
    return np::usable_size(block);
}

size_t np_good_size(size_t bytes) noexcept
{
    if constexpr (np::is_checked)
        return bytes; // The canary lies behind them.
    if (bytes <= np::largest_in_slab)
        return np::sizes::size(np::sizes::of(bytes));
    return np::bytes_in_large(bytes);
}

size_t np_aligned_good_size(size_t alignment, size_t bytes) noexcept
{
    if (!np::is_alignment(alignment))
        return 0;
    if constexpr (np::is_checked)
        return bytes;
    const std::size_t size_class = np::class_for(bytes, alignment);
    return size_class != np::class_count ? np::sizes::size(size_class) : np::bytes_in_large(bytes);
}

void np_free_sized(void* block, size_t bytes) noexcept
{
    np::free_sized(block, bytes);
}

void np_free_aligned_sized(void* block, [[maybe_unused]] size_t alignment, size_t bytes) noexcept
{
    np::free_sized(block, bytes, np::deallocation_aligned_to(alignment));
}

int np_owns(const void* address) noexcept
{
    return np::tag_of(address) != np::no_owner || np::pages().is_in_mmap_block(address) ? 1 : 0;
}

MEMORY_POOL_VISIBLE size_t np_trim(void) noexcept
{
    return np::trim();
}

MEMORY_POOL_VISIBLE void np_thread_idle(void) noexcept
{
    const np::errno_as_it_was kept;
    if (np::this_thread.cache.has_heap())
        np::registry().maintenance().fall(np::this_thread.cache);
}

int np_pressure_fd(void) noexcept
{
    const int descriptor = np::registry().maintenance().pressure().descriptor();
    if (descriptor == -1 && !memory_pool::detail::os::event_counter::is_supported)
        errno = ENOSYS;
    return descriptor;
}
}
