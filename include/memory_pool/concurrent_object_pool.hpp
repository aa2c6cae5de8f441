// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type, made and destroyed in blocks of a pool that threads share.
///
///     create(arguments...)  ->  block from the pool  ->  T constructed in it  ->  T*
///     destroy(T*)           ->  T destroyed          ->  block back to the pool, by any thread
///
///     objects alive = blocks in use (outside of create and destroy)
///
/// A process may fork as said of concurrent_block_pool. If other threads have used the pool, it destroys no objects by
/// itself in the child: see `clear`. (It does not know of a thread that uses it for the first time, and is just
/// destroying an object.)
///
/// Thread safety: any thread, but for `clear`, `release` and the destructor, which need the pool for themselves. Each object is
///   its user's.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_object_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool of objects of type `T` that threads share. See base/policies.hpp for `Policy`, and basic_object_pool for what
/// it can do.
template <class T, class Policy = default_policy>
using concurrent_object_pool = basic_object_pool<T, basic_concurrent_block_pool<Policy>>;
}} // namespace memory_pool::MEMORY_POOL_ABI
