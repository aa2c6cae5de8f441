// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How many blocks and bytes are where, over all threads.
///
///     out of slabs = in use + cached by threads + in transit to their heaps
///
/// Thread safety: any thread. A figure is what it was at some moment; all of them fit together if no other thread is in
///   a call.
#pragma once

#include "../heaps/heap.hpp"
#include "../heaps/heap_registry.hpp"
#include "../heaps/traced_heap.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/misuse.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace memory_pool::np {
/// Blocks of one class.
struct class_figures
{
    std::size_t out_of_slabs; ///< Not in their slabs.
    std::size_t cached;       ///< Of those: in magazines.

    /// Returns: those in use or in transit. While other threads are in calls, the two may have been read at moments
    ///   that do not fit.
    std::size_t outstanding() const noexcept { return out_of_slabs - std::min(out_of_slabs, cached); }
};

/// All of it.
struct figures
{
    page_heap_figures memory;
    std::array<class_figures, class_count> classes;
    std::size_t bytes_in_transit;
    std::size_t thread_heaps; ///< With those that are parked.
    std::size_t parked_heaps;
    std::size_t made_heaps; ///< By the program.
    std::size_t misuse_reports;
    std::size_t size_mismatches;
    std::size_t call_sites; ///< Bytes that are taken to remember them.

    std::size_t bytes_cached() const noexcept
    {
        std::size_t bytes = 0;
        for (std::size_t number = 0; number != class_count; ++number)
            bytes += classes[number].cached * sizes::size(number);
        return bytes;
    }

    std::size_t bytes_in_use() const noexcept
    {
        std::size_t bytes = memory.large;
        for (std::size_t number = 0; number != class_count; ++number)
            bytes += classes[number].outstanding() * sizes::size(number);
        return bytes - std::min(bytes, bytes_in_transit);
    }
};

/// Returns: the figures of a process now.
/// Complexity: linear in heaps.
inline figures take_figures(heap_registry& all) noexcept
{
    struct counter
    {
        figures& sum;
        const heap_registry& all;

        void operator()(thread_heap& each) const noexcept
        {
            ++sum.thread_heaps;
            sum.parked_heaps += each.is_parked ? 1U : 0U;
            sum.bytes_in_transit += each.slabs.sent_minus_received();
            for (std::size_t number = 0; number != class_count; ++number) {
                sum.classes[number].out_of_slabs += each.slabs.outstanding(number);
                sum.classes[number].cached += each.held(number) + each.checks.quarantined.of_class(number);
            }
        }

        void operator()(shared_heap& each) const noexcept
        {
            sum.made_heaps += all.is_made(each) ? 1U : 0U;
            for (std::size_t number = 0; number != class_count; ++number)
                sum.classes[number].out_of_slabs += each.outstanding(number);
        }
    };
    figures sum{};
    sum.bytes_in_transit = all.sent_without_heap();
    all.for_each_heap(counter{sum, all});
    // What was received may have been seen, and not what was sent.
    if (sum.bytes_in_transit > ~std::size_t{0} / 2)
        sum.bytes_in_transit = 0;
    sum.memory = all.pages().figures();
    sum.misuse_reports = misuse_reports.load(std::memory_order_relaxed);
    sum.size_mismatches = size_mismatches.load(std::memory_order_relaxed);
    for (traced_heap& each : all.traced())
        sum.call_sites += each.sites().bytes_taken();
    return sum;
}
} // namespace memory_pool::np
