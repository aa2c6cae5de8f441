// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The statistics of a block pool for reports.
///
/// Thread safety: as the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Returns: the statistics of a pool with these slabs, without the counts of its policy.
inline report_statistics block_statistics(const slab_store& slabs, std::size_t in_use,
                                          std::size_t bytes_reserved) noexcept
{
    const std::size_t stride = slabs.layout().stride();
    report_statistics statistics;
    statistics.block_size = slabs.identity().block_size;
    statistics.capacity = slabs.capacity();
    statistics.limit = slabs.chunks().is_bounded() ? slabs.chunks().limit() : report_statistics::unlimited;
    statistics.in_use = in_use;
    statistics.slabs = slabs.chunks().slab_count();
    statistics.bytes_reserved = bytes_reserved;
    statistics.bytes_in_use = in_use * statistics.block_size;
    statistics.bytes_cached = (slabs.outstanding() - in_use) * stride;
    statistics.bytes_of_slack = in_use * (stride - statistics.block_size);
    return statistics;
}

/// Effects: adds the counts of a policy.
inline void add_counts(report_statistics& statistics, const pool_statistics& counted) noexcept
{
    statistics.counts = 1;
    statistics.peak_in_use = counted.peak_in_use;
    statistics.allocations = counted.allocations;
    statistics.failures = counted.failures;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
