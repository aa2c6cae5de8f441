// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// libmemory_pool: pools for one thread, and the registry of reports.
// Not sorted: this changes the effect of the next header.
#include "instances.hpp"

#include <memory_pool/block_pool.hpp>
