// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of objects of one type that threads share.
///
///     create(arguments...)  ->  block from the pool  ->  T constructed in it  ->  T*
///     destroy(T*)           ->  T destroyed          ->  block back to the pool, by any thread
///
///     live objects = blocks in use (outside of create and destroy)
///
/// A process may fork, as with concurrent_block_pool. If other threads have used the pool, the pool does not destroy
/// objects by itself in the child: see `clear`. (The pool does not notice a thread whose first use of the pool, during
/// the fork, is to destroy an object.)
///
/// The pool has no iterators, because other threads may create and destroy objects during the iteration. `for_each`
/// states when it may be called.
///
/// Thread safety: any thread; `clear`, `release` and the destructor need exclusive access. Users synchronize access to
/// the objects themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/policies.hpp>
