// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Periodic maintenance, called from slow paths and by the background thread: drains the remote frees of parked and
/// idle heaps, returns their empty slabs, and purges free runs that are due.
///
///     slow paths:          a few heaps in turn, one run
///     background thread:   all heaps and runs, in short turns: background_work.hpp
///     under pressure:      the background thread does the same without decay, and asks threads to empty their caches
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../release/pressure_watch.hpp"
#include "../release/release_policy.hpp"
#include "../release/run_decay.hpp"
#include "../support/callbacks.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "all_heaps.hpp"
#include "background_work.hpp"
#include "heap.hpp"
#include "heap_list.hpp"
#include "shared_heap.hpp"
#include "thread_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// What no thread does for its own sake.
class heap_maintenance : public all_heaps
{
public:
    /// As heap_list::bytes_kept.
    std::size_t bytes_kept() const noexcept { return heaps().bytes_kept(); }

    /// Effects: does what is due in the heaps of other threads, some in turn, and purges free runs that are due: other
    ///   threads may not come to do it.
    void collect() noexcept
    {
        maintain_heaps();
        (void)pages_.purge_old(max_runs_a_call);
    }

    /// Effects: one tick of a thread: a step of a sweep of its heap, if that is due, and collect().
    void tick(thread_cache& cache, std::uint64_t now) noexcept
    {
        const std::uint64_t min_age_ms = sweep_age_ms(pages_.decay().decay_ms());
        heap& mine = cache.heap().slabs;
        if (now - mine.swept_at() >= min_age_ms) {
            misuse_list found; // First, so that it is reported last, without the lock.
            const heap::scoped_lock lock(mine, found);
            (void)mine.drain();
            (void)mine.sweep_some(min_age_ms);
        }
        collect();
    }

    /// Effects: returns all cached blocks of this thread to their slabs, so that they pin none; frees empty slabs.
    static void drain_cache(thread_cache& cache) noexcept
    {
        misuse_list found; // Declared first: reported last, without the lock.
        cache.put_all_back(found);
        const heap::scoped_lock lock(cache.heap().slabs, found);
        (void)cache.heap().slabs.drain();
        cache.heap().slabs.give_back_empty_slabs();
    }

    /// Effects: gives all memory back that this thread, which has freed nearly all of its blocks, does not use.
    void fall(thread_cache& cache) noexcept
    {
        drain_cache(cache);
        {
            misuse_list found;
            const heap::scoped_lock lock(cache.heap().slabs, found);
            cache.heap().slabs.sweep_early();
        }
        pages_.purge_fallen();
    }

    /// Returns: what that thread does.
    background_work& background() noexcept { return background_; }

    /// Effects: free runs keep their memory for that many milliseconds from now on.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        pages_.decay().set_decay_ms(milliseconds);
        pages_.early_in_slabs().end_pause();
        wake_background();
    }

    // Memory pressure.

    pressure_watch& pressure() noexcept { return pressure_; }

    /// Functions that trim the pools of the program.
    callbacks<trim_function*>& pools() noexcept { return pools_; }

    /// Functions that list the pools of the program.
    callbacks<visit_function*>& reports() noexcept { return reports_; }

    /// Effects: asks each thread to empty its cache at its next call that the cache cannot serve.
    /// Returns: how many times they were asked by now.
    std::uint32_t ask_for_drains() noexcept { return drains_asked_.fetch_add(1, std::memory_order_relaxed) + 1; }

    /// Returns: how many times threads were asked to empty their caches.
    std::uint32_t drains_asked() const noexcept { return drains_asked_.load(std::memory_order_relaxed); }

protected:
    /// Effects: one turn of the background thread: the work that is due, and a wait if it watches pressure.
    /// Returns: milliseconds until the next turn.
    std::uint64_t work() noexcept
    {
        const bool is_pressed = pressure_.is_pressed();
        pages_.decay().limit_decay_ms(is_pressed ? pressed_decay_ms : run_decay::never_ms);
        const std::uint64_t pause = is_pressed || maintains_.load(std::memory_order_relaxed) ? collect_all() : longest;
        if (!pressure_.is_on())
            return pause;
        if (background_.is_running() && !is_ending_.load(std::memory_order_relaxed))
            pressure_.wait(pause);
        if (pressure_.look())
            answer_pressure();
        return 0;
    }

    /// Effects: wakes the background thread, if there is one.
    void wake_background() noexcept
    {
        background_.wake();
        pressure_.interrupt();
    }

    /// Effects: stops the background thread.
    void stop_background() noexcept
    {
        is_ending_.store(true, std::memory_order_relaxed);
        pressure_.interrupt();
        background_.stop();
        is_ending_.store(false, std::memory_order_relaxed);
        pages_.decay().limit_decay_ms(run_decay::never_ms);
    }

    /// Effects: maintains all heaps and free runs.
    /// Returns: after how many milliseconds to do so again.
    std::uint64_t collect_all() noexcept
    {
        bool is_done = true;
        for (std::size_t left = heaps().count(); left != 0; --left)
            is_done = collect_one_wholly() && is_done;
        is_done = sweep_shared_heaps() && is_done;
        while (purge_old_runs()) {
        }
        is_done = is_done && pages_.figures().dirty == 0;
        const std::uint64_t decay_ms = pages_.decay().decay_ms();
        return std::max(is_done ? decay_ms : decay_ms / 8, min_pause_ms);
    }

    background_work background_;
    pressure_watch pressure_;
    callbacks<trim_function*> pools_;
    callbacks<visit_function*> reports_;
    std::atomic<bool> maintains_{false}; ///< Whether the background thread also works without pressure.

private:
    static constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();

    /// Effects: returns all free memory that it can reach, and asks threads to empty their caches.
    void answer_pressure() noexcept
    {
        (void)ask_for_drains();
        const std::size_t purged_before = pages_.purged();
        const std::size_t reserved = pages_.figures().reserved;
        trim_pools();
        pages_.decay().limit_decay_ms(0);
        for (const bool is_last : {false, true}) { // The first pass sees which heaps are in use.
            (void)collect_all();
            if (!is_last)
                os::sleep_for_a_moment();
        }
        pages_.decay().limit_decay_ms(pressed_decay_ms);
        pressure_.note_answer(pages_.purged() - purged_before, reserved);
    }

    void trim_pools() noexcept
    {
        const background_work::excursion excursion(background_);
        if (excursion.is_on())
            pools_.for_each([](trim_function* trim) { trim(); });
    }

    void maintain_heaps() noexcept
    {
        misuse_list found; // First, so that it is reported last, without the lock.
        if (!mutex_.try_lock())
            return;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        heaps_.maintain_some(found);
        sweep_a_shared_heap();
    }

    /// Does a step of a sweep of the shared heap that was not swept for the longest time.
    void sweep_a_shared_heap() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const std::uint64_t now = release_clock::now();
        if (now - shared_looked_at_ < tick_ms)
            return;
        shared_looked_at_ = now;
        const std::uint64_t min_age_ms = sweep_age_ms(pages_.decay().decay_ms());
        shared_heap* next = nullptr;
        for_each_shared_heap_and_internal([&next](shared_heap& each) {
            if (!each.is_swept() && (next == nullptr || each.swept_at() < next->swept_at()))
                next = &each;
        });
        if (next != nullptr && now - next->swept_at() >= min_age_ms)
            (void)next->sweep_some(min_age_ms);
    }

    bool collect_one_wholly() noexcept
    {
        progress made = collect_in_turn();
        for (; made == progress::goes_on; made = collect_in_turn())
            os::sleep_for_a_moment(); // Who waits for one of the locks gets it now.
        return made == progress::done;
    }

    progress collect_in_turn() noexcept
    {
        misuse_list found; // First, so that it is reported last, without the lock.
        const background_work::turn turn(background_);
        if (!turn.is_on() || !mutex_.try_lock())
            return progress::later;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        return heaps_.maintain_next(found);
    }

    bool sweep_shared_heaps() noexcept
    {
        const background_work::turn turn(background_);
        if (!turn.is_on() || !mutex_.try_lock())
            return false;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        bool are_swept = true;
        const std::uint64_t min_age_ms = sweep_age_ms(pages_.decay().decay_ms());
        for_each_shared_heap_and_internal(
            [&are_swept, min_age_ms](shared_heap& each) { are_swept = each.sweep_some(min_age_ms) && are_swept; });
        return are_swept;
    }

    bool purge_old_runs() noexcept
    {
        const background_work::turn turn(background_);
        return turn.is_on() && pages_.purge_old(1);
    }

    std::uint64_t shared_looked_at_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::atomic<std::uint32_t> drains_asked_{0};
    std::atomic<bool> is_ending_{false}; ///< The background thread: it must not wait.
};
} // namespace memory_pool::np
