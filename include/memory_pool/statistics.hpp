// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What pools and resources count.
///
///     in_use = allocations - deallocations <= peak_in_use
///
/// Thread safety: values.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// What a pool whose policy counts has done since it was made.
struct pool_statistics
{
    std::uint64_t allocations = 0;   ///< Blocks handed out.
    std::uint64_t deallocations = 0; ///< Blocks freed, also by `release` and `clear`.
    std::uint64_t failures = 0;      ///< Failed allocations.
    std::size_t in_use = 0;          ///< Blocks in use now.
    std::size_t peak_in_use = 0;     ///< Peak of blocks in use.
    std::size_t slabs = 0;           ///< Slabs held now.
    std::size_t bytes_reserved = 0;  ///< Bytes held from upstream, bookkeeping included.
};

/// The allocations of a memory resource since construction. A chunk is what one allocation returns; its bytes are those
/// requested.
struct resource_statistics
{
    std::uint64_t allocations = 0;     ///< Chunks handed out.
    std::uint64_t deallocations = 0;   ///< Chunks freed.
    std::uint64_t failures = 0;        ///< Failed allocations.
    std::size_t in_use = 0;            ///< Chunks in use now.
    std::size_t peak_in_use = 0;       ///< Peak of chunks in use.
    std::size_t bytes_in_use = 0;      ///< Bytes in use now.
    std::size_t peak_bytes_in_use = 0; ///< Peak of bytes in use.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
