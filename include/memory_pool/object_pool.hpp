// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type, made and destroyed in blocks of a pool, for one thread.
///
///     create(arguments...)  ->  block from the pool  ->  T constructed in it  ->  T*
///     destroy(T*)           ->  T destroyed          ->  block back to the pool
///
///     objects alive = blocks in use (outside of create and destroy)
///
/// Thread safety: none of its own: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/basic_object_pool.hpp>
#include <memory_pool/block_pool.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool of objects of type `T`, for one thread. See base/policies.hpp for `Policy`, and basic_object_pool for what it
/// can do.
template <class T, class Policy = default_policy>
using object_pool = basic_object_pool<T, basic_block_pool<Policy>>;
}} // namespace memory_pool::MEMORY_POOL_ABI
