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

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../os/background_thread.hpp"
#include "../release/pressure_watch.hpp"
#include "../release/release_policy.hpp"
#include "../release/run_decay.hpp"
#include "../support/callbacks.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "background_work.hpp"
#include "heap.hpp"
#include "heap_list.hpp"
#include "heap_table.hpp"
#include "shared_heap.hpp"
#include "thread_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// Maintenance on behalf of other threads' heaps.
class heap_maintenance : base::immovable<heap_maintenance>
{
public:
    /// The background thread calls `turn`, which calls work().
    constexpr heap_maintenance(heap_table& heaps, os::background_thread::work turn) noexcept
        : heaps_(heaps), turn_(turn)
    {
    }

    /// Effects: maintains a few heaps of other threads in turn, because these threads may make no calls. Purges free
    ///   runs that are due.
    void collect() noexcept
    {
        maintain_heaps();
        (void)heaps_.pages.source().purge_old(max_runs_a_call);
    }

    /// Effects: does one tick of a thread: a step of a sweep of its heap, if a step is due, and collect().
    void tick(thread_cache& cache, std::uint64_t now) noexcept
    {
        const std::uint64_t min_age_ms = sweep_age_ms(heaps_.pages.source().decay.decay_ms());
        heap& mine = cache.heap().slabs;
        if (now - mine.swept_at() >= min_age_ms) {
            misuse_list found; // Declared before the lock: reports after its release.
            const heap::scoped_lock lock(mine, found);
            (void)mine.drain();
            (void)mine.sweep_some(min_age_ms);
        }
        collect();
    }

    /// Effects: returns all cached blocks of this thread to their slabs, so that no slab is pinned. Returns empty
    ///   slabs.
    static void drain_cache(thread_cache& cache) noexcept
    {
        misuse_list found; // Declared before the lock: reports after its release.
        cache.put_all_back(found);
        const heap::scoped_lock lock(cache.heap().slabs, found);
        (void)cache.heap().slabs.drain();
        cache.heap().slabs.give_back_empty_slabs();
    }

    /// Effects: returns all unused memory of this thread, which has freed nearly all of its blocks.
    void fall(thread_cache& cache) noexcept
    {
        drain_cache(cache);
        {
            misuse_list found;
            const heap::scoped_lock lock(cache.heap().slabs, found);
            cache.heap().slabs.sweep_early();
        }
        heaps_.pages.source().purge_fallen();
    }

    // In the background.

    /// Effects: starts or stops a background thread that maintains all heaps and free runs, so that memory returns to
    ///   the system even while the program makes no calls.
    /// Returns: false if the thread cannot be started.
    bool work_in_background(bool is_wanted) noexcept
    {
        maintains_.store(is_wanted, std::memory_order_relaxed);
        if (start_or_stop_background())
            return true;
        maintains_.store(false, std::memory_order_relaxed);
        return !is_wanted;
    }

    /// Returns: whether the background thread runs and maintains heaps even without pressure.
    bool works_in_background() noexcept
    {
        return maintains_.load(std::memory_order_relaxed) && background_.is_running();
    }

    /// Effects: starts or stops watching the control group in `directory`; nullptr: the group of the process. The
    ///   background thread watches the group and returns free memory under pressure. A no-op if there is no control
    ///   group.
    /// Returns: false if the thread cannot be started.
    bool watch_pressure(bool is_wanted, const char* directory = nullptr) noexcept
    {
        if (is_wanted)
            pressure_.start(directory);
        else
            pressure_.stop();
        const bool is_done = start_or_stop_background();
        if (!is_done)
            pressure_.stop();
        return is_done;
    }

    /// Effects: does one turn of the background thread: maintenance that is due, and a wait if it watches pressure.
    /// Returns: milliseconds until the next turn.
    std::uint64_t work() noexcept
    {
        const bool is_pressed = pressure_.is_pressed();
        heaps_.pages.source().decay.limit_decay_ms(is_pressed ? pressed_decay_ms : run_decay::never_ms);
        const std::uint64_t pause =
            is_pressed || maintains_.load(std::memory_order_relaxed) ? collect_all() : max_pause_ms;
        if (!pressure_.is_on())
            return pause;
        if (background_.is_running() && !is_ending_.load(std::memory_order_relaxed))
            pressure_.wait(pause);
        if (pressure_.look())
            answer_pressure();
        return 0;
    }

    background_work& background() noexcept { return background_; }

    /// Effects: sets the time for which free runs keep their memory.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        heaps_.pages.source().decay.set_decay_ms(milliseconds);
        heaps_.pages.early_in_slabs().end_pause();
        wake_background();
    }

    // Memory pressure.

    pressure_watch& pressure() noexcept { return pressure_; }

    /// Functions that trim the program's pools.
    callbacks<trim_function*>& pools() noexcept { return pools_; }

    /// Functions that list the program's pools.
    callbacks<visit_function*>& reports() noexcept { return reports_; }

    /// Effects: asks each thread to empty its cache at the next call that the cache cannot serve.
    /// Returns: the number of requests so far.
    std::uint32_t ask_for_drains() noexcept { return drains_asked_.fetch_add(1, std::memory_order_relaxed) + 1; }

    /// Returns: the number of requests to empty caches so far.
    std::uint32_t drains_asked() const noexcept { return drains_asked_.load(std::memory_order_relaxed); }

    // Around a fork. Not analyzed: one call takes the locks, another call releases them.

    void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        background_.lock_for_fork();
        pressure_.lock_for_fork();
        pools_.lock_for_fork();
        reports_.lock_for_fork();
    }

    void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        reports_.unlock_after_fork();
        pools_.unlock_after_fork();
        pressure_.unlock_after_fork();
        background_.unlock_after_fork();
    }

    /// Effects: in the child of a fork, forgets the background thread and the registered functions.
    void forget_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        background_.forget_after_fork();
        maintains_.store(false, std::memory_order_relaxed);
        pressure_.forget_after_fork();
        pools_.forget_after_fork();
        reports_.forget_after_fork();
        heaps_.pages.source().decay.limit_decay_ms(run_decay::never_ms);
    }

private:
    static constexpr std::uint64_t max_pause_ms = std::numeric_limits<std::uint64_t>::max();

    bool has_background_work() const noexcept
    {
        return maintains_.load(std::memory_order_relaxed) || pressure_.is_on();
    }

    /// Returns: false if the background thread is needed but cannot be started.
    bool start_or_stop_background() noexcept
    {
        if (!has_background_work()) {
            stop_background();
            if (!has_background_work()) // Another thread may just have added work.
                return true;
        }
        const bool is_running = background_.start(turn_);
        wake_background();
        return is_running;
    }

    /// Effects: wakes the background thread if it is running.
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
        heaps_.pages.source().decay.limit_decay_ms(run_decay::never_ms);
    }

    /// Effects: maintains all heaps and free runs.
    /// Returns: milliseconds until the next call.
    std::uint64_t collect_all() noexcept
    {
        bool is_done = true;
        for (std::size_t left = heaps_.unlocked_threads().count(); left != 0; --left)
            is_done = collect_one_wholly() && is_done;
        is_done = sweep_shared_heaps() && is_done;
        while (purge_old_runs()) {
        }
        is_done = is_done && heaps_.pages.statistics().dirty == 0;
        const std::uint64_t decay_ms = heaps_.pages.source().decay.decay_ms();
        return std::max(is_done ? decay_ms : decay_ms / 8, min_pause_ms);
    }

    /// Effects: returns all reachable free memory, and asks threads to empty their caches.
    void answer_pressure() noexcept
    {
        (void)ask_for_drains();
        const std::size_t purged_before = heaps_.pages.source().purged();
        const std::size_t reserved = heaps_.pages.statistics().reserved;
        trim_pools();
        heaps_.pages.source().decay.limit_decay_ms(0);
        for (const bool is_last : {false, true}) { // The first pass finds out which heaps are in use.
            (void)collect_all();
            if (!is_last)
                os::sleep_for_a_moment();
        }
        heaps_.pages.source().decay.limit_decay_ms(pressed_decay_ms);
        pressure_.note_answer(heaps_.pages.source().purged() - purged_before, reserved);
    }

    void trim_pools() noexcept
    {
        const background_work::excursion excursion(background_);
        if (excursion.is_on())
            pools_.for_each([](trim_function* trim) { trim(); });
    }

    void maintain_heaps() noexcept
    {
        misuse_list found; // Declared before the lock: reports after its release.
        if (!heaps_.mutex.try_lock())
            return;
        const base::lock_guard lock(heaps_.mutex, base::adopt_lock);
        heaps_.threads.maintain_some(found);
        sweep_a_shared_heap();
    }

    /// Does a step of a sweep of the shared heap whose last sweep is oldest.
    void sweep_a_shared_heap() noexcept MEMORY_POOL_REQUIRES(heaps_.mutex)
    {
        const std::uint64_t now = release_clock::now();
        if (now - shared_looked_at_ < tick_ms)
            return;
        shared_looked_at_ = now;
        const std::uint64_t min_age_ms = sweep_age_ms(heaps_.pages.source().decay.decay_ms());
        shared_heap* next = nullptr;
        heaps_.for_each_shared_heap_and_internal([&next](shared_heap& each) {
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
            os::sleep_for_a_moment(); // Lets other threads take the locks.
        return made == progress::done;
    }

    progress collect_in_turn() noexcept
    {
        misuse_list found; // Declared before the lock: reports after its release.
        const background_work::turn turn(background_);
        if (!turn.is_on() || !heaps_.mutex.try_lock())
            return progress::later;
        const base::lock_guard lock(heaps_.mutex, base::adopt_lock);
        return heaps_.threads.maintain_next(found);
    }

    bool sweep_shared_heaps() noexcept
    {
        const background_work::turn turn(background_);
        if (!turn.is_on() || !heaps_.mutex.try_lock())
            return false;
        const base::lock_guard lock(heaps_.mutex, base::adopt_lock);
        bool are_swept = true;
        const std::uint64_t min_age_ms = sweep_age_ms(heaps_.pages.source().decay.decay_ms());
        heaps_.for_each_shared_heap_and_internal(
            [&are_swept, min_age_ms](shared_heap& each) { are_swept = each.sweep_some(min_age_ms) && are_swept; });
        return are_swept;
    }

    bool purge_old_runs() noexcept
    {
        const background_work::turn turn(background_);
        return turn.is_on() && heaps_.pages.source().purge_old(1);
    }

    heap_table& heaps_;
    const os::background_thread::work turn_;
    background_work background_;
    pressure_watch pressure_;
    callbacks<trim_function*> pools_;
    callbacks<visit_function*> reports_;
    std::atomic<bool> maintains_{false}; ///< The background thread also works without pressure.
    std::uint64_t shared_looked_at_ MEMORY_POOL_GUARDED_BY(heaps_.mutex) = 0;
    std::atomic<std::uint32_t> drains_asked_{0};
    std::atomic<bool> is_ending_{false}; ///< The background thread must end without waiting.
};
} // namespace memory_pool::np
