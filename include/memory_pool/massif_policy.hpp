// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A policy that reports each block of a pool to Valgrind's massif, which records the call stack of the allocation.
///
///     memory_pool::object_pool<node, memory_pool::massif_policy> nodes;        valgrind --tool=massif ./program
///
/// Needs valgrind/valgrind.h. Outside of Valgrind, each notification costs a few instructions without effect. Massif
/// also counts the memory that pools take from upstream, at the call stacks that take it. Do not combine this policy
/// with MEMORY_POOL_VALGRIND=1, which is for memcheck.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <valgrind/valgrind.h>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies massif of each block.
struct massif_observer
{
    /// Effects: as observing_policy requires.
    static void allocated(const char* /*pool_name*/, const void* block, std::size_t bytes) noexcept
    {
        VALGRIND_MALLOCLIKE_BLOCK(block, bytes, 0, 0);
    }

    /// Effects: as observing_policy requires.
    static void freed(const char* /*pool_name*/, const void* block) noexcept { VALGRIND_FREELIKE_BLOCK(block, 0); }
};

/// A policy for pools whose blocks massif counts.
using massif_policy = observing_policy<massif_observer>;
}} // namespace memory_pool::MEMORY_POOL_ABI
