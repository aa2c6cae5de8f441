// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The size of the chunks that a pool takes from upstream, and the layout of slabs in them.
///
///     first chunk:    | slab | array of a magazine |          without special alignment, unless there is a listener
///     small chunks:   | slab |                                ditto: alignment would waste more bytes than they have
///     other chunks:   | slab | gap | slab | gap | slab |      each slab at a multiple of slab_alignment
///
///     bytes = (slabs - 1) * slab_alignment + slab_bytes(room_each)          except in the first chunk
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/magazine.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>

#include <algorithm>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Adjacent slabs of equal size.
struct chunk_shape
{
    std::size_t slabs;
    std::size_t room_each; ///< Blocks that fit into a slab.
    std::size_t bytes;
    std::size_t alignment;

    /// Returns: the number of blocks that fit into the chunk.
    std::size_t blocks() const noexcept { return slabs * room_each; }
};

/// Plans the chunks of a pool. Keeps references to the layout and the options.
class chunk_plan
{
public:
    /// Effects: plans for up to `limit` blocks.
    chunk_plan(const slab_layout& layout, const slab_store_options& options, std::size_t limit) noexcept
        : layout_(layout), options_(options), limit_(limit)
    {
    }

    /// Returns: the number of blocks to add to a pool of `capacity` blocks when `wanted` were requested. Without a
    ///   growth step in the options, the pool adds at least as many blocks as it has, within bounds.
    /// Preconditions: `capacity` is below the limit.
    std::size_t blocks_to_add(std::size_t wanted, std::size_t capacity) const noexcept
    {
        std::size_t blocks = std::max(wanted, std::size_t{1});
        if (options_.growth_step == 0) {
            blocks =
                std::max(blocks, std::min(usual_step(capacity), slab_layout::usual_chunk_bytes / layout_.stride()));
            const bool may_round_up = wanted <= 1 && !blocks_are_expensive();
            if (may_round_up && blocks < slab_layout::first_slab_bytes / layout_.stride())
                blocks = std::max(blocks, layout_.blocks_within(slab_layout::first_slab_bytes));
        }
        return std::min(blocks, limit_ - capacity);
    }

    /// Returns: the shape of a chunk for `blocks` more blocks than `capacity`, or as many as fit. `is_first`: the pool
    ///   has no first chunk now, because it never had one or has returned it to upstream. `is_short`: upstream is short
    ///   of memory, so the chunk has no room for later blocks, and little room for a magazine.
    MEMORY_POOL_NOINLINE chunk_shape next(std::size_t blocks, std::size_t capacity, bool is_first,
                                          bool is_short = false) const noexcept
    {
        if (is_first && options_.listener == nullptr)
            return first_of(layout_.fits_first_slab(blocks) ? blocks : layout_.max_first_blocks(), is_short);
        const std::size_t largest = layout_.max_blocks();
        const std::size_t room = std::min(std::max(blocks, is_short ? 0 : room_for_steps(capacity)), largest);
        if (is_first)
            return first_of(room, is_short);
        const std::size_t max_slabs =
            std::max(std::size_t{1}, slab_layout::largest_chunk_bytes / layout_.slab_alignment());
        return other(std::max(std::size_t{1}, std::min(blocks / largest, max_slabs)), room);
    }

    /// Returns: the shape of a first chunk of `bytes` bytes, whose slab has room for `room` blocks.
    chunk_shape first(std::size_t room, std::size_t bytes) const noexcept
    {
        return {1, room, bytes,
                options_.listener != nullptr ? layout_.slab_alignment() : layout_.first_slab_alignment()};
    }

    /// Returns: the shape of a further chunk, given its first slab.
    chunk_shape other(const slab& chunk) const noexcept { return other(chunk.slabs_in_chunk(), chunk.room()); }

    /// Returns: whether the slab of a further chunk of that shape cannot be found by masking.
    bool is_unaligned(const chunk_shape& shape) const noexcept { return shape.alignment != layout_.slab_alignment(); }

    /// Returns: the suitable room of a magazine in front of `capacity` blocks, in pointers.
    std::size_t suitable_magazine_room(std::size_t capacity) const noexcept
    {
        return magazine::suitable_room(capacity, layout_.stride(), options_.max_cached_blocks);
    }

private:
    bool blocks_are_expensive() const noexcept
    {
        return options_.listener != nullptr && options_.listener->is_expensive;
    }

    /// The capacity; three times the capacity as long as the blocks take less than a quarter of a slab, because a
    /// fragmented heap takes milliseconds for each chunk, however small (glibc with a million free blocks: 2 ms).
    std::size_t usual_step(std::size_t capacity) const noexcept
    {
        const bool is_small = capacity < slab_layout::usual_slab_bytes / 4 / layout_.stride();
        return is_small && !blocks_are_expensive() ? 3 * capacity : capacity;
    }

    MEMORY_POOL_NOINLINE chunk_shape first_of(std::size_t room, bool is_short) const noexcept
    {
        std::size_t pointers = 0;
        if (options_.has_room_for_magazine)
            pointers = is_short ? magazine::min_room(room, layout_.stride(), options_.max_cached_blocks)
                                : suitable_magazine_room(room);
        return first(room, layout_.slab_bytes(room) + pointers * sizeof(void*));
    }

    chunk_shape other(std::size_t slabs, std::size_t room_each) const noexcept
    {
        const std::size_t bytes = (slabs - 1) * layout_.slab_alignment() + layout_.slab_bytes(room_each);
        const bool is_small = 2 * bytes <= layout_.slab_alignment() && options_.listener == nullptr;
        return {slabs, room_each, bytes, is_small ? layout_.first_slab_alignment() : layout_.slab_alignment()};
    }

    /// Slabs with a listener begin at multiples of the granule. For a growth step, leaves room for as many further
    /// blocks as there are now: otherwise, each small step would waste most of a granule.
    std::size_t room_for_steps(std::size_t capacity) const noexcept
    {
        const bool grows_in_steps = options_.listener != nullptr && options_.growth_step != 0;
        return grows_in_steps ? std::min(capacity, limit_ - capacity) : 0;
    }

    const slab_layout& layout_;
    const slab_store_options& options_;
    std::size_t limit_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
