// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Makes the invalid access that the argument names, to a block that ends at a page boundary. Continues if the access is
// not detected.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define NOINLINE __attribute__((noinline))

// External linkage, so that tools can name the functions.
extern "C" {
NOINLINE char* allocate_block()
{
    char* block = nullptr;
    for (int i = 0; i != 100; ++i) {
        block = static_cast<char*>(std::malloc(64));
        if ((reinterpret_cast<std::uintptr_t>(block) + 64) % 4096 == 0)
            break;
    }
    return block;
}

NOINLINE void free_block(void* block)
{
    std::free(block);
    static volatile int last = 0;
    last = 1; // Prevents a tail call.
}

NOINLINE void touch(volatile char* at)
{
    *at = 1;
}
}

int main(int, char** arguments)
{
    char* const block = allocate_block();
    char* const address = block + (std::strcmp(arguments[1], "overflow") == 0 ? 64 : 0);
    if (std::strcmp(arguments[1], "after") == 0)
        free_block(block);
    touch(address);
    std::puts("goes on");
}
