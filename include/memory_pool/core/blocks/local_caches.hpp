// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The free blocks that one thread keeps in front of the slabs of a pool, and what iterators need to know of them.
///
///     allocate  <--  magazine  <--  outgoing span  <--  slabs        (a fill of the magazine is also from the slabs)
///     deallocate -->  incoming row, or magazine     -->  slabs
///
///     magazine full:   its older half   -->  slabs
///     row complete:    all of it        -->  slabs, or the outgoing span
///     flush:           all caches       -->  slabs
///
/// The slabs are the pool's: each function that moves blocks to or from them gets them, and returns how many blocks
/// they rejected, as those were freed twice, or are not theirs.
///
/// The bits of the slabs say that a cached block is in use. An iterator reads 64 bits at once, and leaves the cached
/// blocks out; until it reads the next 64, it must learn of blocks that are freed, but not of those that are allocated.
/// So while iterators move, the caches are **watched**:
///
///     not watched      as shown
///     watched          deallocate  -->  slab, and `changes` is incremented; allocate as ever
///
/// While watched, the magazine takes no block back, and there is no row: the limit of the one and the beginning of the
/// other are checked anyway, so neither allocate nor deallocate has an instruction for it. Two compares then show which
/// blocks are cached: a span, and a magazine that was filled from one slab, in order. A watch ends after some blocks
/// have been freed, as iterators are not registered; the next iterator that moves finds `changes` different, and begins
/// a new watch.
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
/// The magazine, span and row of a local_store, which fills and empties them.
class local_caches : base::immovable<local_caches>
{
public:
    explicit local_caches(std::size_t stride) noexcept : stride_(stride) {}

    /// Returns: how often bits of slabs have changed while the caches were watched.
    std::uint64_t changes() const noexcept { return changes_; }

    /// Returns: bytes from one block to the next.
    std::size_t stride() const noexcept { return stride_; }

    // Where cached blocks are, for block_walk. Preconditions: the caches are watched.

    /// Returns: the bits of cached blocks among the 64 from `first` on. Bits for which the slab has no block may be
    ///   set, too.
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
        // The oldest block has the highest address, as the magazine was filled so.
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

    /// Returns: an address up to which, from `begin` on, no block is cached; `end` if none is before that.
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

    /// Returns: the part of the outgoing span from `first` on, if `first` is in it; else an empty one.
    block_span span_from(char* first) const noexcept
    {
        const bool is_within = !base::is_before(first, outgoing_.begin) && base::is_before(first, outgoing_.end);
        return is_within ? block_span{first, outgoing_.end} : block_span{};
    }

    // Blocks out and in.

    MEMORY_POOL_ALWAYS_INLINE bool take(void*& block) noexcept
    {
        return magazine_.pop(block) || outgoing_.pop_front(block, stride_);
    }

    /// Effects: takes up to `count` blocks.
    /// Returns: how many.
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

    /// Returns: whether there was room for `block`, and it is not nullptr.
    // An empty row has nullptr as its next block, so that only where it is next, a block is compared to that; while
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

    /// Effects: puts up to `count` blocks into the magazine, and calls `given_back(block)` for each. nullptr is
    ///   ignored.
    /// Returns: how many.
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

    // Between the caches and the slabs.

    /// Effects: fills the caches, which are empty, except perhaps the row, with about `most` blocks at most.
    std::size_t refill(slab_store& slabs, std::size_t most) noexcept
    {
        std::size_t rejected = 0;
        outgoing_ = incoming_.empty() ? slabs.take_span(most) : take_row_out(slabs, rejected);
        if (MEMORY_POOL_UNLIKELY(most != slab::any_number))
            rejected += limit_outgoing(slabs, most);
        if (outgoing_.empty())
            magazine_.fill([&slabs](void** out, std::size_t room) { return slabs.take(out, std::min(room, batch)); });
        ++changes_;
        open();
        return rejected;
    }

    /// Effects: makes room for a block for which there was none: begins a row, ends it, or empties a half of the
    ///   magazine.
    std::size_t make_room(slab_store& slabs) noexcept
    {
        if (incoming_.empty())
            return begin_row(slabs) ? 0 : make_room_in_magazine(slabs);
        const std::size_t rejected = put_row(slabs);
        // Lets in a few blocks, to see whether they begin the next row.
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

    /// Effects: as suspend(), for good.
    std::size_t abandon(slab_store& slabs) noexcept
    {
        is_abandoned_ = true;
        return suspend(slabs);
    }

    /// Effects: begins a watch, in which freed blocks go straight into their slabs and are counted.
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

    /// Effects: forgets the blocks.
    void clear() noexcept
    {
        magazine_.clear();
        outgoing_ = {};
        incoming_ = {};
    }

    /// Effects: lets blocks into the magazine again, if nothing speaks against it.
    void open() noexcept
    {
        if (!is_suspended_ && !is_abandoned_ && !is_watched() && incoming_.empty())
            (void)magazine_.open(patience);
    }

    /// The magazine, to grow and to shrink it with the slabs. After it has grown, it is closed: see open().
    slab_magazine& magazine() noexcept { return magazine_; }
    const slab_magazine& magazine() const noexcept { return magazine_; }

    /// Returns: whether the magazine, span and row may hold free blocks; else each block moves to and from its slab
    ///   alone.
    bool are_used() const noexcept { return magazine_.room() != 0 && !is_suspended_; }
    bool are_suspended() const noexcept { return is_suspended_; }
    bool are_abandoned() const noexcept { return is_abandoned_; }
    bool is_watched() const noexcept { return watched_ != 0; }

    /// Effects: notes that a block went straight into its slab.
    void note_change() noexcept { ++changes_; }

    /// Effects: notes that a block of the watch did.
    /// Returns: whether the watch has ended with it.
    bool note_freed() noexcept
    {
        note_change();
        if (watched_ == 0)
            return false;
        --watched_;
        return watched_ == 0;
    }

private:
    /// Returns: whether the magazine ended in a row of blocks of these slabs, which was removed.
    bool begin_row(const slab_store& slabs) noexcept
    {
        const std::ptrdiff_t step = magazine_.step_of_row(stride_);
        if (step == 0 || !slabs.owns(magazine_.row(step)))
            return false;
        incoming_ = magazine_.take_row(step);
        magazine_.close();
        return true;
    }

    /// Returns: the blocks of the completed incoming row. Adds to `rejected`.
    block_span take_row_out(const slab_store& slabs, std::size_t& rejected) noexcept
    {
        const block_row row = std::exchange(incoming_, {});
        const block_span span = slabs.clip(row);
        rejected += (row.span().bytes() - span.bytes()) / stride_;
        return span;
    }

    /// Puts the blocks of the completed row back.
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

    /// The part of a flush whose cost is amortized over the blocks freed before.
    std::size_t flush_returned(slab_store& slabs) noexcept
    {
        const std::size_t rejected = slabs.put(magazine_.blocks(), magazine_.size());
        magazine_.clear();
        return rejected + put_row(slabs);
    }

    /// Puts all but `most` blocks of the outgoing span back.
    MEMORY_POOL_NOINLINE std::size_t limit_outgoing(slab_store& slabs, std::size_t most) noexcept
    {
        if (outgoing_.bytes() <= most * stride_)
            return 0;
        char* const end = outgoing_.begin + most * stride_;
        return slabs.put(block_span{end, std::exchange(outgoing_.end, end)});
    }

    static const char* later(const char* a, const char* b) noexcept { return base::is_before(a, b) ? b : a; }

    /// Whether there is anything that lies in both ranges.
    static bool are_overlapping(const char* begin, const char* end, const char* begin2, const char* end2) noexcept
    {
        return base::is_before(later(begin, begin2), end) && base::is_before(later(begin, begin2), end2);
    }

    /// Blocks freed straight into the slabs in a watch. Enough to amortize emptying the magazine.
    static constexpr unsigned watch_length = 64;

    /// Pushes onto the magazine after which to look for a row. Once one was found, every `row_length` are looked at.
    static constexpr std::size_t patience = 128;

    /// Blocks to take out of the slabs at once, where they do not stand in a row.
    static constexpr std::size_t batch = 64;

    slab_magazine magazine_;
    block_span outgoing_; ///< Handed out next, when the magazine is empty.
    block_row incoming_;  ///< Grows while blocks are freed in the order of their addresses.
    std::size_t stride_;  ///< Bytes from one block to the next.

    bool is_suspended_ = false; ///< All blocks are kept out of the caches, for a while.
    bool is_abandoned_ = false; ///< The same, for good.
    unsigned watched_ = 0;      ///< How many blocks are left in the watch.
    std::uint64_t changes_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
