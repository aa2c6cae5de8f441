// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A heap: the slabs of one thread, and what other threads free of them.
///
///     slabs:    class 0: slab <-> slab     class 1: slab     ...       those that have free blocks
///     outbox:   [ batch to another heap ] x 64                        freed here, not sent yet
///     inbox:    batch -> batch -> batch                             freed elsewhere, sent by one operation each
///
///     batch:   | next batch | how many | block | block | ...         the addresses of blocks
///
/// A batch is itself a block: of this heap, or, if there is no memory for that, the one that it brings. So the blocks that travel
/// are not touched, whose memory is in the cache of the processor that had them; 62 of them cost one compare-and-exchange, and
/// those who read the batch get eight addresses with each line of it. Whoever empties an inbox takes all batches, so none comes
/// back while somebody looks at it (no ABA). A batch that was read is sent back to the heap it is from, as one without blocks.
///
/// Where blocks of many heaps are freed in turns, a batch is to leave before it has much in it. If that is less than the batch
/// takes itself, it stays, for the next heap, and each of the blocks goes as a batch of its own: those it brought could otherwise
/// wait for an owner who is idle with many times their memory.
///
/// What is in the slabs is done with a lock, which a thread takes when it has nothing at hand, or too much: so that blocks which
/// others have sent to a thread that is idle can be drained for it. What is kept for others is its owner's alone.
///
/// Thread safety: `send` any thread; figures any thread; what is kept for others its owner, or whoever has a heap without one; the
/// rest whoever is scoped_lock, or has the heap to itself.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../page_heap/page_heap.hpp"
#include "../slices/sizes.hpp"
#include "../slices/slab.hpp"
#include "../support/build_variant.hpp"
#include "../support/inconsistency.hpp"
#include "../support/misuse.hpp"
#include "../support/mutex.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex> // std::try_to_lock_t
#include <new>
#include <optional>

namespace memory_pool::np
{
/// What was found wrong while locks were held. It is reported when it goes: an error handler may come back here.
class misuse_list
{
public:
    misuse_list() noexcept = default;
    misuse_list(const misuse_list&) = delete;
    misuse_list& operator=(const misuse_list&) = delete;
    ~misuse_list()
    {
        for (std::size_t i = 0; i != std::min(count_, most); ++i)
            report_misuse(entries_[i].kind, entries_[i].block, entries_[i].block_bytes);
    }

    /// Effects: has it reported later; as long as there is room, for what is wrong so often is wrong everywhere.
    void add(error kind, const void* block, std::size_t block_bytes) noexcept
    {
        if (count_ < most)
            entries_[count_] = {kind, block, block_bytes};
        ++count_;
    }

private:
    static constexpr std::size_t most = 16;
    struct entry
    {
        error kind;
        const void* block;
        std::size_t block_bytes;
    };

    std::size_t count_ = 0;
    entry entries_[most];
};

/// The slabs of one thread; or of all, one at a time: see shared_heap.hpp.
class alignas(class_bits + 1) heap
{
public:
    /// Has the heap's lock as long as it lives. What is found wrong meanwhile is added to a list.
    class scoped_lock
    {
    public:
        scoped_lock(heap& where, misuse_list& found) noexcept : heap_(where)
        {
            heap_.mutex_.lock();
            heap_.found_ = &found;
            add(heap_.owner_locks_, std::uint32_t{1});
        }

        /// For somebody else than its owner, and only if it can be had at once: see is_on().
        scoped_lock(heap& where, misuse_list& found, std::try_to_lock_t) noexcept
            : heap_(where), is_on_(where.mutex_.try_lock())
        {
            if (is_on_)
                heap_.found_ = &found;
        }
        scoped_lock(const scoped_lock&) = delete;
        scoped_lock& operator=(const scoped_lock&) = delete;
        ~scoped_lock()
        {
            if (!is_on_)
                return;
            heap_.found_ = nullptr;
            heap_.mutex_.unlock();
        }

        bool is_on() const noexcept { return is_on_; }

    private:
        heap& heap_;
        bool is_on_ = true;
    };

    static constexpr std::size_t batch_bytes = 512;
    static constexpr std::size_t batch_class = sizes::of(batch_bytes);

    constexpr explicit heap(page_heap& from, bool is_shared = false) noexcept : pages_(from), is_shared_(is_shared)
    {
        for (slice_number& first : with_blocks_)
            first = no_slice;
    }
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    ~heap() = default;

    slice_tag own_tag() const noexcept { return reinterpret_cast<slice_tag>(this); }

    /// Returns: the heap that a slice with that tag is of.
    /// Preconditions: it is the tag of a slab.
    static heap& of(slice_tag tag) noexcept { return *reinterpret_cast<heap*>(tag & ~class_bits); }

    /// Returns: whether it is no thread's, but of all that take its lock: a shared_heap.
    bool is_shared() const noexcept { return is_shared_; }

    /// Returns: how often its owner has been at work in it, modulo 2^32.
    /// Thread safety: any thread.
    std::uint32_t owner_locks() const noexcept { return owner_locks_.load(std::memory_order_relaxed); }

    // Blocks of its own.

    /// Effects: takes up to `count` blocks out of its slabs, and makes a new one if those have none.
    /// Returns: how many; 0 if there is no memory.
    std::uint32_t take(std::size_t size_class, void** blocks, std::uint32_t count) noexcept
    {
        if (with_blocks_[size_class] == no_slice && !add_slab(size_class))
            return 0;
        std::uint32_t taken = 0;
        while (taken != count && with_blocks_[size_class] != no_slice) {
            slice_record& slab = record(with_blocks_[size_class]);
            MEMORY_POOL_DELAY_POINT();
            taken += slab.take(blocks + taken, count - taken);
            if (!slab.has_blocks())
                unlist(slab);
        }
        count_outstanding(size_class, taken);
        peak_outstanding_bytes_ = std::max(peak_outstanding_bytes_, outstanding_bytes());
        return taken;
    }

    /// Effects: puts blocks of one class back into their slabs, and keeps those for others that are of other heaps; reports those
    ///   that were not away.
    void put(std::size_t size_class, void* const* blocks, std::size_t count) noexcept
    {
        std::uint32_t taken_back = 0;
        for (void* const* const end = blocks + count; blocks != end;) {
            const std::size_t slice = region().slice_of(*blocks);
            const slice_tag tag = region().tag(slice).load(std::memory_order_relaxed);
            if (MEMORY_POOL_UNLIKELY(tag != (own_tag() | size_class))) {
                if (is_of_thread(tag, size_class))
                    add_remote_free(tag, *blocks);
                else // It was when the block was freed.
                    report(error::double_free, size_class, *blocks);
                ++blocks;
                continue;
            }
            const slice_record::returned result =
                put_into(record(record(slice).slab), size_class, blocks, static_cast<std::size_t>(end - blocks),
                         [this, size_class](error kind, const void* block) { report(kind, size_class, block); });
            blocks += result.seen;
            taken_back += result.taken_back;
        }
        count_outstanding(size_class, std::uint32_t{0} - taken_back);
    }

    /// Returns: whether a block of a slab of this heap begins at `address`, which may be any, and is away.
    bool has_outstanding(const void* address) const noexcept
    {
        if (region().slice_of(address) >= region().committed() ||
            reinterpret_cast<std::uintptr_t>(address) % sizes::step != 0)
            return false;
        const slice_tag tag = tag_of(address);
        if ((tag & ~class_bits) != own_tag())
            return false;
        const slice_record& slab = slab_of(address);
        const std::size_t number = block_at(
            facts[tag & class_bits], static_cast<std::size_t>(static_cast<const std::byte*>(address) - slab.begin));
        return number != no_block_there && slab.is_outstanding(number);
    }

    /// Effects: puts a block that is of this heap, or was when that was looked at, back into its slab, if it is away.
    /// Returns: what is wrong with it, if something is. It is not reported yet.
    std::optional<error> put(std::size_t size_class, void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(tag_of(block) != (own_tag() | size_class)))
            return error::double_free; // Its slab was given back since.
        std::optional<error> wrong;
        const slice_record::returned result =
            put_into(slab_of(block), size_class, &block, 1, [&wrong](error kind, const void*) { wrong = kind; });
        count_outstanding(size_class, std::uint32_t{0} - result.taken_back);
        return wrong;
    }

    /// Effects: reports what is wrong with a block of that class, now or when whoever is at work here is done.
    MEMORY_POOL_SLOW_PATH void report(error kind, std::size_t size_class, const void* block) noexcept
    {
        const std::size_t block_bytes = size_class < class_count ? facts[size_class].block_bytes : 0;
        if (found_ != nullptr)
            found_->add(kind, block, block_bytes);
        else
            report_misuse(kind, block, block_bytes);
    }

    // Blocks of others.

    /// Returns: whether a block of that owner can be kept without a new batch, and so without the lock.
    bool has_batch_for(slice_tag tag) const noexcept
    {
        const heap& to = of(tag);
        return outbox_[place_of(to)].owner == &to;
    }

    /// Effects: keeps a block of another heap, whose slice has that tag, until there is a batch full of them, or they are many
    ///   bytes, or another heap needs the place; then sends them.
    /// Preconditions: it is the tag of a slab.
    MEMORY_POOL_NOINLINE void add_remote_free(slice_tag tag, void* block) noexcept
    {
        heap& to = of(tag);
        outgoing& place = outbox_[place_of(to)];
        if (place.owner != &to && !address(place, to)) {
            add(sent_, to.send_one(tag & class_bits, block));
            return;
        }
        const std::size_t bytes = facts[tag & class_bits].block_bytes;
        add(sent_, bytes);
        place.batch->blocks()[place.count++] = block;
        place.bytes += bytes;
        if (place.count == batch_capacity || place.bytes >= most_bytes_in_batch)
            send(place);
    }

    /// Effects: sends all that is kept for others.
    void send_all() noexcept
    {
        for (outgoing& place : outbox_)
            send(place);
    }

    /// Effects: gives this heap one of its blocks. As that is not kept, it costs a compare-and-exchange.
    /// Returns: bytes that are in transit, and that nobody has counted as sent.
    /// Thread safety: any thread.
    std::size_t send_one(std::size_t size_class, void* block) noexcept
    {
        if constexpr (is_checked)
            pages_.checks().library_writes_to(block);
        send(*::new (block) free_batch);
        return facts[size_class].block_bytes;
    }

    /// Returns: whether others have sent something that was not drained yet.
    /// Thread safety: any thread.
    bool has_incoming() const noexcept { return inbox_.load(std::memory_order_relaxed) != nullptr; }

    /// Effects: puts what others have sent back into the slabs. Not while this thread forks: see forget_incoming.
    /// Returns: whether there was something.
    bool drain() noexcept
    {
        if (MEMORY_POOL_LIKELY(!has_incoming()) || this_thread_forks)
            return false;
        std::size_t bytes = 0;
        for (free_batch* each = inbox_.exchange(nullptr, std::memory_order_acquire); each != nullptr;) {
            MEMORY_POOL_DELAY_POINT();
            free_batch* const next = each->next;
            if (MEMORY_POOL_UNLIKELY(!has_bounds(*each) || !drain_blocks(*each, bytes))) {
                report(error::write_after_free, batch_class, each);
                break; // Nobody knows which batch is the next.
            }
            each = drain_batch(each, bytes) ? next : nullptr; // One that came twice leads around in a circle.
        }
        add(received_, bytes);
        return true;
    }

    /// Effects: drops what others have sent.
    ///
    /// In the child of a fork, what another thread was just posting may be there in part: the address of a batch, and not what
    /// stands in it. A fork copies the pages one after the other, while other threads go on.
    void forget_incoming() noexcept { inbox_.store(nullptr, std::memory_order_relaxed); }

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

    /// Effects: as give_back_empty_slabs(), and returns the memory of the slabs to the system first.
    void give_back_empty_slabs_and_memory() noexcept
    {
        for (slice_number each = first_slab_; each != no_slice;) {
            slice_record& slab = record(each);
            each = slab.next_in_heap;
            if (slab.is_empty())
                remove_slab(slab, true);
        }
    }

    /// Returns: about how much memory its slabs have: the peak of outstanding bytes, and a page for each slice. A slab
    ///   hands out its lowest blocks first, so it touches little more than its own peak.
    std::size_t most_memory() const noexcept
    {
        return std::min(slab_bytes_, peak_outstanding_bytes_ + slab_bytes_ / slice_bytes * os::page_size());
    }

    /// Effects: restarts the peak of outstanding bytes at the current value.
    void forget_most() noexcept { peak_outstanding_bytes_ = outstanding_bytes(); }

    /// Effects: gives pages of slabs back to the system on which no block is away. They are not counted, as nobody knows whether it has
    ///   them already. (Where blocks are checked, free ones stay as they were left.)
    void purge_free_pages() noexcept
    {
        next_to_purge_ = no_slice;
        while (!purge_some_free_pages()) {
        }
    }

    /// Effects: the same for some slabs, which takes a millisecond at most; goes on with the next ones when it is called again.
    /// Returns: whether those were the last.
    bool purge_some_free_pages() noexcept
    {
        if constexpr (is_checked)
            return true;
        constexpr std::size_t most_seen = 4096;
        constexpr std::size_t most_purged = 32;
        if (next_to_purge_ == no_slice)
            next_to_purge_ = first_slab_;
        std::size_t purged = 0;
        for (std::size_t seen = 0; next_to_purge_ != no_slice && seen != most_seen && purged != most_purged; ++seen) {
            slice_record& slab = record(next_to_purge_);
            next_to_purge_ = slab.next_in_heap;
            purged += purge_free_pages_of(slab) ? 1U : 0U;
        }
        return next_to_purge_ == no_slice;
    }

    /// Effects: gives all slabs back, whatever is away.
    void give_back_slabs() noexcept
    {
        while (first_slab_ != no_slice) {
            if constexpr (is_checked)
                pages_.checks().slab_dropped(first_slab_);
            remove_slab(record(first_slab_));
        }
        for (std::atomic<std::uint32_t>& count : outstanding_)
            count.store(0, std::memory_order_relaxed);
        outstanding_bytes_.store(0, std::memory_order_relaxed);
    }

    /// Effects: calls `visit(const slice_record&)` for each slab.
    template <class Visit>
    void for_each_slab(Visit&& visit) const
    {
        for (slice_number each = first_slab_; each != no_slice; each = record(each).next_in_heap)
            visit(record(each));
    }

    /// Effects: calls `visit(const void* block)` for each block that is in transit: of others, in batches that are not sent,
    ///   with those batches, and its own, in batches that were not read; until that returns false. A batch comes before it is read.
    /// Returns: whether it never did.
    template <class Visit>
    bool for_each_in_transit(Visit&& visit) const
    {
        for (const outgoing& place : outbox_)
            if (place.owner != nullptr && !visit_batch(*place.batch, place.count, visit))
                return false;
        for (const free_batch* each = inbox_.load(std::memory_order_acquire); each != nullptr; each = each->next)
            if (!visit_batch(*each, each->count, visit))
                return false;
        return true;
    }

    /// Returns: what is wrong with its slabs, the lists of them, and the number of blocks that are away.
    /// Preconditions: nobody is at work in it.
    /// Complexity: linear in bits of slabs.
    inconsistency verify() const noexcept
    {
        std::array<std::uint32_t, class_count> outstanding{};
        std::array<std::uint32_t, class_count> with_blocks{};
        slice_number previous = no_slice;
        for (slice_number each = first_slab_; each != no_slice; each = record(each).next_in_heap) {
            if (const inconsistency found = verify(each))
                return found;
            const slice_record& slab = record(each);
            if (slab.previous_in_heap != previous)
                return {"the list of slabs of a heap is torn at a slab", slab.begin};
            previous = each;
            outstanding[slab.size_class] += slab.capacity - slab.free_count;
            with_blocks[slab.size_class] += slab.is_listed ? 1 : 0;
        }
        std::size_t bytes = 0;
        for (std::size_t number = 0; number != class_count; ++number) {
            if (outstanding[number] != this->outstanding(number))
                return {"the outstanding-block count of a heap does not match its slabs", this};
            bytes += std::size_t{outstanding[number]} * facts[number].block_bytes;
            if (const inconsistency found = verify_list(number, with_blocks[number]))
                return found;
        }
        return bytes == outstanding_bytes()
                   ? inconsistency{}
                   : inconsistency{"the outstanding-byte count of a heap does not match its slabs", this};
    }

    /// Returns: how many slabs it has.
    /// Complexity: linear in slabs.
    std::size_t slabs() const noexcept
    {
        std::size_t count = 0;
        for_each_slab([&count](const slice_record&) { ++count; });
        return count;
    }

    // Figures. They are exact if nobody is at work in the heap.

    /// Returns: blocks of that class that are not in its slabs.
    std::uint32_t outstanding(std::size_t size_class) const noexcept
    {
        return outstanding_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: bytes of blocks of all classes that are not in its slabs.
    std::size_t outstanding_bytes() const noexcept { return outstanding_bytes_.load(std::memory_order_relaxed); }

    /// Returns: bytes of blocks of others that it has ever kept for them, minus those of its own that it has ever drained. The
    ///   sum over all heaps is what is in transit.
    std::size_t sent_minus_received() const noexcept
    {
        return sent_.load(std::memory_order_relaxed) + sent_on_.load(std::memory_order_relaxed) -
               received_.load(std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t batch_capacity = (batch_bytes - sizes::size(0)) / sizeof(void*);
    static constexpr std::size_t most_bytes_in_batch = std::size_t{64} * 1024;
    static constexpr std::size_t outbox_slots = 64;

    /// Addresses of blocks in transit stand behind it. Without any, it fits into every block there is.
    struct free_batch
    {
        free_batch* next = nullptr;
        std::uint64_t count = 0;

        void** blocks() noexcept { return reinterpret_cast<void**>(this + 1); }
        void* const* blocks() const noexcept { return reinterpret_cast<void* const*>(this + 1); }
    };
    static_assert(sizeof(free_batch) <= sizes::size(0), "the smallest block can be a batch");

    /// A place in the outbox: a batch that is being written.
    struct outgoing
    {
        heap* owner = nullptr; ///< The heap that it goes to; nullptr if there is no batch.
        free_batch* batch = nullptr;
        // Of the blocks in it. The batch is told how many when it is sent: it is a block, which a program may write to.
        std::uint64_t count = 0;
        std::size_t bytes = 0;
    };

    /// Adds to a figure that only the owner changes.
    template <class Number>
    static void add(std::atomic<Number>& figure, Number more) noexcept
    {
        figure.store(figure.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    /// Counts blocks of that class that are not in slabs any more, or, if `more` is below 0 (modulo 2^32), are back.
    void count_outstanding(std::size_t size_class, std::uint32_t more) noexcept
    {
        add(outstanding_[size_class], more);
        add(outstanding_bytes_, static_cast<std::size_t>(std::int64_t{static_cast<std::int32_t>(more)} *
                                                         std::int64_t{facts[size_class].block_bytes}));
    }

    page_heap::region_type& region() const noexcept { return pages_.region(); }
    slice_record& record(std::size_t slice) const noexcept { return region().record(slice); }
    slice_record& slab_of(const void* block) const noexcept { return record(record(region().slice_of(block)).slab); }
    slice_tag tag_of(const void* block) const noexcept
    {
        return region().tag(region().slice_of(block)).load(std::memory_order_relaxed);
    }

    /// Returns: whether a slice with that tag is of a slab of that class of a thread's heap.
    static bool is_of_thread(slice_tag tag, std::size_t size_class) noexcept
    {
        return is_of_slab(tag) && (tag & class_bits) == size_class && !of(tag).is_shared();
    }

    // Batches.

    static std::size_t place_of(const heap& to) noexcept
    {
        return static_cast<std::size_t>((to.own_tag() * 0x9E37'79B9'7F4A'7C15U) >> 58U);
    }
    static_assert(outbox_slots == 64, "a place has a number of six bits");

    /// Has a batch to that heap at a place: the one that is there, if it is not worth its memory, or a new one.
    /// Returns: whether there is one; if not, there is no memory.
    bool address(outgoing& place, heap& to) noexcept
    {
        if (place.owner == nullptr || place.bytes >= batch_bytes) {
            send(place);
            return open(place, to);
        }
        for (std::uint64_t i = 0; i != place.count; ++i)
            if (!send_from(place, place.batch->blocks()[i]))
                break; // Nobody knows which the others were.
        start(place, to, *place.batch);
        return true;
    }

    /// Sends a block as a batch of its own that stands in one; it was counted as sent already.
    /// Returns: whether it stands where blocks can be. If not, that is reported.
    bool send_from(const outgoing& place, void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!may_be_block(block))) {
            report(error::write_after_free, batch_class, place.batch);
            return false;
        }
        const slice_tag tag = tag_of(block);
        if (MEMORY_POOL_LIKELY((tag & ~class_bits) == place.owner->own_tag()))
            (void)place.owner->send_one(tag & class_bits, block);
        else
            report_gone(tag, block);
        return true;
    }

    /// Reports a block whose slab was given back since it was freed, and may be another's.
    MEMORY_POOL_SLOW_PATH void report_gone(slice_tag tag, const void* block) noexcept
    {
        report(error::double_free, is_of_slab(tag) ? tag & class_bits : class_count, block);
    }

    static void start(outgoing& place, heap& to, free_batch& empty) noexcept
    {
        place.owner = &to;
        place.batch = &empty;
        place.count = 0;
        place.bytes = 0;
    }

    /// Returns: whether there is memory for a batch.
    bool open(outgoing& place, heap& to) noexcept
    {
        void* memory = nullptr;
        if (take(batch_class, &memory, 1) == 0)
            return false;
        if constexpr (is_checked)
            pages_.checks().library_writes_to(memory);
        add(sent_, batch_bytes);
        start(place, to, *::new (memory) free_batch);
        return true;
    }

    static void send(outgoing& place) noexcept
    {
        if (place.owner == nullptr)
            return;
        place.batch->count = place.count;
        place.owner->send(*place.batch);
        place.owner = nullptr;
    }

    void send(free_batch& sent) noexcept
    {
        sent.next = inbox_.load(std::memory_order_relaxed);
        do
            MEMORY_POOL_DELAY_POINT();
        while (!inbox_.compare_exchange_weak(sent.next, &sent, std::memory_order_release, std::memory_order_relaxed));
    }

    // A program that writes to a block after its release may have written to a batch.

    /// Returns: whether a batch has no more blocks than there is room for, and another, if any, comes after it where one can be.
    bool has_bounds(const free_batch& each) const noexcept
    {
        return each.count <= batch_capacity && (each.next == nullptr || may_be_block(each.next));
    }

    /// Drains the blocks of a batch, and adds the bytes of them to `bytes`.
    /// Returns: whether there were none but where blocks can be; it ends at the first of the others.
    bool drain_blocks(const free_batch& read, std::size_t& bytes) noexcept
    {
        void* const* const blocks = read.blocks();
        for (std::uint64_t i = 0, count = read.count; i != count; ++i) {
            if (MEMORY_POOL_UNLIKELY(!may_be_block(blocks[i])))
                return false;
            (void)drain_block(blocks[i], bytes);
        }
        return true;
    }

    bool may_be_block(const void* address) const noexcept { return region().is_committed(region().steps_to(address)); }

    /// Drains a block that was in a batch, and adds the bytes of it to `bytes`.
    /// Returns: whether it was away.
    MEMORY_POOL_ALWAYS_INLINE bool drain_block(void* block, std::size_t& bytes) noexcept
    {
        const std::size_t slice = region().slice_of(block);
        const slice_tag tag = region().tag(slice).load(std::memory_order_relaxed);
        const std::size_t size_class = tag & class_bits;
        if (MEMORY_POOL_UNLIKELY((tag & ~class_bits) != own_tag())) {
            report_gone(tag, block);
            return false;
        }
        bytes += facts[size_class].block_bytes;
        const std::optional<error> wrong = put(size_class, block);
        if (MEMORY_POOL_UNLIKELY(wrong.has_value()))
            report(*wrong, size_class, block);
        return !wrong;
    }

    /// Sends a batch that was read back to the heap that it is from; without another batch, or that would never end. Adds the
    /// bytes of it to `bytes`.
    /// Returns: whether it was away.
    bool drain_batch(free_batch* read, std::size_t& bytes) noexcept
    {
        const slice_tag tag = region().tag(region().slice_of(read)).load(std::memory_order_relaxed);
        if ((tag & ~class_bits) == own_tag() || !is_of_slab(tag))
            return drain_block(read, bytes);
        const std::size_t sent = of(tag).send_one(tag & class_bits, read);
        add(sent_on_, sent);
        bytes += sent;
        return true;
    }

    /// Whoever is called looks at the batch first. As it lies in memory that a program may write to by mistake, no more is read of
    /// it than a batch has. `count` may stand in it.
    template <class Visit>
    static bool visit_batch(const free_batch& each, const std::uint64_t& count, Visit& visit)
    {
        if (!visit(static_cast<const void*>(&each)))
            return false;
        for (std::uint64_t i = 0; i != std::min(count, batch_capacity); ++i)
            if (!visit(static_cast<const void*>(each.blocks()[i])))
                return false;
        return true;
    }

    // Slabs.

    template <class Refuse>
    MEMORY_POOL_ALWAYS_INLINE slice_record::returned put_into(slice_record& slab, std::size_t size_class,
                                                              void* const* blocks, std::size_t count,
                                                              Refuse&& refuse) noexcept
    {
        const slice_record::returned result = slab.put(facts[size_class], blocks, count, refuse);
        if (MEMORY_POOL_UNLIKELY(slab.has_news()) && result.taken_back != 0)
            came_back(slab);
        return result;
    }

    /// Sees to a slab that the first block has come back to, or the last.
    void came_back(slice_record& slab) noexcept
    {
        if (!slab.is_listed)
            list(slab);
        // A small one that is empty is kept if it is the only one with blocks, so that a program at the edge does not go to and fro.
        const bool is_only_one = slab.next_slab == no_slice && slab.previous_slab == no_slice;
        const bool is_kept = is_only_one && facts[slab.size_class].slices == 1;
        if (slab.is_empty() && !is_kept)
            remove_slab(slab);
    }

    /// Returns: whether one more slab of that class will probably be filled, and a huge page under it is little beside what is in use,
    ///   or will be filled by more such slabs. A slab is added only when the others are full, so a program with a little of many sizes
    ///   is told from one with a lot of one.
    bool may_have_huge_page(std::size_t size_class) const noexcept
    {
        constexpr std::size_t many_of_class = std::size_t{192} * 1024;
        constexpr std::size_t many = std::size_t{8} << 20;
        constexpr std::size_t many_if_dense = std::size_t{1} << 20;
        if (is_checked || std::size_t{outstanding(size_class)} * facts[size_class].block_bytes < many_of_class)
            return false;
        const bool is_dense = outstanding_bytes() >= slab_bytes_ / 8 * 5;
        return outstanding_bytes() >= (is_dense ? many_if_dense : many);
    }

    bool add_slab(std::size_t size_class) noexcept
    {
        const slice_number added = pages_.take_slab(size_class, own_tag(), may_have_huge_page(size_class));
        if (added == no_slice)
            return false;
        slab_bytes_ += facts[size_class].slab_bytes;
        slice_record& slab = record(added);
        slab.previous_in_heap = no_slice;
        slab.next_in_heap = first_slab_;
        if (first_slab_ != no_slice)
            record(first_slab_).previous_in_heap = added;
        first_slab_ = added;
        list(slab);
        return true;
    }

    /// Returns: whether that took time.
    bool purge_free_pages_of(slice_record& slab) noexcept
    {
        if (std::exchange(slab.is_purged, true) || std::size_t{slab.free_count} * slab.block_bytes < os::page_size())
            return false;
        const auto purge = [this, &slab](std::byte* from, std::byte* end) {
            pages_.purge_part_of_slab(slab.slab, from, static_cast<std::size_t>(end - from));
        };
        slab.for_each_row_of_free_pages(os::page_size(), slab_slices(slab.size_class) * slice_bytes, purge);
        return true;
    }

    void remove_slab(slice_record& slab, bool with_memory = false) noexcept
    {
        if (slab.is_listed)
            unlist(slab);
        if (next_to_purge_ == slab.slab)
            next_to_purge_ = slab.next_in_heap;
        (slab.previous_in_heap != no_slice ? record(slab.previous_in_heap).next_in_heap : first_slab_) =
            slab.next_in_heap;
        if (slab.next_in_heap != no_slice)
            record(slab.next_in_heap).previous_in_heap = slab.previous_in_heap;
        slab_bytes_ -= facts[slab.size_class].slab_bytes;
        with_memory ? pages_.give_slab_and_memory(slab.slab) : pages_.give_slab(slab.slab);
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

    // Proof.

    /// Returns: what is wrong with what should be one of its slabs.
    inconsistency verify(slice_number first) const noexcept
    {
        if (first >= region().committed())
            return {"the list of slabs of a heap leads out of memory", this};
        const slice_record& slab = record(first);
        const slice_tag tag = region().tag(first).load(std::memory_order_relaxed);
        const std::size_t size_class = tag & class_bits;
        if ((tag & ~class_bits) != own_tag() || size_class >= class_count)
            return {"the list of slabs of a heap leads to a slab that is not its own", region().address(first)};
        if (!slab.is_slab_of(first, region().address(first), size_class))
            return {"slab metadata is inconsistent", region().address(first)};
        for (slice_number slice = first; slice != first + slab_slices(size_class); ++slice)
            if (region().tag(slice).load(std::memory_order_relaxed) != tag || record(slice).slab != first)
                return {"a slice is not tagged as part of its slab", region().address(slice)};
        if (!slab.is_valid())
            return {"the free count of a slab does not match its bitmap", slab.begin};
        if (slab.is_listed != slab.has_blocks())
            return {"a slab with free blocks is not listed, or one without is", slab.begin};
        return {};
    }

    /// Returns: what is wrong with the list of slabs of that class that have free blocks, of which there are `count`.
    inconsistency verify_list(std::size_t size_class, std::uint32_t count) const noexcept
    {
        slice_number previous = no_slice;
        for (slice_number each = with_blocks_[size_class]; each != no_slice; each = record(each).next_slab) {
            if (const inconsistency found = verify(each))
                return found;
            const slice_record& slab = record(each);
            if (slab.size_class != size_class || !slab.is_listed || slab.previous_slab != previous)
                return {"the list of slabs with free blocks is torn at a slab", slab.begin};
            previous = each;
            --count;
        }
        return count == 0 ? inconsistency{} : inconsistency{"a slab with free blocks is missing in its list", this};
    }

    /// On a line of their own, as other threads read them.
    page_heap& pages_;
    const bool is_shared_;

protected:
    alignas(64) mutex mutex_; ///< Of scoped_lock; a shared heap takes it itself.

private:
    std::size_t slab_bytes_ = 0;
    std::size_t peak_outstanding_bytes_ = 0; ///< Peak since forget_most().
    misuse_list* found_ = nullptr;           ///< Of whoever is at work here.
    std::atomic<std::uint32_t> owner_locks_{0};
    slice_number first_slab_ = no_slice;
    slice_number next_to_purge_ = no_slice; ///< Those before it were seen to.
    std::array<slice_number, class_count> with_blocks_{};
    std::array<std::atomic<std::uint32_t>, class_count> outstanding_{};
    std::atomic<std::size_t> outstanding_bytes_{0}; ///< Of all classes.
    std::atomic<std::size_t> sent_{0};              ///< By its owner.
    std::atomic<std::size_t> sent_on_{0};           ///< By whoever has read its batches.
    std::atomic<std::size_t> received_{0};
    std::array<outgoing, outbox_slots> outbox_{};
    /// On a line of its own: other threads write to it.
    alignas(64) std::atomic<free_batch*> inbox_{nullptr};
};
} // namespace memory_pool::np
