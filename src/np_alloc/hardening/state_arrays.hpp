// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Memory for block states: an array for each slab, with a state for each block.
///
///     chunk:   | head | array | array | free | ... | guard |      a slice of the region, with arrays of one size
///     array:   | its chunk, next free one | state | state | ... |
///
/// The states are not in the records of slices, because each record would need room for the states of a slab of the
/// smallest blocks, and few slices begin such a slab. An empty chunk becomes a free slice, so states and slabs share
/// the memory of the region.
///
/// Thread safety: none; the page heap has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>

#include "../slices/region.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "block_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool::np {
/// The block states of all slabs.
class state_arrays : base::immovable<state_arrays>
{
public:
    /// Size of a chunk.
    static constexpr std::size_t chunk_bytes = slice_bytes - guard_bytes;

    /// Effects: if all chunks are full, calls `take_chunk()`, which returns another chunk, or nullptr if there is no
    ///   memory.
    /// Returns: an array of `count` uninitialized states; nullptr if there is no memory.
    /// Complexity: O(1).
    template <class TakeChunk>
    block_state* take(std::size_t count, TakeChunk&& take_chunk) noexcept
    {
        const std::size_t bytes = bytes_for(count);
        chunk_list& chunks = with_room_[bytes / step_bytes];
        if (chunks.empty() && !add_chunk(chunks, take_chunk()))
            return nullptr;
        chunk* const home = chunks.first();
        array_head* taken = home->free;
        if (taken != nullptr)
            home->free = taken->next_free;
        else
            taken = reinterpret_cast<array_head*>(reinterpret_cast<std::byte*>(home + 1) + home->carved++ * bytes);
        taken->home = home;
        if (++home->used == arrays_in_chunk(bytes))
            chunks.remove(home);
        return reinterpret_cast<block_state*>(taken + 1);
    }

    /// Effects: frees an array. Calls `give_chunk(void*)` for the array's chunk if the chunk becomes empty.
    template <class GiveChunk>
    void give(block_state* states, std::size_t count, GiveChunk&& give_chunk) noexcept
    {
        chunk_list& chunks = with_room_[bytes_for(count) / step_bytes];
        array_head* const given = reinterpret_cast<array_head*>(states) - 1;
        chunk* const home = given->home;
        given->next_free = std::exchange(home->free, given);
        chunks.add_first(home); // No-op if `home` is listed.
        if (--home->used != 0)
            return;
        chunks.remove(home);
        give_chunk(static_cast<void*>(home));
    }

private:
    struct array_head;

    struct alignas(16) chunk
    {
        chunk* next;
        chunk* previous;
        array_head* free;
        std::uint32_t used;
        std::uint32_t carved;
    };

    /// Precedes the states of an array.
    struct alignas(16) array_head
    {
        chunk* home;
        array_head* next_free;
    };

    using chunk_list = base::intrusive_list<base::member_links<chunk, &chunk::next, &chunk::previous>>;

    /// Array sizes are multiples of this step, so that slabs of similar classes share chunks.
    static constexpr std::size_t step_bytes = 256;

    static constexpr std::size_t bytes_for(std::size_t count) noexcept
    {
        return base::round_up(sizeof(array_head) + count * sizeof(block_state), step_bytes);
    }
    static constexpr std::uint32_t arrays_in_chunk(std::size_t array_bytes) noexcept
    {
        return static_cast<std::uint32_t>((chunk_bytes - sizeof(chunk)) / array_bytes);
    }

    static bool add_chunk(chunk_list& chunks, void* memory) noexcept
    {
        if (memory == nullptr)
            return false;
        auto* const added = static_cast<chunk*>(memory);
        *added = {};
        chunks.add_first(added);
        return true;
    }

    std::array<chunk_list,
               (sizeof(array_head) + largest_capacity * sizeof(block_state) + step_bytes - 1) / step_bytes + 1>
        with_room_{};
};
} // namespace memory_pool::np
