// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of one size, handed out and taken back in about a nanosecond, for one thread. See basic_block_pool.hpp
/// for the interface, and core/blocks/local_store.hpp for the implementation.
///
///                        pop                      next                      get a slab
///     allocate    <------------ magazine <------------ outgoing <----- slabs <----------- upstream
///                                  ^                       ^             ^
///     deallocate  -----------------+--------> incoming ----+-------------+
///                        push        append         (full or empty)
///
/// A block that comes back goes on top of the magazine, an array of pointers, and is the next to be handed out, while
/// it is still in the processor's cache. Blocks that come back in the order of their addresses, up or down, as when all
/// are freed in the order they were made or the reverse, are noticed after a while, and only move the end of a row from
/// then on. What overflows returns to the slabs in batches; there a block is one bit.
///
///     capacity = in_use + in the magazine + in the outgoing span + in the incoming row + free in the slabs
///
/// Thread safety: none of its own: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/basic_block_pool.hpp>
#include <memory_pool/core/blocks/local_store.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
