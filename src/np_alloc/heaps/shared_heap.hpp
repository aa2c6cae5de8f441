// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A heap that any thread uses, one at a time: one that a program makes and frees as a whole, and the one of threads
/// that have ended.
///
///     slabs of each class         blocks go back at once: none are buffered, as batches would outlive the heap
///     large block <-> large block
///
/// Some such heaps are for blocks with allocation sites: they forget those when the blocks are freed. See
/// traced_heap.hpp.
///
/// Thread safety: any thread, if not said otherwise.
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
/// Of one heap.
struct heap_figures
{
    std::size_t slabs;
    std::size_t slab_bytes;
    std::size_t outstanding_blocks; ///< Of slabs.
    std::size_t outstanding_bytes;
    std::size_t slack; ///< Of those: estimated bytes beyond the requests.
    std::size_t large_blocks;
    std::size_t large_bytes;
};

/// A heap with a lock.
class shared_heap : private heap_slabs
{
public:
    /// Effects: makes a heap, whose blocks are remembered in `sites`, if that is not nullptr.
    constexpr explicit shared_heap(page_heap& from, call_sites* sites = nullptr) noexcept
        : heap_slabs(from, true), sites_(sites)
    {
    }

    /// Returns: whether it is a named_heap.
    bool has_name() const noexcept { return has_name_; }

    /// Returns: the heap of blocks whose slices have that tag.
    /// Preconditions: the heap is shared.
    static shared_heap& of(slice_tag tag) noexcept { return static_cast<shared_heap&>(heap_slabs::of(tag)); }

    /// Returns: the heap at an address that a program has for one; nullptr if there is none any more, and that is
    ///   reported. `may_be_one`: whether a heap can lie there; other memory may be inaccessible.
    static shared_heap* living(void* address, bool may_be_one) noexcept
    {
        auto* const its = static_cast<shared_heap*>(address);
        if (MEMORY_POOL_LIKELY(may_be_one && its->is_alive()))
            return its;
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
        heap_slabs::slack().note(size_class, facts[size_class].block_bytes - bytes);
        return heap_slabs::take(size_class, &block, 1) == 1 ? block : nullptr;
    }

    /// Effects: takes a block of that class back; reports one that is none, or not in use.
    void free(std::size_t size_class, void* block) noexcept
    {
        forget(block);
        MEMORY_POOL_DELAY_POINT();
        if (const std::optional<error_kind> wrong = put(size_class, block))
            heap_slabs::report(*wrong, size_class, block); // Without the lock, as an error handler may use the heap.
    }

    // Large blocks.

    /// Effects: makes a block of this heap what is none yet.
    void adopt_large(slice_index first) noexcept
    {
        const base::lock_guard lock(mutex_);
        slice_record& added = record(first);
        MEMORY_POOL_DELAY_POINT();
        added.home = this;
        added.previous_in_heap = no_slice;
        large_.add_first(first, large_links{region()});
    }

    /// Effects: frees such a block. The lock is held until it is gone, so a fork finds it here, or free.
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

    /// Effects: records that a block was moved to another one of the same size.
    void moved(const void* from, const void* to) noexcept
    {
        if (sites_ != nullptr)
            sites_->move(from, to);
        if (has_samples())
            the_profile.move(from, to);
    }

    /// Effects: notes that a block became another one, which was allocated and so is in the profile as such, or has
    ///   another size.
    void moved(const void* from, const void* to, std::size_t bytes) noexcept
    {
        if (sites_ != nullptr)
            sites_->move(from, to, bytes);
        if (from == to && has_samples())
            the_profile.resize(to, bytes);
    }

    /// Effects: notifies the profile of frees from now on: a block of this heap is about to be a sample.
    void note_samples() noexcept { has_samples_.store(true, std::memory_order_relaxed); }

    // All of it.

    /// Effects: is not in use any more, as it will be destroyed.
    void end() noexcept { alive_.store(nullptr, std::memory_order_relaxed); }

    /// Returns: whether it has not ended. Of one that was destroyed, that is known until another is in its place.
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
    heap_figures figures() noexcept
    {
        const base::lock_guard lock(mutex_);
        heap_figures sum{};
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

    /// Effects: as heap_slabs::sweep_some, if no other thread has the lock.
    /// Returns: whether nothing is left to be done.
    bool sweep_some(std::uint64_t min_age_ms) noexcept
    {
        if (!mutex_.try_lock())
            return false;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        return heap_slabs::sweep_some(min_age_ms) && is_swept();
    }

    /// Returns: whether a small block of this heap begins at `address`, which may be any, and is in use.
    bool is_in_use(const void* address) noexcept
    {
        const base::lock_guard lock(mutex_);
        return heap_slabs::has_outstanding(address);
    }

    /// Returns: what is wrong with its slabs, and its list of large blocks.
    /// Preconditions: no other thread uses it.
    // Not analyzed, like large_blocks(): the preconditions exclude other threads.
    inconsistency verify() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        const void* last = this;
        const auto is_valid = [this, &last](slice_index each) {
            last = region().address(each);
            return region().is_committed(each) && is_own_large(each);
        };
        if (!large_.is_linked(is_valid, large_links{region()}))
            return {"the list of large blocks of a heap is torn at a block", last};
        return np::verify(static_cast<const heap_slabs&>(*this));
    }

    /// Returns: how many large blocks it has.
    /// Complexity: linear in those.
    std::size_t large_blocks() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        std::size_t count = 0;
        large_.for_each([&count](slice_index) { ++count; }, large_links{region()});
        return count;
    }

    // Around a fork. Not analyzed: see fork_handlers::lock_for_fork.
    void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock_after_fork(); }

    // In the list of all, guarded by its lock.
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

    /// Called before a block is free, and another thread may get it.
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

/// A heap that is listed in reports.
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
