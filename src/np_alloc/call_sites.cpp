// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks whose call sites are remembered: those of the traced heaps.
///
/// Thread safety: any thread.
#include "engine.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/call_site.hpp>
#include <memory_pool/base/config.hpp>

#include "traced_heap.hpp"

#include <cstddef>

namespace np = memory_pool::np;

extern "C" {
void* np_alloc_at(size_t bytes, const char* file, int line) noexcept
{
    np::process& all = np::the_process;
    np::traced_heap& home = all.traced_for(np::this_thread);
    void* const block = all.start() ? np::allocate_in(home, bytes) : nullptr;
    if (block == nullptr)
        return np_alloc(bytes); // It may have what a shared heap has not.
    const memory_pool::call_site site{file != nullptr ? file : "unknown", static_cast<unsigned>(line)};
    MEMORY_POOL_DELAY_POINT();
    (void)home.sites().remember(block, bytes, site, all.checkpoints());
    return block;
}
}
