// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Remote frees: blocks that a thread frees for the heaps of others, and what others free of its own.
///
///     outbox:   [ batch for another heap ] x 64                         freed here, not sent yet
///     inbox:    batch -> batch -> batch                                 freed elsewhere, sent by one operation each
///
///     batch:    | next batch | how many | block | block | ...           addresses, encoded
///
/// A batch is itself a block: of this heap, or, on OOM, the one that it brings. So the owner does not read the blocks
/// in transit, which are in the cache of another processor; 62 of them cost one compare-and-exchange, and the reader
/// gets eight addresses with each cache line, and puts those of one slab back together. Draining an inbox takes all
/// batches at once, so none can come back meanwhile (no ABA). A batch that was read is sent back to the heap it is
/// from, as one without blocks.
///
/// Where blocks of many heaps are freed in turns, a batch has to leave before it has much in it. If that is less than
/// the batch takes itself, it stays, for the next heap, and each of its blocks is sent as a batch of its own: otherwise
/// blocks could wait for an idle owner with many times their memory.
///
/// A program can overflow into a batch, as batches are among its blocks. Pointers and the count are encoded, so an
/// overwritten batch is reported instead of freeing blocks in use (see pointer_encoding.hpp). The checked build also
/// validates the state of each block, and the canary before each batch.
///
/// Thread safety: `send_one` any thread; figures any thread; the outbox its owner, or the user of a parked heap; the
///   rest the holder of the heap lock, or the only user of the heap.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/pointer_encoding.hpp"
#include "heap_slabs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace memory_pool::np {
/// The outbox and the inbox of a heap.
class remote_frees : public heap_slabs
{
    struct free_batch;

public:
    static constexpr std::size_t batch_bytes = 512;
    static constexpr std::size_t batch_class = sizes::of(batch_bytes);

    /// Where batches to other heaps are written. Zeroed, it is empty; so a thread that frees nothing of others touches
    /// no page for it.
    class outbox
    {
        friend class remote_frees;

        /// A place for a batch.
        struct outgoing
        {
            remote_frees* owner; ///< The heap that it goes to; nullptr if there is no batch.
            free_batch* batch;
            // Of the blocks in it. The batch is told how many when it is sent: it is a block, which a program may write
            // to.
            std::uint64_t count;
            std::size_t bytes;
        };

        outgoing& place_for(const remote_frees& to) noexcept
        {
            static_assert(sizeof places_ / sizeof(outgoing) == 64, "a place has a number of six bits");
            return places_[static_cast<std::size_t>((to.own_tag() * 0x9E37'79B9'7F4A'7C15U) >> 58U)];
        }

        std::array<outgoing, 64> places_;
    };

    /// Effects: makes a heap that keeps what is freed for others in `for_others`.
    remote_frees(page_heap& from, outbox& for_others) noexcept : heap_slabs(from), outbox_(&for_others) {}

    /// Effects: makes a shared heap, which keeps nothing for others.
    constexpr explicit remote_frees(page_heap& from) noexcept : heap_slabs(from, true) {}

    /// As heap_slabs::of.
    static remote_frees& of(slice_tag tag) noexcept { return static_cast<remote_frees&>(heap_slabs::of(tag)); }

    /// Returns: whether a block of that owner can be kept without a new batch, and so without the lock.
    bool has_batch_for(slice_tag tag) const noexcept
    {
        const remote_frees& to = of(tag);
        return outbox_->place_for(to).owner == &to;
    }

    /// Effects: keeps blocks of another heap, whose slices have that tag, until there is a batch full of them, or they
    ///   are many bytes, or another heap needs the place; then sends them.
    /// Preconditions: it is the tag of a slab.
    // Not analyzed: the lock is needed only if there is no batch: see has_batch_for().
    MEMORY_POOL_NOINLINE void add_remote_frees(slice_tag tag, void* const* blocks,
                                               std::size_t count) noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        remote_frees& to = of(tag);
        outgoing& place = outbox_->place_for(to);
        const std::size_t block_bytes = facts[tag & class_bits].block_bytes;
        add(sent_[tag & class_bits], static_cast<std::uint32_t>(count));
        for (void* const* const end = blocks + count; blocks != end; ++blocks) {
            if (MEMORY_POOL_UNLIKELY(place.owner != &to) && !address(place, to)) {
                to.send_one(*blocks);
                continue;
            }
            place.batch->blocks()[place.count++] = the_pointer_encoding.encode(*blocks);
            place.bytes += block_bytes;
            if (place.count == batch_capacity || place.bytes >= most_bytes_in_batch)
                send(place);
        }
    }

    /// Effects: sends all that is kept for others.
    void send_all() noexcept
    {
        for (outgoing& place : outbox_->places_)
            send(place);
    }

    /// Effects: gives this heap one of its blocks. As that is not kept, it costs a compare-and-exchange.
    ///   The caller counts it as sent.
    /// Thread safety: any thread.
    void send_one(void* block) noexcept
    {
        pages_.checks().library_sends(block);
        send(*::new (block) free_batch);
    }

    /// Returns: whether others have sent something that was not drained yet.
    /// Thread safety: any thread.
    bool has_incoming() const noexcept { return inbox_.load(std::memory_order_relaxed) != nullptr; }

    /// Effects: puts what others have sent back into the slabs. Not while this thread forks: see forget_incoming.
    /// Returns: whether there was something.
    bool drain() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_LIKELY(!has_incoming()) || this_thread_forks)
            return false;
        for (free_batch* each = inbox_.exchange(nullptr, std::memory_order_acquire); each != nullptr;) {
            MEMORY_POOL_DELAY_POINT();
            free_batch* const next = each->next();
            report_damage_before(*each);
            const bool has_valid_next = next == nullptr || may_be_block(next);
            if (MEMORY_POOL_UNLIKELY(!has_valid_next || !drain_blocks(*each, each->count()))) {
                pages_.checks().library_writes_to(each);
                report(error_kind::write_after_free, batch_class, each);
                break; // The next batch is unknown.
            }
            each = drain_batch(each) ? next : nullptr; // A batch that was sent twice would form a cycle.
        }
        return true;
    }

    /// Effects: drops what others have sent.
    ///
    /// In the child of a fork, what another thread was just sending may be there in part: the address of a batch, and
    /// not what stands in it. A fork copies the pages one after the other, while other threads go on.
    void forget_incoming() noexcept { inbox_.store(nullptr, std::memory_order_relaxed); }

    /// Effects: calls `visit(const void* block)` for each block that is in transit: of others, in batches that are not
    ///   sent, with those batches, and its own, in batches that were not read; until that returns false. A batch comes
    ///   before it is read.
    /// Returns: whether it never did.
    template <class Visit>
    bool for_each_in_transit(Visit&& visit) const
    {
        for (const outgoing& place : outbox_->places_)
            if (place.owner != nullptr && !visit_batch(*place.batch, place.count, visit))
                return false;
        for (const free_batch* each = inbox_.load(std::memory_order_acquire); each != nullptr; each = each->next())
            if (!visit_batch(*each, each->count(), visit))
                return false;
        return true;
    }

    /// Returns: the number of blocks of that class that it has ever put into its outbox, minus those that it has ever
    ///   drained from its inbox, modulo 2^32. The sum over all heaps is the number in transit.
    std::uint32_t sent_minus_received(std::size_t size_class) const noexcept
    {
        return sent_[size_class].load(std::memory_order_relaxed) -
               received_[size_class].load(std::memory_order_relaxed);
    }

protected:
    /// Returns: whether a slice with that tag is of a slab of that class of a thread's heap.
    static bool is_of_thread(slice_tag tag, std::size_t size_class) noexcept
    {
        return is_of_slab(tag) && (tag & class_bits) == size_class && !of(tag).is_shared();
    }

private:
    static constexpr std::uint64_t batch_capacity = (batch_bytes - least_canary - sizes::size(0)) / sizeof(void*);
    static constexpr std::size_t most_bytes_in_batch = std::size_t{64} * 1024;

    /// Addresses of blocks in transit stand behind it. Without any, it fits into every block there is.
    struct free_batch
    {
        void* encoded_next = nullptr;
        std::uint64_t encoded_count = the_pointer_encoding.convert_count(0);

        free_batch* next() const noexcept
        {
            return static_cast<free_batch*>(the_pointer_encoding.decode(encoded_next));
        }
        std::uint64_t count() const noexcept { return the_pointer_encoding.convert_count(encoded_count); }
        void** blocks() noexcept { return reinterpret_cast<void**>(this + 1); }
        void* const* blocks() const noexcept { return reinterpret_cast<void* const*>(this + 1); }
    };
    static_assert(sizeof(free_batch) == bytes_of_sent);
    static_assert(sizeof(free_batch) <= sizes::size(0), "the smallest block can be a batch");

    using outgoing = outbox::outgoing;

    /// Has a batch to that heap at a place: the one that is there, if it is not worth its memory, or a new one.
    /// Returns: whether there is one; if not, there is no memory.
    bool address(outgoing& place, remote_frees& to) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (place.owner == nullptr || place.bytes >= batch_bytes) {
            send(place);
            return open(place, to);
        }
        for (std::uint64_t i = 0; i != place.count; ++i)
            if (!send_from(place, the_pointer_encoding.decode(place.batch->blocks()[i])))
                break; // The others are unknown.
        start(place, to, *place.batch);
        return true;
    }

    /// Sends a block as a batch of its own that stands in one; it was counted as sent already.
    /// Returns: whether it stands where blocks can be. If not, that is reported.
    bool send_from(const outgoing& place, void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!may_be_block(block))) {
            report(error_kind::write_after_free, batch_class, place.batch);
            return false;
        }
        const slice_tag tag = tag_of(block);
        if (MEMORY_POOL_LIKELY((tag & ~class_bits) == place.owner->own_tag()))
            place.owner->send_one(block);
        else
            report_gone(tag, block);
        return true;
    }

    /// Reports a block whose slab was given back since it was freed, and may be another's.
    MEMORY_POOL_SLOW_PATH void report_gone(slice_tag tag, const void* block) noexcept
    {
        report(error_kind::double_free, is_of_slab(tag) ? tag & class_bits : class_count, block);
    }

    static void start(outgoing& place, remote_frees& to, free_batch& empty) noexcept
    {
        place.owner = &to;
        place.batch = &empty;
        place.count = 0;
        place.bytes = 0;
    }

    /// Returns: whether there is memory for a batch.
    bool open(outgoing& place, remote_frees& to) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        void* memory = nullptr;
        if (take(batch_class, &memory, 1) == 0)
            return false;
        pages_.checks().library_writes_to(memory);
        add(sent_[batch_class], std::uint32_t{1});
        start(place, to, *::new (memory) free_batch);
        return true;
    }

    static void send(outgoing& place) noexcept
    {
        if (place.owner == nullptr)
            return;
        place.batch->encoded_count = the_pointer_encoding.convert_count(place.count);
        place.owner->send(*place.batch);
        place.owner = nullptr;
    }

    void send(free_batch& sent) noexcept
    {
        free_batch* next = inbox_.load(std::memory_order_relaxed);
        do {
            sent.encoded_next = the_pointer_encoding.encode(next);
            MEMORY_POOL_DELAY_POINT();
        } while (!inbox_.compare_exchange_weak(next, &sent, std::memory_order_release, std::memory_order_relaxed));
    }

    // A program that writes to a block after its release may have written to a batch.

    /// Drains `count` blocks of a batch. Returns false if the batch is too small for them, or at the first pointer that
    /// is to no block in transit.
    bool drain_blocks(const free_batch& read, std::uint64_t count) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_UNLIKELY(count > batch_capacity || (count != 0 && (tag_of(&read) & class_bits) != batch_class)))
            return false;
        std::array<void*, batch_capacity> blocks; // Not in place: an overwritten batch may be a shorter block.
        void* const* const end = std::transform(read.blocks(), read.blocks() + count, blocks.data(),
                                                [](const void* block) { return the_pointer_encoding.decode(block); });
        for (void* const* each = blocks.data(); each != end;) {
            if (MEMORY_POOL_UNLIKELY(!may_be_block(*each)))
                return false;
            each += drain_of_one_slab(each, static_cast<std::size_t>(end - each)).seen;
        }
        return true;
    }

    /// Returns whether an address may be that of a block in transit.
    bool may_be_block(const void* address) const noexcept
    {
        return region().is_committed(region().steps_to(address)) && !pages_.checks().is_in_use(address);
    }

    /// Reports a write just before a batch.
    void report_damage_before(const free_batch& batch) noexcept
    {
        if (const auto found = pages_.checks().mend_front(&batch))
            report_sized(found->kind, found->address, found->block_size);
    }

    /// Drains blocks of a batch up to the first of another slab.
    MEMORY_POOL_ALWAYS_INLINE slice_record::returned drain_of_one_slab(void* const* blocks, std::size_t count) noexcept
        MEMORY_POOL_REQUIRES(mutex_)
    {
        const slice_tag tag = tag_of(*blocks);
        const std::size_t size_class = tag & class_bits;
        if (MEMORY_POOL_UNLIKELY((tag & ~class_bits) != own_tag())) {
            report_gone(tag, *blocks);
            return {1, 0};
        }
        const slice_record::returned result =
            put_into(slab_of(*blocks), size_class, blocks, count,
                     [this, size_class](error_kind kind, const void* block) { report(kind, size_class, block); });
        add(received_[size_class], static_cast<std::uint32_t>(result.seen));
        count_outstanding(size_class, -block_count{result.taken_back});
        return result;
    }

    /// Sends a batch that was read back to the heap that it is from; without another batch, or that would never end.
    /// Then it stays in transit. Returns: whether it was outstanding.
    bool drain_batch(free_batch* read) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const slice_tag tag = tag_of(read);
        if ((tag & ~class_bits) == own_tag() || !is_of_slab(tag)) {
            void* const block = read;
            pages_.checks().library_has_read(block);
            return drain_of_one_slab(&block, 1).taken_back != 0;
        }
        of(tag).send_one(read);
        return true;
    }

    /// Visits the batch first. As it lies in memory that a program may write to by mistake, no more is read of it than
    /// a batch has. `count` may stand in it.
    template <class Visit>
    static bool visit_batch(const free_batch& each, const std::uint64_t& count, Visit& visit)
    {
        if (!visit(static_cast<const void*>(&each)))
            return false;
        for (std::uint64_t i = 0; i != std::min(count, batch_capacity); ++i)
            if (!visit(static_cast<const void*>(the_pointer_encoding.decode(each.blocks()[i]))))
                return false;
        return true;
    }

    std::array<std::atomic<std::uint32_t>, class_count> sent_{}; ///< By its owner.
    std::array<std::atomic<std::uint32_t>, class_count> received_{};
    outbox* const outbox_ = nullptr; ///< Not of a shared heap.
    /// On a line of its own: other threads write to it.
    alignas(64) std::atomic<free_batch*> inbox_{nullptr};
};
} // namespace memory_pool::np
