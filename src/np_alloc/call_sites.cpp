// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks whose call sites are remembered: those of the traced heap.
///
/// Thread safety: any thread.
#include "engine.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/call_site.hpp>

#include "call_sites.hpp"

#include <cstddef>

namespace np = memory_pool::np;

extern "C" {
void* np_alloc_at(size_t bytes, const char* file, int line)
{
    np::process& all = np::the_process;
    void* const block = all.start() ? np::allocate_in(all.traced(), bytes) : nullptr;
    if (block == nullptr)
        return np_alloc(bytes); // It may have what a shared heap has not.
    (void)all.sites().remember(block, bytes, {file != nullptr ? file : "unknown", static_cast<unsigned>(line)});
    return block;
}

int np_visit_call_sites(int (*visit)(const np_call_site* site, void* argument), void* argument)
{
    const bool all_were = np::the_process.sites().for_each_site([&](const np::site_figures& each) {
        const np_call_site site{each.site.file, static_cast<int>(each.site.line), each.blocks, each.bytes};
        return visit(&site, argument) != 0;
    });
    return all_were ? 1 : 0;
}
}
