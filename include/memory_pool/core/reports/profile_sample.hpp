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
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/os/call_stack.hpp>

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

/// The captured call stack of a sample. It has one frame more than a profile keeps, to detect truncation.
///
///     | call_stack | sampler | allocate | parse | main |
using sampled_stack = os::basic_call_stack<64 + 1>;

/// Returns: whether the stack has more frames than a profile keeps.
inline bool is_truncated(const sampled_stack& stack) noexcept
{
    return static_cast<std::size_t>(stack.end() - stack.begin()) == sampled_stack::max_frames;
}

/// The calls of a sample.
struct sampled_calls
{
    const void* const* begin; ///< The innermost frame.
    const void* const* end;   ///< At most sampled_stack::max_frames frames after `begin`.
    std::string_view pool;    ///< The name of the pool; empty if the sample is not from a pool.
    bool are_truncated;       ///< If so, a mark replaces the last frame.
};

/// A call stack, and its blocks.
struct profile_sample
{
    static constexpr std::size_t max_frames = sampled_stack::max_frames; ///< Including the mark of a truncated stack.

    const code_frame* begin; ///< The innermost frame.
    const code_frame* end;   ///< At most max_frames after `begin`.
    profile_values values;
    // NOLINTNEXTLINE(readability-redundant-member-init): otherwise GCC warns about initializers that omit it
    std::string_view pool{}; ///< The name of the pool; empty if the blocks are not from a pool.
};

/// The metadata of a profile.
struct profile_header
{
    std::uint64_t unix_ms;
    std::uint64_t period_bytes;           ///< Mean bytes between samples.
    std::string_view dropped_frames;      ///< A regular expression: pprof drops matching functions and their callees.
    std::string_view library;             ///< The allocating library.
    const code_module* modules = nullptr; ///< The head of the list of all modules.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
