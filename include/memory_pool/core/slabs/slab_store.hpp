// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slabs of a pool: allocates slabs from upstream, takes out free blocks and puts them back, and returns wholly
/// free slabs to upstream.
///
///     slab_store --owns--> chunk_list        the chunks from upstream, and the slabs in them
///                          slab_list         the slabs that may have free blocks
///     over a chunk_list:   block_queries.hpp: queries about blocks;   block_walk: a walk over the blocks in use
///
///     capacity = blocks of all slabs = outstanding + set bits + blocks never used
///
/// Blocks move in batches between the slabs and the caches in front of them (magazines and spans). An outstanding block
/// may therefore be a free block in a cache.
///
/// Thread safety: none; the owning pool synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/slabs/block_queries.hpp>
#include <memory_pool/core/slabs/block_row.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/chunk_list.hpp>
#include <memory_pool/core/slabs/chunk_plan.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The slabs of one pool.
class slab_store
{
public:
    using detached_chunks = chunk_list::detached_chunks;

    /// Effects: makes a store without slabs, for up to `limit` blocks.
    slab_store(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
               const pool_identity& identity, std::pmr::memory_resource* upstream) noexcept
        : chunks_(layout, limit, options, identity, upstream)
    {
    }

    slab_store(const slab_store&) = delete;
    slab_store& operator=(const slab_store&) = delete;
    ~slab_store() { release(); }

    const chunk_list& chunks() const noexcept { return chunks_; }
    const slab_layout& layout() const noexcept { return chunks_.layout(); }
    const pool_identity& identity() const noexcept { return chunks_.identity(); }
    std::size_t capacity() const noexcept { return chunks_.capacity(); }
    bool may_grow() const noexcept { return chunks_.may_grow(); }

    /// Returns: the number of blocks that were taken out and not put back: in use, or in caches.
    std::size_t outstanding() const noexcept { return outstanding_; }

    /// Effects: adds blocks to a slab with room for more, or else in a new chunk. Adds `wanted` blocks or, within
    ///   bounds, as many as the store already has; fewer if upstream is short of memory.
    /// Preconditions: may_grow().
    /// Throws: exceptions of upstream, if upstream has no memory for even one block; then, nothing has changed.
    ///   Exceptions of the listener; the blocks that the listener has already added stay.
    MEMORY_POOL_NOINLINE void grow(std::size_t wanted)
    {
        const std::size_t blocks = chunks_.blocks_to_add(wanted);
        if (slab* const home = chunks_.slab_to_extend())
            extend(*home, blocks);
        else
            add_chunk(blocks);
    }

    /// Effects: grows by one step: by the number of blocks in the options, or as `grow` decides.
    /// Preconditions: may_grow().
    /// Throws: as `grow`, if it could not add a single block.
    MEMORY_POOL_NOINLINE void enlarge()
    {
        const std::size_t before = capacity();
        const std::size_t end =
            before + std::min(std::max<std::size_t>(chunks_.options().growth_step, 1), chunks_.limit() - before);
        const auto grow_to_end = [&] {
            while (capacity() < end)
                grow(end - capacity());
        };
        base::try_to(grow_to_end, [&] { return capacity() != before; });
        note_step();
    }

    /// Returns: the number of growth steps since the store was made or released, including calls of note_step.
    std::size_t steps() const noexcept { return steps_; }

    /// Effects: counts a growth step that was made without `enlarge`.
    void note_step() noexcept { ++steps_; }

    /// Effects: takes adjacent free blocks, at most about `max_blocks`, out of the first slab with free blocks.
    /// Returns: the blocks. If there are none, call `take`: the free blocks are not adjacent, or no block is free.
    block_span take_span(std::size_t max_blocks = slab::any_number) noexcept
    {
        for (; slab* const home = with_free_.first(); with_free_.remove(home)) {
            const block_span span = home->take_span(layout().stride(), max_blocks);
            outstanding_ += layout().blocks_in(span.bytes());
            if (!span.empty() || home->has_set_bits())
                return span;
        }
        return {};
    }

    /// Effects: takes up to `count` free blocks out of one slab, and writes their addresses to `out`.
    /// Returns: their number.
    /// Preconditions: take_span() has just returned an empty span.
    std::size_t take(void** out, std::size_t count) noexcept
    {
        slab* const home = with_free_.first();
        if (home == nullptr)
            return 0;
        const std::size_t taken = home->take(out, count, layout().stride());
        outstanding_ += taken;
        return taken;
    }

    /// Effects: takes out one free block, preferably one that was not used recently.
    /// Returns: the block; nullptr if there is none.
    void* take_one_late() noexcept
    {
        for (; slab* const home = with_free_.first(); with_free_.remove(home)) {
            if (void* const block = home->take_one_late(layout().stride())) {
                ++outstanding_;
                return block;
            }
        }
        return nullptr;
    }

    /// Effects: puts `count` blocks back. Reports and skips blocks that are not of this store, or already free. The
    ///   check costs two comparisons per block, so every policy includes it.
    /// Returns: the number of skipped blocks.
    /// Complexity: linear in `count`.
    std::size_t put(void* const* blocks, std::size_t count) noexcept
    {
        const std::size_t before = outstanding_;
        void* const* const end = blocks + count;
        while (blocks != end)
            blocks = put_into(chunks_.slab_of(*blocks), blocks, end);
        return count - (before - outstanding_);
    }

    /// Effects: puts the blocks of a span back. Reports and skips blocks that are already free.
    /// Returns: the number of skipped blocks.
    /// Preconditions: the span was taken from this store, or is the result of `clip`.
    MEMORY_POOL_NOINLINE std::size_t put(const block_span& span) noexcept
    {
        if (span.empty())
            return 0;
        slab* const home = chunks_.slab_of(span.begin);
        const std::size_t first = layout().index(static_cast<std::size_t>(span.begin - home->first_block()));
        const std::size_t in_span = layout().blocks_in(span.bytes());
        const std::size_t count = std::min(in_span, home->carved() - std::min(home->carved(), first));
        std::size_t skipped = 0;
        // The remaining blocks were freed before: `uncarve` has turned them into never-used blocks.
        if (MEMORY_POOL_UNLIKELY(count != in_span)) {
            for (std::size_t i = first + count; i != first + in_span; ++i)
                report_misuse(error_kind::double_free, home->block(i, layout().stride()));
            skipped = in_span - count;
            if (count == 0)
                return skipped;
        }
        with_free_.add_first(home);
        if (home->uncarve(first, count)) {
            outstanding_ -= count;
            return skipped;
        }
        home->bits().put_range(first, count, [&](std::size_t word, std::uint64_t twice) {
            skipped += report_freed_twice(home, word, twice);
        });
        home->search_from(first);
        outstanding_ -= in_span - skipped;
        return skipped;
    }

    /// Effects: puts block number `index` of `home` back, without looking up its slab. Reports a double free.
    /// Returns: false if the block is already free.
    bool put(slab& home, std::size_t index) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!home.bits().put(index))) {
            report_misuse(error_kind::double_free, home.block(index, layout().stride()));
            return false;
        }
        home.search_from(index);
        with_free_.add_first(&home);
        --outstanding_;
        return true;
    }

    /// Returns: whether all blocks of `row` are in one slab of this store.
    bool owns(const block_row& row) const noexcept
    {
        const slab* const home = chunks_.slab_of(row.first);
        return home != nullptr && home->owner() == chunks_.owner() && is_carved_block(*home, row.first) &&
               is_carved_block(*home, row.next - row.step);
    }

    /// Effects: reports the blocks of `row` that are outside of the slab, or are never-used blocks of the slab.
    /// Returns: the part of `row` that consists of blocks of this store.
    /// Preconditions: the row is empty, or this store owned the row when it began.
    MEMORY_POOL_NOINLINE block_span clip(const block_row& row) const noexcept
    {
        if (row.empty())
            return {};
        const slab* const home = chunks_.slab_of(row.first);
        char* const first = home->first_block();
        char* const carved = home->block(home->carved(), layout().stride());
        char* const end = home->block(home->block_count(), layout().stride());
        const block_span span = row.span();
        for (char* block = span.begin; block < first; block += layout().stride())
            report_misuse(error_kind::foreign_pointer, block);
        for (char* block = std::max(carved, span.begin); block < span.end; block += layout().stride())
            report_misuse(block < end ? error_kind::double_free : error_kind::foreign_pointer, block);
        char* const begin = std::max(first, span.begin);
        // All blocks of the row may have become never-used blocks since the row began.
        return {begin, std::max(begin, std::min(carved, span.end))};
    }

    /// Effects: from now on, adds misuse to `log`, or reports misuse at once if `log` is nullptr.
    void log_misuse_to(base::misuse_log* log) noexcept { log_ = log; }

    /// Returns: the log of misuse; nullptr if misuse is reported at once.
    base::misuse_log* log() const noexcept { return log_; }

    /// Effects: reports or logs a misuse.
    void report_misuse(error_kind kind, const void* block) const noexcept
    {
        if (log_ != nullptr)
            log_->add(kind, block, identity().block_size);
        else
            base::report_misuse(kind, block, identity().block_size, identity().name);
    }

    /// Effects: reports the misuse, if any, of freeing `block`. Reports each overflow only once.
    /// Returns: true if there is no misuse.
    /// Preconditions: as `misuse_at`; the pool fills blocks as fill_pattern requires.
    /// Complexity: as `misuse_at`.
    bool check(const void* block) const noexcept
    {
        std::optional<error_kind> misuse = misuse_at(chunks_, block);
        if (!misuse && checks_of(chunks_).take_overflow(const_cast<void*>(block)))
            misuse = error_kind::buffer_overflow;
        if (misuse)
            report_misuse(*misuse, block);
        return !misuse;
    }

    /// Effects: reports each block that for_each_damaged finds.
    void report_damage() const
    {
        for_each_damaged(chunks_, [this](error_kind kind, const void* block) { report_misuse(kind, block); });
    }

    // Returning chunks to upstream: see chunk_list.

    /// Effects: detaches every chunk whose slabs are wholly free. Before detaching the first chunk of the store, calls
    ///   `vacate(capacity_left)`, which moves the magazine out of that chunk.
    /// Complexity: linear in slabs and bits.
    template <class Vacate>
    detached_chunks detach_free(Vacate&& vacate) noexcept
    {
        return chunks_.detach_free(vacate, [this](slab* home) { with_free_.remove(home); });
    }

    /// Effects: as detach_free(vacate), for a store without a magazine.
    detached_chunks detach_free() noexcept
    {
        return detach_free([](std::size_t) {});
    }

    void inherit(const detached_chunks& detached) noexcept { chunks_.inherit(detached); }
    void give_back_inherited() noexcept { chunks_.give_back_inherited(); }

    /// Effects: frees every block. The slabs stay.
    /// Complexity: linear in slabs.
    void reset() noexcept
    {
        chunks_.for_each_slab([this](slab* home) {
            base::forbid_access(home->first_block(), home->block_count() * layout().stride());
            home->reset();
            with_free_.add_first(home);
        });
        outstanding_ = 0;
    }

    /// Effects: frees every block, and returns every slab to upstream. Does not notify the listener, which makes this
    ///   call.
    /// Complexity: linear in slabs.
    void release() noexcept
    {
        outstanding_ = 0;
        steps_ = 0;
        with_free_.clear();
        chunks_.release();
    }

    /// Returns: whether the invariants hold for the slabs.
    /// Complexity: linear in blocks.
    bool verify() const noexcept
    {
        std::size_t free = 0;
        std::size_t listed = 0;
        bool slabs_are_valid = true;
        chunks_.for_each_slab([&](slab* home) {
            const std::size_t free_here = home->count_set_bits() + home->block_count() - home->carved();
            slabs_are_valid = slabs_are_valid && home->owner() == chunks_.owner() &&
                              home->carved() <= home->block_count() && home->is_consistent() &&
                              (free_here == 0 || slab_list::is_listed(home));
            free += free_here;
            listed += std::size_t{slab_list::is_listed(home)};
        });
        return slabs_are_valid && with_free_.has(listed) && free + outstanding_ == capacity() &&
               chunks_.is_consistent();
    }

private:
    /// Adds a chunk for `blocks` blocks, or as many as possible.
    MEMORY_POOL_NOINLINE void add_chunk(std::size_t blocks)
    {
        chunk_shape shape{};
        slab* const chunk = chunks_.allocate(blocks, shape);
        base::failure_guard guard([&] {
            if (chunk->block_count() == 0)
                chunks_.upstream()->deallocate(chunk, shape.bytes, shape.alignment);
            else
                take_in(chunk, shape);
        });
        chunks_.for_each_slab_in(chunk, [&](slab* home) { add_blocks(*home, std::min(blocks, shape.room_each)); });
        guard.succeeded();
        take_in(chunk, shape);
    }

    /// Makes the blocks of a new chunk available.
    MEMORY_POOL_NOINLINE void take_in(slab* chunk, const chunk_shape& shape) noexcept
    {
        for (std::size_t i = shape.slabs; i-- != 0;) // Backwards, so that the first slab comes first in the list.
            offer(*chunks_.slab_in(chunk, i), 0);
        chunks_.insert(chunk, shape);
    }

    /// Adds up to `max_blocks` blocks to a slab of the extensible chunk, as far as there is room.
    MEMORY_POOL_NOINLINE void extend(slab& home, std::size_t max_blocks)
    {
        const std::size_t first = home.block_count();
        const std::size_t count = std::min(max_blocks, home.room() - first);
        const auto take_over = [&] {
            offer(home, first);
            chunks_.note_extended(home.block_count() - first);
        };
        base::permit_access(home.block(first, layout().stride()), count * layout().stride());
        base::failure_guard guard(take_over);
        add_blocks(home, count);
        guard.succeeded();
        take_over();
    }

    void add_blocks(slab& home, std::size_t count)
    {
        if (slab_listener* const listener = chunks_.listener())
            listener->add_blocks(home, count, layout().stride());
        else
            home.extend(count);
    }

    /// Makes the new blocks of `home`, from number `first` on, available.
    void offer(slab& home, std::size_t first) noexcept
    {
        base::forbid_access(home.block(first, layout().stride()), (home.room() - first) * layout().stride());
        if (chunks_.options().fills_free_blocks)
            for (std::size_t i = first; i != home.block_count(); ++i)
                checks_of(chunks_).mark_free(home.block(i, layout().stride()));
        with_free_.add_first(&home);
    }

    bool is_carved_block(const slab& home, const char* block) const noexcept
    {
        const auto offset = static_cast<std::size_t>(block - home.first_block());
        const std::size_t index = layout().index(offset);
        return index < home.carved() && index * layout().stride() == offset;
    }

    /// Puts blocks back into `home`, from `block` up to the first block outside of `home`. Returns: the position of
    /// that block, or `end`.
    void* const* put_into(slab* home, void* const* block, void* const* end) noexcept
    {
        if (home == nullptr) {
            report_misuse(error_kind::foreign_pointer, *block);
            return block + 1;
        }
        char* const first_block = home->first_block();
        slab_bits<> bits = home->bits();
        const bool is_mine = home->owner() == chunks_.owner();
        const std::size_t bytes = is_mine ? home->block_count() * layout().stride() : 0;
        const std::size_t carved = is_mine ? home->carved() : 0;
        std::size_t lowest = carved;
        std::size_t accepted = 0;
        const auto offset_of = [first_block](void* each) {
            return static_cast<std::size_t>(static_cast<char*>(each) - first_block);
        };
        std::size_t offset = offset_of(*block);
        const auto next_is_here = [&] {
            if (++block == end)
                return false;
            offset = offset_of(*block);
            return offset < bytes;
        };
        do {
            const std::size_t index = layout().index(offset);
            if (MEMORY_POOL_UNLIKELY(index >= carved || index * layout().stride() != offset)) {
                report_misuse(what_is_wrong_at(offset, *home), *block);
                continue; // Evaluates the condition of the loop.
            }
            if (MEMORY_POOL_UNLIKELY(!bits.put(index))) {
                report_misuse(error_kind::double_free, *block);
                continue;
            }
            lowest = std::min(lowest, index);
            ++accepted;
        } while (next_is_here());
        if (accepted != 0) {
            home->search_from(lowest);
            with_free_.add_first(home);
            outstanding_ -= accepted;
        }
        return block;
    }

    /// Returns: the misuse of freeing the address at `offset` from the first block of `home`, where no carved block
    /// begins.
    error_kind what_is_wrong_at(std::size_t offset, const slab& home) const noexcept
    {
        const std::size_t index = layout().index(offset);
        if (home.owner() != chunks_.owner() || index >= home.block_count())
            return error_kind::foreign_pointer;
        return index * layout().stride() != offset ? error_kind::misaligned_pointer : error_kind::double_free;
    }

    /// Reports a double free for each block of a word whose bit is set in `twice`. Returns: their number.
    MEMORY_POOL_SLOW_PATH std::size_t report_freed_twice(slab* home, std::size_t word,
                                                         std::uint64_t twice) const noexcept
    {
        const std::size_t first = word * base::bits_per_word;
        std::size_t count = 0;
        for (; twice != 0; twice &= twice - 1, ++count)
            report_misuse(error_kind::double_free, home->block(first + base::lowest_bit(twice), layout().stride()));
        return count;
    }

    chunk_list chunks_;
    slab_list with_free_; ///< Slabs that may have free blocks.
    std::size_t outstanding_ = 0;
    std::size_t steps_ = 0;
    base::misuse_log* log_ = nullptr;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
