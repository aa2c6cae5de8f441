// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The heap of a thread: its slabs, and the remote frees that it sends and receives.
///
///     heap  =  slabs (heap_slabs.hpp)  +  outbox and inbox (remote_frees.hpp)
///
/// Thread safety: any thread may call `send_one` and read the statistics. The outbox is for its owner, or the user of a
///   parked heap. All other members need the heap lock, or exclusive use of the heap.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/pointer_encoding.hpp"
#include "heap_slabs.hpp"
#include "remote_frees.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace memory_pool::np {
/// The heap of one thread.
class heap : public heap_slabs
{
public:
    /// Effects: makes a heap whose remote frees go through `for_others`.
    heap(page_heap& from, outbox& for_others) noexcept : heap_slabs(from), outbox_(for_others) {}

    /// As heap_slabs::of.
    /// Preconditions: the heap belongs to a thread.
    static heap& of(slice_tag tag) noexcept { return static_cast<heap&>(heap_slabs::of(tag)); }

    using heap_slabs::put;

    /// Effects: returns blocks of one class to their slabs; blocks of other heaps go to the outbox. Reports blocks that
    ///   are not outstanding.
    void put(std::size_t size_class, void* const* blocks, std::size_t count) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        std::uint32_t taken_back = 0;
        for (void* const* const end = blocks + count; blocks != end;) {
            const slice_tag tag = tag_of(*blocks);
            if (MEMORY_POOL_UNLIKELY(tag != (own_tag() | size_class))) {
                void* const* const first = blocks;
                do
                    ++blocks;
                while (blocks != end && tag_of(*blocks) == tag);
                put_of_others(tag, size_class, first, static_cast<std::size_t>(blocks - first));
                continue;
            }
            const slice_record::returned result =
                put_into(slab_of(*blocks), size_class, blocks, static_cast<std::size_t>(end - blocks),
                         [this, size_class](error_kind kind, const void* block) { report(kind, size_class, block); });
            blocks += result.seen;
            taken_back += result.taken_back;
        }
        count_outstanding(size_class, -block_count{taken_back});
    }

    // Remote frees.

    /// Returns: whether the outbox has a batch for that heap, so that adding a block needs neither a new batch nor a
    ///   lock.
    bool has_batch_for(slice_tag tag) const noexcept { return outbox_.place_for(tag & ~class_bits).owner == &of(tag); }

    /// Effects: adds blocks of another heap, whose slices have that tag, to the outbox. Sends a batch when the batch is
    ///   full or holds many bytes, or when another heap needs its place.
    /// Preconditions: the tag belongs to a slab.
    // Not analyzed: the lock is needed only without a batch; see has_batch_for().
    MEMORY_POOL_NOINLINE void add_remote_frees(slice_tag tag, void* const* blocks,
                                               std::size_t count) noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        heap& to = of(tag);
        outbox::place& place = outbox_.place_for(to.own_tag());
        const std::size_t block_bytes = class_info[tag & class_bits].block_bytes;
        add(sent_[tag & class_bits], static_cast<std::uint32_t>(count));
        for (void* const* const end = blocks + count; blocks != end; ++blocks) {
            if (MEMORY_POOL_UNLIKELY(place.owner != &to) && !address(place, to)) {
                to.send_one(*blocks);
                continue;
            }
            place.add(*blocks, block_bytes);
            if (place.is_full())
                send(place);
        }
    }

    /// Effects: sends all batches in the outbox.
    void send_all() noexcept
    {
        for (outbox::place& place : outbox_.places())
            send(place);
    }

    /// Effects: sends one block to this heap, its owner, as a separate batch, by one compare-and-exchange. The caller
    ///   counts the block as sent.
    /// Thread safety: any thread.
    void send_one(void* block) noexcept
    {
        pages_.checks().library_sends(block);
        inbox_.add(*::new (block) free_batch);
    }

    /// Returns: whether the inbox has batches.
    /// Thread safety: any thread.
    bool has_incoming() const noexcept { return inbox_.has_batches(); }

    /// Effects: returns the blocks in the inbox to their slabs. A no-op while this thread forks: see inbox::forget.
    /// Returns: whether the inbox had blocks.
    bool drain() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_LIKELY(!has_incoming()) || this_thread_forks)
            return false;
        for (free_batch* each = inbox_.take_all(); each != nullptr;) {
            MEMORY_POOL_DELAY_POINT();
            free_batch* const next = each->next();
            report_damage_before(*each);
            const bool has_valid_next = next == nullptr || may_be_block(next);
            if (MEMORY_POOL_UNLIKELY(!has_valid_next || !drain_blocks(*each, each->count()))) {
                pages_.checks().library_writes_to(each);
                report(error_kind::write_after_free, free_batch::size_class, each);
                break; // The pointer to the next batch is unreliable.
            }
            each = drain_batch(each) ? next : nullptr; // A batch that was sent twice would form a cycle.
        }
        return true;
    }

    /// As inbox::forget.
    void forget_incoming() noexcept { inbox_.forget(); }

    /// Effects: calls `visit(const void* block)` for each block in transit until `visit` returns false: the batches in
    ///   the outbox, the unread batches in the inbox, and the blocks in these batches. Each batch comes before its
    ///   blocks.
    /// Returns: whether no call returned false.
    template <class Visit>
    bool for_each_in_transit(Visit&& visit) const
    {
        for (const outbox::place& place : outbox_.places())
            if (place.owner != nullptr && !visit_batch(*place.batch, place.count, visit))
                return false;
        return inbox_.for_each_block(visit);
    }

    /// Returns: the number of blocks of that class ever added to the outbox, minus the number ever drained from the
    ///   inbox, modulo 2^32. The sum over all heaps is the number in transit.
    std::uint32_t sent_minus_received(std::size_t size_class) const noexcept
    {
        return sent_[size_class].load(std::memory_order_relaxed) -
               received_[size_class].load(std::memory_order_relaxed);
    }

private:
    /// Returns: whether the tag belongs to a slab of that class in a thread's heap.
    static bool is_of_thread(slice_tag tag, std::size_t size_class) noexcept
    {
        return is_of_slab(tag) && (tag & class_bits) == size_class && !heap_slabs::of(tag).is_shared();
    }

    /// Adds blocks, whose slices have that tag, to the outbox. If their slab is gone, reports a double free, because
    /// the slab existed when the blocks were freed.
    void put_of_others(slice_tag tag, std::size_t size_class, void* const* blocks, std::size_t count) noexcept
    {
        if (is_of_thread(tag, size_class)) {
            add_remote_frees(tag, blocks, count);
            return;
        }
        for (void* const* const end = blocks + count; blocks != end; ++blocks)
            report(error_kind::double_free, size_class, *blocks);
    }

    /// Prepares a place for blocks of that heap: reuses a batch with few blocks, or allocates a new batch.
    /// Returns: false if there is no memory.
    bool address(outbox::place& place, heap& to) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (place.owner == nullptr || place.is_worth_a_batch()) {
            send(place);
            return open(place, to);
        }
        for (std::uint64_t i = 0; i != place.count; ++i)
            if (!send_from(place, the_pointer_encoding.decode(place.batch->blocks()[i])))
                break; // The other pointers are unreliable.
        place.start(to, *place.batch);
        return true;
    }

    /// Sends a block of a batch separately. The block is already counted as sent.
    /// Returns: false, after a report, if no block can be at that address.
    bool send_from(const outbox::place& place, void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!may_be_block(block))) {
            report(error_kind::write_after_free, free_batch::size_class, place.batch);
            return false;
        }
        const slice_tag tag = tag_of(block);
        if (MEMORY_POOL_LIKELY((tag & ~class_bits) == place.owner->own_tag()))
            place.owner->send_one(block);
        else
            report_gone(tag, block);
        return true;
    }

    /// Reports a block whose slab was returned after the block was freed. The slab may now belong to another heap.
    MEMORY_POOL_SLOW_PATH void report_gone(slice_tag tag, const void* block) noexcept
    {
        report(error_kind::double_free, is_of_slab(tag) ? tag & class_bits : class_count, block);
    }

    /// Returns: false if there is no memory for a batch.
    bool open(outbox::place& place, heap& to) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        void* memory = nullptr;
        if (take(free_batch::size_class, &memory, 1) == 0)
            return false;
        pages_.checks().library_writes_to(memory);
        add(sent_[free_batch::size_class], std::uint32_t{1});
        place.start(to, *::new (memory) free_batch);
        return true;
    }

    static void send(outbox::place& place) noexcept
    {
        if (place.owner == nullptr)
            return;
        place.batch->encoded_count = the_pointer_encoding.convert_count(place.count);
        place.owner->inbox_.add(*place.batch);
        place.owner = nullptr;
    }

    // A program that writes to a freed block may have overwritten a batch.

    /// Drains `count` blocks of a batch. Returns false if the batch is too small for `count` blocks, or at the first
    /// pointer to anything but a block in transit.
    bool drain_blocks(const free_batch& read, std::uint64_t count) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_UNLIKELY(count > free_batch::capacity ||
                                 (count != 0 && (tag_of(&read) & class_bits) != free_batch::size_class)))
            return false;
        std::array<void*, free_batch::capacity> blocks; // Not in place: an overwritten batch may be a shorter block.
        void* const* const end = std::transform(read.blocks(), read.blocks() + count, blocks.data(),
                                                [](const void* block) { return the_pointer_encoding.decode(block); });
        for (void* const* each = blocks.data(); each != end;) {
            if (MEMORY_POOL_UNLIKELY(!may_be_block(*each)))
                return false;
            each += drain_of_one_slab(each, static_cast<std::size_t>(end - each)).seen;
        }
        return true;
    }

    /// Returns: whether a block in transit can be at that address.
    bool may_be_block(const void* address) const noexcept
    {
        return region().is_committed(region().granule_index(address)) && !pages_.checks().is_in_use(address);
    }

    /// Reports a write just before a batch.
    void report_damage_before(const free_batch& batch) noexcept
    {
        if (const auto found = pages_.checks().mend_front(&batch))
            report_sized(found->kind, found->address, found->block_size);
    }

    /// Drains blocks of a batch up to the first block of another slab.
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

    /// Returns a drained batch to its slab. If another heap owns the batch, sends the batch to that heap separately,
    /// because a batch that carried it would have to return, too.
    /// Returns: whether the batch was outstanding.
    bool drain_batch(free_batch* read) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const slice_tag tag = tag_of(read);
        if ((tag & ~class_bits) == own_tag() || !is_of_thread(tag, tag & class_bits)) {
            void* const block = read;
            pages_.checks().library_has_read(block);
            return drain_of_one_slab(&block, 1).taken_back != 0;
        }
        of(tag).send_one(read);
        return true;
    }

    std::array<std::atomic<std::uint32_t>, class_count> sent_{}; ///< Written by the owner.
    std::array<std::atomic<std::uint32_t>, class_count> received_{};
    outbox& outbox_;
    inbox inbox_;
};
} // namespace memory_pool::np
