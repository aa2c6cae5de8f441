// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// resolver: allocates in an ifunc resolver, which the loader runs before thread-local storage is initialized; checks
// the blocks in main and frees them there.
#include "early.hpp"

#include "use.hpp"

#include <support/check.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {
early_block from_resolver;

int chosen_function()
{
    return 7;
}
} // namespace

extern "C" {
auto resolve() -> int (*)()
{
    from_resolver.allocate();
    return &chosen_function;
}

[[gnu::ifunc("resolve")]] int chosen();
}

int main()
{
    CHECK(malloc_is_that_of("libnp_malloc"));
    CHECK(chosen() == 7);
    CHECK(from_resolver.is_intact_and_freed());
    CHECK(test::use([](std::size_t bytes) { return std::malloc(bytes); },
                    [](void* block, std::size_t bytes) { return std::realloc(block, bytes); },
                    [](void* block) { std::free(block); }));
    std::puts("all blocks were intact");
}
