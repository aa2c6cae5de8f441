// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The statistics of pools and resources.
///
///     in_use = allocations - deallocations <= peak_in_use
///
/// Thread safety: values.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The statistics of a pool with a counting policy since its construction.
struct pool_statistics
{
    std::uint64_t allocations = 0;   ///< Blocks allocated.
    std::uint64_t deallocations = 0; ///< Blocks freed, including by `release` and `clear`.
    std::uint64_t failures = 0;      ///< Failed allocations.
    std::size_t in_use = 0;          ///< Blocks in use now.
    std::size_t peak_in_use = 0;     ///< Peak of blocks in use.
    std::size_t slabs = 0;           ///< Slabs held now.
    std::size_t bytes_reserved = 0;  ///< Bytes allocated from upstream, including bookkeeping.
};

/// The statistics of a memory resource since its construction. A chunk is the memory returned by one allocation. Byte
/// counts add up the requested sizes.
struct resource_statistics
{
    std::uint64_t allocations = 0;     ///< Chunks allocated.
    std::uint64_t deallocations = 0;   ///< Chunks freed.
    std::uint64_t failures = 0;        ///< Failed allocations.
    std::size_t in_use = 0;            ///< Chunks in use now.
    std::size_t peak_in_use = 0;       ///< Peak of chunks in use.
    std::size_t bytes_in_use = 0;      ///< Bytes in use now.
    std::size_t peak_bytes_in_use = 0; ///< Peak of bytes in use.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
