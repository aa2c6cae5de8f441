// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A heap: the slabs of one thread, and what other threads free of them.
///
///     slabs:   class 0: slab <-> slab     class 1: slab     ...         those that have blocks
///     outbox:  [ blocks of a slab of another heap ] x 16                freed here, not posted yet
///     inbox:   batch -> batch -> batch                                  freed elsewhere, posted by one operation each
///
///     carved in its slabs = free there + in its magazines + in use + in outboxes of other heaps + in its inbox
///
/// A batch is a chain of blocks of one slab. Its first block has room for a second word, which leads to the next batch and says
/// how many blocks there are; its second block's second word leads to the last. So posting is one compare-and-exchange, and
/// taking a batch in touches two blocks of it, however long it is. Whoever empties an inbox takes all of it, so a batch never
/// comes back while somebody looks at it (no ABA).
///
/// Thread safety: `post` any thread; the rest its owner, or whoever has the heap to itself.
#pragma once

#include <memory_pool/base/config.hpp>

#include "backend.hpp"
#include "sizes.hpp"
#include "slab.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
/// The slabs of one thread.
class alignas(class_bits + 1) heap
{
public:
    explicit heap(backend& from) noexcept : backend_(from)
    {
        for (slice_number& first : with_blocks_)
            first = no_slice;
    }
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    ~heap() = default;

    owner_word word() const noexcept { return reinterpret_cast<owner_word>(this); }

    // Blocks of its own.

    /// Effects: takes up to `count` blocks out of its slabs, and makes a new one if those have none.
    /// Returns: how many; 0 if there is no memory.
    std::uint32_t take(std::size_t size_class, void** blocks, std::uint32_t count) noexcept
    {
        take_in();
        if (with_blocks_[size_class] == no_slice && !add_slab(size_class))
            return 0;
        std::uint32_t taken = 0;
        while (taken != count && with_blocks_[size_class] != no_slice) {
            slice_record& slab = record(with_blocks_[size_class]);
            taken += slab.take(blocks + taken, count - taken);
            if (!slab.has_blocks())
                unlist(slab);
        }
        return taken;
    }

    /// Effects: puts a block back into its slab.
    void put(void* block) noexcept
    {
        slice_record& slab = slab_of(block);
        slab.put(block);
        came_back(slab);
    }

    // Blocks of others.

    /// Effects: keeps a block of another heap until there are some of the same slab, or another slab needs the place; then posts
    ///   them.
    void keep_for(heap& owner, void* block) noexcept
    {
        const slice_number slab = record(memory().slice_of(block)).slab;
        outgoing& place = outbox_[slab % outbox_.size()];
        if (place.slab != slab || place.owner != &owner) {
            post(place);
            place.slab = slab;
            place.owner = &owner;
        }
        place.blocks.push(block);
        if (place.blocks.count == largest_batch)
            post(place);
    }

    /// Effects: posts all that is kept for others.
    void post_all() noexcept
    {
        for (outgoing& place : outbox_)
            post(place);
    }

    /// Effects: gives this heap blocks of one of its slabs.
    /// Thread safety: any thread.
    void post(const block_chain& blocks) noexcept
    {
        if (blocks.count > 1)
            set_second(next_of(blocks.head), reinterpret_cast<std::uintptr_t>(blocks.tail));
        std::uintptr_t first = inbox_.load(std::memory_order_relaxed);
        do
            set_second(blocks.head, first | (std::uintptr_t{blocks.count} << count_shift));
        while (!inbox_.compare_exchange_weak(first, reinterpret_cast<std::uintptr_t>(blocks.head),
                                             std::memory_order_release, std::memory_order_relaxed));
    }

    /// Effects: puts what others have posted back into the slabs.
    void take_in() noexcept
    {
        if (MEMORY_POOL_LIKELY(inbox_.load(std::memory_order_relaxed) == 0))
            return;
        for (std::uintptr_t each = inbox_.exchange(0, std::memory_order_acquire); each != 0;) {
            void* const head = reinterpret_cast<void*>(each);
            const std::uintptr_t second = second_of(head);
            const auto count = static_cast<std::uint32_t>(second >> count_shift);
            void* const tail = count > 1 ? reinterpret_cast<void*>(second_of(next_of(head))) : head;
            slice_record& slab = slab_of(head);
            slab.put({head, tail, count});
            came_back(slab);
            each = second & address_bits;
        }
    }

    /// Effects: drops what others have posted.
    ///
    /// In the child of a fork, what another thread was just posting may be there in part: the address of a batch, and not what it
    /// wrote into the blocks. A fork copies the pages one after the other, while other threads go on.
    void forget_posted() noexcept { inbox_.store(0, std::memory_order_relaxed); }

    // All of it.

    /// Effects: gives every slab of which nothing is away back, also the last of its class.
    void give_back_empty_slabs() noexcept
    {
        for (slice_number each = first_slab_; each != no_slice;) {
            const slice_number next = record(each).next_in_heap;
            if (record(each).is_empty())
                remove_slab(record(each));
            each = next;
        }
    }

    /// Effects: calls `visit(const slice_record&)` for each slab.
    template <class Visit>
    void for_each_slab(Visit&& visit) const
    {
        for (slice_number each = first_slab_; each != no_slice; each = record(each).next_in_heap)
            visit(record(each));
    }

    /// Effects: calls `visit(const void* block)` for each block that it keeps for others.
    template <class Visit>
    void for_each_kept(Visit&& visit) const
    {
        for (const outgoing& place : outbox_) {
            const void* block = place.blocks.head;
            for (std::uint32_t i = 0; i != place.blocks.count; ++i, block = next_of(block))
                visit(block);
        }
    }

    heap* next_parked = nullptr; ///< In the list of those without a thread, guarded by its lock.

private:
    static constexpr unsigned count_shift = 48;
    static constexpr std::uintptr_t address_bits = (std::uintptr_t{1} << count_shift) - 1;
    static constexpr std::uint32_t largest_batch = 64;
    static constexpr std::size_t outbox_places = 16;

    struct outgoing
    {
        slice_number slab = no_slice;
        heap* owner = nullptr;
        block_chain blocks;
    };

    static void* second_word(void* block) noexcept { return static_cast<std::byte*>(block) + sizeof(void*); }
    static std::uintptr_t second_of(void* block) noexcept
    {
        std::uintptr_t second = 0;
        std::memcpy(&second, second_word(block), sizeof second);
        return second;
    }
    static void set_second(void* block, std::uintptr_t second) noexcept
    {
        std::memcpy(second_word(block), &second, sizeof second);
    }

    backend::region_type& memory() const noexcept { return backend_.memory(); }
    slice_record& record(std::size_t slice) const noexcept { return memory().record(slice); }
    slice_record& slab_of(const void* block) const noexcept { return record(record(memory().slice_of(block)).slab); }

    static void post(outgoing& place) noexcept
    {
        if (place.blocks.count != 0)
            place.owner->post(place.blocks);
        place.blocks = {};
    }

    /// Sees to a slab that blocks have come back to.
    void came_back(slice_record& slab) noexcept
    {
        if (!slab.is_listed)
            list(slab);
        // One that is empty is kept if it is the only one with blocks, so that a program at the edge does not go to and fro.
        const bool is_only_one = slab.next_slab == no_slice && slab.previous_slab == no_slice;
        if (slab.is_empty() && !is_only_one)
            remove_slab(slab);
    }

    bool add_slab(std::size_t size_class) noexcept
    {
        const slice_number added = backend_.take_slab(size_class, word());
        if (added == no_slice)
            return false;
        slice_record& slab = record(added);
        slab.previous_in_heap = no_slice;
        slab.next_in_heap = first_slab_;
        if (first_slab_ != no_slice)
            record(first_slab_).previous_in_heap = added;
        first_slab_ = added;
        list(slab);
        return true;
    }

    void remove_slab(slice_record& slab) noexcept
    {
        if (slab.is_listed)
            unlist(slab);
        (slab.previous_in_heap != no_slice ? record(slab.previous_in_heap).next_in_heap : first_slab_) =
            slab.next_in_heap;
        if (slab.next_in_heap != no_slice)
            record(slab.next_in_heap).previous_in_heap = slab.previous_in_heap;
        backend_.give_slab(slab.slab);
    }

    void list(slice_record& slab) noexcept
    {
        slice_number& first = with_blocks_[slab.size_class];
        slab.previous_slab = no_slice;
        slab.next_slab = first;
        if (first != no_slice)
            record(first).previous_slab = slab.slab;
        first = slab.slab;
        slab.is_listed = true;
    }

    void unlist(slice_record& slab) noexcept
    {
        (slab.previous_slab != no_slice ? record(slab.previous_slab).next_slab : with_blocks_[slab.size_class]) =
            slab.next_slab;
        if (slab.next_slab != no_slice)
            record(slab.next_slab).previous_slab = slab.previous_slab;
        slab.is_listed = false;
    }

    backend& backend_;
    std::array<slice_number, class_count> with_blocks_{};
    slice_number first_slab_ = no_slice;
    std::array<outgoing, outbox_places> outbox_{};
    /// On a line of its own: other threads write to it.
    alignas(64) std::atomic<std::uintptr_t> inbox_{0};
};
} // namespace memory_pool::np
