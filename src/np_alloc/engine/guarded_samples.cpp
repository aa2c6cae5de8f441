// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "guarded_samples.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/clock.hpp>

#include "../hardening/guarded_sample_rate.hpp"
#include "../slices/size_classes.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "engine.hpp"
#include "profiling.hpp"

#include <cstddef>

namespace memory_pool::np {
void set_sample_bytes(std::size_t bytes) noexcept
{
    registry().set_sample_bytes(bytes);
    follow_sample_bytes();
}

void* allocate_guarded_if_due(std::size_t size_class) noexcept
{
    const std::size_t bytes = class_info[size_class].block_bytes;
    if (MEMORY_POOL_LIKELY(!this_thread.cache.samples().is_due(bytes)) || this_thread.is_sampling)
        return nullptr;
    const errno_as_it_was kept;
    const sampling_scope scope;
    guarded_sample_rate& rate = registry().rate_of_samples();
    if (!rate.admit(os::coarse_milliseconds(), the_options.get(np_option_samples_per_second)))
        return nullptr;
    void* const block = registry().watch_accesses() ? pages().take_guarded(bytes) : nullptr;
    block != nullptr ? rate.note_taken() : rate.note_skipped();
    return block;
}
} // namespace memory_pool::np
