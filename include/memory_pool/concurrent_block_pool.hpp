// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of one size for many threads: handed out and taken back in about a nanosecond, by any of them.
///
///                    pop                    whole magazines                  blocks
///     allocate    <-------  this thread's  <---------------> depot          <-------> slabs <--- upstream
///     deallocate  ------->    magazines        without a lock                with one
///                    push
///
/// A thread takes and gives blocks in its own magazine, and exchanges whole magazines with the others through a depot.
/// A block may be freed by any thread. Before a bounded pool says that it is exhausted, it takes the blocks out of the
/// magazines of all threads. core/blocks/shared_store.hpp says how, and block_pool.hpp what a pool can do.
///
///     capacity = in_use + in the magazines of all threads + in the depot + free in the slabs
///
/// A process may fork while threads use its pools, but as with malloc, not from a signal handler, nor from what a pool
/// calls with its lock held (its upstream, and the constructors of objects that are kept): a pool may be in the middle
/// of an operation then, and the fork would wait for its end forever. In the child, blocks that other threads had in
/// use or in flight stay in use. The child frees those that it knows of, or all with `clear` or `release`.
///
/// Thread safety: any thread, but for `release`, `clear` and the destructor, which need the pool for themselves.
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
