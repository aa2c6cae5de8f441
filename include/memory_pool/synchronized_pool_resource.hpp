// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size that threads share. Takes the place of the class of the same
/// name in std::pmr.
///
///     8 bytes:   pool of blocks          in any thread, a block of 50 bytes comes from, and returns to, the pool of 56
///     16 bytes:  pool of blocks
///     ...
///     large:     one by one from upstream
///
///     bytes_in_use = sum over pools of (blocks in use * block size) + large blocks
///
/// Each pool has magazines for each thread, so most calls take no lock: see concurrent_block_pool.hpp, also for what a
/// fork does.
///
/// Thread safety: any thread, but for `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_pool_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/resources/locked_upstream.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Pools by size for many threads. See base/policies.hpp for `Policy`, which is that of the pools, and
/// basic_pool_resource for what they can do.
template <class Policy = default_policy>
using basic_synchronized_pool_resource =
    basic_pool_resource<basic_concurrent_block_pool<Policy>, core::locked_upstream>;

/// Pools by size for many threads, without checks beyond those that cost nothing.
using synchronized_pool_resource = basic_synchronized_pool_resource<>;
}} // namespace memory_pool::MEMORY_POOL_ABI
