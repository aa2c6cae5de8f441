// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The layout of the slabs of a pool, computed once from the size and alignment of a block.
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
/// Masking the address of a block therefore finds its slab.
///
/// The first slab of a pool is an exception: the pool stores the address of that slab, which may therefore begin
/// anywhere, and have the initial size of the pool. A pool with a known size needs only a single plain request to
/// upstream.
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
/// Size of the header of a slab. core/slabs/slab.hpp checks it.
inline constexpr std::size_t slab_header_bytes = 64;

/// Minimum alignment of slabs with a listener, so that objects find their slab: see core/objects/counted_object.hpp.
inline constexpr std::size_t slab_granule = std::size_t{64} * 1024;

/// The geometry of the slabs of one pool.
class slab_layout
{
public:
    /// Usual size of a slab, unless the blocks are large, or the program requests more blocks at once.
    static constexpr std::size_t usual_slab_bytes = std::size_t{64} * 1024;

    /// Approximate size of the first slab of a pool that grows.
    static constexpr std::size_t first_slab_bytes = std::size_t{4} * 1024;

    /// Size of the chunks that a pool takes from upstream once it has reached this size, each with several slabs. (For
    /// each chunk that is aligned to 64 KiB, glibc's malloc leaves a gap of that size, and touches two pages of it.
    /// With chunks of 64 KiB, these pages would take an eighth more memory.)
    static constexpr std::size_t usual_chunk_bytes = std::size_t{1024} * 1024;

    /// Maximum size of a chunk for blocks requested at once: large enough for an upstream to use huge pages, but below
    /// the size that jemalloc returns to the system at once (8 MiB), so that the next pool can reuse the memory.
    static constexpr std::size_t largest_chunk_bytes = std::size_t{4} * 1024 * 1024;

    /// Minimum number of blocks in a slab, as long as they take no more than `large_slab_bytes`.
    static constexpr std::size_t blocks_in_a_slab = 32;
    static constexpr std::size_t large_slab_bytes = std::size_t{2} * 1024 * 1024;

    /// Maximum size of a slab, except with a single block: offsets in a slab have 32 bits.
    static constexpr std::size_t largest_slab_bytes = std::size_t{0xFFFF'0000};

    /// Effects: computes a layout for blocks that are `stride` bytes apart and aligned to `alignment`. No slab has more
    ///   than `limit` blocks, and only the first may have more than `step`. Slabs are aligned to at least `granule`
    ///   bytes. The first block of a slab is aligned to `alignment`; the others, too, if `stride` is a multiple of it.
    /// Preconditions: `alignment` is a power of two; `stride` is a multiple of 8, at most PTRDIFF_MAX / 4; `limit` is
    ///   not 0.
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

    /// Returns: the distance between the starts of adjacent blocks, in bytes.
    constexpr std::size_t stride() const noexcept { return stride_; }

    /// Returns: the alignment of the first block of a slab, in bytes.
    constexpr std::size_t alignment() const noexcept { return alignment_; }

    /// Returns: the alignment of every slab, in bytes.
    constexpr std::size_t slab_alignment() const noexcept { return slab_alignment_; }

    /// Returns: the maximum number of blocks in a slab.
    constexpr std::size_t max_blocks() const noexcept
    {
        return max_blocks_within(std::min(slab_alignment_, largest_slab_bytes));
    }

    /// Returns: the alignment of the first slab of a pool, in bytes: for common blocks, the alignment of malloc.
    constexpr std::size_t first_slab_alignment() const noexcept
    {
        return std::max(alignment_, alignof(std::max_align_t));
    }

    /// Returns: whether the first slab of a pool can have `blocks` blocks. Cheaper than max_first_blocks.
    constexpr bool fits_first_slab(std::size_t blocks) const noexcept
    {
        return blocks == 1 || (blocks <= limit_ && bytes_for(blocks) <= largest_slab_bytes);
    }

    /// Returns: the maximum number of blocks in the first slab of a pool.
    constexpr std::size_t max_first_blocks() const noexcept { return max_blocks_within(largest_slab_bytes); }

    /// Returns: the offset of the first block in a slab of `blocks` blocks, in bytes.
    constexpr std::size_t first_block(std::size_t blocks) const noexcept
    {
        const std::size_t words = base::divide_round_up(blocks, base::bits_per_word);
        return base::round_up(slab_header_bytes + words * sizeof(std::uint64_t), alignment_);
    }

    /// Returns: the size of a slab of `blocks` blocks, in bytes.
    constexpr std::size_t slab_bytes(std::size_t blocks) const noexcept
    {
        return first_block(blocks) + blocks * stride_;
    }

    /// Returns: the number of blocks that fit into a slab of `bytes` bytes.
    constexpr std::size_t blocks_within(std::size_t bytes) const noexcept
    {
        if (bytes < slab_bytes(1))
            return 0;
        std::size_t blocks = (bytes - slab_header_bytes) / stride_;
        blocks -= blocks / (stride_ * 8 + 1); // Room for their bits.
        while (slab_bytes(blocks) > bytes)
            blocks -= base::divide_round_up(slab_bytes(blocks) - bytes, stride_);
        return blocks;
    }

    /// Returns: `offset / stride()`, if `offset` is a multiple of the stride within a slab. Otherwise, a number whose
    ///   product with the stride is not `offset`.
    ///
    /// Multiplies by r = ceil(2^32 / stride) instead of dividing. For offset = k * stride, the product is
    /// k * 2^32 + k * (r * stride - 2^32). The last term is below k * stride, and so below 2^32: the result is exact.
    /// (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994.)
    std::size_t index(std::size_t offset) const noexcept { return (offset * reciprocal_) >> 32; }

    /// Returns: `bytes / stride()`, for whole adjacent blocks of a slab.
    std::size_t blocks_in(std::size_t bytes) const noexcept
    {
        return reciprocal_ != 0 ? index(bytes) : bytes / stride_;
    }

private:
    /// Returns: the maximum number of blocks in a slab of at most `bytes` bytes, at least 1.
    constexpr std::size_t max_blocks_within(std::size_t bytes) const noexcept
    {
        return std::max(std::size_t{1}, std::min(blocks_within(bytes), limit_));
    }

    /// As `slab_bytes`, but saturates on overflow.
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
    std::uint32_t reciprocal_ = 0; ///< 0 if a slab has one block, so that every index is 0.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
