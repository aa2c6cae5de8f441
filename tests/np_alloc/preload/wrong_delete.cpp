// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Misuses malloc and operator new, as its argument says, and goes on if it is not stopped.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace {
/// So that the compiler does not see what happens to it.
char* volatile block;

constexpr std::align_val_t alignment{64};

void misuse(const char* how)
{
    if (std::strcmp(how, "size") == 0) {
        block = static_cast<char*>(::operator new(100));
        ::operator delete(block, 60);
    } else if (std::strcmp(how, "array size") == 0) {
        block = static_cast<char*>(::operator new[](100));
        ::operator delete[](block, 60);
    } else if (std::strcmp(how, "aligned size") == 0) {
        block = static_cast<char*>(::operator new(100, alignment));
        ::operator delete(block, 60, alignment);
    } else if (std::strcmp(how, "aligned array size") == 0) {
        block = static_cast<char*>(::operator new[](100, alignment));
        ::operator delete[](block, 60, alignment);
    } else if (std::strcmp(how, "right size") == 0) {
        block = static_cast<char*>(::operator new(100));
        ::operator delete(block, 100);
        block = static_cast<char*>(::operator new[](100));
        ::operator delete[](block, 100);
        block = static_cast<char*>(::operator new(100, alignment));
        ::operator delete(block, 100, alignment);
        block = static_cast<char*>(::operator new[](100, alignment));
        ::operator delete[](block, 100, alignment);
    } else if (std::strcmp(how, "stack") == 0) {
        alignas(64) char local[64] = {};
        block = local;
        std::free(block);
    } else if (std::strcmp(how, "static") == 0) {
        alignas(64) static char kept[64];
        block = kept;
        std::free(block);
    } else if (std::strcmp(how, "mapped") == 0) {
        block = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::free(block);
    } else if (std::strcmp(how, "twice") == 0) {
        block = static_cast<char*>(std::malloc(300'000));
        std::free(block);
        std::free(block);
    } else if (std::strcmp(how, "small twice") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::free(block);
        std::free(block);
    } else if (std::strcmp(how, "overflow") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::strcpy(block, "a text of 24 characters."); // NOLINT: and a zero behind it
        std::free(block);
    } else if (std::strcmp(how, "after") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::free(block);
        block[0] = 0;
        for (int i = 0; i != 100'000; ++i)
            std::free(std::malloc(24));
    }
}
} // namespace

int main(int, char** arguments)
{
    misuse(arguments[1]);
    std::puts("goes on");
}
