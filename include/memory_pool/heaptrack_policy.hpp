// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools whose blocks heaptrack counts one by one, with the call stacks that allocate them.
///
///     memory_pool::object_pool<node, memory_pool::heaptrack_policy> nodes;        heaptrack ./program
///
/// Needs heaptrack_api.h (Debian: heaptrack), and a program that is position-independent, which is the default. Without
/// heaptrack, each block costs a test of a pointer. The memory that pools take from upstream is counted, too, where
/// they take it.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <heaptrack_api.h>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies heaptrack.
struct heaptrack_observer
{
    /// Effects: as observing_policy requires.
    static void allocated(const char* /*pool_name*/, const void* block, std::size_t bytes) noexcept
    {
        heaptrack_report_alloc(const_cast<void*>(block), bytes); // A macro, with an `if`.
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
