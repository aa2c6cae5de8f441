// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Walks over the blocks in use in address order, 64 bits at a time. For iterators, which may stop at any
/// block, and continue after any change to the pool.
///
///     slab      | header | word 0 | word 1 | ... | blocks ...
///                                     ^
///     at        home, word, first, and the bits of the blocks in use that were not visited yet
///
/// Thread safety: none; the pool that owns the slabs synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/chunk_list.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_directory.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The blocks in use among 64 adjacent blocks of a slab; empty if there is no slab.
///
/// The order of the members matters: GCC 12 keeps two neighbouring members that a loop does not change in one vector
/// register, and unpacks and packs them at each step.
struct blocks_in_use
{
    char* first = nullptr;  ///< The first of the 64 blocks.
    std::uint64_t bits = 0; ///< A set bit for each block in use.
    slab* home = nullptr;
    const std::uint64_t* word = nullptr; ///< The word that the bits are from.
    std::uint32_t slabs_behind = 0;      ///< Number of slabs behind `home` in its chunk.
    std::uint32_t chunk = 0;             ///< Index of the chunk in the directory.
    /// From the word after `word` up to this word, no block is cached: each clear bit is a block in use.
    const std::uint64_t* last_plain = nullptr;
    std::uint64_t last_bits = 0; ///< The bits of `last_plain` that belong to blocks.

    /// Returns: the index of the lowest of these blocks in the slab.
    std::size_t lowest() const noexcept
    {
        return static_cast<std::size_t>(word - home->word_of(0)) * base::bits_per_word + base::lowest_bit(bits);
    }

    /// Moves to the next word with blocks in use, at most to `last_plain`. Returns: whether there is one.
    MEMORY_POOL_ALWAYS_INLINE bool move_plainly(std::size_t stride) noexcept
    {
        bits = 0;
        while (bits == 0 && word < last_plain) {
            ++word;
            first += base::bits_per_word * stride;
            bits = ~*word;
            if (word == last_plain)
                bits &= last_bits;
        }
        return bits != 0;
    }
};

/// A walk over the blocks in use of a pool. `Caches` has the cached blocks, which count as in use in the bits: see
/// local_caches.
template <class Caches>
class block_walk
{
public:
    block_walk(const chunk_list& chunks, const Caches& caches) noexcept
        : chunks_(chunks), layout_(chunks.layout()), caches_(caches)
    {
    }

    /// Returns: the blocks in use behind the lowest block of `at`, by the current bits; if `at` is empty, the first
    ///   blocks in use.
    /// Complexity: as next_behind.
    blocks_in_use next(blocks_in_use at) const noexcept
    {
        if (at.home == nullptr) {
            enter_next_chunk(at);
        } else if (at.word < at.home->end_of_words()) {
            const std::uint64_t behind = ~(at.bits ^ (at.bits - 1));
            at.bits = behind & at.home->bits_in_use(at.word) & ~caches_.cached_bits(at.first);
            if (at.bits != 0) {
                note_plain_words(at);
                return at;
            }
        }
        return next_behind(at);
    }

    /// Returns: the blocks in use behind the 64 blocks of `at`.
    /// Complexity: linear in the skipped words, which have no blocks in use; at the end of a chunk, logarithmic in
    ///   chunks.
    MEMORY_POOL_ALWAYS_INLINE blocks_in_use next_behind(blocks_in_use at) const noexcept
    {
        while (at.home != nullptr) {
            if (at.word + 1 >= at.home->end_of_words()) {
                leave_slab(at);
                continue;
            }
            note_plain_words(at);
            if (at.move_plainly(layout_.stride()) || (at.last_plain + 1 < at.home->end_of_words() && pass_cached(at)))
                return at;
        }
        return {};
    }

private:
    /// Number of slabs ahead whose headers are prefetched.
    static constexpr std::uint32_t headers_ahead = 4;

    void advance(blocks_in_use& at, std::size_t words) const noexcept
    {
        at.word += words;
        at.first += words * base::bits_per_word * layout_.stride();
    }

    /// Moves to the next word, which has cached blocks. If that word has no blocks in use, moves on to the last word
    /// within the cached span. Returns: whether the next word has blocks in use.
    bool pass_cached(blocks_in_use& at) const noexcept
    {
        advance(at, 1);
        at.bits = at.home->bits_in_use(at.word) & ~caches_.cached_bits(at.first);
        if (at.bits != 0) {
            note_plain_words(at);
            return true;
        }
        const std::size_t in_span = layout_.blocks_in(caches_.span_from(at.first).bytes()) / base::bits_per_word;
        advance(at, std::max<std::size_t>(in_span, 1) - 1);
        return false;
    }

    /// Finds the next cached block behind the 64 blocks of `at`, and sets `last_plain` and `last_bits`.
    void note_plain_words(blocks_in_use& at) const noexcept
    {
        const char* const begin = at.first + base::bits_per_word * layout_.stride();
        const char* const end = at.home->block(at.home->carved(), layout_.stride());
        const char* const cached = caches_.lowest_cached(begin, end);
        if (cached == end) {
            at.last_plain = at.home->end_of_words() - 1;
            at.last_bits = at.home->bits_of(at.last_plain);
        } else {
            at.last_plain = at.word + layout_.blocks_in(static_cast<std::size_t>(cached - begin)) / base::bits_per_word;
            at.last_bits = ~std::uint64_t{0};
        }
    }

    void leave_slab(blocks_in_use& at) const noexcept
    {
        if (at.slabs_behind == 0) {
            enter_next_chunk(at);
            return;
        }
        enter_slab(at, chunks_.slab_in(at.home, 1));
        if (--at.slabs_behind >= headers_ahead)
            fetch_header(chunks_.slab_in(at.home, headers_ahead));
    }

    void enter_next_chunk(blocks_in_use& at) const noexcept
    {
        slab* const chunk = chunks_.directory().first_behind(at.home, at.chunk);
        at.home = chunk;
        if (chunk == nullptr)
            return;
        at.slabs_behind = static_cast<std::uint32_t>(chunk->slabs_in_chunk()) - 1;
        enter_slab(at, chunk);
        for (std::uint32_t i = 1; i <= std::min(headers_ahead, at.slabs_behind); ++i)
            fetch_header(chunks_.slab_in(chunk, i));
        if (at.chunk + 1 < chunks_.directory().size())
            fetch_header(chunks_.directory().begin()[at.chunk + 1]);
    }

    /// Prefetches a header. Headers often miss the cache: slabs begin at multiples of their alignment, which share few
    /// cache sets.
    static void fetch_header(slab* home) noexcept
    {
        MEMORY_POOL_PREFETCH(home);
        MEMORY_POOL_PREFETCH(home->word_of(0));
    }

    /// Moves in front of the first word.
    void enter_slab(blocks_in_use& at, slab* home) const noexcept
    {
        at.home = home;
        at.first = home->first_block() - base::bits_per_word * layout_.stride();
        at.word = home->word_of(0) - 1;
    }

    const chunk_list& chunks_;
    const slab_layout& layout_;
    const Caches& caches_;
};

template <class Caches>
block_walk(const chunk_list&, const Caches&) -> block_walk<Caches>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
