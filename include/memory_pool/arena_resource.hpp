// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr: a block is handed out by moving a cursor, and an arena whose last block is freed is
/// reused.
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
/// In a synchronized_arena_resource each thread fills an arena of its own, without a lock, and any may free a block;
/// core/arenas/shared_arenas.hpp says how. It reserves about 128 bytes more for each concurrent thread. A process may
/// fork while threads use it, as with pools: see concurrent_block_pool.hpp.
///
/// Thread safety: unsynchronized_arena_resource: one thread at a time. synchronized_arena_resource: any thread, but for
/// `clear`, `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/basic_arena_resource.hpp>
#include <memory_pool/core/arenas/local_arenas.hpp>
#include <memory_pool/core/arenas/shared_arenas.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
