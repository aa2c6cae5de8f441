// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A bump-allocated arena, reused as a whole when all of its blocks are free.
///
///     | header | block | block | gap | block |                 never used                 |
///     ^        ^                             ^                                            ^
///     |        start                         cursor                                       end
///     a multiple of the arena's size, which is a power of two
///
///     in use = cursor - floor        floor = start + freed bytes + bytes skipped for alignment
///
/// Allocating moves the cursor. Freeing moves the floor, or the cursor if the block is the last one. Neither operation
/// reads other blocks. When cursor and floor meet, the arena is empty.
///
/// Thread safety: none; the owner of the arena synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The addresses and sizes of blocks in an arena are multiples of this number of bytes.
inline constexpr std::size_t arena_granule = 8;

/// Returns: the bytes that a block of `bytes` takes up in an arena. A block of 0 bytes takes up a granule, so that its
///   address lies in its arena.
/// Preconditions: the result fits.
constexpr std::size_t arena_extent(std::size_t bytes) noexcept
{
    return base::round_up(bytes != 0 ? bytes : 1, arena_granule);
}

/// Returns: the number of bytes from `position` to the next multiple of `alignment`.
inline std::size_t distance_to_multiple(const std::byte* position, std::size_t alignment) noexcept
{
    return (std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(position)) & (alignment - 1);
}

/// The store's data in the header of an arena. `Arena` derives from it.
template <class Arena>
struct arena_links // NOLINT(bugprone-crtp-constructor-accessibility): an aggregate with one derived class
{
    const void* owner = nullptr; ///< The resource that owns the arena.
    Arena* next_free = nullptr;  ///< The next arena in the list of free arenas.
    bool is_free = false;        ///< The arena is in this list.
    std::uint16_t scope = 0;     ///< The depth of the scope that has taken the arena; 0 for none. See local_arenas.
    // Only in the first arena of a chunk:
    std::uint16_t chunk_arenas = 0;  ///< The number of arenas in the chunk.
    std::uint16_t carved_arenas = 0; ///< The number of arenas that have been used; they come first.
    Arena* next_chunk = nullptr;     ///< The first arena of the next chunk.
    Arena* lower = nullptr;          ///< In the tree of chunks.
    Arena* higher = nullptr;         ///< In the tree of chunks.
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

/// A null object: an arena without room, which is never written.
inline arena no_arena{};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
