// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How the slabs of one pool are cut: computed once from the size and alignment of a block.
///
///     multiple of slab_alignment
///     |
///     v
///     +--------+------------------+---------+---------+---------+-- ... --+---------+
///     | header | a bit for a block | block 0 | block 1 | block 2 |         | block n |
///     +--------+------------------+---------+---------+---------+-- ... --+---------+
///     <------ first_block(n) ----->< stride >                                        ^ slab_bytes(n)
///
///     slab_bytes(n) = first_block(n) + n * stride <= slab_alignment
///
/// so that the slab of a block is found by masking the block's address.
///
/// The first slab of a pool is an exception: the pool remembers where it is, so it may begin anywhere and be as large
/// as the pool is made. A pool that is told its size is therefore one plain request upstream.
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Bytes that every slab begins with. core/slabs/slab.hpp checks that its header is just this large.
inline constexpr std::size_t slab_header_bytes = 64;

/// Slabs with a listener begin at multiples of this many bytes, so that objects find their slab: see
/// core/objects/counted_object.hpp.
inline constexpr std::size_t slab_granule = std::size_t{64} * 1024;

/// The geometry of the slabs of one pool.
class slab_layout
{
public:
    /// A slab grows to this many bytes, unless the blocks are large or the pool was asked for more at once.
    static constexpr std::size_t usual_slab_bytes = std::size_t{64} * 1024;

    /// The first slab of a pool that grows is about this large.
    static constexpr std::size_t first_slab_bytes = std::size_t{4} * 1024;

    /// A pool that has grown to this many bytes takes as many at once from upstream, as several slabs side by side.
    /// (For each chunk of memory that is aligned to 64 KiB, glibc's malloc leaves a gap of that size and touches two
    /// pages of it: with chunks of 64 KiB, an eighth more memory.)
    static constexpr std::size_t usual_chunk_bytes = std::size_t{1024} * 1024;

    /// The largest chunk for blocks requested at once: large enough for an upstream to use huge pages, and less than
    /// jemalloc returns to the system at once (8 MiB), so that the next pool can reuse it.
    static constexpr std::size_t largest_chunk_bytes = std::size_t{4} * 1024 * 1024;

    /// A slab holds at least this many blocks, while that takes no more than `large_slab_bytes`.
    static constexpr std::size_t blocks_in_a_slab = 32;
    static constexpr std::size_t large_slab_bytes = std::size_t{2} * 1024 * 1024;

    /// No slab is larger than this, unless it has a single block: offsets in a slab are numbers of 32 bits.
    static constexpr std::size_t largest_slab_bytes = std::size_t{0xFFFF'0000};

    /// Effects: cuts slabs for blocks that are `stride` bytes apart and aligned to `alignment`, such that no slab is
    ///   made for more than `limit` blocks, and none but the first for more than `step`. Slabs are aligned to `granule`
    ///   bytes at least. The first block of a slab is aligned to `alignment`, the others too if `stride` is a multiple
    ///   of it.
    /// Preconditions: `alignment` is a power of two, `stride` a multiple of 8, at most PTRDIFF_MAX / 4; `limit` is not
    ///   0.
    constexpr slab_layout(std::size_t stride, std::size_t alignment, std::size_t limit,
                          std::size_t step = std::numeric_limits<std::size_t>::max(), std::size_t granule = 1) noexcept
        : stride_(stride), alignment_(alignment), limit_(limit)
    {
        std::size_t bytes = std::max(usual_slab_bytes, bytes_for(1));
        bytes = std::max(bytes, std::min(large_slab_bytes, bytes_for(blocks_in_a_slab)));
        bytes = std::min(bytes, bytes_for(std::min(limit, step)));
        slab_alignment_ = std::max(base::power_of_two_at_least(bytes), granule);
        if (bytes_for(2) <= largest_slab_bytes)
            reciprocal_ = static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + stride - 1) / stride);
    }

    /// Returns: bytes from the start of one block to the start of the next.
    constexpr std::size_t stride() const noexcept { return stride_; }

    /// Returns: the alignment of the first block of a slab, in bytes.
    constexpr std::size_t alignment() const noexcept { return alignment_; }

    /// Returns: the alignment of every slab, in bytes.
    constexpr std::size_t slab_alignment() const noexcept { return slab_alignment_; }

    /// Returns: the most blocks that a slab can have.
    constexpr std::size_t max_blocks() const noexcept
    {
        return most_within(std::min(slab_alignment_, largest_slab_bytes));
    }

    /// Returns: the alignment of the first slab of a pool, in bytes. For common blocks it is what malloc gives anyway.
    constexpr std::size_t first_slab_alignment() const noexcept
    {
        return std::max(alignment_, alignof(std::max_align_t));
    }

    /// Returns: whether the first slab of a pool can have `blocks` blocks. Cheaper than max_first_blocks.
    constexpr bool fits_first_slab(std::size_t blocks) const noexcept
    {
        return blocks == 1 || (blocks <= limit_ && bytes_for(blocks) <= largest_slab_bytes);
    }

    /// Returns: the most blocks that the first slab of a pool can have.
    constexpr std::size_t max_first_blocks() const noexcept { return most_within(largest_slab_bytes); }

    /// Returns: bytes from the start of a slab of `blocks` blocks to the first of them.
    constexpr std::size_t first_block(std::size_t blocks) const noexcept
    {
        const std::size_t words = base::divide_round_up(blocks, base::bits_per_word);
        return base::round_up(slab_header_bytes + words * sizeof(std::uint64_t), alignment_);
    }

    /// Returns: the bytes of a slab of `blocks` blocks.
    constexpr std::size_t slab_bytes(std::size_t blocks) const noexcept
    {
        return first_block(blocks) + blocks * stride_;
    }

    /// Returns: how many blocks a slab of at most `bytes` bytes can have.
    constexpr std::size_t blocks_within(std::size_t bytes) const noexcept
    {
        if (bytes < slab_bytes(1))
            return 0;
        std::size_t blocks = (bytes - slab_header_bytes) / stride_;
        blocks -= blocks / (stride_ * 8 + 1); // what their bits take
        while (slab_bytes(blocks) > bytes)
            blocks -= base::divide_round_up(slab_bytes(blocks) - bytes, stride_);
        return blocks;
    }

    /// Returns: `offset / stride()`, if `offset` is a multiple of it that lies in a slab. Else something that,
    ///   multiplied by the stride, does not give `offset`.
    ///
    /// Multiplies by r = ceil(2^32 / stride) instead of dividing. For offset = k * stride the product is
    /// k * 2^32 + k * (r * stride - 2^32), whose last term is below k * stride, so below 2^32: exact.
    /// (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994.)
    std::size_t index(std::size_t offset) const noexcept { return (offset * reciprocal_) >> 32; }

    /// Returns: `bytes / stride()`, for whole blocks side by side in a slab.
    std::size_t blocks_in(std::size_t bytes) const noexcept
    {
        return reciprocal_ != 0 ? index(bytes) : bytes / stride_;
    }

private:
    /// The most blocks in a slab of at most `bytes` bytes, or of a single block.
    constexpr std::size_t most_within(std::size_t bytes) const noexcept
    {
        return std::max(std::size_t{1}, std::min(blocks_within(bytes), limit_));
    }

    /// `slab_bytes`, but as large as can be if that does not fit.
    constexpr std::size_t bytes_for(std::size_t blocks) const noexcept
    {
        const std::size_t words = base::divide_round_up(blocks, base::bits_per_word);
        const std::size_t before =
            base::saturating_add(slab_header_bytes + alignment_ - 1, words * sizeof(std::uint64_t));
        return base::saturating_add(before & ~(alignment_ - 1), base::saturating_multiply(blocks, stride_));
    }

    std::size_t stride_;
    std::size_t alignment_;
    std::size_t limit_;
    std::size_t slab_alignment_ = 0;
    std::uint32_t reciprocal_ = 0; ///< 0 where a slab has one block: every index is 0 then.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
