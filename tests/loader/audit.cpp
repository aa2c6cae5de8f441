// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An auditor that allocates in each call by the loader, which calls it for each library.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <link.h>

extern "C" {
__attribute__((visibility("default"))) unsigned la_version(unsigned newest)
{
    std::free(std::malloc(1000));
    return newest;
}

__attribute__((visibility("default"))) unsigned la_objopen(struct link_map*, Lmid_t, std::uintptr_t*)
{
    std::free(std::calloc(1, 100'000));
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

__attribute__((visibility("default"))) void la_preinit(std::uintptr_t*)
{
    void* const block = std::realloc(std::malloc(10), 10'000);
    std::fputs("audited\n", stderr);
    std::free(block);
}
}
