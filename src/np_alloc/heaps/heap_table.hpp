// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All heaps of a process.
///
///     of threads:   A (thread 1)    B (thread 2)    C -> D (parked)                  heap_list.hpp
///     shared:       fallback heap (threads without a heap)    call-site heaps (blocks with call sites)
///                   heaps that the program has created        internal heap (objects of the library)
///                   zero-size heap (blocks of 0 bytes, in the checked build)
///
/// Locks: see lock_rank.hpp.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/environment.hpp>

#include "../page_heap/page_heap.hpp"
#include "../slices/reservation_cost.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "../support/pointer_encoding.hpp"
#include "call_site_heap.hpp"
#include "heap_list.hpp"
#include "shared_heap.hpp"
#include "thread_heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool::np {
/// The heaps of a process, and the memory they share.
class heap_table : base::immovable<heap_table>
{
public:
    /// Effects: reserves addresses, unless addresses are already reserved.
    /// Returns: whether addresses are reserved.
    bool start() noexcept
    {
        if (MEMORY_POOL_LIKELY(has_started()))
            return true;
        const errno_as_it_was kept; // The first attempt to reserve may fail.
        const base::lock_guard lock(mutex);
        if (is_started_.load(std::memory_order_relaxed))
            return true;
        the_options.read_once(os::trusted_environment());
        the_pointer_encoding.draw();
        if constexpr (is_checked) {
            the_canary.draw();
            if ((the_options.get(np_option_zero) & NP_ZERO_FREE) != 0)
                the_poison.store(0, std::memory_order_relaxed);
        }
        pages.source().decay.set_decay_ms(the_options.get(np_option_decay_ms));
        pages.source().set_limits();
        const bool is_to_grow = os::addresses_are_limited() || reserving_is_expensive();
        if (!pages.source().start(the_options.get(np_option_region_bytes), is_to_grow))
            return false;
        is_started_.store(true, std::memory_order_release);
        return true;
    }

    /// Returns: whether addresses are reserved.
    bool has_started() const noexcept { return is_started_.load(std::memory_order_acquire); }

    // Heaps that the program creates.

    /// Returns: whether the program has created `heap`.
    bool is_made(const shared_heap& heap) const noexcept
    {
        const void* const made = &heap;
        return made != &fallback && made != &profiled && made != &zero_size && !is_traced(heap);
    }

    /// Returns: a new heap, or nullptr if there is no memory.
    shared_heap* create_heap() noexcept
    {
        auto* const created = make<shared_heap>(pages);
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(mutex);
        if (created != nullptr)
            shared_.add_first(created);
        return created;
    }

    /// Returns: a new heap, which reports list by name, or nullptr if there is no memory.
    shared_heap* create_heap(const char* name) noexcept
    {
        auto* const created = make<named_heap>(pages, name);
        MEMORY_POOL_DELAY_POINT();
        const base::lock_guard lock(mutex);
        if (created == nullptr)
            return nullptr;
        created->serial = ++last_serial_;
        shared_.add_first(created);
        named_.add_last(created);
        return created;
    }

    /// As shared_heap::living.
    shared_heap* living(void* address) noexcept
    {
        const page_heap::region_type& all = pages.region();
        const std::uintptr_t steps = all.granule_index(address);
        const bool may_be_one = all.is_committed(steps) && (all.tag_after(steps).load(std::memory_order_relaxed) &
                                                            ~class_bits) == internal.own_tag();
        return shared_heap::living(address, may_be_one);
    }

    /// Returns: whether a heap that the program has created and not destroyed is at `address`, which may be any
    ///   address.
    bool is_heap(const void* address) noexcept { return internal.is_in_use(address); }

    /// Effects: frees a heap with all its blocks. The heap stays in the list while it has memory, so a fork waits for
    ///   the heap.
    void destroy_heap(shared_heap& ended) noexcept
    {
        ended.end();
        ended.free_all();
        MEMORY_POOL_DELAY_POINT();
        {
            const base::lock_guard lock(mutex);
            shared_.remove(&ended);
            if (ended.has_name())
                named_.remove(&static_cast<named_heap&>(ended));
        }
        if (ended.has_name())
            unmake(static_cast<named_heap&>(ended));
        else
            unmake(ended);
    }

    /// Effects: calls `visit(named_heap&)` for up to `max_heaps` named heaps, in the order of creation, beginning after
    ///   the serial number `last`, and advances `last`.
    /// Preconditions: as for_each_heap.
    /// Complexity: linear in named heaps.
    template <class Visit>
    void for_some_named_heaps(std::uint64_t& last, std::size_t max_heaps, Visit&& visit) noexcept
    {
        const base::lock_guard lock(mutex);
        named_heap* each = named_.first();
        while (each != nullptr && each->serial <= last)
            each = each->next_named;
        for (; each != nullptr && max_heaps != 0; each = each->next_named, --max_heaps) {
            visit(*each);
            last = each->serial;
        }
    }

    // All heaps.

    /// Effects: calls `visit(thread_heap&)` for each heap that belongs or belonged to a thread, and then
    ///   `visit(shared_heap&)` for each other heap that may have blocks of the program. No heap is added or removed
    ///   during the call, but the content of heaps may change.
    /// Preconditions: `visit` does not allocate or free.
    template <class Visit>
    void for_each_heap(Visit&& visit) noexcept
    {
        const base::lock_guard lock(mutex);
        threads.for_each(visit);
        for_each_shared_heap(visit);
    }

    /// Effects: calls `visit(thread_heap&)` or `visit(shared_heap&)` for the heap of the slab at a slice, if there is a
    ///   slab and its heap may have blocks of the program. No heap is added or removed during the call.
    /// Preconditions: as for_each_heap.
    template <class Visit>
    void visit_heap_of(slice_index slice, Visit&& visit) noexcept
    {
        const base::lock_guard lock(mutex);
        // A heap that ends returns its slabs before it leaves the list, so a heap that still has a slab is in the list.
        const slice_tag tag = pages.region().tag(slice).load(std::memory_order_relaxed);
        if (!is_of_slab(tag) || (tag & ~class_bits) == internal.own_tag())
            return;
        if (heap_slabs::of(tag).is_shared())
            visit(shared_heap::of(tag));
        else
            visit(thread_heap::of(tag));
    }

    /// Returns: bytes of metadata pages, except pages reserved for future heaps.
    std::size_t metadata_page_bytes() noexcept
    {
        const base::lock_guard lock(mutex);
        return np::metadata_page_bytes.load(std::memory_order_relaxed) - threads.bytes_left();
    }

    /// Returns: the number of parked heaps in their list.
    std::size_t listed_as_parked() noexcept
    {
        const base::lock_guard lock(mutex);
        std::size_t count = 0;
        threads.for_each_parked([&count](const thread_heap&) { ++count; });
        return count;
    }

    /// Returns: the list of threads' heaps, for members that need no lock.
    const heap_list& unlocked_threads() const noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { return threads; }

    /// Effects: calls `visit(shared_heap&)` for each shared heap that may have blocks of the program.
    template <class Visit>
    void for_each_shared_heap(Visit&& visit) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        visit(fallback);
        visit(profiled);
        for (shared_heap& each : call_site_heaps)
            visit(each);
        if constexpr (is_checked)
            visit(zero_size);
        shared_.for_each([&](shared_heap* each) { visit(*each); });
    }

    template <class Visit>
    void for_each_shared_heap_and_internal(Visit&& visit) noexcept MEMORY_POOL_REQUIRES(mutex)
    {
        for_each_shared_heap(visit);
        visit(internal);
    }

    // Around a fork. Not analyzed: the locks are held between calls.

    void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        mutex.lock_for_fork();
        for_each_shared_heap_and_internal([](shared_heap& each) { each.lock_for_fork(); });
        for (call_site_heap& each : call_site_heaps)
            each.sites().lock_for_fork();
    }

    void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        for (call_site_heap& each : call_site_heaps)
            each.sites().unlock_after_fork();
        for_each_shared_heap_and_internal([](shared_heap& each) { each.unlock_after_fork(); });
        mutex.unlock_after_fork();
    }

    // Parts.

    /// Replaces the heap for blocks of 0 bytes, which only the checked build has.
    struct no_heap
    {
        constexpr explicit no_heap(page_heap&) noexcept {}
        static constexpr slice_tag own_tag() noexcept { return no_owner; }
    };
    using zero_size_heap = std::conditional_t<is_checked, shared_heap, no_heap>;

    /// Guards the lists of heaps.
    fork_mutex mutex{lock_rank::heaps};
    page_heap pages;
    heap_list threads MEMORY_POOL_GUARDED_BY(mutex){pages};
    /// The heap of threads that have ended or have no heap.
    shared_heap fallback{pages};
    /// The heap of profiled blocks. No thread owns this heap, so each free of its blocks takes the slow path, which
    /// notifies the profile.
    shared_heap profiled{pages};
    /// Heaps of blocks with call sites, shared by all threads.
    std::array<call_site_heap, call_site_heap_count> call_site_heaps{call_site_heap(pages), call_site_heap(pages),
                                                                     call_site_heap(pages), call_site_heap(pages)};
    /// The heap of the library's own objects.
    shared_heap internal{pages};
    zero_size_heap zero_size{pages};

private:
    template <class Heap>
    static constexpr std::size_t class_of = sizes::of(base::round_up(sizeof(Heap), alignof(Heap)));

    /// Returns: a heap; nullptr on OOM.
    template <class Heap, class... Arguments>
    Heap* make(Arguments&&... arguments) noexcept
    {
        static_assert(sizes::size(class_of<Heap>) % alignof(Heap) == 0, "blocks of that class have its alignment");
        void* const memory = start() ? internal.allocate(class_of<Heap>, sizeof(Heap)) : nullptr;
        return memory != nullptr ? ::new (memory) Heap(std::forward<Arguments>(arguments)...) : nullptr;
    }

    template <class Heap>
    void unmake(Heap& ended) noexcept
    {
        ended.~Heap();
        pages.checks().library_writes_to(&ended);
        internal.free(class_of<Heap>, &ended);
    }

    bool is_traced(const shared_heap& heap) const noexcept
    {
        return std::any_of(call_site_heaps.begin(), call_site_heaps.end(),
                           [&heap](const call_site_heap& each) { return &each == &heap; });
    }

    std::atomic<bool> is_started_{false};
    base::intrusive_list<base::member_links<shared_heap, &shared_heap::next, &shared_heap::previous>> shared_
        MEMORY_POOL_GUARDED_BY(mutex); ///< Heaps created by the program.
    base::intrusive_list<base::member_links<named_heap, &named_heap::next_named, &named_heap::previous_named>> named_
        MEMORY_POOL_GUARDED_BY(mutex);                            ///< Named heaps.
    std::uint64_t last_serial_ MEMORY_POOL_GUARDED_BY(mutex) = 0; ///< Of named heaps.
};
} // namespace memory_pool::np
