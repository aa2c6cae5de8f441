// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An entry of a profile: a call stack, and the blocks allocated there.
///
///     main -> parse -> malloc      allocated: 1,000 blocks, 64,000 bytes      in use: 20 blocks, 1,280 bytes
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The blocks of a call stack, estimated from samples.
struct profile_values
{
    std::uint64_t allocated_blocks = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t blocks_in_use = 0;
    std::uint64_t bytes_in_use = 0;
};

/// A call stack, and its blocks.
struct profile_sample
{
    static constexpr std::size_t most_frames = 64;

    const void* const* begin; ///< The innermost frame.
    const void* const* end;   ///< At most most_frames further.
    profile_values values;
    // NOLINTNEXTLINE(readability-redundant-member-init): or GCC warns where it is left out
    std::string_view pool{}; ///< The name of the pool; empty if they are of none.
};

/// What a profile describes.
struct profile_header
{
    std::uint64_t unix_ms;
    std::uint64_t period_bytes;      ///< Mean bytes between samples.
    std::string_view dropped_frames; ///< A regular expression of functions that pprof drops, with their callees.
    std::string_view library;        ///< The library that allocates.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
