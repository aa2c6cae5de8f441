// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "heap.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
tutorial::heap_use so_far{};
const void* volatile shown = nullptr;

void* counted(void* block, std::size_t bytes) noexcept
{
    if (block == nullptr) {
        std::fputs("tutorial: out of memory\n", stderr);
        std::abort();
    }
    ++so_far.mallocs;
    so_far.bytes += bytes;
    return block;
}

void counted_free(void* block) noexcept
{
    so_far.frees += block != nullptr ? 1 : 0;
    std::free(block);
}
} // namespace

tutorial::heap_use tutorial::heap_so_far() noexcept
{
    return so_far;
}

void tutorial::show(const void* object) noexcept
{
    shown = object;
}

// The standard library implements the other forms (arrays, nothrow) with these.

void* operator new(std::size_t size)
{
    return counted(std::malloc(size != 0 ? size : 1), size);
}

void* operator new(std::size_t size, std::align_val_t alignment)
{
    const auto step = static_cast<std::size_t>(alignment);
    const std::size_t wanted = size != 0 ? size : 1;
    return counted(std::aligned_alloc(step, (wanted + step - 1) & ~(step - 1)), size);
}

void operator delete(void* block) noexcept
{
    counted_free(block);
}

void operator delete(void* block, std::size_t) noexcept
{
    counted_free(block);
}

void operator delete(void* block, std::align_val_t) noexcept
{
    counted_free(block);
}

void operator delete(void* block, std::size_t, std::align_val_t) noexcept
{
    counted_free(block);
}
