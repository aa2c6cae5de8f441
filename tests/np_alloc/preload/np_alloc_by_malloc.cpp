// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Implements the functions of np_alloc by malloc and related functions, so that tests of np_alloc test malloc.
#include <memory_pool/np_alloc.h>

#include <cstddef>
#include <cstdlib>
#include <malloc.h>

extern "C" {
// Functions of C23, which headers of the C library may not declare yet.
void free_sized(void* block, std::size_t bytes);
void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes);

void* np_alloc(std::size_t bytes) noexcept
{
    return std::malloc(bytes);
}

void np_free(void* block) noexcept
{
    std::free(block);
}

void* np_calloc(std::size_t count, std::size_t size) noexcept
{
    return std::calloc(count, size);
}

void* np_realloc(void* block, std::size_t bytes) noexcept
{
    return std::realloc(block, bytes);
}

void* np_reallocarray(void* block, std::size_t count, std::size_t size) noexcept
{
    return reallocarray(block, count, size);
}

void* np_aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept
{
    return std::aligned_alloc(alignment, bytes);
}

int np_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept
{
    return posix_memalign(block, alignment, bytes);
}

std::size_t np_usable_size(const void* block) noexcept
{
    return malloc_usable_size(const_cast<void*>(block));
}

void np_free_sized(void* block, std::size_t bytes) noexcept
{
    free_sized(block, bytes);
}

void np_free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) noexcept
{
    free_aligned_sized(block, alignment, bytes);
}

std::size_t np_trim(void) noexcept
{
    return malloc_trim(0) != 0 ? 1 : 0;
}
}
