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
/// It has no iterators, as other threads create and destroy objects meanwhile: `for_each` says when it may be called.
///
/// Thread safety: any thread, but for `clear`, `release` and the destructor, which need the pool for themselves. Each
/// object is its user's.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/policies.hpp>
