// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks with call sites, in call-site heaps.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "engine.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/call_site.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../heaps/call_site_heap.hpp"
#include "../support/misuse.hpp"
#include "block_lookup.hpp"

#include <cstddef>

namespace memory_pool::np {
/// The slab of a freed block may now belong to another heap, so only a call site from the slab's current heap counts.
base::message site_name(error_kind kind, const void* block) noexcept
{
    const slice_tag heap_now = tag_of(block) & ~class_bits;
    for (call_site_heap& each : registry().heaps().call_site_heaps) {
        const base::message line =
            each.sites().site_name(block, kind == error_kind::misaligned_pointer, heap_now == each.own_tag());
        if (*line.c_str() != '\0')
            return line;
    }
    return base::message("%s", "");
}
} // namespace memory_pool::np

namespace np = memory_pool::np;

extern "C" {
void* np_alloc_at(size_t bytes, const char* file, int line) noexcept
{
    np::heap_registry& all = np::registry();
    np::call_site_heap& home = all.call_site_heap_of(np::this_thread);
    void* const block = all.heaps().start() ? np::allocate_in(home, bytes) : nullptr;
    if (block == nullptr)
        return np_alloc(bytes); // This thread may have cached blocks.
    const memory_pool::call_site site{file != nullptr ? file : "unknown", static_cast<unsigned>(line)};
    MEMORY_POOL_DELAY_POINT();
    (void)home.sites().remember(block, bytes, site, all.checkpoints());
    return block;
}
}
