// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Guarded samples (NP_SAMPLE_BYTES): decides when a thread allocates one.
///
///     guarded_sample_points.hpp   which allocations are due      guarded_sample_rate.hpp   the limit per second
///     guarded_slots.hpp           memory of guarded samples      access_report.hpp         reports refused accesses
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../support/internals.hpp"
#include "allocation_scopes.hpp"
#include "engine.hpp"

#include <cstddef>

namespace memory_pool::np {
/// Effects: makes about one block per `bytes` bytes a guarded sample from now on; 0 disables samples. Other threads
///   follow at their next slow call.
void set_sample_bytes(std::size_t bytes) noexcept;

/// Effects: applies the last set_sample_bytes() to this thread.
inline void follow_sample_bytes() noexcept
{
    thread_cache& cache = this_thread.cache;
    const std::size_t mean = registry().sample_bytes();
    if (MEMORY_POOL_LIKELY(cache.samples().mean() == mean) || !cache.has_heap())
        return;
    cache.sample_every(mean);
    choose_path_of_allocations();
}

/// Returns: a guarded sample of `size_class` if one is due in this thread; nullptr if none is due, or the sample is
///   skipped.
void* allocate_guarded_if_due(std::size_t size_class) noexcept;
} // namespace memory_pool::np
