// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A library that exports operators new and delete. It calls its own operators even if other operators come first in the
// search order (-Bsymbolic), like a library that is linked with its own C++ library.
#include <cstddef>
#include <cstdlib>
#include <new>

__attribute__((noinline)) void* operator new(std::size_t bytes)
{
    void* const block = std::malloc(bytes);
    if (block == nullptr)
        std::abort();
    return block;
}

__attribute__((noinline)) void operator delete(void* block) noexcept
{
    std::free(block);
}

__attribute__((noinline)) void operator delete(void* block, std::size_t) noexcept
{
    std::free(block);
}

extern "C" {
int* made_by_library()
{
    return new int(1);
}

void freed_by_library(int* number)
{
    delete number;
}
}
