// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Statistics of the process: where its blocks and bytes are, over all threads.
///
///     committed = in use + cached + in transit + free in slabs + never carved + free runs + metadata
///
///     out of slabs = in use + cached by threads + in transit to their heaps
///     in slabs     = free in slabs + never carved
///
/// docs/memory.md explains the terms. The runs count the left side; the heaps count the right side.
///
/// Thread safety: any thread. Each value is correct at some moment, but the values are consistent with each other only
///   if no other thread is in a call.
#pragma once

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../heaps/call_site_heap.hpp"
#include "../heaps/heap.hpp"
#include "../heaps/heap_registry.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"
#include "../support/metadata_pages.hpp"
#include "../support/misuse.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The statistics of one size class.
struct class_statistics
{
    std::size_t block_bytes;
    std::size_t out_of_slabs; ///< Blocks that are not in their slabs: in use, cached or in transit.
    std::size_t cached;       ///< Blocks in magazines or in quarantine.
    std::uint32_t in_transit; ///< Blocks in transit, modulo 2^32 until all heaps are counted.
    std::size_t slab_bytes;
    std::size_t slack;        ///< Estimated slack of the blocks out of slabs, in bytes.
    std::size_t carved_bytes; ///< Bytes of slabs up to the end of the highest block ever allocated.

    /// Returns: the number of blocks in use or in transit. While other threads are in calls, `out_of_slabs` and
    ///   `cached` may be from different moments.
    std::size_t outstanding() const noexcept { return left_of(out_of_slabs, cached); }
    std::size_t in_use() const noexcept { return left_of(outstanding(), in_transit); }
    std::size_t free_bytes() const noexcept { return left_of(carved_bytes, out_of_slabs * block_bytes); }
    std::size_t never_carved() const noexcept { return left_of(slab_bytes, carved_bytes); }

    /// Effects: adds the slabs of class `number` of a heap, but no cached blocks and no blocks in transit.
    template <class Heap>
    void add_slabs(const Heap& heap, std::size_t number) noexcept
    {
        out_of_slabs += heap.outstanding(number);
        slab_bytes += heap.counts().bytes(number);
        carved_bytes += heap.counts().carved_bytes(number);
        slack += heap.slack_estimate(number);
    }

private:
    static std::size_t left_of(std::size_t all, std::size_t part) noexcept { return all - std::min(all, part); }
};

/// The statistics of the process.
struct process_statistics
{
    page_heap_statistics memory;
    std::array<class_statistics, class_count> classes;
    std::size_t thread_heaps; ///< Including parked heaps.
    std::size_t parked_heaps;
    std::size_t made_heaps; ///< Heaps of the program.
    std::size_t misuse_reports;
    std::size_t size_mismatches;
    std::size_t call_sites;     ///< Bytes of the tables of call sites.
    std::size_t internal_slabs; ///< Bytes, all of them metadata.
    std::size_t metadata;       ///< Bytes.
    std::size_t exact_slack;    ///< Bytes; 0 in the plain build.

    /// Returns: the sum of `bytes_of(class_statistics)` over all classes.
    template <class BytesOf>
    std::size_t sum(BytesOf&& bytes_of) const noexcept
    {
        std::size_t bytes = 0;
        for (const class_statistics& each : classes)
            bytes += bytes_of(each);
        return bytes;
    }

    std::size_t bytes_in_use() const noexcept
    {
        return memory.large + sum([](const class_statistics& each) { return each.in_use() * each.block_bytes; });
    }
    std::size_t bytes_cached() const noexcept
    {
        return sum([](const class_statistics& each) { return each.cached * each.block_bytes; });
    }
    std::size_t bytes_in_transit() const noexcept
    {
        return sum([](const class_statistics& each) { return each.in_transit * each.block_bytes; });
    }
    std::size_t bytes_free_in_slabs() const noexcept
    {
        return sum([](const class_statistics& each) { return each.free_bytes(); });
    }
    std::size_t bytes_never_carved() const noexcept
    {
        return sum([](const class_statistics& each) { return each.never_carved(); });
    }
    /// Returns: the slack of blocks in use, in bytes. For slabs of the plain build, the result is an estimate, which
    ///   assumes that blocks in use have the mean slack of all blocks out of slabs.
    std::size_t bytes_of_slack() const noexcept
    {
        const std::size_t of_large = memory.large - std::min(memory.large, memory.large_asked);
        if constexpr (is_checked)
            return of_large + exact_slack;
        return of_large + sum([](const class_statistics& each) {
                   return each.out_of_slabs != 0 ? each.slack * each.in_use() / each.out_of_slabs : 0;
               });
    }

    std::size_t bytes_committed() const noexcept { return memory.reserved - internal_slabs + metadata; }
    std::size_t sum_of_terms() const noexcept
    {
        return bytes_in_use() + bytes_cached() + bytes_in_transit() + bytes_free_in_slabs() + bytes_never_carved() +
               memory.dirty + metadata;
    }
};

/// Returns: the current statistics of the process.
/// Complexity: linear in heaps.
inline process_statistics take_statistics(heap_registry& all) noexcept
{
    struct counter
    {
        process_statistics& sum;
        const heap_registry& all;

        void operator()(thread_heap& each) const noexcept
        {
            ++sum.thread_heaps;
            sum.parked_heaps += each.is_parked ? 1U : 0U;
            for (std::size_t number = 0; number != class_count; ++number) {
                sum.classes[number].add_slabs(each.slabs, number);
                sum.classes[number].cached += each.held(number);
                sum.classes[number].in_transit += each.slabs.sent_minus_received(number);
            }
            each.checks.quarantined.for_each_class_from_outside(
                [this](std::size_t number) { ++sum.classes[number].cached; });
        }

        void operator()(shared_heap& each) const noexcept
        {
            sum.made_heaps += all.heaps().is_made(each) ? 1U : 0U;
            for (std::size_t number = 0; number != class_count; ++number)
                sum.classes[number].add_slabs(each, number);
        }
    };
    process_statistics sum{};
    for (std::size_t number = 0; number != class_count; ++number) {
        sum.classes[number].block_bytes = sizes::size(number);
        sum.classes[number].in_transit = all.sent_without_heap(number);
    }
    all.heaps().for_each_heap(counter{sum, all});
    for (class_statistics& each : sum.classes) // A receive may have been seen without its send.
        if (each.in_transit > ~std::uint32_t{0} / 2)
            each.in_transit = 0;
    sum.memory = all.pages().statistics();
    sum.internal_slabs = all.heaps().internal.slab_bytes();
    sum.metadata = sum.memory.metadata + all.heaps().metadata_page_bytes() + sum.internal_slabs;
    sum.exact_slack = all.pages().slack_in_slabs();
    sum.misuse_reports = misuse_reports.load(std::memory_order_relaxed);
    sum.size_mismatches = size_mismatches.load(std::memory_order_relaxed);
    for (call_site_heap& each : all.heaps().call_site_heaps)
        sum.call_sites += each.sites().bytes_taken();
    return sum;
}

/// Returns: the bytes of committed memory that are resident now; 0 if unknown. Pages of small tables count as resident.
/// Complexity: linear in pages.
inline std::size_t resident_bytes(heap_registry& all) noexcept
{
    struct counter
    {
        std::size_t& resident;
        std::size_t& of_heaps;

        void operator()(thread_heap& each) const noexcept
        {
            const std::size_t bytes = in_whole_pages(sizeof each);
            of_heaps += bytes;
            resident += os::resident_pages(&each, bytes) * os::page_size();
        }
        void operator()(const shared_heap&) const noexcept {}
    };
    std::size_t resident = 0;
    std::size_t of_heaps = 0;
    all.heaps().for_each_heap(counter{resident, of_heaps});
    resident += all.pages().resident_bytes();
    const std::size_t of_all = all.heaps().metadata_page_bytes();
    return resident != 0 ? resident + of_all - std::min(of_all, of_heaps) : 0;
}
} // namespace memory_pool::np
