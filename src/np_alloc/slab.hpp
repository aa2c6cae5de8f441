// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A slab: a run that is cut into blocks of one class. What is known of it stands in the record of its first slice.
///
///     | free | in use | in a magazine | free | ...   | never carved |
///       |                               ^
///       +------- list of free blocks ---+
///
///     carved = away + in the list          away: in use, in magazines, in outboxes and inboxes
///
/// Thread safety: none; the heap that owns the slab sees to it.
#pragma once

#include "runs.hpp"
#include "sizes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
/// The first word of a free block.
inline void* next_of(const void* block) noexcept
{
    void* next = nullptr;
    std::memcpy(&next, block, sizeof next);
    return next;
}

inline void set_next(void* block, void* next) noexcept
{
    std::memcpy(block, &next, sizeof next);
}

/// Blocks linked through their first words.
struct block_chain
{
    void* head = nullptr;
    void* tail = nullptr;
    std::uint32_t count = 0;

    void push(void* block) noexcept
    {
        set_next(block, head);
        if (count++ == 0)
            tail = block;
        head = block;
    }
};

/// The record of a slice: what it is to the runs, and if it is the first of a slab, the slab.
struct alignas(64) slice_record : run_links
{
    slice_number slab; ///< In every slice of a slab: the first one.

    void* free;               ///< The list.
    std::byte* begin;         ///< Of the blocks.
    std::uint32_t free_count; ///< Blocks in the list.
    std::uint32_t carved;     ///< Blocks that were ever taken.
    std::uint32_t capacity;   ///< Blocks that fit.
    slice_number next_slab;   ///< In its heap's list of slabs of the class that have blocks.
    slice_number previous_slab;
    slice_number next_in_heap; ///< In its heap's list of all slabs.
    slice_number previous_in_heap;
    std::uint8_t size_class;
    bool is_listed; ///< In the list of those that have blocks.

    bool has_blocks() const noexcept { return free_count != 0 || carved != capacity; }
    bool is_empty() const noexcept { return free_count == carved; }

    /// Effects: takes up to `count` blocks out; writes them so that the one that is to go out first is the last written.
    /// Returns: how many.
    std::uint32_t take(void** blocks, std::uint32_t count) noexcept
    {
        const std::uint32_t from_list = std::min(count, free_count);
        const std::uint32_t fresh = std::min(count - from_list, capacity - carved);
        void** out = blocks + from_list + fresh;
        for (std::uint32_t i = 0; i != from_list; ++i) {
            *--out = free;
            free = next_of(free);
        }
        const std::size_t size = sizes::size(size_class);
        for (std::uint32_t i = 0; i != fresh; ++i)
            *--out = begin + (carved + i) * size;
        free_count -= from_list;
        carved += fresh;
        return from_list + fresh;
    }

    void put(void* block) noexcept
    {
        set_next(block, free);
        free = block;
        ++free_count;
    }

    void put(const block_chain& blocks) noexcept
    {
        set_next(blocks.tail, free);
        free = blocks.head;
        free_count += blocks.count;
    }
};
} // namespace memory_pool::np
