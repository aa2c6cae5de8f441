// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The figures of a pool of blocks, for reports.
///
/// Thread safety: that of the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_figures.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Returns: the figures of a pool with these slabs, except what its policy counts.
inline report_figures block_figures(const slab_store& slabs, std::size_t in_use, std::size_t bytes_reserved) noexcept
{
    const std::size_t stride = slabs.layout().stride();
    report_figures figures;
    figures.block_size = slabs.identity().block_size;
    figures.capacity = slabs.capacity();
    figures.limit = slabs.chunks().is_bounded() ? slabs.chunks().limit() : report_figures::unlimited;
    figures.in_use = in_use;
    figures.slabs = slabs.chunks().slab_count();
    figures.bytes_reserved = bytes_reserved;
    figures.bytes_in_use = in_use * figures.block_size;
    figures.bytes_cached = (slabs.handed_out() - in_use) * stride;
    figures.bytes_of_slack = in_use * (stride - figures.block_size);
    return figures;
}

/// Effects: adds what a policy has counted.
inline void add_counts(report_figures& figures, const pool_statistics& counted) noexcept
{
    figures.counts = 1;
    figures.peak_in_use = counted.peak_in_use;
    figures.allocations = counted.allocations;
    figures.failures = counted.failures;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
