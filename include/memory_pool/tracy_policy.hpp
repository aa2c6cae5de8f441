// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A policy that shows the blocks of pools in Tracy, where each pool is a memory pool with its name.
///
///     memory_pool::object_pool<particle, memory_pool::tracy_policy> particles(pool_options{}.with_name("particles"));
///
/// Needs Tracy's headers. Without TRACY_ENABLE, Tracy's macros are empty, and the policy has no effect. Tracy
/// identifies a pool by the address of its name: use a string literal, or a string that lives as long as the program.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <tracy/Tracy.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies Tracy of each block.
struct tracy_observer
{
    /// Effects: as observing_policy requires.
    static void allocated([[maybe_unused]] const char* pool_name, [[maybe_unused]] const void* block,
                          [[maybe_unused]] std::size_t bytes) noexcept
    {
        TracyAllocN(block, bytes, pool_name);
    }

    /// Effects: as observing_policy requires.
    static void freed([[maybe_unused]] const char* pool_name, [[maybe_unused]] const void* block) noexcept
    {
        TracyFreeN(block, pool_name);
    }
};

/// A policy for pools whose blocks Tracy shows.
using tracy_policy = observing_policy<tracy_observer>;
}} // namespace memory_pool::MEMORY_POOL_ABI
