// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The memory that all heaps share: slabs, large blocks, and blocks outside of the region.
///
///     run_source    ->  slabs of heaps
///                   ->  large blocks: large_runs.hpp
///     the system    ->  blocks outside of the region, when it is full; samples: mmap_blocks.hpp
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/pages.hpp>

#include "../hardening/guarded_slots.hpp"
#include "../hardening/mmap_blocks.hpp"
#include "../release/early_release.hpp"
#include "../slices/huge_pages.hpp"
#include "../slices/runs.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "large_runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// Statistics of a page heap, in bytes unless noted.
struct page_heap_statistics
{
    std::size_t reserved;      ///< In use, or free and not returned to the system.
    std::size_t peak_reserved; ///< Maximum of `reserved`.
    std::size_t dirty;         ///< The free part of `reserved`.
    std::size_t purged;        ///< Total ever returned to the system; the addresses stay reserved.
    std::size_t slabs;         ///< Number of slabs.
    std::size_t large_blocks;  ///< Number of large blocks, including blocks outside of the region.
    std::size_t large;         ///< In large blocks.
    std::size_t large_asked;   ///< Requested bytes of `large`; outside of the region, all bytes of blocks.
    std::size_t metadata;      ///< Tables of the region, states of blocks, and guard pages of samples.
};

/// The memory of the heaps of a process.
class page_heap : base::immovable<page_heap>
{
public:
    using region_type = run_source::region_type;
    using checks_type = run_source::checks_type;

    region_type& region() noexcept { return source_.region; }
    checks_type& checks() noexcept { return source_.checks; }
    run_source& source() noexcept { return source_; }
    large_runs& large() noexcept { return large_; }
    const large_runs& large() const noexcept { return large_; }

    /// Effects: makes a slab of `size_class` for the heap with the tag `heap`. `will_be_filled`: a huge page is
    ///   worthwhile.
    /// Returns: its run; `first` is no_slice if there is no memory.
    run take_slab(std::size_t size_class, slice_tag heap, bool will_be_filled) noexcept
    {
        const std::uint32_t slices = slab_slices(size_class);
        first_touch touch;
        const run taken = source_.take(slices, 1, [this, size_class, will_be_filled, &touch](const run& taken_run) {
            source_.mutex.assume_held();
            checks().slab_taken(
                taken_run.first, size_class,
                [this] {
                    source_.mutex.assume_held();
                    return source_.take_for_library();
                },
                [this](slice_index given) {
                    source_.mutex.assume_held();
                    source_.give_of_library(given);
                });
            touch = source_.huge_pages.enter_slab(taken_run, will_be_filled);
        });
        if (taken.first == no_slice)
            return {};
        source_.measure(touch, taken.first + slices);
        MEMORY_POOL_DELAY_POINT();
        source_.region.record(taken.first).start(taken.first, source_.region.address(taken.first), size_class);
        for (slice_index slice = taken.first; slice != taken.first + slices; ++slice) {
            source_.region.record(slice).slab = taken.first;
            source_.region.record(slice).clean_pages = 0;
        }
        if (!checks().slab_made(taken.first, slices, taken.is_zeroed)) {
            return_slab(taken.first, true, slices);
            return {};
        }
        source_.set_tag(taken.first, slices, heap | size_class);
        slabs_.fetch_add(1, std::memory_order_relaxed);
        return taken;
    }

    /// Effects: frees a slab.
    /// Preconditions: no block of it is outstanding.
    void give_slab(slice_index first) noexcept { give_slab(first, true); }

    /// Effects: as give_slab(), but returns the memory of the slab to the system first.
    /// Preconditions: no block of it is outstanding.
    void give_slab_and_memory(slice_index first) noexcept
    {
        lose_memory_of_slab(first);
        const bool is_purged = os::purge_memory(source_.region.address(first), slab_bytes_of(first));
        if (is_purged)
            source_.note_purged(slab_bytes_of(first));
        give_slab(first, !is_purged);
    }

    /// Effects: records that the caller is about to return pages of a slab to the system.
    void lose_memory_of_slab(slice_index first) noexcept
    {
        const base::lock_guard lock(source_.mutex);
        source_.huge_pages.parts().lose_memory(first, slab_slices(source_.region.record(first).size_class));
    }

    /// Early release of pages in slabs.
    early_release& early_in_slabs() noexcept { return early_in_slabs_; }
    bool may_be_early_in_slabs(std::uint64_t now) const noexcept
    {
        return early_in_slabs_.may_be(now) && source_.decay.decay_ms() < run_decay::never_ms;
    }

    // Blocks outside of the region.

    /// Returns: a block with a mapping of its own; nullptr if there is no memory.
    void* take_mmap_block(std::size_t bytes, std::size_t alignment) noexcept
    {
        if (!run_source::is_conceivable(bytes))
            return nullptr;
        return take_outside(mmap_blocks::bytes_for(bytes), [&] {
            source_.mutex.assume_held();
            return mmap_blocks_.take(bytes, alignment);
        });
    }

    /// Returns: a block in a guarded slot; nullptr if there is no slot, or no memory.
    /// Preconditions: as guarded_slots::take.
    MEMORY_POOL_NOINLINE void* take_guarded(std::size_t bytes) noexcept
    {
        const auto by = os::call_stack::of_this_thread(); // Without the lock, because the loader may take its own.
        return take_outside(bytes, [&] {
            source_.mutex.assume_held();
            return mmap_blocks_.take_guarded(bytes, by);
        });
    }

    /// Effects: if `block` is in a guarded slot, moves the block so that as little room as possible is left behind
    ///   `bytes`.
    /// Returns: the block, which may begin elsewhere.
    /// Preconditions: as guarded_slots::fit.
    void* fit_guarded(void* block, std::size_t bytes, std::size_t alignment, allocated_by function) noexcept
    {
        if (!slots().contain(block))
            return block;
        const base::lock_guard lock(source_.mutex);
        const std::size_t bytes_before = mmap_blocks_.bytes(block);
        void* const fitted = mmap_blocks_.fit(block, std::max<std::size_t>(bytes, 1), alignment, function);
        count_mmap_blocks(block_count{0}, mmap_blocks_.bytes(fitted) - bytes_before);
        return fitted;
    }

    /// Effects: calls `visit(guarded_slots&)` with the lock held, if a block in a guarded slot begins at `block`.
    /// Returns: the result of `visit`; a default value if there is no such block.
    template <class Visit>
    auto with_guarded(const void* block, Visit&& visit) noexcept
    {
        using result = decltype(visit(std::declval<guarded_slots&>()));
        if (!slots().contain(block))
            return result();
        const base::lock_guard lock(source_.mutex);
        return mmap_blocks_.bytes(block) != 0 ? visit(mmap_blocks_.slots()) : result();
    }

    /// Effects: frees a block outside of the region.
    /// Returns: whether there was such a block; false if another thread has already freed it.
    MEMORY_POOL_NOINLINE bool give_mmap_block(const void* block) noexcept
    {
        const auto by =
            slots().contain(block) ? os::call_stack::of_this_thread() : os::call_stack(); // Without the lock.
        const base::lock_guard lock(source_.mutex);
        const std::size_t bytes = mmap_blocks_.bytes(block);
        if (bytes == 0)
            return false;
        count_mmap_blocks(-block_count{1}, std::size_t{0} - bytes);
        mmap_blocks_.give(block, by);
        mmap_count_.store(mmap_blocks_.count(), std::memory_order_relaxed);
        return true;
    }

    /// Returns: the error in freeing an address outside of the region where no block begins.
    wrong_address what_is_wrong_with(const void* address) noexcept
    {
        if (mmap_count_.load(std::memory_order_relaxed) == 0 && !slots().contain(address))
            return {error_kind::foreign_pointer, 0};
        const base::lock_guard lock(source_.mutex);
        return mmap_blocks_.what_is_wrong_with(address);
    }

    /// The slots of samples, for the fault handler, which cannot wait for a lock.
    // Not analyzed: the slots need no lock.
    const guarded_slots& slots() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { return mmap_blocks_.slots(); }

    /// Returns: bytes of a block outside of the region; 0 if there is no such block.
    std::size_t mmap_bytes(const void* block) noexcept
    {
        if (mmap_count_.load(std::memory_order_relaxed) == 0)
            return 0;
        const base::lock_guard lock(source_.mutex);
        return mmap_blocks_.bytes(block);
    }

    /// Returns: whether `address` is in a block outside of the region.
    bool is_in_mmap_block(const void* address) noexcept
    {
        if (mmap_count_.load(std::memory_order_relaxed) == 0)
            return false;
        const base::lock_guard lock(source_.mutex);
        return mmap_blocks_.hold(address);
    }

    /// Effects: calls `visit(void* block, std::size_t bytes)` for each block outside of the region, until `visit`
    ///   returns false.
    /// Returns: whether no call returned false.
    /// Preconditions: no such block is added or removed during the call.
    // Not analyzed: the preconditions exclude concurrent changes.
    template <class Visit>
    bool for_each_mmap_block(Visit&& visit) MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        bool goes_on = true;
        mmap_blocks_.for_each([&](void* block, std::size_t bytes) { goes_on = goes_on && visit(block, bytes); });
        return goes_on;
    }

    /// Returns: whether the metadata of blocks outside of the region is consistent.
    bool mmap_blocks_are_valid() noexcept
    {
        const base::lock_guard lock(source_.mutex);
        return mmap_blocks_.is_valid();
    }

    // Whole page heap.

    /// Complexity: O(1).
    page_heap_statistics statistics() noexcept
    {
        const base::lock_guard lock(source_.mutex);
        large_.assume_held();
        return {source_.reserved(),
                source_.peak_reserved,
                source_.free_slices() * slice_bytes,
                source_.purged(),
                slabs_.load(std::memory_order_relaxed),
                large_.blocks(),
                large_.bytes(),
                large_.large_asked() + source_.mmap_bytes,
                source_.region.table_bytes() + mmap_blocks_.slots().bytes_around_blocks() +
                    source_.library_slices * slice_bytes};
    }

    /// Returns: bytes of blocks in use in slabs beyond the requests; 0 in the plain build.
    /// Complexity: linear in the slices ever used.
    std::size_t slack_in_slabs() noexcept
    {
        std::size_t bytes = 0;
        if constexpr (is_checked) {
            const base::lock_guard lock(source_.mutex);
            const slice_index end = slice_at(source_.runs.used());
            for (slice_index first = first_slice; first != end; first = first + source_.region.record(first).length)
                if (const slice_tag tag = source_.region.tag(first).load(std::memory_order_relaxed); is_of_slab(tag))
                    bytes += slack_of_slab(first, class_info[tag & class_bits]);
        }
        return bytes;
    }

    /// Returns: resident bytes of all memory above; 0 if unknown.
    /// Complexity: linear in pages.
    std::size_t resident_bytes() noexcept
    {
        std::size_t pages = 0;
        const auto add = [&pages](void* memory, std::size_t bytes) { pages += os::resident_pages(memory, bytes); };
        source_.region.for_each_range(add); // Without the lock, because this may take long.
        const base::lock_guard lock(source_.mutex);
        mmap_blocks_.for_each_range(add);
        source_.revoked.for_each_backing_copy(add);
        return pages * os::page_size();
    }

private:
    std::size_t slack_of_slab(slice_index slab, const size_class_info& info) const noexcept
    {
        std::size_t bytes = 0;
        for (std::size_t number = 0; number != info.capacity; ++number)
            if (const std::optional<std::size_t> asked = source_.checks.bytes_of(slab, number))
                bytes += info.block_bytes - *asked;
        return bytes;
    }

    /// Effects: with the lock held, calls `take()`, which returns a block of `bytes` outside of the region, and then
    ///   counts the block.
    /// Returns: the block; nullptr if `take()` fails, or the limit of the process is reached.
    template <class Take>
    void* take_outside(std::size_t bytes, Take&& take) noexcept
    {
        void* block = nullptr;
        source_.take_within_limit([bytes] { return bytes; },
                                  [&] {
                                      source_.mutex.assume_held();
                                      block = take();
                                      mmap_count_.store(mmap_blocks_.count(), std::memory_order_relaxed);
                                      if (block != nullptr)
                                          count_mmap_blocks(block_count{1}, bytes);
                                  });
        return block;
    }

    void count_mmap_blocks(block_count blocks, std::size_t bytes) noexcept MEMORY_POOL_REQUIRES(source_.mutex)
    {
        large_.assume_held();
        large_.count_large(blocks, bytes);
        source_.mmap_bytes += bytes;
        source_.note_peak();
    }

    void give_slab(slice_index first, bool is_dirty) noexcept
    {
        const std::uint32_t slices = slab_slices(source_.region.record(first).size_class);
        source_.set_tag(first, slices, no_owner);
        checks().slab_ends(first, slices, is_dirty);
        MEMORY_POOL_DELAY_POINT();
        slabs_.fetch_sub(1, std::memory_order_relaxed);
        return_slab(first, is_dirty, slices);
    }

    void return_slab(slice_index first, bool is_dirty, std::uint32_t slices) noexcept
    {
        (void)source_.give(first, is_dirty, [this, first, slices] {
            checks().slab_given(first, [this](slice_index given) {
                source_.mutex.assume_held();
                source_.give_of_library(given);
            });
            return slices;
        });
    }

    std::size_t slab_bytes_of(slice_index first) const noexcept
    {
        return std::size_t{slab_slices(source_.region.record(first).size_class)} * slice_bytes;
    }

    run_source source_;
    large_runs large_{source_};
    mmap_blocks mmap_blocks_ MEMORY_POOL_GUARDED_BY(source_.mutex);
    early_release early_in_slabs_;
    std::atomic<std::size_t> slabs_{0};
    std::atomic<std::size_t> mmap_count_{0};
};
} // namespace memory_pool::np
