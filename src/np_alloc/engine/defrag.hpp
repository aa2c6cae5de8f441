// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Moves blocks from sparse slabs to denser slabs of the same heap, bypassing all magazines.
///
///     | x | . | . | . |   sparse        | x | x | . | x |   denser
///       `-------------------------------------->'
///
/// The new block comes straight from its slab, and the old block returns straight to its slab, so the next allocation
/// does not get the block that was just freed. `Blocks` are plain or checked blocks, as for reallocate.hpp.
/// `take_over(from, to)` moves the content and state of `from` to `to`, a free block of the same class, and frees
/// `from`.
///
/// Thread safety: any thread.
#pragma once

#include "../heaps/shared_heap.hpp"
#include "../slices/slice_tag.hpp"
#include "block_lookup.hpp"

namespace memory_pool::np {
/// Returns: whether it pays to move `block`, which may be any address: see np_defrag_hint.
bool is_worth_moving(const void* block) noexcept;

/// Returns: a free block for the content of `block`, in a denser slab of its heap; nullptr if a move does not pay.
/// Preconditions: `tag` is the tag of the slice of `block`.
void* take_for_moving(slice_tag tag, void* block) noexcept;

/// Effects: returns a block, which the program has freed, to its slab.
void put_moved(slice_tag tag, void* block) noexcept;

/// Effects: as np_defrag_move.
void* move_to_denser_slab(void* block) noexcept;

/// Returns: as np_defrag_move.
template <class Blocks>
void* move_to_denser_slab_of(void* block) noexcept
{
    const auto from = block != nullptr ? Blocks::find(block) : std::nullopt;
    if (!from || !is_of_slab(from->tag))
        return nullptr;
    const slice_tag tag = from->tag;
    void* const to = take_for_moving(tag, block);
    if (to == nullptr)
        return nullptr;
    Blocks::take_over(*from, to);
    if (shared_heap* const home = shared_heap_of(block, tag))
        home->moved(block, to);
    put_moved(tag, block);
    return to;
}
} // namespace memory_pool::np
