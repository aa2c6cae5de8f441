// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// early: with libnp_malloc.so preloaded, allocates in all code that the loader runs before main; checks the blocks in
// main and frees them there.
#include "early.hpp"

#include "use.hpp"

#include <support/check.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {
// Constant-initialized: a later constructor would overwrite the blocks.
early_block from_before_constructors;
early_block from_first_constructor;

void allocate_before_constructors()
{
    from_before_constructors.allocate();
}

/// Runs before any constructor of any library, even that of libnp_malloc.so.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_constructors)() = &allocate_before_constructors;

[[gnu::constructor(101)]] void allocate_in_first_constructor()
{
    from_first_constructor.allocate();
}
} // namespace

int main()
{
    CHECK(malloc_is_that_of("libnp_malloc"));
    for (early_block* const each : {&from_before_constructors, &from_first_constructor, &from_library()})
        CHECK(each->is_intact_and_freed());
    CHECK(test::use([](std::size_t bytes) { return std::malloc(bytes); },
                    [](void* block, std::size_t bytes) { return std::realloc(block, bytes); },
                    [](void* block) { std::free(block); }));
    std::puts("all blocks were intact");
}
