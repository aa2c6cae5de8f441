// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The bounds and requests of blocks in use in an arena, for a checking policy.
///
///     | header | one byte for each granule | block | block | ...
///
///     block of three granules:  | begins, aligned to 2^n |  0  | ends, n bytes more than requested |
///
/// Thread safety: none; the owner of the arena synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/resources/arena.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The marks of one arena.
class arena_marks
{
public:
    /// Returns: the size in bytes of the marks of an arena of `arena_size`.
    static constexpr std::size_t bytes_for(std::size_t arena_size) noexcept { return arena_size / arena_granule; }

    /// Effects: accesses the marks at `notes` of the arena at `begin`.
    arena_marks(std::byte* begin, std::byte* notes, std::size_t arena_size) noexcept
        : begin_(begin), notes_(reinterpret_cast<std::uint8_t*>(notes)), count_(bytes_for(arena_size))
    {
    }

    /// Effects: marks all granules as not in use.
    void clear() noexcept { std::fill_n(notes_, count_, std::uint8_t{0}); }

    /// Effects: marks the blocks from `begin` to `end` as not in use.
    void clear(const std::byte* begin, const std::byte* end) noexcept
    {
        std::fill(notes_ + granule(begin), notes_ + offset(end) / arena_granule, std::uint8_t{0});
    }

    /// Effects: marks a block of `extent` bytes as in use, and records its request.
    /// Preconditions: `extent` is more than one granule, and exceeds the request by less than 64 bytes.
    void add(const void* block, const base::block_request& asked, std::size_t extent) noexcept
    {
        notes_[granule(block)] = static_cast<std::uint8_t>(begins | base::highest_bit(asked.alignment));
        notes_[granule(block) + extent / arena_granule - 1] = static_cast<std::uint8_t>(ends | (extent - asked.bytes));
    }

    /// Effects: marks a block as not in use.
    /// Preconditions: is_start(block).
    void remove(const void* block) noexcept
    {
        notes_[end_of(block)] = 0;
        notes_[granule(block)] = 0;
    }

    /// Returns: the request for a block.
    /// Preconditions: is_start(block).
    base::block_request request_of(const void* block) const noexcept
    {
        const std::size_t first = granule(block);
        const std::size_t last = end_of(block);
        return {(last + 1 - first) * arena_granule - (notes_[last] & number),
                std::size_t{1} << (notes_[first] & number)};
    }

    /// Returns: whether a block in use begins at `address`.
    bool is_start(const void* address) const noexcept
    {
        return offset(address) % arena_granule == 0 && (notes_[granule(address)] & begins) != 0;
    }

    /// Returns: whether `address` lies in a block in use.
    /// Preconditions: no block begins at `address`.
    bool is_inside(const void* address) const noexcept
    {
        for (std::size_t i = granule(address) + 1; i-- != 0;) {
            if ((notes_[i] & begins) != 0)
                return true;
            if (i != granule(address) && (notes_[i] & ends) != 0)
                return false;
        }
        return false;
    }

private:
    // The bits of a mark.
    static constexpr unsigned begins = 0x80;
    static constexpr unsigned ends = 0x40;
    static constexpr unsigned number = 0x3F;

    std::size_t offset(const void* address) const noexcept
    {
        return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_);
    }
    std::size_t granule(const void* address) const noexcept { return offset(address) / arena_granule; }

    /// Returns the number of a block's last granule.
    std::size_t end_of(const void* block) const noexcept
    {
        std::size_t last = granule(block);
        while ((notes_[last] & ends) == 0)
            ++last;
        return last;
    }

    std::byte* begin_;
    std::uint8_t* notes_;
    std::size_t count_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
