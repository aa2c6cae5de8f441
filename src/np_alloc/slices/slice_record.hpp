// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A slab: a run that is cut into blocks of one class. Its metadata is in the record of its first slice.
///
///     | in use | free | in a magazine | free | free | ...
///         0        1         0           1      1            a bit for each block
///
///     capacity = free + outstanding         outstanding: in use, cached, or in transit from another thread
///     bytes of the slab = carved + never carved         carved: up to the end of the highest block ever allocated
///
/// The bits are in the record, so free blocks are never accessed: their memory stays untouched, and a program that
/// overwrites a free block by mistake corrupts no metadata. The lowest free block is allocated first, which keeps
/// blocks together and unneeded pages untouched.
///
/// Thread safety: none; the heap that owns the slab has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/slabs/slab_bits.hpp>

#include "../support/internals.hpp"
#include "runs.hpp"
#include "size_classes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memory_pool::np {
class shared_heap;

/// The record of a slice: its part in a run. The record of a slab's first slice also has the slab's metadata; the
/// record of a large block's first slice has the block's heap.
struct alignas(64) slice_record : run_links
{
    slice_index slab; ///< In every slice of a slab: its first slice.

    std::uint32_t free_count; ///< The number of free blocks.
    std::byte* begin;         ///< Where the blocks begin.
    std::uint32_t block_bytes;
    std::uint32_t capacity; ///< The number of blocks.
    std::uint16_t lowest;   ///< No word of bits before this one has a bit set.
    std::uint8_t size_class;
    bool is_purged; ///< Its free pages were purged since a block was last taken or put.

    slice_index next_slab; ///< In its heap's list of slabs of its class with free blocks.
    slice_index previous_slab;
    slice_index next_in_heap; ///< In its heap's list of all slabs, or of large blocks.
    slice_index previous_in_heap;

    std::uint32_t clean_since; ///< Of a slice with clean pages: the count of long runs at that time.
    std::uint8_t early_pages;  ///< Pages purged early since a block was last taken; 255: 255 or more.
    std::uint64_t touched_at;  ///< When a block was last taken or put, in milliseconds of the release clock.

    shared_heap* home; ///< Of a large block: the heap that frees it when it ends, or nullptr.
    std::size_t asked; ///< Of a large block: bytes requested.

    std::byte* carved_end; ///< End of the highest block allocated since the run became a slab.

    alignas(64) std::uint64_t free_blocks[largest_capacity / base::bits_per_word];

    /// Returns: whether the slab is in its heap's list of slabs with free blocks.
    bool is_listed() const noexcept { return previous_slab != no_slice; }
    bool has_blocks() const noexcept { return free_count != 0; }
    bool is_empty() const noexcept { return free_count == capacity; }

    /// Effects: makes the run a slab whose blocks are all free.
    void start(slice_index first, std::byte* memory, std::size_t number) noexcept
    {
        slab = first;
        begin = carved_end = memory;
        block_bytes = static_cast<std::uint32_t>(sizes::size(number));
        free_count = capacity = slab_capacity(number);
        size_class = static_cast<std::uint8_t>(number);
        is_purged = false;
        early_pages = 0;
        previous_slab = previous_in_heap = no_slice;
        lowest = 0;
        bits().fill(capacity);
    }

    /// Effects: takes up to `count` blocks, and writes them in descending order: the last block, which is allocated
    ///   first, is the lowest. `first`: the number of the block to begin at if `count` blocks from there on are free;
    ///   otherwise 0.
    /// Returns: the number of blocks.
    std::uint32_t take(void** blocks, std::uint32_t count, std::uint32_t first = 0) noexcept
    {
        count = std::min(count, free_count);
        free_count -= count;
        is_purged = false;
        void** out = blocks + count;
        for (std::uint32_t number = first; first != 0 && out != blocks; ++number) {
            base::clear_bit(free_blocks, number);
            *--out = begin + std::size_t{number} * block_bytes;
        }
        std::size_t hint = lowest;
        bits().take(hint, static_cast<std::size_t>(out - blocks), [this, blocks](std::size_t word) {
            std::byte* const begin_of_word = begin + word * base::bits_per_word * block_bytes;
            return [this, blocks, begin_of_word](std::size_t bit, std::size_t left) {
                blocks[left] = begin_of_word + bit * block_bytes;
            };
        });
        lowest = static_cast<std::uint16_t>(hint);
        return count;
    }

    /// Effects: records that blocks were allocated, the highest of them at `highest`.
    /// Returns: bytes of the slab that were carved for these blocks.
    std::size_t carve(void* highest) noexcept
    {
        std::byte* const end = static_cast<std::byte*>(highest) + block_bytes;
        return end > carved_end ? static_cast<std::size_t>(end - std::exchange(carved_end, end)) : 0;
    }

    /// Returns: bytes up to the end of the highest block that was ever allocated.
    std::size_t carved_bytes() const noexcept { return static_cast<std::size_t>(carved_end - begin); }

    /// Returns: whether the first or the last outstanding block has returned, so that the heap must update its lists.
    bool has_changed_state() const noexcept { return !is_listed() || is_empty(); }

    /// Result of put().
    struct returned
    {
        std::size_t seen; ///< Leading blocks that belong to this slab.
        std::uint32_t taken_back;
    };

    /// Effects: returns blocks to the slab, up to the first block of another slab. `info` describes the class of the
    ///   slab. Calls `refuse(error_kind, block)` for each address whose block is already free, or where no block
    ///   begins.
    template <class Refuse>
    MEMORY_POOL_ALWAYS_INLINE returned put(const size_class_info& info, void* const* blocks, std::size_t count,
                                           Refuse&& refuse) noexcept
    {
        std::byte* const memory = begin;
        std::size_t word_from = lowest;
        std::uint32_t refused = 0;
        std::size_t seen = 0;
        for (; seen != count; ++seen) {
            const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(blocks[seen]) - memory);
            if (offset >= info.slab_bytes)
                break;
            const std::size_t place = block_at(info, offset);
            const std::size_t word = place / base::bits_per_word;
            const std::uint64_t bit =
                base::bit_in_word(place); // Without bits(), which takes 6 % more instructions with GCC 12.
            if (MEMORY_POOL_UNLIKELY(place == no_block_there || (free_blocks[word] & bit) != 0)) {
                refuse(place == no_block_there ? error_kind::misaligned_pointer : error_kind::double_free,
                       blocks[seen]);
                ++refused;
                continue;
            }
            free_blocks[word] |= bit;
            word_from = std::min(word_from, word);
            seen += put_row(place + 1, blocks + seen, count - seen);
        }
        lowest = static_cast<std::uint16_t>(word_from);
        const std::uint32_t taken_back = static_cast<std::uint32_t>(seen) - refused;
        free_count += taken_back;
        is_purged = false;
        return {seen, taken_back};
    }

    /// Effects: returns the row of blocks after `blocks[0]` that also follow it in the slab, from block number `place`
    ///   on. A program that frees blocks in the order of their allocation frees such rows. A row has at least four
    ///   blocks in one word of bits, none of them already free. (For fewer blocks, the branch costs more than it
    ///   saves.)
    /// Returns: the number of blocks.
    MEMORY_POOL_ALWAYS_INLINE std::size_t put_row(std::size_t place, void* const* blocks, std::size_t count) noexcept
    {
        constexpr std::size_t min_blocks = 4;
        std::byte* behind = static_cast<std::byte*>(blocks[0]) + block_bytes;
        if (MEMORY_POOL_LIKELY(count <= min_blocks || blocks[min_blocks] != behind + (min_blocks - 1) * block_bytes))
            return 0;
        const std::size_t in_word = base::bits_per_word - place % base::bits_per_word;
        const std::size_t max_blocks = std::min(count, std::min(capacity - place, in_word) + 1);
        std::size_t end = 1;
        for (; end < max_blocks && blocks[end] == behind; ++end)
            behind += block_bytes;
        if (end == 1)
            return 0;
        return bits().put_in_word(place, end - 1) ? end - 1 : 0;
    }

    /// Returns: whether the block with that number is outstanding.
    bool is_outstanding(std::size_t number) const noexcept { return !bits().is_free(number); }

    core::slab_bits<> bits() noexcept { return core::slab_bits<>(free_blocks); }
    core::slab_bits<const std::uint64_t> bits() const noexcept
    {
        return core::slab_bits<const std::uint64_t>(free_blocks);
    }

    /// Effects: calls `visit(void* block, std::uint32_t number)` for each outstanding block, until `visit` returns
    ///   false.
    /// Returns: whether no call returned false.
    template <class Visit>
    bool for_each_outstanding(Visit&& visit) const
    {
        for (std::uint32_t number = 0; number != capacity; ++number)
            if (is_outstanding(number) && !visit(static_cast<void*>(begin + std::size_t{number} * block_bytes), number))
                return false;
        return true;
    }

    /// Effects: calls `visit(std::byte* from, std::byte* end)` for each row of pages without outstanding blocks. Each
    ///   page has `page_bytes` bytes; memory behind the last block, up to `slab_bytes`, counts as a part of that block.
    template <class Visit>
    void for_each_row_of_free_pages(std::size_t page_bytes, std::size_t slab_bytes, Visit&& visit) const
    {
        for (std::uint32_t number = 0; number != capacity; ++number) {
            if (is_outstanding(number))
                continue;
            const std::size_t from = base::round_up(std::size_t{number} * block_bytes, page_bytes);
            while (number + 1 != capacity && !is_outstanding(number + 1))
                ++number;
            const std::size_t end = number + 1 == capacity ? slab_bytes : (std::size_t{number} + 1) * block_bytes;
            if (from < end / page_bytes * page_bytes)
                visit(begin + from, begin + end / page_bytes * page_bytes);
        }
    }

    /// Returns: whether the record describes a slab of that class at `memory`.
    bool is_slab_of(slice_index first, const std::byte* memory, std::size_t number) const noexcept
    {
        return slab == first && begin == memory && size_class == number && block_bytes == sizes::size(number) &&
               capacity == slab_capacity(number);
    }

    /// Returns: whether the free count matches the bits, and no bit beyond the last block is set.
    /// Preconditions: the record describes a slab of its class.
    bool is_valid() const noexcept
    {
        return bits().count(capacity) == free_count && bits().is_consistent(lowest, capacity);
    }
};
} // namespace memory_pool::np
