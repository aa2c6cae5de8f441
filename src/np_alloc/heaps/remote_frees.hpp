// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Remote frees: blocks of other heaps that a thread frees, and blocks of its heap that other threads free.
///
///     outbox:   [ batch for another heap ] x 64                         freed here, not sent yet
///     inbox:    batch -> batch -> batch                                 freed elsewhere, sent by one operation each
///
///     batch:    | next batch | count    | block | block | ...           addresses, encoded
///
/// A batch is itself a block: a block of this heap, or, on OOM, the block that it sends. The batch holds addresses, so
/// the owner need not read the blocks in transit, which are in another processor's cache. Sending 62 blocks takes one
/// compare-and-exchange. The owner reads eight addresses per cache line, and returns blocks of one slab together.
/// Draining takes all batches of an inbox in one operation, so no batch can return in between (no ABA). A drained batch
/// returns to its own heap as an empty batch.
///
/// A thread that frees blocks of many heaps in turn must give the place of a batch to another heap before the batch is
/// full. If the blocks in the batch take less memory than the batch itself, the next heap gets the batch, and each
/// block is sent as a separate batch. Otherwise, a few small blocks that wait for an idle owner would keep a much
/// larger batch waiting.
///
/// A program can overflow into a batch, because batches are among its blocks. Pointers and the count are encoded, so an
/// overwritten batch is reported instead of freeing blocks in use (see pointer_encoding.hpp). The checked build also
/// validates the state of each block and the canary before each batch.
///
/// heap.hpp owns an inbox and an outbox, and moves blocks between them and its slabs.
///
/// Thread safety: any thread may use the inbox, except where noted; the outbox is for its owner, or the user of a
///   parked heap.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../hardening/block_state.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/pointer_encoding.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
class heap;

/// The head of a batch; the addresses of blocks in transit follow it. An empty batch fits into a block of any class.
struct free_batch
{
    static constexpr std::size_t bytes = 512;
    static constexpr std::size_t size_class = sizes::of(bytes);
    static constexpr std::uint64_t capacity = (bytes - min_canary - sizes::size(0)) / sizeof(void*);

    void* encoded_next = nullptr;
    std::uint64_t encoded_count = the_pointer_encoding.convert_count(0);

    free_batch* next() const noexcept { return static_cast<free_batch*>(the_pointer_encoding.decode(encoded_next)); }
    std::uint64_t count() const noexcept { return the_pointer_encoding.convert_count(encoded_count); }
    void** blocks() noexcept { return reinterpret_cast<void**>(this + 1); }
    void* const* blocks() const noexcept { return reinterpret_cast<void* const*>(this + 1); }
};
static_assert(sizeof(free_batch) == bytes_of_sent);
static_assert(sizeof(free_batch) <= sizes::size(0), "the smallest block can be a batch");

/// Visits the batch, then its blocks. A program may overwrite a batch by mistake, so this reads no more than the
/// batch's capacity. `count` may be in the batch, so it is read after the first visit.
template <class Visit>
bool visit_batch(const free_batch& each, const std::uint64_t& count, Visit& visit)
{
    if (!visit(static_cast<const void*>(&each)))
        return false;
    for (std::uint64_t i = 0; i != std::min(count, free_batch::capacity); ++i)
        if (!visit(static_cast<const void*>(the_pointer_encoding.decode(each.blocks()[i]))))
            return false;
    return true;
}

/// Remote frees that a heap has not sent yet. A zeroed outbox is empty, so a thread without remote frees touches none
/// of its pages.
class outbox
{
public:
    /// A place for a batch.
    struct place
    {
        heap* owner; ///< The heap to send to; nullptr if there is no batch.
        free_batch* batch;
        // Totals of the blocks in the batch. Kept here until the batch is sent, because a program may overwrite the
        // batch.
        std::uint64_t count;
        std::size_t bytes;

        bool is_full() const noexcept { return count == free_batch::capacity || bytes >= max_bytes; }

        /// Returns: whether the blocks take at least as much memory as a batch.
        bool is_worth_a_batch() const noexcept { return bytes >= free_batch::bytes; }

        void add(void* block, std::size_t block_bytes) noexcept
        {
            batch->blocks()[count++] = the_pointer_encoding.encode(block);
            bytes += block_bytes;
        }

        void start(heap& to, free_batch& empty) noexcept { *this = {&to, &empty, 0, 0}; }

    private:
        static constexpr std::size_t max_bytes = std::size_t{64} * 1024;
    };

    /// Returns: the place for a batch to the heap with that tag.
    place& place_for(slice_tag heap) noexcept
    {
        static_assert(sizeof places_ / sizeof(place) == 64, "a place has a number of six bits");
        return places_[static_cast<std::size_t>((heap * 0x9E37'79B9'7F4A'7C15U) >> 58U)];
    }

    std::array<place, 64>& places() noexcept { return places_; }

private:
    std::array<place, 64> places_;
};

/// Remote frees that a heap receives. On a separate cache line, because other threads write to it.
class alignas(64) inbox : base::immovable<inbox>
{
public:
    /// Effects: adds a batch.
    void add(free_batch& sent) noexcept
    {
        free_batch* next = first_.load(std::memory_order_relaxed);
        do {
            sent.encoded_next = the_pointer_encoding.encode(next);
            MEMORY_POOL_DELAY_POINT();
        } while (!first_.compare_exchange_weak(next, &sent, std::memory_order_release, std::memory_order_relaxed));
    }

    /// Returns: whether there are batches.
    bool has_batches() const noexcept { return first_.load(std::memory_order_relaxed) != nullptr; }

    /// Effects: takes all batches.
    /// Returns: the first batch; `next()` links the batches.
    free_batch* take_all() noexcept { return first_.exchange(nullptr, std::memory_order_acquire); }

    /// Effects: drops all batches.
    ///
    /// In the child of a fork, a batch that another thread was just sending may be incomplete. The child may have the
    /// batch's address without its content, because a fork copies one page after another while other threads run.
    void forget() noexcept { first_.store(nullptr, std::memory_order_relaxed); }

    /// Effects: calls `visit(const void* block)` for each batch, before reading it, and for the blocks in it, until
    ///   `visit` returns false.
    /// Returns: whether no call returned false.
    template <class Visit>
    bool for_each_block(Visit& visit) const
    {
        for (const free_batch* each = first_.load(std::memory_order_acquire); each != nullptr; each = each->next())
            if (!visit_batch(*each, each->count(), visit))
                return false;
        return true;
    }

private:
    std::atomic<free_batch*> first_{nullptr};
};
} // namespace memory_pool::np
