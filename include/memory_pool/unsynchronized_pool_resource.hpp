// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size, for one thread. Takes the place of the class of the same name
/// in std::pmr.
///
///     8 bytes:   pool of blocks          a block of 50 bytes comes from the pool of 56, and goes back to it
///     16 bytes:  pool of blocks
///     ...
///     large:     one by one from upstream
///
///     bytes_in_use = sum over pools of (blocks in use * block size) + large blocks
///
/// For containers that live long and change: every block can be used again as soon as it is freed. Where all is given
/// back together, an arena resource is faster still.
///
/// Thread safety: none. Use one from one thread at a time, or a synchronized_pool_resource.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_pool_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/resources/plain_upstream.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Pools by size for one thread. See base/policies.hpp for `Policy`, which is that of the pools, and
/// basic_pool_resource for what they can do.
template <class Policy = default_policy>
using basic_unsynchronized_pool_resource = basic_pool_resource<basic_block_pool<Policy>, core::plain_upstream>;

/// Pools by size for one thread, without checks beyond those that cost nothing.
using unsynchronized_pool_resource = basic_unsynchronized_pool_resource<>;
}} // namespace memory_pool::MEMORY_POOL_ABI
