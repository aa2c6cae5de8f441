// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The response to the limits of page_heap/memory_limit.hpp, at the end of slow paths.
///
///     hard limit, request refused:   sweep all heaps -> try once more
///     soft limit crossed:            sweep all heaps -> still above it: call the callback -> sweep once more
///
/// Both responses happen without locks: a thread that holds a lock, such as a thread that forks, makes neither.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "engine.hpp"

#include <cstdint>

namespace memory_pool::np {
/// Effects: returns the free memory of all heaps to the system, and asks other threads to empty their caches. A no-op
///   if this thread holds a lock.
/// Returns: whether it swept.
bool sweep() noexcept;

/// Effects: sweeps if memory_limit::refusals() is no longer `refusals`.
/// Returns: whether it swept.
bool make_room(std::uint32_t refusals) noexcept;

/// Effects: responds to a crossing of the soft limit.
void answer_crossing() noexcept;

/// Effects: as answer_crossing if the soft limit was crossed.
MEMORY_POOL_ALWAYS_INLINE void answer_if_crossed() noexcept
{
    if (MEMORY_POOL_UNLIKELY(pages().source().limit().is_crossed()))
        answer_crossing();
}

/// Effects: calls `take()`. If the call fails at the hard limit, sweeps and calls `take()` once more. Responds to a
///   crossing of the soft limit.
/// Returns: the last result of `take()`; nullptr or false means failure.
template <class Take>
auto take_within_limits(Take&& take) noexcept
{
    const std::uint32_t refusals = pages().source().limit().refusals();
    auto taken = take();
    if (MEMORY_POOL_UNLIKELY(!taken) && make_room(refusals))
        taken = take();
    answer_if_crossed();
    return taken;
}
} // namespace memory_pool::np
