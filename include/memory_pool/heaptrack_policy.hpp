// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A policy that reports each block of a pool to heaptrack, which records the call stack of the allocation.
///
///     memory_pool::object_pool<node, memory_pool::heaptrack_policy> nodes;        heaptrack ./program
///
/// Needs heaptrack_api.h (Debian package: heaptrack), and a position-independent program, which is the default. Without
/// heaptrack, each block costs a test of a pointer. Heaptrack also counts the memory that pools take from upstream, at
/// the call stacks that take it.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <heaptrack_api.h>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies heaptrack of each block.
struct heaptrack_observer
{
    /// Effects: as observing_policy requires.
    static void allocated(const char* /*pool_name*/, const void* block, std::size_t bytes) noexcept
    {
        heaptrack_report_alloc(const_cast<void*>(block), bytes); // A macro that contains an `if`.
    }

    /// Effects: as observing_policy requires.
    static void freed(const char* /*pool_name*/, const void* block) noexcept
    {
        heaptrack_report_free(const_cast<void*>(block));
    }
};

/// A policy for pools whose blocks heaptrack counts.
using heaptrack_policy = observing_policy<heaptrack_observer>;
}} // namespace memory_pool::MEMORY_POOL_ABI
