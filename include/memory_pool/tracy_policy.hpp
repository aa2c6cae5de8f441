// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools whose blocks Tracy shows, each pool as a memory pool of its own, by its name.
///
///     memory_pool::object_pool<particle, memory_pool::tracy_policy> particles(pool_options{}.with_name("particles"));
///
/// Needs Tracy's headers, and TRACY_ENABLE; without that, its macros are empty. Tracy tells pools apart by the address
/// of the name: give each one a string literal, or a string that lives as long as the program.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <tracy/Tracy.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies Tracy.
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
