// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr, shared by threads: each fills an arena of its own, and any may free a block.
///
///     thread A:  | header | block | block | gap | block |      free      |      allocate moves the cursor: no lock
///     thread B:  | header | block |              free                    |
///     others:    | header | block |    gap    | block |       rest       |      freed with their last block
///     free:      | header |                    free                      |      go to the thread that needs one next
///
/// core/arenas/shared_arenas.hpp says how. See unsynchronized_arena_resource.hpp for what arenas are good for.
///
///     bytes_reserved = arena_count * arena_size + large blocks + 128 bytes or so for each thread at one time
///
/// A process may fork while threads use it, as with pools: see concurrent_block_pool.hpp.
///
/// Thread safety: any thread, but for `clear`, `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_arena_resource.hpp>
#include <memory_pool/core/arenas/shared_arenas.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Arenas for many threads. See base/policies.hpp for `Policy`, and basic_arena_resource for what they can do.
template <class Policy = default_policy>
using basic_synchronized_arena_resource = basic_arena_resource<Policy, core::shared_arenas>;

/// Arenas for many threads, without checks beyond those that cost nothing.
using synchronized_arena_resource = basic_synchronized_arena_resource<>;
}} // namespace memory_pool::MEMORY_POOL_ABI
