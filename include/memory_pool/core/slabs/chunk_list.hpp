// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The chunks of a pool from upstream, and their slabs. Finds the slab of a block, and returns wholly free chunks to
/// upstream.
///
///     chunks:  [ A + ] < [ B ] < [ C | D | E ] < [ F | G ]     memory from upstream; by address, in the directory
///     list:    G <-> C <-> A                                   slabs that may have free blocks
///
/// The first chunk (A above) is a single slab with no special alignment, followed by room for the array of a magazine
/// (+), so that a pool that does not grow makes one request to upstream. Small further chunks (B) are also single slabs
/// without special alignment. The directory finds their slabs; masking an address finds the slabs of other chunks.
///
/// If upstream refuses a chunk, the pool requests half as many blocks, then a quarter, down to one. It does not repeat
/// refused requests: it requests at most `affordable_` blocks until it has returned a chunk. With each chunk that
/// upstream grants, `affordable_` doubles.
///
/// Thread safety: none; the pool that owns the slabs synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/chunk_plan.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_directory.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/os/pages.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The chunks of one pool.
class chunk_list
{
public:
    chunk_list(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
               const pool_identity& identity, std::pmr::memory_resource* upstream) noexcept
        : layout_(layout), limit_(limit), options_(options), identity_(identity), directory_(upstream),
          upstream_(upstream)
    {
    }

    const slab_layout& layout() const noexcept { return layout_; }
    const pool_identity& identity() const noexcept { return identity_; }
    std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

    slab_listener* listener() const noexcept { return options_.listener; }
    const slab_store_options& options() const noexcept { return options_; }
    const slab_directory& directory() const noexcept { return directory_; }

    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t limit() const noexcept { return limit_; }
    bool is_bounded() const noexcept { return limit_ != pool_options::unbounded; }
    bool may_grow() const noexcept { return capacity_ < limit_; }

    std::size_t slab_count() const noexcept { return slab_count_; }
    std::size_t bytes_reserved() const noexcept
    {
        return chunk_bytes_ + inherited_bytes_ + directory_.bytes_reserved();
    }

    /// Returns: the slab that contains `block`, if it is a block of this store.
    slab* slab_of(const void* block) const noexcept
    {
        if (is_in_first(block))
            return first_;
        return masked_.has(block) ? slab::of(block, layout_) : look_up(block);
    }

    /// Returns: the slab that contains `address`, or nullptr. Any pointer is allowed.
    /// Complexity: logarithmic in chunks. Reads no memory near `address`, unless it is in a chunk.
    MEMORY_POOL_NOINLINE slab* look_up(const void* address) const noexcept
    {
        slab* const chunk = directory_.last_at_or_before(address);
        if (chunk == nullptr || !range_of(chunk).has(address))
            return nullptr;
        return chunk->slabs_in_chunk() == 1 ? chunk : slab::of(address, layout_);
    }

    /// Returns: whether upstream is short of memory: since upstream last refused a chunk, the pool has returned no
    ///   chunk, and upstream has granted none of the planned size.
    bool is_short() const noexcept { return affordable_ != slab::any_number; }

    /// Room for the array of a magazine, without a separate request. Gone when the first chunk is returned to upstream.
    struct magazine_room
    {
        void** array = nullptr; ///< nullptr: no room.
        std::size_t size = 0;
    };

    /// Returns: the suitable room of a magazine in front of `capacity` blocks, in pointers.
    std::size_t suitable_magazine_room(std::size_t capacity) const noexcept
    {
        return plan().suitable_magazine_room(capacity);
    }

    /// Returns: the room behind the first slab and behind the blocks that the slab may get later.
    magazine_room room_for_magazine() const noexcept { return room_for_magazine_; }

    // Returning wholly free chunks to upstream takes three steps, so that the caller can release a lock during the
    // second.

    /// Chunks that were removed from the store, but not yet returned to upstream.
    class detached_chunks
    {
        friend class chunk_list;
        slab* first_ = nullptr; ///< Linked by `next`.
        slab* first_of_store_ = nullptr;
        std::size_t bytes_of_that_ = 0;
    };

    /// Effects: detaches every chunk whose slabs are wholly free. Before detaching the first chunk of the store, calls
    ///   `vacate(capacity_left)`, which moves the magazine out of that chunk. Before detaching any chunk, calls
    ///   `unlist(slab)` for its slabs, which removes them from all lists.
    /// Complexity: linear in slabs and bits.
    template <class Vacate, class Unlist>
    detached_chunks detach_free(Vacate&& vacate, Unlist&& unlist) noexcept
    {
        detached_chunks detached;
        const auto dispose = [&](slab* chunk) {
            for_each_slab_in(chunk, unlist);
            detach(chunk, detached);
        };
        directory_.remove_if([this](const slab* chunk) { return chunk != first_ && is_wholly_free(chunk); }, dispose);
        if (first_ != nullptr && is_wholly_free(first_)) {
            vacate(capacity_ - first_->block_count());
            directory_.remove_if([this](const slab* chunk) { return chunk == first_; }, dispose);
        }
        if (directory_.size() == 0)
            directory_.clear();
        if (detached.first_ != nullptr)
            affordable_ = slab::any_number;
        note_ranges();
        return detached;
    }

    /// Effects: notifies the listener, so that it can destroy the contents of the blocks.
    void leave(const detached_chunks& detached) const noexcept
    {
        if (options_.listener == nullptr)
            return;
        for (slab* chunk = detached.first_; chunk != nullptr; chunk = chunk->next)
            for_each_slab_in(chunk, [this](slab* home) { options_.listener->leave(*home, layout_.stride()); });
    }

    /// Effects: returns the chunks to upstream.
    MEMORY_POOL_NOINLINE void give_back(const detached_chunks& detached) const noexcept
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

    /// Effects: takes over the detached chunks of a lost thread.
    /// Preconditions: there is a listener, so the first chunk has the shape of the other chunks.
    void inherit(const detached_chunks& detached) noexcept
    {
        for (slab* chunk = detached.first_; chunk != nullptr;) {
            slab* const next = chunk->next;
            inherited_bytes_ += plan().other(*chunk).bytes;
            chunk->next = std::exchange(inherited_.first_, chunk);
            chunk = next;
        }
    }

    /// Effects: returns the inherited chunks to upstream. Does not notify the listener, because the lost thread may
    ///   have notified it of some of these chunks.
    void give_back_inherited() noexcept
    {
        give_back(std::exchange(inherited_, {}));
        inherited_bytes_ = 0;
    }

    // Growth.

    /// Returns: the number of blocks to add when `wanted` were requested: see chunk_plan.
    /// Preconditions: may_grow().
    std::size_t blocks_to_add(std::size_t wanted) const noexcept { return plan().blocks_to_add(wanted, capacity_); }

    /// Effects: allocates a chunk for `wanted` blocks, or for fewer if upstream is short of memory. Creates the slabs
    ///   of the chunk, without blocks, and sets `shape`. Does not insert the chunk.
    /// Throws: exceptions of upstream, if upstream has no memory for even one block.
    MEMORY_POOL_NOINLINE slab* allocate(std::size_t wanted, chunk_shape& shape)
    {
        directory_.make_room();
        slab* chunk = nullptr;
        while (chunk == nullptr) {
            const std::size_t blocks = std::min(wanted, affordable_);
            shape = plan().next(blocks, capacity_, first_ == nullptr, is_short());
            // A second request for the first chunk has less room for a magazine, and is therefore smaller.
            const bool may_be_less = blocks > 1 || !is_short();
            base::try_to([&] { chunk = new_chunk(shape); }, [may_be_less] { return may_be_less; });
            if (chunk == nullptr)
                affordable_ = is_short() || first_ != nullptr ? std::max<std::size_t>(shape.blocks() / 2, 1) : blocks;
            else if (is_short())
                affordable_ = blocks == wanted ? slab::any_number : base::saturating_multiply(blocks, 2);
        }
        return chunk;
    }

    /// Effects: inserts a chunk from `allocate`, with its slabs and their blocks.
    MEMORY_POOL_NOINLINE void insert(slab* chunk, const chunk_shape& shape) noexcept
    {
        directory_.insert(chunk);
        if (first_ == nullptr) {
            first_ = chunk;
            first_bytes_ = shape.bytes;
            note_room_for_magazine();
        }
        note_range(chunk);
        if (slab_with_room(chunk) != nullptr)
            extensible_ = chunk;
        slab_count_ += shape.slabs;
        capacity_ += blocks_in(chunk);
        chunk_bytes_ += shape.bytes;
    }

    /// Returns: a slab with room for more blocks; nullptr if there is none.
    slab* slab_to_extend() const noexcept { return extensible_ != nullptr ? slab_with_room(extensible_) : nullptr; }

    /// Effects: counts `blocks` that were added to the slab_to_extend().
    void note_extended(std::size_t blocks) noexcept
    {
        capacity_ += blocks;
        if (slab_with_room(extensible_) == nullptr)
            extensible_ = nullptr;
    }

    /// Effects: returns every chunk to upstream, regardless of its blocks. Does not notify the listener.
    MEMORY_POOL_NOINLINE void release() noexcept
    {
        detached_chunks detached;
        for (slab* const chunk : directory_) {
            permit_access_to(chunk);
            chunk->next = std::exchange(detached.first_, chunk);
        }
        detach_first(detached);
        directory_.clear();
        affordable_ = slab::any_number;
        note_ranges();
        extensible_ = nullptr;
        slab_count_ = 0;
        capacity_ = 0;
        chunk_bytes_ = 0;
        give_back(detached);
        give_back_inherited();
    }

    /// The owner stored in a slab.
    const void* owner() const noexcept
    {
        return options_.listener != nullptr ? static_cast<const void*>(options_.listener) : this;
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

    /// Returns: whether the counts match the chunks.
    /// Complexity: linear in slabs.
    bool is_consistent() const noexcept
    {
        std::size_t slabs = 0;
        std::size_t blocks = 0;
        std::size_t bytes = 0;
        for (const slab* const chunk : directory_) {
            slabs += chunk->slabs_in_chunk();
            blocks += blocks_in(chunk);
            bytes += shape_of(chunk).bytes;
        }
        return directory_.is_sorted() && slabs == slab_count_ && blocks == capacity_ && bytes == chunk_bytes_ &&
               capacity_ <= limit_;
    }

private:
    chunk_plan plan() const noexcept { return {layout_, options_, limit_}; }

    chunk_shape shape_of(const slab* chunk) const noexcept
    {
        return chunk == first_ ? plan().first(chunk->room(), first_bytes_) : plan().other(*chunk);
    }

    /// Allocates a chunk from upstream and creates its slabs, without blocks.
    slab* new_chunk(const chunk_shape& shape)
    {
        void* const memory = allocate_upstream(upstream_, shape.bytes, shape.alignment, identity_.name);
        if (options_.prefault)
            os::touch_pages(memory, shape.bytes);
        auto* const chunk = static_cast<slab*>(memory);
        for (std::size_t i = 0; i != shape.slabs; ++i)
            ::new (static_cast<void*>(slab_in(chunk, i)))
                slab(owner(), layout_, 0, i == 0 ? shape.slabs : 0, shape.room_each);
        return chunk;
    }

    /// Returns: the first slab of `chunk` with room for more blocks, or nullptr.
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

    bool is_in_first(const void* block) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(first_) < first_bytes_;
    }

    /// The room is at the end of the first chunk.
    void note_room_for_magazine() noexcept
    {
        const std::size_t size = (first_bytes_ - layout_.slab_bytes(first_->room())) / sizeof(void*);
        if (size != 0)
            room_for_magazine_ = {static_cast<void**>(base::address_past(first_, first_bytes_)) - size, size};
    }

    /// The addresses in [begin, end).
    struct address_range
    {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;

        bool has(const void* address) const noexcept
        {
            return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
        }
        bool overlaps(const address_range& other) const noexcept { return begin < other.end && other.begin < end; }
        void include(const address_range& added) noexcept
        {
            begin = end == 0 ? added.begin : std::min(begin, added.begin);
            end = std::max(end, added.end);
        }
    };

    address_range range_of(const slab* chunk) const noexcept
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(chunk);
        return {begin, begin + shape_of(chunk).bytes};
    }

    /// Adds a chunk to the ranges. Only addresses in `masked_` may be masked: for an address in an unaligned chunk, or
    /// outside of all chunks, the masked address may be unreadable.
    MEMORY_POOL_NOINLINE void note_range(const slab* chunk) noexcept
    {
        if (chunk != first_)
            (plan().is_unaligned(shape_of(chunk)) ? unaligned_ : aligned_).include(range_of(chunk));
        masked_ = unaligned_.overlaps(aligned_) ? address_range{} : aligned_;
    }

    /// Recomputes the ranges.
    void note_ranges() noexcept
    {
        unaligned_ = aligned_ = masked_ = {};
        for (const slab* const chunk : directory_)
            note_range(chunk);
    }

    bool is_wholly_free(const slab* chunk) const noexcept
    {
        bool free = true;
        for_each_slab_in(chunk, [&free](const slab* home) { free = free && home->is_wholly_free(); });
        return free;
    }

    MEMORY_POOL_NOINLINE void detach(slab* chunk, detached_chunks& detached) noexcept
    {
        const chunk_shape shape = shape_of(chunk);
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

    /// Moves the state of the first chunk into `detached`.
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
    slab* extensible_ = nullptr; ///< A chunk with room for more blocks, or nullptr.
    std::size_t slab_count_ = 0;
    std::size_t capacity_ = 0;
    std::size_t chunk_bytes_ = 0;
    slab* first_ = nullptr;       ///< The first chunk; nullptr: none.
    std::size_t first_bytes_ = 0; ///< 0 if there is no first chunk.
    magazine_room room_for_magazine_;
    address_range unaligned_; ///< From the lowest to the highest unaligned chunk, without the first chunk.
    address_range aligned_;   ///< From the lowest to the highest aligned chunk, without the first chunk.
    address_range masked_;    ///< `aligned_`; empty if it overlaps `unaligned_`.
    std::size_t affordable_ = slab::any_number;
    detached_chunks inherited_;
    std::size_t inherited_bytes_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
