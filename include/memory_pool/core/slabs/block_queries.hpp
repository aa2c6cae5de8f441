// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Queries about the blocks of a pool: the block that contains an address, blocks in use, damaged blocks.
///
/// Thread safety: none; the pool that owns the slabs synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/slabs/chunk_list.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_directory.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The position of an address in the blocks of a pool.
struct block_position
{
    slab* home;        ///< The slab that contains the address; nullptr: the address is in no block.
    std::size_t index; ///< Of the block in that slab.
    bool at_start;     ///< Is the address the start of the block?
};

/// Returns: the position of `address`, which may be any pointer.
/// Complexity: logarithmic in slabs. Reads no memory near `address`, unless it is in a slab.
inline block_position position_of(const chunk_list& chunks, const void* address) noexcept
{
    slab* const home = chunks.look_up(address);
    if (home == nullptr || address < home->first_block())
        return {nullptr, 0, false};
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - home->first_block());
    const std::size_t index = offset / chunks.layout().stride();
    if (index >= home->block_count())
        return {nullptr, 0, false};
    return {home, index, offset % chunks.layout().stride() == 0};
}

/// Returns: whether a block starts at `address`.
/// Complexity: as `position_of`.
inline bool has_block_at(const chunk_list& chunks, const void* address) noexcept
{
    const block_position position = position_of(chunks, address);
    return position.home != nullptr && position.at_start;
}

/// Returns: whether an outstanding block starts at `address`.
/// Complexity: as `position_of`.
inline bool is_outstanding(const chunk_list& chunks, const void* address) noexcept
{
    const block_position position = position_of(chunks, address);
    return position.home != nullptr && position.at_start && !position.home->is_free(position.index);
}

/// Returns: the misuse, if any, of freeing `address`, which may be any pointer.
/// Preconditions: no blocks are cached, so that the bits show exactly which blocks are in use.
/// Complexity: as `position_of`.
inline std::optional<error_kind> misuse_at(const chunk_list& chunks, const void* address) noexcept
{
    const block_position position = position_of(chunks, address);
    if (position.home == nullptr)
        return error_kind::foreign_pointer;
    if (!position.at_start)
        return error_kind::misaligned_pointer;
    return position.home->is_free(position.index) ? std::optional(error_kind::double_free) : std::nullopt;
}

/// Returns: the fill pattern of the blocks.
inline fill_pattern checks_of(const chunk_list& chunks) noexcept
{
    return {chunks.identity().block_size, chunks.layout().stride()};
}

/// Effects: calls `visit(block)` for each outstanding block. `visit` may free and allocate blocks, and enlarge the
///   store, but must not return slabs to upstream.
/// Complexity: linear in blocks ever used.
template <class Visit>
void for_each_outstanding(const chunk_list& chunks, Visit&& visit)
{
    for (const slab* chunk = chunks.directory().first_behind(nullptr); chunk != nullptr;
         chunk = chunks.directory().first_behind(chunk))
        chunks.for_each_slab_in(chunk, [&](const slab* home) {
            for (std::size_t i = home->next_in_use(0); i != home->carved(); i = home->next_in_use(i + 1))
                visit(home->block(i, chunks.layout().stride()));
        });
}

/// Returns: as next_outstanding(), but within one slab.
inline void* next_outstanding_of(const slab_layout& layout, const slab& home, const void* after) noexcept
{
    std::size_t index = 0;
    if (!base::is_before(after, home.first_block()))
        index = static_cast<std::size_t>(static_cast<const char*>(after) - home.first_block()) / layout.stride() + 1;
    index = home.next_in_use(std::min(index, home.carved()));
    return index != home.carved() ? home.block(index, layout.stride()) : nullptr;
}

/// Returns: the outstanding block with the lowest address above `after`, or nullptr.
/// Complexity: logarithmic in chunks, and linear in the free blocks in between.
inline void* next_outstanding(const chunk_list& chunks, const void* after) noexcept
{
    const slab* chunk = chunks.directory().last_at_or_before(after);
    if (chunk == nullptr)
        chunk = chunks.directory().first_behind(after);
    for (; chunk != nullptr; chunk = chunks.directory().first_behind(chunk)) {
        void* found = nullptr;
        chunks.for_each_slab_in(chunk, [&](const slab* home) {
            if (found == nullptr)
                found = next_outstanding_of(chunks.layout(), *home, after);
        });
        if (found != nullptr)
            return found;
    }
    return nullptr;
}

/// Effects: calls `visit(block)` for each block that is free in its slab, including never-used blocks.
template <class Visit>
void for_each_free(const chunk_list& chunks, Visit&& visit)
{
    chunks.for_each_slab([&](const slab* home) {
        for (std::size_t i = 0; i != home->block_count(); ++i)
            if (home->is_free(i))
                visit(home->block(i, chunks.layout().stride()));
    });
}

/// Effects: calls `visit(kind, block)` for each free block that was written to, and each block in use that has
///   overflowed.
/// Preconditions: as `misuse_at`; the pool fills blocks as fill_pattern requires.
/// Complexity: linear in bytes.
template <class Visit>
void for_each_damaged(const chunk_list& chunks, Visit&& visit)
{
    for_each_free(chunks, [&](void* block) {
        if (!checks_of(chunks).is_untouched(block))
            visit(error_kind::write_after_free, block);
    });
    for_each_outstanding(chunks, [&](void* block) {
        if (!checks_of(chunks).canary_is_intact(block))
            visit(error_kind::buffer_overflow, block);
    });
}

/// Returns: whether for_each_damaged finds a block.
inline bool has_damage(const chunk_list& chunks)
{
    bool damaged = false;
    for_each_damaged(chunks, [&damaged](error_kind, const void*) { damaged = true; });
    return damaged;
}

/// Returns: whether all blocks that `for_each_cached(visit)` visits are outstanding, and none is visited twice.
template <class ForEach>
bool are_cached_blocks_valid(const chunk_list& chunks, ForEach&& for_each_cached)
{
    // Marks each block as free in its slab, which exposes duplicates, and then removes the marks.
    bool valid = true;
    std::size_t marked = 0;
    const auto flip = [&chunks](void* block) {
        const block_position position = position_of(chunks, block);
        *position.home->word_of(position.index) ^= base::bit_in_word(position.index);
    };
    for_each_cached([&](void* block) {
        const block_position position = position_of(chunks, block);
        valid = valid && position.home != nullptr && position.at_start && !position.home->is_free(position.index);
        if (valid) {
            flip(block);
            ++marked;
        }
    });
    for_each_cached([&](void* block) {
        if (marked != 0) {
            flip(block);
            --marked;
        }
    });
    return valid;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
