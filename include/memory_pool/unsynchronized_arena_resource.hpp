// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr, for one thread: a block is handed out by moving a cursor, and an arena whose last
/// block is freed is reused.
///
///     current:  | header | block | block | gap | block |        free        |      allocate moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all their blocks are back
///     free:     | header |                     free                         |      are used next
///
///     bytes_reserved = arena_count * arena_size + large blocks
///
/// For containers and their like that come and go as a whole, or nearly: parsing, a request, a frame. Where blocks of
/// all ages are mixed for long, one block can keep an arena from being used again (`bytes_wasted` tells), and a pool
/// resource is the better choice.
///
/// Thread safety: none. Use one from one thread at a time, or a synchronized_arena_resource.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_arena_resource.hpp>
#include <memory_pool/core/arenas/local_arenas.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Arenas for one thread. See base/policies.hpp for `Policy`, and basic_arena_resource for what they can do.
template <class Policy = default_policy>
using basic_unsynchronized_arena_resource = basic_arena_resource<Policy, core::local_arenas>;

/// Arenas for one thread, without checks beyond those that cost nothing.
using unsynchronized_arena_resource = basic_unsynchronized_arena_resource<>;
}} // namespace memory_pool::MEMORY_POOL_ABI
