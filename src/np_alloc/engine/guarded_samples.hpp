// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Samples between guard pages (NP_SAMPLE_BYTES): when a thread takes one.
///
///     sample_points.hpp   which allocation is due        sample_rate.hpp   how many a second
///     guarded_slots.hpp   where a sample lies            access_report.hpp the report of a wrong access
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../support/internals.hpp"
#include "allocation_scopes.hpp"
#include "engine.hpp"

#include <cstddef>

namespace memory_pool::np {
/// Effects: has one block for that many bytes be a sample between guards from now on; 0: none. Other threads follow at
///   their next slow call.
void set_sample_bytes(std::size_t bytes) noexcept;

/// Effects: has this thread follow that.
inline void follow_sample_bytes() noexcept
{
    thread_cache& cache = this_thread.cache;
    const std::size_t mean = registry().sample_bytes();
    if (MEMORY_POOL_LIKELY(cache.samples().mean() == mean) || !cache.has_heap())
        return;
    cache.sample_every(mean);
    choose_path_of_allocations();
}

/// Returns: a block of that class between guards, if one is due in this thread; nullptr if not, or if it is skipped.
void* allocate_guarded_if_due(std::size_t size_class) noexcept;
} // namespace memory_pool::np
