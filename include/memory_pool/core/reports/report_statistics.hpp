// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The statistics of one pool or resource in a report.
///
///     bytes_reserved = blocks in use, cached, and free + slack + bookkeeping
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A snapshot of the statistics of a pool, an arena resource or a memory resource. Members that do not apply are 0.
struct report_statistics
{
    /// The value of `limit` if there is no limit.
    static constexpr std::uint64_t unlimited = UINT64_MAX;

    std::uint64_t block_size = 0;     ///< Bytes of a block or an arena; 0 if blocks have any size.
    std::uint64_t capacity = 0;       ///< Blocks, or arenas, for which there is memory.
    std::uint64_t limit = unlimited;  ///< The maximum of `capacity`, or of `bytes_in_use` if blocks have any size.
    std::uint64_t in_use = 0;         ///< Blocks, or arenas, in use.
    std::uint64_t slabs = 0;          ///< Slabs of blocks.
    std::uint64_t bytes_reserved = 0; ///< Allocated from upstream, including bookkeeping.
    std::uint64_t bytes_in_use = 0;   ///< Requested bytes of blocks in use.
    std::uint64_t bytes_cached = 0;   ///< Bytes of free blocks in caches in front of the slabs.
    std::uint64_t bytes_of_slack = 0; ///< Bytes lost between blocks in use, to alignment or in gaps.
    std::uint64_t counts = 0;         ///< 1 if the policy counts the members below; otherwise 0.
    std::uint64_t peak_in_use = 0;    ///< The maximum number of blocks in use.
    std::uint64_t allocations = 0;    ///< Allocated blocks.
    std::uint64_t failures = 0;       ///< Failed allocations.
};

/// The sums over pools, arenas and pool resources. Does not include limit_resource, tracking_resource and
/// page_resource, which provide memory to the others. A pool whose upstream is another pool counts twice.
struct report_totals
{
    std::uint64_t bytes_reserved = 0; ///< Allocated from upstream.
    std::uint64_t bytes_in_use = 0;   ///< Bytes of blocks in use.
    std::uint64_t bytes_cached = 0;   ///< Bytes of free blocks in caches.
    std::uint64_t bytes_of_slack = 0; ///< Bytes lost between blocks in use.

    /// Effects: adds the statistics of one pool or resource.
    void add(const report_statistics& one) noexcept
    {
        if (one.bytes_reserved == 0)
            return;
        bytes_reserved += one.bytes_reserved;
        bytes_in_use += one.bytes_in_use;
        bytes_cached += one.bytes_cached;
        bytes_of_slack += one.bytes_of_slack;
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
