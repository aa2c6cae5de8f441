// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A slab: the header of a stretch of upstream memory that is cut into blocks of one size.
///
///     +--------+------------------+---------+---------+-- ... --+---------+---------+-- ... --+
///     | header | 1 0 1 1 ... 0    | block 0 | block 1 |         | block c | never used yet    |
///     +--------+------------------+---------+---------+-- ... --+---------+---------+-- ... --+
///               bit = 1: free in the slab               blocks below `carved` have a bit
///
///     free blocks = set bits + (block_count - carved)
///
/// The bits are beside the blocks, not in them. So the pool never accesses free blocks: they stay out of the cache, and
/// stay poisoned for AddressSanitizer. Writes past a block, or to a freed block, cannot damage the pool. A walk over
/// the blocks in use, or the detection of a double free, only reads bits. Freed blocks are reused in address order. The
/// bits of never-used blocks are not even initialized, so making a slab is O(1).
///
/// Thread safety: none; the owner of the slab synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/slab_bits.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The header of a slab. The words with the bits follow it.
class slab
{
public:
    static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

    /// `slabs_in_chunk` is 0 except in the first slab of a chunk.
    slab(const void* owner, const slab_layout& layout, std::size_t block_count, std::size_t slabs_in_chunk = 1) noexcept
        : slab(owner, layout, block_count, slabs_in_chunk, block_count)
    {
    }

    /// Makes a slab of `block_count` blocks, with memory for `room` blocks.
    slab(const void* owner, const slab_layout& layout, std::size_t block_count, std::size_t slabs_in_chunk,
         std::size_t room) noexcept
        : owner_(owner), first_block_(reinterpret_cast<char*>(this) + layout.first_block(room)),
          block_count_(block_count), room_(room), slabs_in_chunk_(static_cast<std::uint32_t>(slabs_in_chunk))
    {
    }

    /// Returns: the slab that contains a block.
    /// Preconditions: the block is in a slab made with `layout`, in an aligned chunk: see chunk_list.
    static slab* of(const void* block, const slab_layout& layout) noexcept
    {
        return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(layout.slab_alignment() - 1));
    }

    const void* owner() const noexcept { return owner_; }

    /// Returns: the owner.
    /// Preconditions: the owner is a listener.
    slab_listener& listener() const noexcept { return *static_cast<slab_listener*>(const_cast<void*>(owner_)); }

    char* first_block() const noexcept { return first_block_; }
    std::size_t block_count() const noexcept { return block_count_; }
    std::size_t room() const noexcept { return room_; }
    std::size_t carved() const noexcept { return carved_; }
    std::size_t slabs_in_chunk() const noexcept { return slabs_in_chunk_; }
    bool has_uncarved() const noexcept { return carved_ != block_count_; }

    char* block(std::size_t index, std::size_t stride) const noexcept { return first_block_ + index * stride; }

    /// Returns: the word with the bits of block `index` and its 63 neighbours.
    std::uint64_t* word_of(std::size_t index) noexcept { return words() + index / base::bits_per_word; }

    bool is_free(std::size_t index) const noexcept { return index >= carved_ || bits().is_free(index); }

    /// Returns: the bits, the first `carved()` of which belong to blocks.
    slab_bits<> bits() noexcept { return slab_bits<>(words()); }
    slab_bits<const std::uint64_t> bits() const noexcept { return slab_bits<const std::uint64_t>(words()); }

    /// Effects: makes searches begin no later than at block `index`.
    void search_from(std::size_t index) noexcept
    {
        search_from_ = std::min(search_from_, static_cast<std::uint32_t>(index / base::bits_per_word));
    }

    /// Effects: takes out at most about `max_blocks` adjacent free blocks if the first word with set bits is full, or
    ///   never-used blocks if no bit is set.
    /// Returns: the blocks; may be empty.
    block_span take_span(std::size_t stride, std::size_t max_blocks = any_number) noexcept
    {
        std::uint64_t* const end = end_of_words();
        std::uint64_t* const first = first_used_word();
        if (first == end)
            return carve(std::min<std::size_t>(carve_step, max_blocks), stride);
        const auto first_word = static_cast<std::size_t>(first - words());
        const std::size_t last_word = bits().take_rows(
            first_word, first_word + std::min(max_blocks / base::bits_per_word, static_cast<std::size_t>(end - first)));
        search_from_ = static_cast<std::uint32_t>(last_word);
        return {block_of(first, stride), block_of(words() + last_word, stride)};
    }

    /// Effects: turns the `count` blocks from `first` on into never-used blocks, without writing their bits, if they
    ///   are the last carved blocks and none of their bits is set.
    /// Returns: whether the blocks are now never-used blocks.
    bool uncarve(std::size_t first, std::size_t count) noexcept
    {
        if (first + count != carved_)
            return false;
        const std::uint64_t* const word = words() + first / base::bits_per_word;
        std::uint64_t bits = *word >> (first % base::bits_per_word);
        for (const std::uint64_t* each = word + 1; each < end_of_words(); ++each)
            bits |= *each;
        if (bits != 0)
            return false;
        carved_ = static_cast<std::uint32_t>(first);
        return true;
    }

    /// Effects: takes out up to `count` free blocks by their bits, up to the next full word (which is left to
    ///   take_span). Writes their addresses to `out` in descending order, so that a stack yields them in ascending
    ///   order.
    /// Returns: their number.
    std::size_t take(void** out, std::size_t count, std::size_t stride) noexcept
    {
        std::uint64_t* const end = end_of_words();
        std::uint64_t* word = first_used_word();
        std::size_t taken = 0;
        for (; word != end && *word != all_free; ++word) {
            char* const blocks = block_of(word, stride);
            taken += slab_bits<>::take_of_word(*word, count - taken, [&, place = out + taken](std::size_t bit) mutable {
                *place++ = blocks + bit * stride;
            });
            if (*word != 0)
                break;
        }
        search_from_ = static_cast<std::uint32_t>(word - words());
        std::reverse(out, out + taken);
        return taken;
    }

    /// Effects: takes out an approximately least recently used block: a never-used block, or else the next free block
    ///   in round-robin order.
    /// Returns: the block, or nullptr.
    void* take_one_late(std::size_t stride) noexcept
    {
        if (has_uncarved())
            return carve(1, stride).begin;
        std::uint64_t* const words_begin = words();
        const auto word_count = static_cast<std::uint32_t>(end_of_words() - words_begin);
        for (std::uint32_t tried = 0; tried != word_count;
             ++tried, rotor_ = rotor_ + 1 == word_count ? 0 : rotor_ + 1) {
            std::uint64_t& word = words_begin[rotor_];
            if (word == 0)
                continue;
            const unsigned bit = base::lowest_bit(word);
            word &= word - 1;
            return block(rotor_ * std::size_t{base::bits_per_word} + bit, stride);
        }
        return nullptr;
    }

    /// Returns: the index of the first block in use, from index `from` on; `carved()` if there is none.
    std::size_t next_in_use(std::size_t from) const noexcept { return bits().next_in_use(from, carved_); }

    /// Returns: the bits of a word before `end_of_words()` that belong to blocks.
    std::uint64_t bits_of(const std::uint64_t* word) const noexcept
    {
        const std::size_t carved = carved_ - static_cast<std::size_t>(word - words()) * base::bits_per_word;
        return carved >= base::bits_per_word ? all_free : base::bit_in_word(carved) - 1;
    }

    /// Returns: the bits of blocks in use, as set bits.
    std::uint64_t bits_in_use(const std::uint64_t* word) const noexcept { return ~*word & bits_of(word); }

    /// Returns: the end of the words with bits of carved blocks.
    std::uint64_t* end_of_words() noexcept { return words() + word_count(); }
    const std::uint64_t* end_of_words() const noexcept { return words() + word_count(); }

    /// Returns: the number of set bits.
    std::size_t count_set_bits() const noexcept { return bits().count(carved_); }

    bool has_set_bits() noexcept { return first_used_word() != end_of_words(); }

    bool is_wholly_free() const noexcept { return count_set_bits() == carved_; }

    /// Returns: whether no bit is set before the start of searches, or past `carved`.
    bool is_consistent() const noexcept { return bits().is_consistent(search_from_, carved_); }

    /// Effects: adds `count` blocks at the end.
    /// Preconditions: there is room.
    void extend(std::size_t count) noexcept { block_count_ += count; }

    /// Effects: turns all blocks into never-used blocks.
    void reset() noexcept
    {
        carved_ = 0;
        search_from_ = 0;
        rotor_ = 0;
    }

    // The links of slab_list. In detached chunks, `next` links to the next chunk.
    slab* next = nullptr;
    slab* previous = nullptr;

private:
    static constexpr std::uint64_t all_free = ~std::uint64_t{0};

    /// Maximum number of never-used blocks to take at once. Limits the time to write their bits.
    static constexpr std::size_t carve_step = std::size_t{4096};

    std::uint64_t* words() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
    const std::uint64_t* words() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }

    std::uint64_t* first_used_word() noexcept
    {
        return std::find_if(words() + std::min<std::size_t>(search_from_, word_count()), end_of_words(),
                            [](std::uint64_t word) { return word != 0; });
    }

    std::size_t word_count() const noexcept { return base::words_for(carved_); }

    char* block_of(const std::uint64_t* word, std::size_t stride) noexcept
    {
        return block(static_cast<std::size_t>(word - words()) * base::bits_per_word, stride);
    }

    block_span carve(std::size_t count, std::size_t stride) noexcept
    {
        count = std::min<std::size_t>(count, block_count_ - carved_);
        char* const begin = block(carved_, stride);
        std::uint64_t* const untouched = end_of_words();
        carved_ += static_cast<std::uint32_t>(count);
        std::fill(untouched, end_of_words(), std::uint64_t{0});
        return {begin, begin + count * stride};
    }

    const void* owner_;
    char* first_block_;
    std::size_t block_count_;
    std::size_t room_; ///< block_count_ <= room_
    std::uint32_t carved_ = 0;
    std::uint32_t search_from_ = 0; ///< No word before this one has a set bit.
    std::uint32_t rotor_ = 0;       ///< The word at which take_one_late continues.
    std::uint32_t slabs_in_chunk_;
};

static_assert(sizeof(slab) == slab_header_bytes, "slab_layout relies on this size");
static_assert(std::is_trivially_destructible_v<slab>, "slabs are not destroyed before their memory is deallocated");

using slab_list = base::intrusive_list<base::member_links<slab, &slab::next, &slab::previous>>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
