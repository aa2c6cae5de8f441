// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program that replaces only the plain operators delete and new[]. Therefore, free gets blocks of the library's new,
// and the library's delete[] gets blocks of malloc.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

// Not inlined, because compilers would warn about mismatched deallocation.
__attribute__((noinline)) void* operator new[](std::size_t bytes)
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

int main()
{
    for (const std::size_t bytes : {10U, 1000U, 100'000U}) {
        ::operator delete(::operator new(bytes));
        ::operator delete(::operator new(bytes), bytes);
        ::operator delete(::operator new(bytes, std::nothrow), std::nothrow);
        ::operator delete[](::operator new[](bytes));
        ::operator delete[](::operator new[](bytes), bytes);
        ::operator delete[](::operator new[](bytes, std::nothrow), std::nothrow);
    }
    std::puts("all gone");
}
