// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program that replaces only the nothrow operators new. They allocate more bytes than requested, like operators that
// append a trailer. The library's sized operators delete free these blocks, with the requested sizes.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
constexpr std::size_t trailer = 64;
constexpr std::align_val_t alignment{64};
int blocks_made = 0;

void* make(std::size_t bytes)
{
    ++blocks_made;
    return std::malloc(bytes + trailer);
}

void* make_aligned(std::size_t bytes, std::align_val_t to)
{
    ++blocks_made;
    return std::aligned_alloc(static_cast<std::size_t>(to), bytes + trailer);
}
} // namespace

// Not inlined, because compilers would warn that delete frees blocks of malloc.
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    return make(bytes);
}

__attribute__((noinline)) void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    return make(bytes);
}

__attribute__((noinline)) void* operator new(std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept
{
    return make_aligned(bytes, to);
}

__attribute__((noinline)) void* operator new[](std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept
{
    return make_aligned(bytes, to);
}

int main()
{
    ::operator delete(::operator new(64, std::nothrow), std::size_t{64});
    ::operator delete[](::operator new[](64, std::nothrow), std::size_t{64});
    ::operator delete(::operator new(64, alignment, std::nothrow), std::size_t{64}, alignment);
    ::operator delete[](::operator new[](64, alignment, std::nothrow), std::size_t{64}, alignment);
    std::printf("%d made\n", blocks_made);
    return blocks_made == 4 ? 0 : 1;
}
