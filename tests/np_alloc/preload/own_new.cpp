// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program that replaces only the plain operators new and delete. Their pointers differ from malloc's, so the program
// fails if another form of new or delete does not call the replaced operators.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
constexpr std::size_t header = 64;
int blocks_made = 0;
int blocks_gone = 0;
} // namespace

// Not inlined, because compilers would warn that other forms of delete free blocks of malloc.
__attribute__((noinline)) void* operator new(std::size_t bytes)
{
    ++blocks_made;
    void* const with_header = std::malloc(bytes + header);
    if (with_header == nullptr)
        std::abort();
    return static_cast<std::byte*>(with_header) + header;
}

__attribute__((noinline)) void operator delete(void* block) noexcept
{
    if (block == nullptr)
        return;
    ++blocks_gone;
    std::free(static_cast<std::byte*>(block) - header);
}

int main()
{
    ::operator delete(::operator new(10));
    ::operator delete(::operator new(10), std::size_t{10});
    ::operator delete(::operator new(10, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](10));
    ::operator delete[](::operator new[](10), std::size_t{10});
    ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
    std::printf("%d made, %d gone\n", blocks_made, blocks_gone);
    return blocks_made == 6 && blocks_gone == 6 ? 0 : 1;
}
