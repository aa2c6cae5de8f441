// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Named heaps, for reports.
///
///     heap_table  ->  records of report_registry.hpp  ->  NP_REPORT, and by a weak symbol: snapshot()
///
/// Thread safety: any thread, even in the child of a fork, because a fork waits for the locks of these heaps.
#pragma once

#include <memory_pool/core/reports/report_registry.hpp>

#include "../heaps/heap_registry.hpp"
#include "../support/callbacks.hpp"
#include "../support/internals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
/// Returns: the record of a heap.
inline core::report_view view_of(named_heap& heap) noexcept
{
    const heap_statistics counted = heap.statistics();
    core::report_view view{};
    std::strncpy(view.kind.data(), "np_heap", view.kind.size() - 1);
    view.name = heap.name();
    view.statistics.in_use = counted.outstanding_blocks + counted.large_blocks;
    view.statistics.slabs = counted.slabs;
    view.statistics.bytes_reserved = counted.slab_bytes + counted.large_bytes;
    view.statistics.bytes_in_use = counted.outstanding_bytes - counted.slack + counted.large_bytes;
    view.statistics.bytes_of_slack = counted.slack;
    return view;
}

/// Effects: calls `each(view, bytes, argument)` for each named heap, in the order of creation, without holding a lock.
/// Throws: any exception of `each`.
inline void visit_named_heaps(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument)
{
    std::array<core::report_view, 16> views;
    std::uint64_t last = 0;
    std::size_t count = 0;
    do {
        count = 0;
        registry().heaps().for_some_named_heaps(last, views.size(),
                                                [&](named_heap& heap) { views[count++] = view_of(heap); });
        for (std::size_t i = 0; i != count; ++i)
            each(&views[i], sizeof views[i], argument);
    } while (count != 0);
}
} // namespace memory_pool::np
