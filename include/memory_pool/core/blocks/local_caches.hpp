// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The caches of free blocks in front of the slabs of a pool for one thread. Iterators over blocks in use query them.
///
///     allocate  <--  magazine  <--  outgoing span  <--  slabs        (the slabs may also fill the magazine directly)
///     deallocate -->  incoming row, or magazine     -->  slabs
///
///     magazine full:   its older half   -->  slabs
///     row complete:    all of it        -->  slabs, or the outgoing span
///     flush:           all caches       -->  slabs
///
/// The pool owns the slabs. Each function that moves blocks to or from the slabs takes the slabs as an argument, and
/// returns the number of blocks that the slabs rejected: blocks that were freed twice, or are not of these slabs.
///
/// In the bits of the slabs, a cached block counts as in use. An iterator reads 64 bits at once, and excludes the
/// cached blocks. Until the iterator reads the next 64 bits, it must notice blocks that are freed, but not blocks that
/// are allocated. So while iterators move, the caches are **watched**:
///
///     not watched      as shown
///     watched          deallocate  -->  slab, and `changes` is incremented; allocate as shown
///
/// While watched, the magazine accepts no blocks, and there is no row. deallocate checks the limit of the magazine and
/// the next block of the row anyway, so a watch costs no additional instruction. Two comparisons then show which blocks
/// are cached, because all of them are in a span, or in a magazine that was filled from one slab, in order. Iterators
/// are not registered, so a watch ends after `watch_length` blocks have been freed. The next iterator that moves finds
/// a different value of `changes`, and begins a new watch.
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/slabs/block_row.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_magazine.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The magazine, span and row of a local_store.
class local_caches : base::immovable<local_caches>
{
public:
    explicit local_caches(std::size_t stride) noexcept : stride_(stride) {}

    /// Returns: a number that differs after each change to bits of slabs while the caches are watched.
    std::uint64_t changes() const noexcept { return changes_; }

    /// Returns: the distance from one block to the next, in bytes.
    std::size_t stride() const noexcept { return stride_; }

    // The addresses of cached blocks, for block_walk. Preconditions: the caches are watched.

    /// Returns: the bits of the cached blocks among the 64 blocks from `first` on. May include bits for which the slab
    ///   has no block.
    std::uint64_t cached_bits(const char* first) const noexcept
    {
        const auto index = [&](const void* block) {
            return static_cast<unsigned>(static_cast<std::size_t>(static_cast<const char*>(block) - first) / stride_);
        };
        const char* const end = first + base::bits_per_word * stride_;
        std::uint64_t bits = 0;
        if (are_overlapping(first, end, outgoing_.begin, outgoing_.end)) {
            const unsigned from = index(later(outgoing_.begin, first));
            const unsigned to = index(base::is_before(outgoing_.end, end) ? outgoing_.end : end);
            bits = base::bit_range(from, to - from);
        }
        // The magazine was filled in descending order: the oldest block has the highest address.
        if (magazine_.empty() || base::is_before(*magazine_.blocks(), first))
            return bits;
        for (std::size_t left = magazine_.size(); left != 0; --left) {
            const void* const block = magazine_.blocks()[left - 1];
            if (!base::is_before(block, end))
                break;
            if (!base::is_before(block, first))
                bits |= base::bit_in_word(index(block));
        }
        return bits;
    }

    /// Returns: an address in [begin, end] such that no block from `begin` up to that address is cached.
    const char* lowest_cached(const char* begin, const char* end) const noexcept
    {
        if (outgoing_.empty() && magazine_.empty())
            return end;
        const char* lowest = end;
        if (are_overlapping(begin, end, outgoing_.begin, outgoing_.end))
            lowest = later(outgoing_.begin, begin);
        if (!magazine_.empty()) {
            const auto* const youngest = static_cast<const char*>(magazine_.blocks()[magazine_.size() - 1]);
            const auto* const oldest = static_cast<const char*>(*magazine_.blocks());
            if (are_overlapping(begin, lowest, youngest, oldest + stride_))
                lowest = later(youngest, begin);
        }
        return lowest;
    }

    /// Returns: the part of the outgoing span from `first` on; an empty span if `first` is not in it.
    block_span span_from(char* first) const noexcept
    {
        const bool is_within = !base::is_before(first, outgoing_.begin) && base::is_before(first, outgoing_.end);
        return is_within ? block_span{first, outgoing_.end} : block_span{};
    }

    // Allocating and freeing cached blocks.

    MEMORY_POOL_ALWAYS_INLINE bool take(void*& block) noexcept
    {
        return magazine_.pop(block) || outgoing_.pop_front(block, stride_);
    }

    /// Effects: takes up to `count` blocks.
    /// Returns: their number.
    template <class T>
    std::size_t take(T** blocks, std::size_t count) noexcept
    {
        std::size_t taken = magazine_.pop(blocks, count);
        block_span rest = outgoing_; // A copy, which stays in registers.
        for (void* block = nullptr; taken != count && rest.pop_front(block, stride_); ++taken)
            blocks[taken] = static_cast<T*>(block);
        outgoing_ = rest;
        return taken;
    }

    /// Effects: adds `block` to the row or the magazine.
    /// Returns: false if there is no room, or `block` is nullptr.
    // An empty row has nullptr as its next block, so only a block that equals `next` needs the check for nullptr. While
    // there is a row, the magazine is closed.
    MEMORY_POOL_ALWAYS_INLINE bool put(void* block) noexcept
    {
        if (block != incoming_.next)
            return MEMORY_POOL_LIKELY(magazine_.push(block));
        if (block == nullptr)
            return false;
        incoming_.extend();
        return true;
    }

    /// Effects: puts up to `count` blocks into the magazine, and calls `given_back(block)` for each. Skips nullptr.
    /// Returns: the number of accepted pointers, including nullptr.
    template <class T, class GivenBack>
    std::size_t put(T* const* blocks, std::size_t count, GivenBack&& given_back) noexcept
    {
        return magazine_.push(blocks, count, given_back);
    }

    /// Returns: the number of blocks in the caches.
    std::size_t count() const noexcept
    {
        return magazine_.size() + (outgoing_.bytes() + incoming_.span().bytes()) / stride_;
    }

    template <class Visit>
    void for_each(Visit&& visit) const
    {
        std::for_each(magazine_.blocks(), magazine_.blocks() + magazine_.size(), visit);
        for (const block_span& span : {outgoing_, incoming_.span()})
            for (char* block = span.begin; block != span.end; block += stride_)
                visit(block);
    }

    // Moving blocks between the caches and the slabs.

    /// Effects: fills the caches with at most about `max_blocks` blocks.
    /// Preconditions: the magazine and the outgoing span are empty.
    std::size_t refill(slab_store& slabs, std::size_t max_blocks) noexcept
    {
        std::size_t rejected = 0;
        outgoing_ = incoming_.empty() ? slabs.take_span(max_blocks) : take_row_out(slabs, rejected);
        if (MEMORY_POOL_UNLIKELY(max_blocks != slab::any_number))
            rejected += limit_outgoing(slabs, max_blocks);
        if (outgoing_.empty())
            magazine_.fill([&slabs](void** out, std::size_t room) { return slabs.take(out, std::min(room, batch)); });
        ++changes_;
        open();
        return rejected;
    }

    /// Effects: makes room for a block that `put` has rejected: begins a row, ends it, or empties half of the magazine.
    std::size_t make_room(slab_store& slabs) noexcept
    {
        if (incoming_.empty())
            return begin_row(slabs) ? 0 : make_room_in_magazine(slabs);
        const std::size_t rejected = put_row(slabs);
        // Accepts a few blocks, which may begin the next row.
        return magazine_.open(slab_magazine::row_length) ? rejected : rejected + make_room_in_magazine(slabs);
    }

    /// Effects: empties the caches into the slabs and keeps them empty.
    std::size_t suspend(slab_store& slabs) noexcept
    {
        is_suspended_ = true;
        std::size_t rejected = flush_returned(slabs);
        rejected += slabs.put(std::exchange(outgoing_, {}));
        magazine_.close();
        return rejected;
    }

    void resume() noexcept
    {
        is_suspended_ = false;
        open();
    }

    /// Effects: as suspend(), but permanently.
    std::size_t abandon(slab_store& slabs) noexcept
    {
        is_abandoned_ = true;
        return suspend(slabs);
    }

    /// Effects: begins a watch, during which freed blocks return directly to their slabs, and are counted.
    std::size_t watch(slab_store& slabs) noexcept
    {
        std::size_t rejected = 0;
        if (!is_watched()) {
            rejected = flush_returned(slabs);
            magazine_.close();
        }
        watched_ = watch_length;
        return rejected;
    }

    /// Effects: discards all cached blocks.
    void clear() noexcept
    {
        magazine_.clear();
        outgoing_ = {};
        incoming_ = {};
    }

    /// Effects: opens the magazine for freed blocks, unless the caches are suspended, abandoned or watched, or there is
    ///   a row.
    void open() noexcept
    {
        if (!is_suspended_ && !is_abandoned_ && !is_watched() && incoming_.empty())
            (void)magazine_.open(patience);
    }

    /// The magazine, which grows and shrinks with the slabs. After it has grown, it is closed: see open().
    slab_magazine& magazine() noexcept { return magazine_; }
    const slab_magazine& magazine() const noexcept { return magazine_; }

    /// Returns: whether the magazine, span and row may hold free blocks; otherwise, blocks move to and from the slabs
    ///   one at a time.
    bool are_used() const noexcept { return magazine_.room() != 0 && !is_suspended_; }
    bool are_suspended() const noexcept { return is_suspended_; }
    bool are_abandoned() const noexcept { return is_abandoned_; }
    bool is_watched() const noexcept { return watched_ != 0; }

    /// Effects: notes that a block was freed directly into its slab.
    void note_change() noexcept { ++changes_; }

    /// Effects: as note_change, and counts the block towards the end of the watch.
    /// Returns: whether the watch has just ended.
    bool note_freed() noexcept
    {
        note_change();
        if (watched_ == 0)
            return false;
        --watched_;
        return watched_ == 0;
    }

private:
    /// Moves the last blocks of the magazine to `incoming_` if they form a row of blocks of these slabs. Returns:
    /// whether there was a row.
    bool begin_row(const slab_store& slabs) noexcept
    {
        const std::ptrdiff_t step = magazine_.step_of_row(stride_);
        if (step == 0 || !slabs.owns(magazine_.row(step)))
            return false;
        incoming_ = magazine_.take_row(step);
        magazine_.close();
        return true;
    }

    /// Removes the incoming row, and adds the number of rejected blocks to `rejected`. Returns: the blocks of the row.
    block_span take_row_out(const slab_store& slabs, std::size_t& rejected) noexcept
    {
        const block_row row = std::exchange(incoming_, {});
        const block_span span = slabs.clip(row);
        rejected += (row.span().bytes() - span.bytes()) / stride_;
        return span;
    }

    /// Puts the blocks of the row into the slabs.
    std::size_t put_row(slab_store& slabs) noexcept
    {
        std::size_t rejected = 0;
        const block_span span = take_row_out(slabs, rejected);
        return rejected + slabs.put(span);
    }

    std::size_t make_room_in_magazine(slab_store& slabs) noexcept
    {
        if (magazine_.open(patience))
            return 0;
        const std::size_t oldest = base::divide_round_up(magazine_.size(), 2);
        const std::size_t rejected = slabs.put(magazine_.blocks(), oldest);
        magazine_.forget_oldest(oldest);
        (void)magazine_.open(patience);
        return rejected;
    }

    /// The part of a flush whose cost is amortized by the previously freed blocks.
    std::size_t flush_returned(slab_store& slabs) noexcept
    {
        const std::size_t rejected = slabs.put(magazine_.blocks(), magazine_.size());
        magazine_.clear();
        return rejected + put_row(slabs);
    }

    /// Puts all but `max_blocks` blocks of the outgoing span into the slabs.
    MEMORY_POOL_NOINLINE std::size_t limit_outgoing(slab_store& slabs, std::size_t max_blocks) noexcept
    {
        if (outgoing_.bytes() <= max_blocks * stride_)
            return 0;
        char* const end = outgoing_.begin + max_blocks * stride_;
        return slabs.put(block_span{end, std::exchange(outgoing_.end, end)});
    }

    static const char* later(const char* a, const char* b) noexcept { return base::is_before(a, b) ? b : a; }

    /// Returns: whether the two ranges overlap.
    static bool are_overlapping(const char* begin, const char* end, const char* begin2, const char* end2) noexcept
    {
        return base::is_before(later(begin, begin2), end) && base::is_before(later(begin, begin2), end2);
    }

    /// Number of blocks freed directly into the slabs in a watch: enough to amortize emptying the magazine.
    static constexpr unsigned watch_length = 64;

    /// Number of pushes onto the magazine before a search for a row; after the end of a row, the number is
    /// `row_length`.
    static constexpr std::size_t patience = 128;

    /// Number of blocks to take out of the slabs at once, if they are not adjacent.
    static constexpr std::size_t batch = 64;

    slab_magazine magazine_;
    block_span outgoing_; ///< The next blocks to allocate when the magazine is empty.
    block_row incoming_;  ///< Grows while blocks are freed in the order of their addresses.
    std::size_t stride_;  ///< Distance from one block to the next, in bytes.

    bool is_suspended_ = false; ///< The caches stay empty temporarily.
    bool is_abandoned_ = false; ///< The caches stay empty permanently.
    unsigned watched_ = 0;      ///< Blocks still to be freed before the watch ends.
    std::uint64_t changes_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
