// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// libmemory_pool: pool resources.
#include <memory_pool/concurrent_block_pool.hpp>

// Not sorted: this changes the effect of the next header.
#include "instances.hpp"

#include <memory_pool/pool_resource.hpp>
