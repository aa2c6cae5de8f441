// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A bump-allocated arena, reused as a whole when all of its blocks were freed.
///
///     | header | block | block | gap | block |                 never used                 |
///     ^        ^                             ^                                            ^
///     |        start                         cursor                                       end
///     a multiple of the arena's size, which is a power of two
///
///     in use = cursor - floor        floor = start + bytes that came back + bytes skipped for alignment
///
/// Allocating moves the cursor; freeing moves the floor, or, for the last block allocated, the cursor. Neither reads
/// other blocks. When the two meet, nothing in the arena is in use.
///
/// Thread safety: none; the owner of the arena synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Blocks in an arena begin at multiples of this many bytes, and take up a multiple of it.
inline constexpr std::size_t arena_granule = 8;

/// Returns: bytes that a block of `bytes` takes up in an arena. One of 0 bytes takes up some, too, so that it lies in
///   its arena.
/// Preconditions: the result fits.
constexpr std::size_t arena_extent(std::size_t bytes) noexcept
{
    return base::round_up(bytes != 0 ? bytes : 1, arena_granule);
}

/// Returns: how many bytes there are from `position` to the next multiple of `alignment`.
inline std::size_t distance_to_multiple(const std::byte* position, std::size_t alignment) noexcept
{
    return (std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(position)) & (alignment - 1);
}

/// The store's data in the header of an arena. `Arena` is derived from it.
template <class Arena>
struct arena_links // NOLINT(bugprone-crtp-constructor-accessibility): an aggregate with one derived class
{
    const void* owner = nullptr; ///< The resource whose arena it is.
    Arena* next_free = nullptr;  ///< In the list of free arenas.
    bool is_free = false;        ///< Is it in that list?
    std::uint16_t scope = 0;     ///< The depth of the scope that has taken it; 0: none. See local_arenas.
    // Of the first arena in a chunk:
    std::uint16_t chunk_arenas = 0;  ///< how many the chunk has room for,
    std::uint16_t carved_arenas = 0; ///< and how many of them have been used, from the first on;
    Arena* next_chunk = nullptr;     ///< the first in the next chunk;
    Arena* lower = nullptr;          ///< in the tree of chunks;
    Arena* higher = nullptr;         ///< in the tree of chunks.
};

/// An arena for one thread.
struct alignas(cache_line_size) arena : arena_links<arena>
{
    std::byte* cursor = nullptr;
    std::byte* floor = nullptr;

    std::size_t bytes_in_use() const noexcept { return static_cast<std::size_t>(cursor - floor); }

    /// Effects: frees everything from `start` on.
    void reset(std::byte* start) noexcept { cursor = floor = start; }
};

/// A null object: an arena without room, so nothing is ever written to it.
inline arena no_arena{};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
