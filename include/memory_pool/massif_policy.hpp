// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools whose blocks Valgrind's massif counts one by one, with the call stacks that allocate them.
///
///     memory_pool::object_pool<node, memory_pool::massif_policy> nodes;        valgrind --tool=massif ./program
///
/// Needs valgrind/valgrind.h. Outside of Valgrind, each request costs a few instructions that do nothing. The memory
/// that pools take from upstream is counted, too, where they take it. Not together with MEMORY_POOL_VALGRIND=1, which
/// is for memcheck.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <valgrind/valgrind.h>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Notifies massif.
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
