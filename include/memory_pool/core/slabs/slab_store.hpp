// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All slabs of one pool: takes them from upstream, takes free blocks out of them and puts them back, and gives slabs
/// that are wholly free back upstream.
///
///     chunks:  [ A + ] < [ B | C | D | E ] < [ F | G ]     what upstream gave at once; by address, in the directory
///     list:    G <-> C <-> A                               slabs that may have free blocks
///
/// The first chunk (A above) is a single slab at no special address, and has room behind it (+) for the array of a magazine,
/// so that a pool that does not grow is one request upstream.
///
///     capacity = blocks of all slabs = handed_out + set bits + blocks never used
///
/// Blocks move in batches, because the caches in front of a store (magazines and spans) ask in batches: what is handed
/// out here may still lie free in one of those.
///
/// Thread safety: none; the pool that owns the store sees to it.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/slabs/block_row.hpp>
#include <memory_pool/core/slabs/chunk_plan.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_directory.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_list.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <new>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// The slabs of one pool.
class slab_store
{
public:
    /// Effects: makes a store without slabs, which will hold up to `limit` blocks.
    slab_store(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
               const pool_identity& identity, std::pmr::memory_resource* upstream) noexcept
        : layout_(layout), limit_(limit), options_(options), identity_(identity), directory_(upstream),
          upstream_(upstream)
    {
    }

    slab_store(const slab_store&) = delete;
    slab_store& operator=(const slab_store&) = delete;
    ~slab_store() { release(); }

    const slab_layout& layout() const noexcept { return layout_; }
    const pool_identity& identity() const noexcept { return identity_; }
    std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

    slab_listener* listener() const noexcept { return options_.listener; }

    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t limit() const noexcept { return limit_; }
    bool may_grow() const noexcept { return capacity_ < limit_; }

    /// Effects: from now on, has misuse written down there, or, if that is nullptr, reported at once.
    void log_misuse_to(misuse_log* log) noexcept { log_ = log; }

    /// Returns: where misuse is written down; nullptr if it is reported at once.
    misuse_log* log() const noexcept { return log_; }

    /// Effects: reports a misuse, or has it written down.
    void report_misuse(error kind, const void* block) const noexcept
    {
        if (log_ != nullptr)
            log_->add(kind, block);
        else
            base::report_misuse(kind, block, identity_.block_size, identity_.name);
    }

    /// Returns: blocks taken out and not put back.
    std::size_t handed_out() const noexcept { return handed_out_; }

    std::size_t slab_count() const noexcept { return slab_count_; }
    std::size_t bytes_reserved() const noexcept
    {
        return chunk_bytes_ + inherited_bytes_ + directory_.bytes_reserved();
    }

    /// Returns: the slab that `block` lies in, if it is a block of this store.
    slab* slab_of(const void* block) const noexcept
    {
        return is_in_first(block) || may_be_in_other(block) ? slab_around(block) : nullptr;
    }

    /// Where the array of a magazine can be, without a request of its own. Gone when the first chunk goes upstream.
    struct magazine_room
    {
        void** array = nullptr; ///< nullptr: there is none.
        std::size_t size = 0;
    };

    /// Returns: for how many pointers a magazine should have room in front of `capacity` blocks.
    std::size_t suitable_magazine_room(std::size_t capacity) const noexcept
    {
        return plan().suitable_magazine_room(capacity);
    }

    /// Returns: the room behind the first slab, and behind the blocks that it may have later.
    magazine_room room_for_magazine() const noexcept { return room_for_magazine_; }

    /// Effects: adds some blocks: where a slab has room for more, or else in a chunk of upstream memory, as large as all so far
    ///   together, within bounds, and for `wanted` blocks if the bounds allow it.
    /// Preconditions: may_grow().
    /// Throws: what upstream throws, and nothing is added then; what the listener throws, and the blocks it has added
    ///   stay.
    void grow(std::size_t wanted)
    {
        const std::size_t blocks = plan().blocks_to_add(wanted, capacity_);
        if (slab* const home = extensible_ != nullptr ? slab_with_room(extensible_) : nullptr) {
            extend(*home, blocks);
            return;
        }
        const chunk_shape shape = plan().next(blocks, capacity_, first_ == nullptr);
        add_chunk(shape, std::min(blocks, shape.room_each));
    }

    /// Effects: grows by one step: the blocks that the options say, or as `grow` likes.
    /// Preconditions: may_grow().
    /// Throws: as `grow`, if not even some of them can be had.
    void enlarge()
    {
        const std::size_t end =
            capacity_ + std::min(std::max<std::size_t>(options_.growth_step, 1), limit_ - capacity_);
        const std::size_t before = capacity_;
        const auto grow_to_end = [&] {
            while (capacity_ < end)
                grow(end - capacity_);
        };
        base::try_to(grow_to_end, [&] { return capacity_ != before; });
        note_step();
    }

    /// Returns: how often the store was enlarged since it was made or released, counting what note_step was told.
    std::size_t steps() const noexcept { return steps_; }

    /// Effects: counts a step that was not taken by `enlarge`.
    void note_step() noexcept { ++steps_; }

    /// Effects: takes a row of free blocks out of the first slab that has any, if they stand in a row there.
    /// Returns: the row. An empty one says that `take` will find free blocks, or that there are none.
    block_span take_span() noexcept
    {
        for (; slab* const home = with_free_.first(); with_free_.remove(*home)) {
            const block_span span = home->take_span(layout_.stride());
            handed_out_ += layout_.blocks_in(span.bytes());
            if (!span.empty() || home->has_set_bits())
                return span;
        }
        return {};
    }

    /// Effects: takes up to `count` free blocks out of one slab and writes their addresses from `out` on.
    /// Returns: how many.
    /// Preconditions: take_span() has just returned an empty row.
    std::size_t take(void** out, std::size_t count) noexcept
    {
        slab* const home = with_free_.first();
        if (home == nullptr)
            return 0;
        const std::size_t taken = home->take(out, count, layout_.stride());
        handed_out_ += taken;
        return taken;
    }

    /// Effects: takes one free block out, preferring those that have not been used lately.
    /// Returns: it, or nullptr if there is none.
    void* take_one_late() noexcept
    {
        for (; slab* const home = with_free_.first(); with_free_.remove(*home)) {
            if (void* const block = home->take_one_late(layout_.stride())) {
                ++handed_out_;
                return block;
            }
        }
        return nullptr;
    }

    /// Effects: puts `count` blocks back. One that is not a block of this store, or is here already, is reported and
    ///   skipped: this costs two compares for a block, so it is done in every policy.
    /// Returns: how many were skipped.
    /// Complexity: linear in `count`.
    std::size_t put(void* const* blocks, std::size_t count) noexcept
    {
        const std::size_t before = handed_out_;
        void* const* const end = blocks + count;
        while (blocks != end)
            blocks = put_into(slab_of(*blocks), blocks, end);
        return count - (before - handed_out_);
    }

    /// Effects: puts the blocks of a span back. Those that are here already are reported and skipped.
    /// Returns: how many were skipped.
    /// Preconditions: the span was taken from this store, or is the part of a row that `clip` has left.
    std::size_t put(const block_span& span) noexcept
    {
        if (span.empty())
            return 0;
        slab* const home = slab_around(span.begin);
        const std::size_t first = layout_.index(static_cast<std::size_t>(span.begin - home->first_block()));
        const std::size_t in_span = layout_.blocks_in(span.bytes());
        const std::size_t count = std::min(in_span, home->carved() - std::min(home->carved(), first));
        std::size_t skipped = 0;
        // The others were taken back before, as ones that were never used.
        if (MEMORY_POOL_UNLIKELY(count != in_span)) {
            for (std::size_t i = first + count; i != first + in_span; ++i)
                report_misuse(error::double_free, home->block(i, layout_.stride()));
            skipped = in_span - count;
            if (count == 0)
                return skipped;
        }
        with_free_.add(*home);
        if (home->uncarve(first, count)) {
            handed_out_ -= count;
            return skipped;
        }
        home->for_each_word(first, count, [&](std::uint64_t* word, std::uint64_t mask) {
            if (MEMORY_POOL_UNLIKELY((*word & mask) != 0))
                skipped += report_freed_twice(home, word, *word & mask);
            *word |= mask;
        });
        home->search_from(first);
        handed_out_ -= in_span - skipped;
        return skipped;
    }

    /// Returns: whether the blocks of `row` are this store's, all in one slab.
    bool owns(const block_row& row) const noexcept
    {
        const slab* const home = slab_of(row.first);
        return home != nullptr && home->owner() == owner() && is_carved_block(*home, row.first) &&
               is_carved_block(*home, row.next - row.step);
    }

    /// Returns: the part of `row` that is blocks of this store. The rest, which has run past the ends of the slab, is
    ///   reported.
    /// Preconditions: the row is empty, or this store owned it when it began.
    block_span clip(const block_row& row) const noexcept
    {
        if (row.empty())
            return {};
        const slab* const home = slab_around(row.first);
        char* const first = home->first_block();
        char* const carved = home->block(home->carved(), layout_.stride());
        char* const end = home->block(home->block_count(), layout_.stride());
        const block_span span = row.span();
        for (char* block = span.begin; block < first; block += layout_.stride())
            report_misuse(error::foreign_pointer, block);
        for (char* block = std::max(carved, span.begin); block < span.end; block += layout_.stride())
            report_misuse(block < end ? error::double_free : error::foreign_pointer, block);
        char* const begin = std::max(first, span.begin);
        // Since the row began, all of it may have become such as were never used.
        return {begin, std::max(begin, std::min(carved, span.end))};
    }

    /// Where an address is among the blocks of a store.
    struct block_position
    {
        slab* home;        ///< The slab that it lies in; nullptr: it is in no slab's blocks.
        std::size_t index; ///< Of the block there that it lies in.
        bool at_start;     ///< Is it where the block starts?
    };

    /// Returns: where `address` is, which may be any.
    /// Complexity: logarithmic in slabs. Reads nothing near `address` unless it lies in a slab.
    block_position find(const void* address) const noexcept
    {
        slab* const chunk = directory_.last_at_or_before(address);
        if (chunk == nullptr)
            return {nullptr, 0, false};
        const auto in_chunk =
            static_cast<std::size_t>(static_cast<const char*>(address) - reinterpret_cast<char*>(chunk));
        if (in_chunk >= shape_of(chunk).bytes)
            return {nullptr, 0, false};
        slab* const home = slab_around(address);
        if (address < home->first_block())
            return {nullptr, 0, false};
        const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - home->first_block());
        const std::size_t index = offset / layout_.stride();
        if (index >= home->block_count())
            return {nullptr, 0, false};
        return {home, index, offset % layout_.stride() == 0};
    }

    /// Returns: whether a block starts at `address`.
    /// Complexity: as `find`.
    bool has_block_at(const void* address) const noexcept
    {
        const block_position position = find(address);
        return position.home != nullptr && position.at_start;
    }

    /// Returns: whether a block starts at `address` that is handed out.
    /// Complexity: as `find`.
    bool has_handed_out(const void* address) const noexcept
    {
        const block_position position = find(address);
        return position.home != nullptr && position.at_start && !position.home->is_free(position.index);
    }

    /// Effects: reports the misuse that freeing `block` would be, if any; each overflow only once.
    /// Returns: whether there was nothing to report.
    /// Preconditions: the bits say exactly what is in use, and whoever uses the store fills blocks as fill_pattern asks.
    /// Complexity: as `find`.
    bool verify(const void* block) const noexcept
    {
        const block_position position = find(block);
        const auto found = [this, block](error kind) {
            report_misuse(kind, block);
            return false;
        };
        if (position.home == nullptr)
            return found(error::foreign_pointer);
        if (!position.at_start)
            return found(error::misaligned_pointer);
        if (position.home->is_free(position.index))
            return found(error::double_free);
        if (checks().take_overflow(position.home->block(position.index, layout_.stride())))
            return found(error::overflow);
        return true;
    }

    /// Effects: calls `visit(kind, block)` for each free block that was written to, and each in use that has overflowed.
    /// Preconditions: as `verify`.
    /// Complexity: linear in bytes.
    template <class Visit>
    void for_each_damaged(Visit&& visit) const
    {
        for_each_free([&](void* block) {
            if (!checks().is_untouched(block))
                visit(error::write_after_free, block);
        });
        for_each_handed_out([&](void* block) {
            if (!checks().canary_is_intact(block))
                visit(error::overflow, block);
        });
    }

    /// Effects: reports each block that for_each_damaged finds.
    void report_damage() const
    {
        for_each_damaged([this](error kind, const void* block) { report_misuse(kind, block); });
    }

    /// Returns: whether for_each_damaged finds one.
    bool has_damage() const
    {
        bool damaged = false;
        for_each_damaged([&damaged](error, const void*) { damaged = true; });
        return damaged;
    }

    /// Returns: what the bytes in and behind blocks are to be.
    fill_pattern checks() const noexcept { return {identity_.block_size, layout_.stride()}; }

    /// Effects: calls `visit(block)` for each block that is handed out. `visit` may put blocks back, take some, and make
    ///   the store grow; it may not give slabs back upstream.
    /// Complexity: linear in blocks ever used.
    template <class Visit>
    void for_each_handed_out(Visit&& visit) const
    {
        for (const slab* chunk = directory_.first_behind(nullptr); chunk != nullptr;
             chunk = directory_.first_behind(chunk))
            for_each_slab_in(chunk, [&](const slab* home) {
                for (std::size_t i = home->next_in_use(0); i != home->carved(); i = home->next_in_use(i + 1))
                    visit(home->block(i, layout_.stride()));
            });
    }

    /// Returns: the handed out block with the lowest address above `after`, or nullptr.
    /// Complexity: logarithmic in chunks, and linear in the bits of blocks between.
    void* next_handed_out(const void* after) const noexcept
    {
        const slab* chunk = directory_.last_at_or_before(after);
        if (chunk == nullptr)
            chunk = directory_.first_behind(after);
        for (; chunk != nullptr; chunk = directory_.first_behind(chunk)) {
            void* found = nullptr;
            for_each_slab_in(chunk, [&](const slab* home) {
                if (found == nullptr)
                    found = next_handed_out_of(*home, after);
            });
            if (found != nullptr)
                return found;
        }
        return nullptr;
    }

    /// Effects: calls `visit(block)` for each block whose bit says it is free.
    template <class Visit>
    void for_each_free(Visit&& visit) const
    {
        for_each_slab([&](const slab* home) {
            for (std::size_t i = 0; i != home->block_count(); ++i)
                if (home->is_free(i))
                    visit(home->block(i, layout_.stride()));
        });
    }

    // Giving back upstream what is wholly free takes three steps, so that a lock can be let go for the second of them.

    /// Chunks that are out of the store, and not yet upstream.
    class detached_chunks
    {
        friend slab_store;
        slab* first_ = nullptr; ///< Linked by `next`.
        slab* first_of_store_ = nullptr;
        std::size_t bytes_of_that_ = 0;
    };

    /// Effects: takes every chunk out whose slabs are wholly free. Before it does so with the first one, it calls
    ///   `vacate(capacity_left)`, which says whether nothing needs the room for the magazine any more.
    /// Complexity: linear in slabs and bits.
    template <class Vacate>
    detached_chunks detach_free(Vacate&& vacate) noexcept
    {
        detached_chunks detached;
        const auto dispose = [&](slab* chunk) { detach(chunk, detached); };
        directory_.remove_if([this](const slab* chunk) { return chunk != first_ && is_wholly_free(chunk); }, dispose);
        if (first_ != nullptr && is_wholly_free(first_) && vacate(capacity_ - first_->block_count()))
            directory_.remove_if([this](const slab* chunk) { return chunk == first_; }, dispose);
        if (directory_.size() == 0)
            directory_.clear();
        note_range();
        return detached;
    }

    /// Effects: as the other one, if there is no magazine.
    detached_chunks detach_free() noexcept
    {
        return detach_free([](std::size_t) { return true; });
    }

    /// Effects: lets the listener undo what it made of the blocks.
    void leave(const detached_chunks& detached) const noexcept
    {
        if (options_.listener == nullptr)
            return;
        for (slab* chunk = detached.first_; chunk != nullptr; chunk = chunk->next)
            for_each_slab_in(chunk, [this](slab* home) { options_.listener->leave(*home, layout_.stride()); });
    }

    /// Effects: gives the chunks back upstream.
    void give_back(const detached_chunks& detached) noexcept
    {
        for (slab* chunk = detached.first_; chunk != nullptr;) {
            slab* const next = chunk->next;
            const chunk_shape shape = chunk == detached.first_of_store_
                                          ? plan().first(chunk->room(), detached.bytes_of_that_)
                                          : plan().other(*chunk);
            upstream_->deallocate(chunk, shape.bytes, shape.alignment);
            chunk = next;
        }
    }

    /// Effects: takes chunks over from one who will not give them back any more.
    /// Preconditions: there is a listener: then the first chunk has the shape of the others.
    void inherit(const detached_chunks& detached) noexcept
    {
        for (slab* chunk = detached.first_; chunk != nullptr;) {
            slab* const next = chunk->next;
            inherited_bytes_ += plan().other(*chunk).bytes;
            chunk->next = std::exchange(inherited_.first_, chunk);
            chunk = next;
        }
    }

    /// Effects: gives those back upstream. The listener is not told: how far it was with them, nobody knows.
    void give_back_inherited() noexcept
    {
        give_back(std::exchange(inherited_, {}));
        inherited_bytes_ = 0;
    }

    /// Effects: takes every block back. The slabs stay.
    /// Complexity: linear in slabs.
    void reset() noexcept
    {
        for_each_slab([this](slab* home) {
            base::forbid_access(home->first_block(), home->block_count() * layout_.stride());
            home->reset();
            with_free_.add(*home);
        });
        handed_out_ = 0;
    }

    /// Effects: forgets every block and gives every slab back upstream. The listener is not told: it did that itself.
    /// Complexity: linear in slabs.
    void release() noexcept
    {
        detached_chunks detached;
        for (slab* const chunk : directory_) {
            permit_access_to(chunk);
            chunk->next = std::exchange(detached.first_, chunk);
        }
        detach_first(detached);
        directory_.clear();
        lowest_ = 0;
        highest_ = 0;
        extensible_ = nullptr;
        with_free_.clear();
        slab_count_ = 0;
        capacity_ = 0;
        handed_out_ = 0;
        chunk_bytes_ = 0;
        steps_ = 0;
        give_back(detached);
        give_back_inherited();
    }

    /// Returns: whether all that is said above about the slabs holds.
    /// Complexity: linear in blocks.
    bool is_valid() const noexcept
    {
        std::size_t slabs = 0;
        std::size_t blocks = 0;
        std::size_t free = 0;
        std::size_t listed = 0;
        bool slabs_are_valid = true;
        for_each_slab([&](const slab* home) {
            const std::size_t free_here = home->count_set_bits() + home->block_count() - home->carved();
            slabs_are_valid = slabs_are_valid && home->owner() == owner() && home->carved() <= home->block_count() &&
                              home->is_consistent() && (free_here == 0 || home->is_listed);
            ++slabs;
            blocks += home->block_count();
            free += free_here;
            listed += home->is_listed ? 1 : 0;
        });
        std::size_t bytes = 0;
        for (const slab* const chunk : directory_)
            bytes += shape_of(chunk).bytes;
        return slabs_are_valid && directory_.is_sorted() && with_free_.has(listed) && slabs == slab_count_ &&
               blocks == capacity_ && bytes == chunk_bytes_ && free + handed_out_ == capacity_ && capacity_ <= limit_;
    }

private:
    chunk_plan plan() const noexcept { return {layout_, options_, limit_}; }

    chunk_shape shape_of(const slab* chunk) const noexcept
    {
        return chunk == first_ ? plan().first(chunk->room(), first_bytes_) : plan().other(*chunk);
    }

    void add_chunk(const chunk_shape& shape, std::size_t blocks_each)
    {
        directory_.make_room();
        slab* const chunk = new_chunk(shape);
        base::failure_guard guard([&] {
            if (chunk->block_count() == 0)
                upstream_->deallocate(chunk, shape.bytes, shape.alignment);
            else
                insert(chunk, shape);
        });
        for_each_slab_in(chunk, [&](slab* home) { add_blocks(*home, blocks_each); });
        guard.succeeded();
        insert(chunk, shape);
    }

    void insert(slab* chunk, const chunk_shape& shape) noexcept
    {
        for (std::size_t i = shape.slabs; i-- != 0;) // backwards, so that the first comes first in the list
            offer(*slab_in(chunk, i), 0);
        directory_.insert(chunk);
        if (first_ == nullptr) {
            first_ = chunk;
            first_bytes_ = shape.bytes;
            note_room_for_magazine();
        }
        if (chunk != first_) {
            const auto begin = reinterpret_cast<std::uintptr_t>(chunk);
            lowest_ = highest_ == 0 ? begin : std::min(lowest_, begin);
            highest_ = std::max(highest_, begin + shape.bytes);
        }
        if (slab_with_room(chunk) != nullptr)
            extensible_ = chunk;
        slab_count_ += shape.slabs;
        capacity_ += blocks_in(chunk);
        chunk_bytes_ += shape.bytes;
    }

    /// Adds up to `most` blocks to a slab of the extensible chunk, as far as there is room.
    void extend(slab& home, std::size_t most)
    {
        const std::size_t first = home.block_count();
        const std::size_t count = std::min(most, home.room() - first);
        const auto take_over = [&] {
            offer(home, first);
            capacity_ += home.block_count() - first;
            if (slab_with_room(extensible_) == nullptr)
                extensible_ = nullptr;
        };
        base::permit_access(home.block(first, layout_.stride()), count * layout_.stride());
        base::failure_guard guard(take_over);
        add_blocks(home, count);
        guard.succeeded();
        take_over();
    }

    void add_blocks(slab& home, std::size_t count)
    {
        if (options_.listener != nullptr)
            options_.listener->add_blocks(home, count, layout_.stride());
        else
            home.extend(count);
    }

    /// Returns: the first slab of a chunk that has room for more blocks, or nullptr.
    slab* slab_with_room(const slab* chunk) const noexcept
    {
        slab* found = nullptr;
        for_each_slab_in(chunk, [&found](slab* home) {
            if (found == nullptr && home->block_count() != home->room())
                found = home;
        });
        return found;
    }

    std::size_t blocks_in(const slab* chunk) const noexcept
    {
        std::size_t blocks = 0;
        for_each_slab_in(chunk, [&blocks](const slab* home) { blocks += home->block_count(); });
        return blocks;
    }

    /// Has blocks that are new taken from now on: those of `home` from number `first` on.
    void offer(slab& home, std::size_t first) noexcept
    {
        base::forbid_access(home.block(first, layout_.stride()), (home.room() - first) * layout_.stride());
        if (options_.fills_free_blocks)
            for (std::size_t i = first; i != home.block_count(); ++i)
                checks().mark_free(home.block(i, layout_.stride()));
        with_free_.add(home);
    }

    /// It is at the end of the first chunk.
    void note_room_for_magazine() noexcept
    {
        const std::size_t size = plan().pointers_behind(first_->room());
        if (size != 0)
            room_for_magazine_ = {static_cast<void**>(base::address_past(first_, first_bytes_)) - size, size};
    }

    bool is_in_first(const void* block) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(first_) < first_bytes_;
    }

    /// Returns: the slab that `address` lies in.
    /// Preconditions: it lies in one of this store.
    slab* slab_around(const void* address) const noexcept
    {
        return is_in_first(address) ? first_ : slab::of(address, layout_);
    }

    /// Whether `block` lies between the first and the last byte of all chunks but the first. Only there may its address be
    /// masked: what is elsewhere is not this store's, and what would be read there, anything.
    bool may_be_in_other(const void* block) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(block) - lowest_ < highest_ - lowest_;
    }

    /// Computes the range of all chunks but the first.
    void note_range() noexcept
    {
        lowest_ = 0;
        highest_ = 0;
        for (const slab* const chunk : directory_) {
            if (chunk == first_)
                continue;
            const auto begin = reinterpret_cast<std::uintptr_t>(chunk);
            lowest_ = highest_ == 0 ? begin : lowest_;
            highest_ = begin + shape_of(chunk).bytes;
        }
    }

    /// Whom a slab says that it belongs to.
    const void* owner() const noexcept
    {
        return options_.listener != nullptr ? static_cast<const void*>(options_.listener) : this;
    }

    /// Allocates a chunk from upstream and creates its slabs, still without blocks.
    slab* new_chunk(const chunk_shape& shape)
    {
        void* const memory = upstream_->allocate(shape.bytes, shape.alignment);
        if (options_.prefault)
            os::touch_pages(memory, shape.bytes);
        auto* const chunk = static_cast<slab*>(memory);
        for (std::size_t i = 0; i != shape.slabs; ++i)
            ::new (slab_in(chunk, i)) slab(owner(), layout_, 0, i == 0 ? shape.slabs : 0, shape.room_each);
        return chunk;
    }

    slab* slab_in(const slab* chunk, std::size_t index) const noexcept
    {
        return static_cast<slab*>(base::address_past(const_cast<slab*>(chunk), index * layout_.slab_alignment()));
    }

    template <class Visit>
    void for_each_slab_in(const slab* chunk, Visit&& visit) const
    {
        for (std::size_t i = 0, count = chunk->slabs_in_chunk(); i != count; ++i)
            visit(slab_in(chunk, i));
    }

    template <class Visit>
    void for_each_slab(Visit&& visit) const
    {
        for (const slab* const chunk : directory_)
            for_each_slab_in(chunk, visit);
    }

    bool is_wholly_free(const slab* chunk) const noexcept
    {
        bool free = true;
        for_each_slab_in(chunk, [&free](const slab* home) { free = free && home->is_wholly_free(); });
        return free;
    }

    void* next_handed_out_of(const slab& home, const void* after) const noexcept
    {
        std::size_t index = 0;
        if (!std::less<const void*>()(after, home.first_block()))
            index =
                static_cast<std::size_t>(static_cast<const char*>(after) - home.first_block()) / layout_.stride() + 1;
        index = home.next_in_use(std::min(index, home.carved()));
        return index != home.carved() ? home.block(index, layout_.stride()) : nullptr;
    }

    bool is_carved_block(const slab& home, const char* block) const noexcept
    {
        const auto offset = static_cast<std::size_t>(block - home.first_block());
        const std::size_t index = layout_.index(offset);
        return index < home.carved() && index * layout_.stride() == offset;
    }

    /// Puts the blocks from `block` on back into `home`, up to the first that lies elsewhere.
    /// Returns: where that one is, or `end`.
    void* const* put_into(slab* home, void* const* block, void* const* end) noexcept
    {
        if (home == nullptr) {
            report_misuse(error::foreign_pointer, *block);
            return block + 1;
        }
        char* const first_block = home->first_block();
        std::uint64_t* const words = home->word_of(0);
        const std::size_t carved = home->owner() == owner() ? home->carved() : 0;
        std::size_t lowest = carved;
        std::size_t accepted = 0;
        for (; block != end && slab_of(*block) == home; ++block) {
            const auto offset = static_cast<std::size_t>(static_cast<char*>(*block) - first_block);
            const std::size_t index = layout_.index(offset);
            const std::uint64_t bit = std::uint64_t{1} << (index % base::bits_per_word);
            if (MEMORY_POOL_UNLIKELY(index >= carved || index * layout_.stride() != offset)) {
                report_misuse(what_is_wrong_at(offset, *home), *block);
                continue;
            }
            std::uint64_t& word = words[index / base::bits_per_word];
            if (MEMORY_POOL_UNLIKELY((word & bit) != 0)) {
                report_misuse(error::double_free, *block);
                continue;
            }
            word |= bit;
            lowest = std::min(lowest, index);
            ++accepted;
        }
        if (accepted != 0) {
            home->search_from(lowest);
            with_free_.add(*home);
            handed_out_ -= accepted;
        }
        return block;
    }

    /// Returns: what is wrong with giving back what lies so many bytes behind the first block of `home`, where no block begins that is
    ///   or was in use.
    error what_is_wrong_at(std::size_t offset, const slab& home) const noexcept
    {
        const std::size_t index = layout_.index(offset);
        if (home.owner() != owner() || index >= home.block_count())
            return error::foreign_pointer;
        return index * layout_.stride() != offset ? error::misaligned_pointer : error::double_free;
    }

    /// Effects: reports the blocks of a word whose bits are set in `twice`.
    /// Returns: how many blocks `twice` stands for.
    MEMORY_POOL_SLOW_PATH std::size_t report_freed_twice(slab* home, const std::uint64_t* word,
                                                         std::uint64_t twice) const noexcept
    {
        const std::size_t first = static_cast<std::size_t>(word - home->word_of(0)) * base::bits_per_word;
        std::size_t count = 0;
        for (; twice != 0; twice &= twice - 1, ++count)
            report_misuse(error::double_free, home->block(first + base::lowest_bit(twice), layout_.stride()));
        return count;
    }

    void detach(slab* chunk, detached_chunks& detached) noexcept
    {
        const chunk_shape shape = shape_of(chunk);
        for_each_slab_in(chunk, [this](slab* home) { with_free_.remove(*home); });
        permit_access_to(chunk);
        slab_count_ -= shape.slabs;
        capacity_ -= blocks_in(chunk);
        chunk_bytes_ -= shape.bytes;
        if (chunk == extensible_)
            extensible_ = nullptr;
        if (chunk == first_)
            detach_first(detached);
        chunk->next = std::exchange(detached.first_, chunk);
    }

    /// Moves what is known of the first chunk alone.
    void detach_first(detached_chunks& detached) noexcept
    {
        detached.first_of_store_ = std::exchange(first_, nullptr);
        detached.bytes_of_that_ = std::exchange(first_bytes_, 0);
        room_for_magazine_ = {};
    }

    void permit_access_to(const slab* chunk) const noexcept
    {
        for_each_slab_in(chunk, [this](const slab* home) {
            base::permit_access(home->first_block(), home->room() * layout_.stride());
        });
    }

    slab_layout layout_;
    std::size_t limit_;
    slab_store_options options_;
    pool_identity identity_;
    slab_directory directory_;
    std::pmr::memory_resource* upstream_;
    misuse_log* log_ = nullptr;
    slab* first_ = nullptr;       ///< The first chunk.
    std::size_t first_bytes_ = 0; ///< 0 if there is none.
    magazine_room room_for_magazine_;
    std::uintptr_t lowest_ = 0;  ///< Where the other chunks begin ...
    std::uintptr_t highest_ = 0; ///< ... and end; 0 if there are none.
    slab* extensible_ = nullptr; ///< The chunk that has room for more blocks, or nullptr.
    slab_list with_free_;        ///< Slabs that may have free blocks.
    std::size_t slab_count_ = 0;
    std::size_t capacity_ = 0;
    std::size_t handed_out_ = 0;
    std::size_t chunk_bytes_ = 0;
    detached_chunks inherited_;
    std::size_t inherited_bytes_ = 0;
    std::size_t steps_ = 0;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
