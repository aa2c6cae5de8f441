// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Profile samples: see profiling.hpp.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "profiling.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>

#include "../heaps/shared_heap.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/misuse.hpp"
#include "allocation_scopes.hpp"
#include "engine.hpp"

#include <algorithm>
#include <cstddef>

namespace memory_pool::np {
MEMORY_POOL_CONSTINIT allocation_profile the_profile;

void set_profile_bytes(std::size_t bytes) noexcept
{
    the_profile.set_mean_bytes(bytes);
    choose_path_of_allocations();
}

MEMORY_POOL_NOINLINE void add_to_profile(const void* block, std::size_t bytes, std::size_t mean,
                                         shared_heap* home) noexcept
{
    if (this_thread.is_sampling)
        return;
    const errno_as_it_was kept;
    const sampling_scope scope;
    const core::sampled_stack calls = the_profile.take_stack();
    if (home != nullptr)
        home->note_samples();
    MEMORY_POOL_DELAY_POINT();
    (void)the_profile.add(block, std::max<std::size_t>(bytes, 1), mean,
                          {calls.begin(), calls.end(), {}, core::is_truncated(calls)}, home);
}

void* allocate_sample(std::size_t size_class, std::size_t bytes, std::size_t mean) noexcept
{
    if (this_thread.is_sampling || !registry().heaps().start())
        return nullptr;
    shared_heap& home = registry().heaps().profiled;
    void* const block = home.allocate(size_class, bytes);
    if (block != nullptr)
        add_to_profile(block, bytes, mean, &home);
    return block;
}
} // namespace memory_pool::np
