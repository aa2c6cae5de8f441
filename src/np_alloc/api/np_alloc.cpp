// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// np_alloc.h: the functions of C.
///
/// Thread safety: any thread.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>

#include "../engine/block_lookup.hpp"
#include "../engine/engine.hpp"
#include "../engine/large_alloc.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"

#include <cerrno>
#include <cstddef>

namespace np = memory_pool::np;
namespace base = memory_pool::base;

extern "C" {
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
    if (!base::is_power_of_two(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return np::allocate_aligned(alignment, bytes);
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
        return bytes; // What lies behind is a canary.
    if (bytes <= np::largest_in_slab)
        return np::sizes::size(np::sizes::of(bytes));
    return np::bytes_in_large(bytes);
}

void np_free_sized(void* block, size_t bytes) noexcept
{
    np::free_sized(block, bytes);
}

void np_free_aligned_sized(void* block, size_t, size_t bytes) noexcept
{
    np::free_sized(block, bytes);
}

int np_owns(const void* address) noexcept
{
    return np::tag_of(address) != np::no_owner || np::pages().is_in_direct(address) ? 1 : 0;
}

size_t np_trim(void) noexcept
{
    return np::trim();
}
}
