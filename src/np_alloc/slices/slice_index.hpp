// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Indices of slices, which do not convert to or from counts of slices, bytes or numbers of blocks.
///
///     index + count -> index      index - count -> index      index - index -> count
///
/// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// The index of a slice in its region, or the end of a range of slices.
enum class slice_index : std::uint32_t
{
};
inline constexpr slice_index first_slice{};
inline constexpr slice_index no_slice{std::numeric_limits<std::uint32_t>::max()};

/// Returns: the index in a table with an entry for each slice; for an end of a range, the number of slices before it.
constexpr std::size_t position(slice_index slice) noexcept
{
    return static_cast<std::size_t>(slice);
}

/// Returns: the slice at `position`.
constexpr slice_index slice_at(std::size_t position) noexcept
{
    return static_cast<slice_index>(position);
}

constexpr slice_index operator+(slice_index slice, std::uint32_t count) noexcept
{
    return slice_at(position(slice) + count);
}

constexpr slice_index operator-(slice_index slice, std::uint32_t count) noexcept
{
    return slice_at(position(slice) - count);
}

constexpr std::uint32_t operator-(slice_index end, slice_index begin) noexcept
{
    return static_cast<std::uint32_t>(position(end) - position(begin));
}

constexpr slice_index& operator++(slice_index& slice) noexcept
{
    return slice = slice + 1;
}
} // namespace memory_pool::np
