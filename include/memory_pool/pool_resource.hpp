// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size. They take the place of the classes of the same names in
/// std::pmr.
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
/// The pools of a synchronized_pool_resource have magazines for each thread, so most calls take no lock: see
/// concurrent_block_pool.hpp, also for what a fork does.
///
/// Thread safety: unsynchronized_pool_resource: one thread at a time. synchronized_pool_resource: any thread, but for
/// `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/basic_pool_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/resources/locked_upstream.hpp>
#include <memory_pool/core/resources/plain_upstream.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
