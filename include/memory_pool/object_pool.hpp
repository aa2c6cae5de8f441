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
#include <memory_pool/basic_object_pool.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
