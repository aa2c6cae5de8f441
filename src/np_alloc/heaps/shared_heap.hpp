// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A heap that any thread can use, one thread at a time: a heap that the program creates and frees as a whole, or the
/// heap of threads that have ended.
///
///     slabs of each class         frees are not batched: batches could outlive the heap
///     large block <-> large block
///
/// Some shared heaps have blocks with call sites, and forget the call sites when the blocks are freed: see
/// call_site_heap.hpp.
///
/// Thread safety: any thread, except where noted.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/lock_guard.hpp>

#include "../page_heap/page_heap.hpp"
#include "../slices/slice_record.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/call_sites.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "heap_slabs.hpp"
#include "heap_verify.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace memory_pool::np {
/// Statistics of one heap.
struct heap_statistics
{
    std::size_t slabs;
    std::size_t slab_bytes;
    std::size_t outstanding_blocks; ///< In slabs.
    std::size_t outstanding_bytes;
    std::size_t slack; ///< Estimated bytes of outstanding blocks beyond the requests.
    std::size_t large_blocks;
    std::size_t large_bytes;
};

/// A heap behind a lock.
class shared_heap : private heap_slabs
{
public:
    /// Effects: makes a heap. `sites`: the call sites of its blocks, or nullptr.
    constexpr explicit shared_heap(page_heap& from, call_sites* sites = nullptr) noexcept
        : heap_slabs(from, true), sites_(sites)
    {
    }

    /// Returns: whether the heap is a named_heap.
    bool has_name() const noexcept { return has_name_; }

    /// Returns: the heap that owns the blocks of slices with that tag.
    /// Preconditions: the heap is shared.
    static shared_heap& of(slice_tag tag) noexcept { return static_cast<shared_heap&>(heap_slabs::of(tag)); }

    /// Returns: the heap at `address`; nullptr, after a report, if no live heap is there. `may_be_one`: whether a heap
    ///   can be at `address`; other memory may be inaccessible.
    static shared_heap* living(void* address, bool may_be_one) noexcept
    {
        auto* const found = static_cast<shared_heap*>(address);
        if (MEMORY_POOL_LIKELY(may_be_one && found->is_alive()))
            return found;
        report_misuse(error_kind::foreign_pointer, address, 0, "np_heap",
                      "pass a heap from np_heap_create, and only before np_heap_destroy");
        return nullptr;
    }

    using heap_slabs::counts;
    using heap_slabs::has_outstanding;
    using heap_slabs::is_swept;
    using heap_slabs::outstanding;
    using heap_slabs::own_tag;
    using heap_slabs::slab_bytes;
    using heap_slabs::slabs;
    using heap_slabs::slack_estimate;
    using heap_slabs::swept_at;
    using heap_slabs::with_slab;

    // Small blocks.

    /// Returns: a block of that class for a request of `bytes`; nullptr on OOM.
    void* allocate(std::size_t size_class, std::size_t bytes) noexcept
    {
        const base::lock_guard lock(mutex_);
        void* block = nullptr;
        heap_slabs::slack().note(size_class, class_info[size_class].block_bytes - bytes);
        return heap_slabs::take(size_class, &block, 1) == 1 ? block : nullptr;
    }

    /// Effects: frees a block of that class; reports a block that is invalid or not in use.
    void free(std::size_t size_class, void* block) noexcept
    {
        forget(block);
        MEMORY_POOL_DELAY_POINT();
        if (const std::optional<error_kind> wrong = put(size_class, block))
            heap_slabs::report(*wrong, size_class, block); // Without the lock: an error handler may use the heap.
    }

    // Large blocks.

    /// Effects: registers a large block, which has no heap yet, with this heap.
    void adopt_large(slice_index first) noexcept
    {
        const base::lock_guard lock(mutex_);
        slice_record& added = record(first);
        MEMORY_POOL_DELAY_POINT();
        added.home = this;
        added.previous_in_heap = no_slice;
        large_.add_first(first, large_links{region()});
    }

    /// Effects: frees a large block. Holds the lock until the block is free, so a fork finds the block either in this
    ///   heap or free.
    bool free_large(slice_index first) noexcept
    {
        forget(pages_.large().begin_of_large(first));
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(mutex_);
        if (!is_own_large(first))
            return false;
        large_.remove(first, large_links{region()});
        return pages_.large().give_large(first);
    }

    /// Effects: records that a block moved to another block of the same size.
    void moved(const void* from, const void* to) noexcept
    {
        if (sites_ != nullptr)
            sites_->move(from, to);
        if (has_samples())
            the_profile.move(from, to);
    }

    /// Effects: records that a block was resized in place or moved. After a move, the new block is already in the
    ///   profile, because it was allocated.
    void moved(const void* from, const void* to, std::size_t bytes) noexcept
    {
        if (sites_ != nullptr)
            sites_->move(from, to, bytes);
        if (from == to && has_samples())
            the_profile.resize(to, bytes);
    }

    /// Effects: makes frees notify the profile from now on. Call this before a block of this heap becomes a sample.
    void note_samples() noexcept { has_samples_.store(true, std::memory_order_relaxed); }

    // Whole heap.

    /// Effects: marks the heap as ended, before its destruction.
    void end() noexcept { alive_.store(nullptr, std::memory_order_relaxed); }

    /// Returns: whether the heap has not ended. Works for a destroyed heap until its memory is reused.
    bool is_alive() const noexcept { return alive_.load(std::memory_order_relaxed) == this; }

    /// Effects: frees everything. The heap stays usable.
    void free_all() noexcept
    {
        if (has_samples())
            the_profile.forget_all_of(this);
        const base::lock_guard lock(mutex_);
        heap_slabs::give_back_slabs();
        large_.for_each([this](slice_index each) { (void)pages_.large().give_large(each); }, large_links{region()});
        large_.clear();
    }

    /// Complexity: linear in slabs and large blocks.
    heap_statistics statistics() noexcept
    {
        const base::lock_guard lock(mutex_);
        heap_statistics sum{};
        heap_slabs::for_each_slab([&sum](const slice_record& slab) {
            const std::size_t outstanding = slab.capacity - slab.free_count;
            ++sum.slabs;
            sum.slab_bytes += slab.length * slice_bytes;
            sum.outstanding_blocks += outstanding;
            sum.outstanding_bytes += outstanding * slab.block_bytes;
        });
        const auto add_large = [this, &sum](slice_index each) {
            ++sum.large_blocks;
            sum.large_bytes += pages_.large().bytes_of_run(record(each).length);
        };
        large_.for_each(add_large, large_links{region()});
        for (std::size_t number = 0; number != class_count; ++number)
            sum.slack += heap_slabs::slack_estimate(number);
        return sum;
    }

    /// As heap_slabs::sweep_all.
    void sweep_all() noexcept
    {
        const base::lock_guard lock(mutex_);
        heap_slabs::sweep_all();
    }

    /// Effects: as heap_slabs::sweep_some, if no other thread holds the lock.
    /// Returns: whether nothing is left to do.
    bool sweep_some(std::uint64_t min_age_ms) noexcept
    {
        if (!mutex_.try_lock())
            return false;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        return heap_slabs::sweep_some(min_age_ms) && is_swept();
    }

    /// Returns: whether an outstanding small block of this heap begins at `address`, which may be any address.
    bool is_in_use(const void* address) noexcept
    {
        const base::lock_guard lock(mutex_);
        return heap_slabs::has_outstanding(address);
    }

    /// Returns: the first inconsistency found in the heap's slabs and list of large blocks.
    /// Preconditions: no other thread uses the heap.
    // Not analyzed, like large_blocks(): the preconditions exclude other threads.
    inconsistency verify() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        const void* last = this;
        const auto is_valid = [this, &last](slice_index each) {
            last = region().address(each);
            return region().is_committed(each) && is_own_large(each);
        };
        if (!large_.is_linked(is_valid, large_links{region()}))
            return {"the list of large blocks of a heap is broken at a block", last};
        return np::verify(static_cast<const heap_slabs&>(*this));
    }

    /// Returns: the number of large blocks.
    /// Complexity: linear in large blocks.
    std::size_t large_blocks() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        std::size_t count = 0;
        large_.for_each([&count](slice_index) { ++count; }, large_links{region()});
        return count;
    }

    // Around a fork. Not analyzed: see fork_handlers::lock_for_fork.
    void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock_after_fork(); }

    // In the list of all shared heaps, guarded by the lock of the list.
    shared_heap* next = nullptr;
    shared_heap* previous = nullptr;

protected:
    struct with_name
    {
    };
    constexpr shared_heap(page_heap& from, with_name) noexcept : shared_heap(from) { has_name_ = true; }

private:
    using large_links = heap_links<&slice_record::next_in_heap, &slice_record::previous_in_heap>;

    bool is_own_large(slice_index first) const noexcept
    {
        return region().tag(first).load(std::memory_order_relaxed) == large_block && record(first).home == this;
    }

    /// Call this before a block becomes free, because another thread may then get the block.
    void forget(const void* block) noexcept
    {
        if (sites_ != nullptr)
            sites_->forget(block);
        if (has_samples())
            (void)the_profile.forget(block);
    }

    bool has_samples() const noexcept { return has_samples_.load(std::memory_order_relaxed); }

    std::optional<error_kind> put(std::size_t size_class, void* block) noexcept
    {
        const base::lock_guard lock(mutex_);
        return heap_slabs::put(size_class, block);
    }

    call_sites* const sites_;
    bool has_name_ = false;
    std::atomic<bool> has_samples_{false};
    std::atomic<const shared_heap*> alive_{this};
    base::intrusive_list<large_links> large_ MEMORY_POOL_GUARDED_BY(mutex_);
};

/// A heap that reports list by name.
class named_heap : public shared_heap
{
public:
    /// Effects: makes a heap with a copy of `name`, truncated to fit.
    named_heap(page_heap& from, const char* name) noexcept : shared_heap(from, with_name())
    {
        std::strncpy(name_.data(), name, name_.size() - 1);
    }

    const std::array<char, 128>& name() const noexcept { return name_; }

    // In the list of named heaps, guarded by the lock of the list of all heaps.
    std::uint64_t serial = 0; ///< The order in the list.
    named_heap* next_named = nullptr;
    named_heap* previous_named = nullptr;

private:
    std::array<char, 128> name_{};
};
} // namespace memory_pool::np
