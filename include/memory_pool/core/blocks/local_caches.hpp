// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The free blocks that one thread keeps in front of the slabs of a pool, and what iterators need to know of them.
///
///     allocate  <--  magazine  <--  outgoing span  <--  slabs        (a fill of the magazine is also from the slabs)
///     deallocate -->  incoming row, or magazine     -->  slabs
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
#include <memory_pool/core/slabs/slab_magazine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The magazine, span and row of a local_store, which fills and empties them.
class local_caches : base::immovable<local_caches>
{
public:
    /// Returns: how often bits of slabs have changed while the caches were watched.
    std::uint64_t changes() const noexcept { return changes_; }

    /// Returns: bytes from one block to the next.
    std::size_t stride() const noexcept { return stride_; }

    // Where cached blocks are, for slab_walk. Preconditions: the caches are watched.

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

protected:
    explicit local_caches(std::size_t stride) noexcept : stride_(stride) {}
    ~local_caches() = default;

    MEMORY_POOL_ALWAYS_INLINE bool take_cached(void*& block) noexcept
    {
        return magazine_.pop(block) || outgoing_.pop_front(block, stride_);
    }

    /// Takes up to `count` blocks. Returns how many.
    template <class T>
    std::size_t take_cached(T** blocks, std::size_t count) noexcept
    {
        std::size_t taken = magazine_.pop(blocks, count);
        block_span rest = outgoing_; // A copy, which stays in registers.
        for (void* block = nullptr; taken != count && rest.pop_front(block, stride_); ++taken)
            blocks[taken] = static_cast<T*>(block);
        outgoing_ = rest;
        return taken;
    }

    /// Returns: the number of blocks in the caches.
    std::size_t count_cached() const noexcept
    {
        return magazine_.size() + (outgoing_.bytes() + incoming_.span().bytes()) / stride_;
    }

    template <class Visit>
    void for_each_cached(Visit&& visit) const
    {
        std::for_each(magazine_.blocks(), magazine_.blocks() + magazine_.size(), visit);
        for (const block_span& span : {outgoing_, incoming_.span()})
            for (char* block = span.begin; block != span.end; block += stride_)
                visit(block);
    }

    /// Whether the magazine, span and row may hold free blocks; else each block moves to and from its slab alone.
    bool is_caching() const noexcept { return magazine_.room() != 0 && !is_suspended_; }

    void open_magazine() noexcept
    {
        if (!is_suspended_ && !is_abandoned_ && !is_watched() && incoming_.empty())
            (void)magazine_.open(patience);
    }

    bool is_watched() const noexcept { return watched_ != 0; }

    /// Preconditions: the row is empty, and the magazine is closed; it is empty, or was filled while watched.
    void begin_watch() noexcept { watched_ = watch_length; }

    /// Notes that a block went straight into its slab.
    void note_change() noexcept { ++changes_; }

    /// Notes that a block of the watch did. Returns whether the watch has ended with it.
    bool note_freed() noexcept
    {
        note_change();
        if (watched_ == 0)
            return false;
        --watched_;
        return watched_ == 0;
    }

    /// Pushes onto the magazine after which to look for a row. Once one was found, every `row_length` are looked at.
    static constexpr std::size_t patience = 128;

    slab_magazine magazine_;
    block_span outgoing_; ///< Handed out next, when the magazine is empty.
    block_row incoming_;  ///< Grows while blocks are freed in the order of their addresses.
    std::size_t stride_;  ///< Bytes from one block to the next.

    bool is_suspended_ = false; ///< All blocks are kept out of the caches, for a while.
    bool is_abandoned_ = false; ///< The same, for good.

private:
    static const char* later(const char* a, const char* b) noexcept { return base::is_before(a, b) ? b : a; }

    /// Whether there is anything that lies in both ranges.
    static bool are_overlapping(const char* begin, const char* end, const char* begin2, const char* end2) noexcept
    {
        return base::is_before(later(begin, begin2), end) && base::is_before(later(begin, begin2), end2);
    }

    /// Blocks freed straight into the slabs in a watch. Enough to amortize emptying the magazine.
    static constexpr unsigned watch_length = 64;

    unsigned watched_ = 0; ///< How many of them are left.
    std::uint64_t changes_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
