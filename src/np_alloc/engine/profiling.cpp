// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Samples of the profile: see profiling.hpp.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "profiling.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/os/clock.hpp>

#include "../hardening/sample_rate.hpp"
#include "../heaps/shared_heap.hpp"
#include "../profile/allocation_profile.hpp"
#include "../slices/size_classes.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "allocation_scopes.hpp"
#include "engine.hpp"

#include <algorithm>
#include <cstddef>

namespace memory_pool::np {
MEMORY_POOL_CONSTINIT allocation_profile the_profile;

namespace {
/// While this thread takes its call stack, nothing that it allocates is a sample: the unwinder may allocate.
class sampling_scope : base::immovable<sampling_scope>
{
public:
    sampling_scope() noexcept { this_thread.is_sampling = true; }
    ~sampling_scope() { this_thread.is_sampling = false; }
};
} // namespace

void set_profile_bytes(std::size_t bytes) noexcept
{
    the_profile.set_mean_bytes(bytes);
    choose_path_of_allocations();
}

void set_sample_bytes(std::size_t bytes) noexcept
{
    registry().set_sample_bytes(bytes);
    follow_sample_bytes();
}

void* allocate_guarded_if_due(std::size_t size_class) noexcept
{
    const std::size_t bytes = facts[size_class].block_bytes;
    if (MEMORY_POOL_LIKELY(!this_thread.cache.samples().is_due(bytes)) || this_thread.is_sampling)
        return nullptr;
    const errno_as_it_was kept;
    const sampling_scope scope;
    sample_rate& rate = registry().rate_of_samples();
    if (!rate.admit(os::coarse_milliseconds(), the_options.get(np_option_samples_per_second)))
        return nullptr;
    void* const block = registry().watch_accesses() ? pages().take_guarded(bytes) : nullptr;
    block != nullptr ? rate.note_taken() : rate.note_skipped();
    return block;
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
    if (this_thread.is_sampling || !registry().start())
        return nullptr;
    shared_heap& home = registry().profiled();
    void* const block = home.allocate(size_class, bytes);
    if (block != nullptr)
        add_to_profile(block, bytes, mean, &home);
    return block;
}
} // namespace memory_pool::np
