// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Hash tables whose pages count as np_alloc's metadata: see core/reports/hash_table.hpp.
///
/// Thread safety: none; the owner of the table has a lock.
#pragma once

#include <memory_pool/core/reports/hash_table.hpp>

#include "internals.hpp"
#include "metadata_pages.hpp"

namespace memory_pool::np {
using core::mixed;

/// Map from key to entry.
template <class Entry>
using hash_table = core::hash_table<Entry, metadata_pages>;
} // namespace memory_pool::np
