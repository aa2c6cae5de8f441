// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The heaps of threads: their assignment to threads, parked heaps, and maintenance.
///
///     all:      A (thread 1)  ->  B (thread 2)  ->  C (parked)  ->  D (parked)
///     parked:   C  ->  D
///     next to maintain:           B
///
/// Thread safety: none, except where noted; the caller holds the lock of the lists.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/clock.hpp>

#include "../page_heap/page_heap.hpp"
#include "../release/release_policy.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "heap.hpp"
#include "heap_pages.hpp"
#include "thread_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex> // std::try_to_lock
#include <utility>

namespace memory_pool::np {
/// The result of maintaining a heap.
enum class progress
{
    done,    ///< No known work is left in the heap.
    later,   ///< Work is left for later.
    drained, ///< Remote frees were drained; work may be left for later.
    goes_on  ///< Work is left that should continue at once.
};

/// All heaps that belong or belonged to threads.
class heap_list : base::immovable<heap_list>
{
public:
    constexpr explicit heap_list(page_heap& memory) noexcept : memory_(memory) {}

    /// Returns: zeroed memory for a thread_heap; nullptr if there is no memory.
    void* take_pages() noexcept { return pages_.take(); }

    /// Returns: bytes of memory for future heaps.
    std::size_t bytes_left() const noexcept { return pages_.bytes_left(); }

    /// Effects: adds a new heap to the list and gives the heap to a thread.
    void add(thread_heap& made, thread_cache& user) noexcept
    {
        made.next = first_;
        first_ = &made;
        (void)count_.fetch_add(1, std::memory_order_relaxed);
        give_to(user, made);
    }

    /// Effects: gives a parked heap to a thread.
    /// Returns: whether there was a parked heap.
    bool adopt(thread_cache& user) noexcept
    {
        thread_heap* const adopted = parked_;
        if (adopted == nullptr)
            return false;
        parked_ = adopted->next_parked;
        adopted->is_parked = false;
        leave_reserve(*adopted);
        forget_debt(*adopted);
        give_to(user, *adopted);
        return true;
    }

    /// Effects: if there is room in the reserve, parks the heap of a thread with all its free memory.
    /// Returns: whether there was room. If not, call leave_empty() and park().
    bool park_whole(thread_cache& user) noexcept
    {
        thread_heap& memory = user.heap();
        const std::size_t bytes = memory.slabs.max_memory();
        if (heaps_kept_ == max_heaps_kept || bytes > max_bytes_kept - bytes_kept())
            return false;
        memory.is_kept_whole = true;
        memory.bytes_kept = bytes;
        bytes_kept_.fetch_add(bytes, std::memory_order_relaxed);
        ++heaps_kept_;
        user.leave();
        park(memory, parked_);
        return true;
    }

    /// Effects: parks an emptied heap, behind the heaps in the reserve.
    /// Preconditions: the heap's thread has left the heap.
    void park(thread_heap& emptied) noexcept
    {
        thread_heap** place = &parked_;
        while (*place != nullptr && (*place)->is_kept_whole)
            place = &(*place)->next_parked;
        park(emptied, *place);
    }

    /// Effects: detaches a thread that ends from its heap. Returns cached blocks to their slabs, empty slabs to the
    ///   runs, and, if most memory is free, the memory of free runs to the system.
    /// Thread safety: call without the lock, for the calling thread's heap.
    void leave_empty(thread_cache& user, misuse_list& found) const noexcept
    {
        thread_heap& memory = user.heap();
        user.put_all_back(found);
        user.leave();
        {
            const heap::scoped_lock lock(memory.slabs, found);
            (void)memory.slabs.drain();
            memory.slabs.give_back_empty_slabs();
            memory.slabs.sweep_early();
            memory.slabs.restart_peak();
            memory.drop_magazines();
        }
        memory_.source().purge_if_mostly_free();
    }

    /// Effects: in the child of a fork, discards the random numbers of all heaps, because the parent uses the same
    ///   numbers.
    void discard_random_numbers() noexcept
    {
        for_each([](thread_heap& each) { each.checks.discard_random_numbers(); });
    }

    /// Effects: forgets the thread caches of all heaps except `mine`, which may be nullptr.
    void forget_threads_but(const thread_heap* mine) noexcept
    {
        for_each([mine](thread_heap& each) {
            if (&each != mine)
                each.used_by = nullptr;
        });
    }

    /// Returns: the number of heaps.
    /// Thread safety: any thread, without the lock.
    std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

    /// Returns: bytes of heaps that were parked with all their free memory and have not been swept since.
    /// Thread safety: any thread, without the lock.
    std::size_t bytes_kept() const noexcept { return bytes_kept_.load(std::memory_order_relaxed); }

    /// Effects: calls `visit(thread_heap&)` for each heap.
    template <class Visit>
    void for_each(Visit&& visit) noexcept
    {
        for (thread_heap* each = first_; each != nullptr; each = each->next)
            visit(*each);
    }

    /// Effects: calls `visit(thread_heap&)` for each parked heap.
    template <class Visit>
    void for_each_parked(Visit&& visit) noexcept
    {
        for (thread_heap* each = parked_; each != nullptr; each = each->next_parked)
            visit(*each);
    }

    // Maintenance.

    /// Effects: maintains heaps in turn until one of them had work, so that a call stays short even with many heaps.
    ///   Visits only a few heaps, because the caller waits, but more if calls are rare.
    void maintain_some(misuse_list& found) noexcept
    {
        constexpr std::uint64_t min_heaps = 8;
        constexpr std::uint64_t max_heaps = 64;
        const std::uint64_t now = os::coarse_milliseconds();
        const std::uint64_t some = std::min(min_heaps + (now - std::exchange(maintained_at_, now)), max_heaps);
        for (std::uint64_t left = std::min<std::uint64_t>(count(), some); left != 0; --left)
            if (maintain_next(found) >= progress::drained)
                return;
    }

    /// Effects: maintains the next heap.
    progress maintain_next(misuse_list& found) noexcept
    {
        if (next_to_maintain_ == nullptr)
            next_to_maintain_ = first_;
        if (next_to_maintain_ == nullptr)
            return progress::done;
        thread_heap& visited = *next_to_maintain_;
        const progress made = maintain(visited, found);
        if (made != progress::goes_on)
            next_to_maintain_ = visited.next;
        return made;
    }

    /// Effects: returns the cached blocks of parked heaps, the empty slabs of all heaps, and the free pages of other
    ///   slabs.
    void trim(misuse_list& found) noexcept
    {
        for_each_parked([&found, this](thread_heap& each) { put_all_back(each, found); });
        // The first pass drains the blocks in transit, the second pass the batches that carried them.
        for (const bool is_last : {false, true})
            for_each([is_last, &found, this](thread_heap& each) {
                const try_lock_guard here(each, found);
                if (here.is_on() && is_last) {
                    here.sweep_all();
                    forget_debt(each);
                } else if (here.is_on()) {
                    (void)here.drain();
                }
            });
    }

private:
    static void park(thread_heap& memory, thread_heap*& place) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        memory.used_by = nullptr;
        memory.is_parked = true;
        memory.parked_at = release_clock::now();
        memory.is_emptied = false;
        memory.next_parked = place;
        MEMORY_POOL_DELAY_POINT();
        place = &memory;
    }

    void leave_reserve(thread_heap& memory) noexcept
    {
        heaps_kept_ -= std::exchange(memory.is_kept_whole, false) ? 1U : 0U;
    }

    void forget_debt(thread_heap& memory) noexcept
    {
        bytes_kept_.fetch_sub(std::exchange(memory.bytes_kept, 0U), std::memory_order_relaxed);
    }

    void give_to(thread_cache& user, thread_heap& memory) const noexcept
    {
        constexpr std::size_t many = 16;
        memory.is_one_of_many = !is_checked && count() > many;
        MEMORY_POOL_DELAY_POINT();
        user.use(memory);
        memory.used_by = &user;
    }

    /// Tries to lock a thread's heap for another thread. is_on() is false if the heap's thread holds the lock, or the
    /// content of its magazines is unknown. (Magazines are dropped only after their cached blocks were returned.) The
    /// thread safety analysis cannot follow a try-lock, so members with the precondition is_on() call assume_held().
    class try_lock_guard
    {
    public:
        try_lock_guard(thread_heap& where, misuse_list& found) noexcept
            : where_(where), lock_(where.slabs, found, std::try_to_lock)
        {
        }

        bool is_on() const noexcept { return lock_.is_on() && where_.is_known(); }

        /// Returns: whether remote frees were drained.
        bool drain() const noexcept
        {
            where_.slabs.assume_held();
            return where_.slabs.drain();
        }

        /// Effects: as heap_slabs::sweep_some.
        bool sweep_some(std::uint64_t min_age_ms) const noexcept
        {
            where_.slabs.assume_held();
            const bool is_last = where_.slabs.sweep_some(min_age_ms);
            if (is_last && where_.is_parked && where_.is_emptied)
                where_.drop_magazines();
            return is_last;
        }

        void sweep_all() const noexcept
        {
            where_.slabs.assume_held();
            (void)where_.slabs.drain();
            where_.slabs.sweep_all();
            if (where_.is_parked)
                where_.drop_magazines();
        }

    private:
        thread_heap& where_;
        const heap::scoped_lock lock_;
    };

    /// Effects: drains the remote frees of a heap if its thread does not, returns the cached blocks of a heap that no
    ///   thread has adopted for a while, and does a step of a sweep.
    progress maintain(thread_heap& visited, misuse_list& found) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        const std::uint64_t now = release_clock::now();
        const std::uint64_t min_age_ms = sweep_age_ms(memory_.source().decay.decay_ms());
        const std::uint32_t times = visited.slabs.owner_locks();
        const bool is_left_alone = std::exchange(visited.owner_locks_seen, times) == times;
        if (visited.is_parked && !visited.is_emptied && now - visited.parked_at >= min_age_ms) {
            put_all_back(visited, found);
            visited.is_emptied = true;
            visited.owner_locks_seen = visited.slabs.owner_locks(); // put_all_back() took it, not the heap's thread.
        }
        const auto left = [&visited] {
            const bool has_cached_blocks = visited.is_parked && !visited.is_emptied;
            return visited.slabs.is_swept() && !has_cached_blocks ? progress::done : progress::later;
        };
        const bool is_to_drain = is_left_alone && visited.slabs.has_incoming();
        const bool is_to_sweep = now - visited.slabs.swept_at() >= min_age_ms;
        if (!is_to_drain && !is_to_sweep)
            return left(); // No work is worth the lock.
        const try_lock_guard here(visited, found);
        if (!here.is_on()) // A heap whose magazine content is unknown can never be maintained.
            return visited.is_known() ? progress::later : progress::done;
        const bool has_come = is_to_drain && here.drain();
        if (is_to_sweep && !here.sweep_some(min_age_ms))
            return progress::goes_on;
        // Occasional remote frees may keep a heap from ever being swept completely.
        if (visited.is_emptied && (visited.slabs.is_swept() || now - visited.parked_at >= 4 * min_age_ms))
            forget_debt(visited);
        return has_come ? progress::drained : left();
    }

    /// Effects: returns the cached blocks of a parked heap to its slabs.
    void put_all_back(thread_heap& parked, misuse_list& found) noexcept
    {
        leave_reserve(parked);
        thread_cache visitor;
        visitor.use(parked);
        visitor.put_all_back(found);
        visitor.leave();
    }

    page_heap& memory_;
    heap_pages pages_;
    thread_heap* first_ = nullptr;
    thread_heap* parked_ = nullptr;
    thread_heap* next_to_maintain_ = nullptr;
    std::uint64_t maintained_at_ = 0;        ///< By the last call of maintain_some(), on the coarse clock.
    std::size_t heaps_kept_ = 0;             ///< Heaps in the reserve.
    std::atomic<std::size_t> bytes_kept_{0}; ///< See bytes_kept().
    std::atomic<std::size_t> count_{0};
};
} // namespace memory_pool::np
