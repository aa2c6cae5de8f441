// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Where in an arena blocks in use begin and end, for a policy that checks.
///
///     | header | starts: a bit for each granule | ends: the same | block | block | ...
///
///     A granule has its bit set in `starts` if a block in use begins there, in `ends` if one ends with it.
///
/// Thread safety: none; whoever owns the arena sees to it.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/arena.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::core
{
/// The marks of one arena.
class arena_marks
{
public:
    /// Returns: bytes that the marks of an arena of that size take.
    static constexpr std::size_t bytes_for(std::size_t arena_size) noexcept { return 2 * words_for(arena_size) * 8; }

    /// The marks that lie at `bits` in the arena that begins at `begin`.
    arena_marks(std::byte* begin, std::byte* bits, std::size_t arena_size) noexcept
        : begin_(begin), starts_(reinterpret_cast<std::uint64_t*>(bits)), ends_(starts_ + words_for(arena_size)),
          bytes_(bytes_for(arena_size))
    {
    }

    /// Effects: nothing in the arena is in use.
    void clear() noexcept { std::memset(starts_, 0, bytes_); }

    /// Effects: notes that a block is in use.
    void add(const void* block, std::size_t extent) noexcept
    {
        set(starts_, granule(block));
        set(ends_, last_granule(block, extent));
    }

    /// Effects: notes that a block is not in use any more.
    void remove(const void* block, std::size_t extent) noexcept
    {
        reset(starts_, granule(block));
        reset(ends_, last_granule(block, extent));
    }

    /// Returns: whether a block in use begins at `address`.
    bool is_start(const void* address) const noexcept { return is_granule(address) && test(starts_, granule(address)); }

    /// Returns: whether a block in use ends where one of that extent at `block` does, and not before.
    bool has_extent(const void* block, std::size_t extent) const noexcept
    {
        const std::size_t last = last_granule(block, extent);
        for (std::size_t i = granule(block); i < last; ++i)
            if (test(ends_, i))
                return false;
        return test(ends_, last);
    }

    /// Returns: whether `address`, at which no block begins, lies in one in use.
    bool is_inside(const void* address) const noexcept
    {
        for (std::size_t i = granule(address) + 1; i-- != 0;) {
            if (test(starts_, i))
                return true;
            if (i != granule(address) && test(ends_, i))
                return false;
        }
        return false;
    }

private:
    static constexpr std::size_t words_for(std::size_t arena_size) noexcept
    {
        return base::divide_round_up(arena_size / arena_granule, base::bits_per_word);
    }

    std::size_t offset(const void* address) const noexcept
    {
        return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_);
    }
    std::size_t granule(const void* address) const noexcept { return offset(address) / arena_granule; }
    bool is_granule(const void* address) const noexcept { return offset(address) % arena_granule == 0; }
    std::size_t last_granule(const void* block, std::size_t extent) const noexcept
    {
        return granule(block) + extent / arena_granule - 1;
    }

    static std::uint64_t bit(std::size_t index) noexcept { return std::uint64_t{1} << (index % base::bits_per_word); }
    static void set(std::uint64_t* bits, std::size_t index) noexcept
    {
        bits[index / base::bits_per_word] |= bit(index);
    }
    static void reset(std::uint64_t* bits, std::size_t index) noexcept
    {
        bits[index / base::bits_per_word] &= ~bit(index);
    }
    static bool test(const std::uint64_t* bits, std::size_t index) noexcept
    {
        return (bits[index / base::bits_per_word] & bit(index)) != 0;
    }

    std::byte* begin_;
    std::uint64_t* starts_;
    std::uint64_t* ends_;
    std::size_t bytes_;
};
} // namespace memory_pool::core
