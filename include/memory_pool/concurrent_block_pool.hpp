// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of raw blocks of one size that threads share. Allocating or freeing a block takes about a nanosecond.
///
///                    pop                    whole magazines                  blocks
///     allocate    <-------  this thread's  <---------------> depot          <-------> slabs <--- upstream
///     deallocate  ------->    magazines        without a lock             under a lock
///                    push
///
/// A thread allocates and frees blocks in its own magazines, and exchanges whole magazines with other threads through a
/// depot. Any thread may free a block. Before a bounded pool reports that it is exhausted, it takes the blocks out of
/// the magazines of all threads. See block_pool.hpp for the interface, and core/blocks/shared_store.hpp for the
/// implementation.
///
///     capacity = in_use + in the magazines of all threads + in the depot + free in the slabs
///
/// A process may fork while threads use its pools. As with malloc, it must not fork in a signal handler. Nor may it
/// fork in a function that a pool calls with the pool's lock held: the upstream, or the constructor of a recycled
/// object. In both cases a pool may be in the middle of an operation, and the fork would wait for the pool forever. In
/// the child, blocks that other threads had in use or in flight stay in use. The child frees the blocks that it knows
/// of, or all blocks with `clear` or `release`.
///
/// Thread safety: any thread; `release`, `clear` and the destructor need exclusive access.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/blocks/shared_blocks.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
MEMORY_POOL_INSTANCE(class shared_blocks<default_policy>)
MEMORY_POOL_INSTANCE(class shared_blocks<counting_policy>)
MEMORY_POOL_INSTANCE(class shared_blocks<checking_policy>)
} // namespace detail::core
MEMORY_POOL_INSTANCE(class basic_block_pool<default_policy, detail::core::shared_blocks<default_policy>>)
MEMORY_POOL_INSTANCE(class basic_block_pool<counting_policy, detail::core::shared_blocks<counting_policy>>)
MEMORY_POOL_INSTANCE(class basic_block_pool<checking_policy, detail::core::shared_blocks<checking_policy>>)
}} // namespace memory_pool::MEMORY_POOL_ABI
