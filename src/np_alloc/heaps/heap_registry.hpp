// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All heaps of a process: how a thread gets one when it first needs it, and where it goes when the thread ends.
///
///     of threads:   A (thread 1)    B (thread 2)    C -> D (parked)
///     shared:       the late one (of threads that have ended)    the traced ones (blocks with call sites)
///                   those that the program has made            its own one (where those are)
///
/// The heap of a thread is never destroyed. When its thread ends, it is parked with its outstanding blocks; the next
/// new thread adopts it. A few parked heaps keep their magazines and free memory for that; the others have returned
/// both. Other threads still send it remote frees, and periodically drain those of parked and idle heaps, so that no
/// block waits for a thread that has ended or is idle.
///
/// A thread may free, and even allocate, when it has ended already: in destructors of thread-local objects that run after ours.
/// Such a call goes to a heap that all those threads share, with a lock; so does one of a thread of whose end nobody would hear.
/// And it may free for the first time then, as the C library has it free what is left of other threads: so its first blocks go back
/// to their heaps one by one, and a thread that only frees a few has no heap at all.
///
/// Around a fork, the thread that forks has all locks, so runs and lists are in order in the child. The heaps of threads that are
/// not there are not: those may have been at work in them. They stay as they are, and are not adopted; their blocks may be used
/// and freed, but what is free there is lost to the child. Nor is anything drained that was sent while the fork went on.
///
/// Locks, in the order in which they are taken: that of the work in the background, that of the lists, those of heaps, those of call
/// sites, the page heap's.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/blocked_signals.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/fault.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/short_wait.hpp>
#include <memory_pool/os/single_thread.hpp>
#include <memory_pool/os/stdio_lock.hpp>
#include <memory_pool/os/thread_end.hpp>

#include "../hardening/sampled.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/reservation_cost.hpp"
#include "../support/build_variant.hpp"
#include "../support/call_sites.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/mutex.hpp"
#include "../support/options.hpp"
#include "../support/output.hpp"
#include "background_work.hpp"
#include "heap.hpp"
#include "heap_list.hpp"
#include "shared_heap.hpp"
#include "thread_cache.hpp"
#include "traced_heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool::np
{
/// What one thread has.
struct thread_state
{
    thread_cache cache;
    bool may_have_heap = true;   ///< Not when it has ended, nor before the loader has come to its thread-local storage.
    std::uint8_t slow_calls = 0; ///< Calls that were not done by its thread cache, modulo 256.
    std::uint8_t traced = 0;     ///< The number of its traced heap, counted from 1; 0 if it has none yet.
    std::uint8_t freed_without_heap = 0; ///< Blocks of others that it has freed without a heap, as long as it has none.
};

class heap_registry;

/// Returns: the process-wide instance; never destroyed, as threads may end after everything else.
inline heap_registry& registry() noexcept;

/// All heaps.
class heap_registry
{
public:
    constexpr heap_registry() noexcept = default;
    heap_registry(const heap_registry&) = delete;
    heap_registry& operator=(const heap_registry&) = delete;
    ~heap_registry() = default;

    // Heaps of threads.

    /// Effects: gives a thread that has none a heap: a parked one, or a new one.
    /// Returns: whether it has one now; not if it has ended, nobody would say when it ends, or there is no memory.
    bool attach(thread_state& thread) noexcept
    {
        if (!thread.may_have_heap || !start())
            return false;
        if (!adopt(thread) && !make_heap(thread))
            return false;
        MEMORY_POOL_DELAY_POINT();
        // Last, as this may allocate.
        if (thread_end_.ask(&thread))
            return true;
        park(thread); // Nobody would say when it has ended.
        return false;
    }

    /// Effects: the same for a thread that frees a block of another one, if it has freed so many that it may be expected to go on.
    bool attach_to_free(thread_state& thread) noexcept
    {
        constexpr std::uint8_t most_freed_without_heap = 32;
        if (thread.freed_without_heap == most_freed_without_heap || !thread.may_have_heap)
            return attach(thread);
        if (thread.freed_without_heap++ == 0) {
            thread.may_have_heap = false; // What is allocated for this is from the heap of threads that have ended.
            (void)thread_end_.ask(&thread);
            thread.may_have_heap = true;
        }
        return false;
    }

    /// Effects: parks the heap of a thread that ends. Its free memory goes back to the system now, except for a reserve
    ///   shared by all parked heaps: no thread may ever call again.
    void detach(thread_state& thread) noexcept
    {
        thread.may_have_heap = false;
        if (thread.cache.has_heap())
            park(thread);
    }

    /// Effects: is not told any more when threads end: the code that would be called may be gone then, as it is part of a library that
    ///   is closed. Threads go on with their heaps, and leave them behind.
    void stop_watching_threads() noexcept
    {
        thread_end_.stop();
        const std::lock_guard lock(mutex_);
        heaps_.forget_threads_but(heap_of_this_thread());
    }

    /// Effects: is to be called now and then, when time is lost anyway: looks after some of the heaps, in turn, those whose thread was
    ///   not at work in them since they were looked at last, or that have none. Drains what was sent to such a heap; and when it has
    ///   been idle for half as long as free runs keep their memory, gives back what slabs it has that are empty. And gives the memory of
    ///   a run back that was free for so long: those who come to the runs do so, too, but who needs none may be the only one at work.
    void collect() noexcept
    {
        maintain_heaps();
        (void)pages_.purge_one_old();
    }

    /// Effects: as collect(), for up to `most_runs` runs: the thread may not call again soon.
    void collect(int most_runs) noexcept
    {
        maintain_heaps();
        for (int left = most_runs; left != 0 && pages_.purge_one_old(); --left) {
        }
    }

    /// Effects: returns the free memory of this thread, which is idle, to the system, including its cached blocks; only
    ///   part of it if there is very much.
    /// Returns: whether that was all.
    static bool tidy_idle(thread_cache& cache) noexcept
    {
        constexpr int most_parts = 16; // A millisecond each, at most.
        misuse_list found;             // First, so that it is reported last, without the lock.
        heap& its = cache.heap().slabs;
        cache.put_all_back(found);
        const heap::scoped_lock lock(its, found);
        (void)its.drain();
        its.give_back_empty_slabs_and_memory();
        for (int left = most_parts; left != 0; --left)
            if (its.purge_some_free_pages())
                return true;
        return false;
    }

    /// Effects: has a thread of its own look after all heaps and free runs from now on, so that memory goes back to the system also
    ///   while the program does not call; or not any more.
    /// Returns: whether it is so.
    bool work_in_background(bool is_wanted) noexcept
    {
        if (is_wanted)
            return background_.start([] { return registry().collect_all(); });
        background_.stop();
        return true;
    }

    /// Returns: what that thread does.
    background_work& background() noexcept { return background_; }

    /// Effects: has free runs keep their memory for so many milliseconds from now on.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        pages_.set_decay_ms(milliseconds);
        background_.wake();
    }

    /// Effects: gives a block back to the heap of a thread that it is from, for a thread that has no heap.
    void free_without_heap(slice_tag tag, void* block) noexcept
    {
        heap& to = heap::of(tag);
        (void)sent_without_heap_.fetch_add(to.send_one(tag & class_bits, block), std::memory_order_relaxed);
    }

    // Shared heaps.

    /// Returns: the heap of threads that have ended.
    shared_heap& fallback() noexcept { return fallback_; }

    /// Returns: the heap for those blocks of a thread whose call sites are remembered.
    traced_heap& traced_for(thread_state& thread) noexcept
    {
        if (thread.traced == 0)
            thread.traced =
                static_cast<std::uint8_t>(1 + next_traced_.fetch_add(1, std::memory_order_relaxed) % traced_heap_count);
        return traced_[thread.traced - 1U];
    }

    /// Those of all threads.
    std::array<traced_heap, traced_heap_count>& traced() noexcept { return traced_; }

    /// Effects: has blocks whose call sites are remembered from now on told from those that are in use.
    /// Returns: how many checkpoints there are now.
    checkpoint_count add_checkpoint() noexcept { return checkpoints_.fetch_add(1, std::memory_order_relaxed) + 1; }
    checkpoint_count checkpoints() const noexcept { return checkpoints_.load(std::memory_order_relaxed); }

    /// Where blocks are checked, those of 0 bytes have a heap of their own.
    struct no_heap
    {
        constexpr explicit no_heap(page_heap&) noexcept {}
        static constexpr slice_tag own_tag() noexcept { return no_owner; }
    };
    using zero_size_heap = std::conditional_t<is_checked, shared_heap, no_heap>;
    zero_size_heap& zero_size() noexcept { return zero_size_; }

    /// Returns: the heap of what the program does not know of.
    shared_heap& internal() noexcept { return internal_; }

    /// Returns: whether this is the child of a fork: then what was in transit may have been lost.
    bool is_forked() const noexcept { return is_forked_; }

    /// Returns: whether it is one of a process that may have had other threads, which were in the middle of something.
    bool may_have_lost_threads() const noexcept { return may_have_lost_threads_; }

    /// Returns: whether the program has made that heap.
    bool is_made(const shared_heap& heap) const noexcept
    {
        const void* const made = &heap;
        return made != &fallback_ && made != &zero_size_ && !is_traced(heap);
    }

    /// Returns: a new heap, or nullptr if there is no memory.
    shared_heap* create_heap() noexcept
    {
        void* const memory = start() ? internal_.allocate(class_of_heaps) : nullptr;
        if (memory == nullptr)
            return nullptr;
        auto* const created = ::new (memory) shared_heap(pages_);
        MEMORY_POOL_DELAY_POINT();
        const std::lock_guard lock(mutex_);
        created->next = shared_;
        if (shared_ != nullptr)
            shared_->previous = created;
        shared_ = created;
        return created;
    }

    /// Returns: whether there is a heap at `address`, which may be any, that the program has made and not destroyed.
    bool is_heap(const void* address) noexcept { return internal_.is_in_use(address); }

    /// Effects: frees a heap and all that is from it. It is in the list as long as it has something, so a fork waits for it.
    void destroy_heap(shared_heap& ended) noexcept
    {
        ended.end();
        ended.free_all();
        MEMORY_POOL_DELAY_POINT();
        {
            const std::lock_guard lock(mutex_);
            (ended.previous != nullptr ? ended.previous->next : shared_) = ended.next;
            if (ended.next != nullptr)
                ended.next->previous = ended.previous;
        }
        ended.~shared_heap();
        internal_.free(class_of_heaps, &ended);
    }

    // All of them.

    /// Effects: gives all memory back to the system that is free: what this thread and heaps without a thread have, what others have
    ///   in their slabs, and free runs.
    /// Returns: how many bytes that was.
    std::size_t trim(thread_state& mine) noexcept
    {
        {
            misuse_list found;
            if (mine.cache.has_heap())
                mine.cache.put_all_back(found);
            const std::lock_guard lock(mutex_);
            heaps_.trim(found);
            for_each_shared_heap_and_internal([](shared_heap& each) { each.tidy(); });
        }
        return pages_.trim();
    }

    /// Effects: calls `visit(thread_heap&)` for each heap that is or was of a thread, and then `visit(shared_heap&)` for the
    ///   others that blocks of the program are from, while none comes or goes. What is in them may change meanwhile.
    /// Preconditions: `visit` does not allocate or free.
    template <class Visit>
    void for_each_heap(Visit&& visit) noexcept
    {
        const std::lock_guard lock(mutex_);
        heaps_.for_each(visit);
        for_each_shared_heap(visit);
    }

    /// Returns: how many heaps are in the list of those without a thread.
    std::size_t listed_as_parked() noexcept
    {
        const std::lock_guard lock(mutex_);
        std::size_t count = 0;
        heaps_.for_each_parked([&count](const thread_heap&) { ++count; });
        return count;
    }

    /// Returns: bytes of blocks that threads have freed which had no heap any more. See heap::sent_minus_received.
    std::size_t sent_without_heap() const noexcept { return sent_without_heap_.load(std::memory_order_relaxed); }

    // Samples: see sampled.hpp.

    /// Effects: has one block for about so many bytes be a sample from now on; 0: none.
    void set_sample_bytes(std::size_t bytes) noexcept { sample_bytes_.store(bytes, std::memory_order_relaxed); }
    std::size_t sample_bytes() const noexcept { return sample_bytes_.load(std::memory_order_relaxed); }

    /// Effects: has accesses reported that the system refuses, to samples and to large blocks that were freed, if that is not so yet; if
    ///   it cannot be, there are no samples any more.
    /// Returns: whether it is so.
    bool watch_accesses() noexcept
    {
        if (MEMORY_POOL_LIKELY(accesses_are_watched_.load(std::memory_order_acquire)))
            return true;
        const std::lock_guard lock(mutex_);
        const bool are_watched = os::watch_faults(&report_wrong_access);
        accesses_are_watched_.store(are_watched, std::memory_order_release);
        if (!are_watched)
            set_sample_bytes(0);
        return are_watched;
    }

    /// Effects: ends that, and takes no samples any more: the code that would be called may be gone then.
    void stop_watching_accesses() noexcept
    {
        set_sample_bytes(0);
        const std::lock_guard lock(mutex_);
        if (accesses_are_watched_.exchange(false, std::memory_order_relaxed))
            os::stop_watching_faults();
    }

    page_heap& pages() noexcept { return pages_; }

    /// Effects: reserves addresses, if that was not done yet.
    /// Returns: whether there are some.
    bool start() noexcept
    {
        if (MEMORY_POOL_LIKELY(has_started()))
            return true;
        const std::lock_guard lock(mutex_);
        if (is_started_.load(std::memory_order_relaxed))
            return true;
        the_options.read_once(os::environment());
        if constexpr (is_checked)
            the_canary.draw();
        pages_.set_decay_ms(the_options.get(np_option_decay_ms));
        const bool is_to_grow = os::addresses_are_limited() || reserving_is_dear();
        if (!pages_.start(the_options.get(np_option_region_bytes), is_to_grow))
            return false;
        is_started_.store(true, std::memory_order_release);
        return true;
    }

    /// Returns: whether addresses are reserved.
    bool has_started() const noexcept { return is_started_.load(std::memory_order_acquire); }

    /// Effects: has the locks taken around each fork. To be called when the library is loaded: later, another thread could fork
    ///   while this one has a lock already. If there is no memory for that, says so: nothing else is wrong then.
    /// Returns: whether there was.
    static bool prepare_for_fork() noexcept
    {
        if (os::at_fork([] { registry().before_fork(); }, [] { registry().after_fork(); },
                        [] { registry().after_fork_in_child(); }))
            return true;
        output(nullptr, nullptr)
            .print("np_alloc: there is no memory to be told of forks: the child of one may wait for ever for a lock\n"
                   "  remedy: have it call nothing but exec and _exit\n");
        return false;
    }

private:
    void maintain_heaps() noexcept
    {
        misuse_list found; // First, so that it is reported last, without the lock.
        if (!mutex_.try_lock())
            return;
        const std::lock_guard lock(mutex_, std::adopt_lock);
        heaps_.maintain_some(found);
    }

    /// Effects: looks after all heaps and free runs.
    /// Returns: after how many milliseconds to do so again.
    std::uint64_t collect_all() noexcept
    {
        constexpr std::uint64_t least_pause = 10;
        bool is_done = true;
        for (std::size_t left = heaps_.count(); left != 0; --left)
            is_done = collect_one_wholly() && is_done;
        is_done = tidy_idle_shared_heaps() && is_done;
        while (purge_one_old_run()) {
        }
        is_done = is_done && pages_.figures().dirty == 0;
        const std::uint64_t decay_ms = pages_.decay_ms();
        return std::max(is_done ? decay_ms : decay_ms / 8, least_pause);
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
        const std::lock_guard lock(mutex_, std::adopt_lock);
        return heaps_.maintain_next(true, found);
    }

    bool tidy_idle_shared_heaps() noexcept
    {
        const background_work::turn turn(background_);
        if (!turn.is_on() || !mutex_.try_lock())
            return false;
        const std::lock_guard lock(mutex_, std::adopt_lock);
        bool are_tidy = true;
        const std::uint64_t now = os::coarse_milliseconds();
        for_each_shared_heap_and_internal([&are_tidy, now, this](shared_heap& each) {
            are_tidy = each.tidy_if_idle(now, pages_.decay_ms() / 2) && are_tidy;
        });
        return are_tidy;
    }

    bool purge_one_old_run() noexcept
    {
        const background_work::turn turn(background_);
        return turn.is_on() && pages_.purge_one_old();
    }

    static constexpr std::size_t class_of_heaps = sizes::of(base::round_up(sizeof(shared_heap), alignof(shared_heap)));
    static_assert(sizes::size(class_of_heaps) % alignof(shared_heap) == 0, "blocks of that class have its alignment");

    /// Returns: whether thread ends can be observed: not if the system is out of memory, the program has used up the
    ///   keys, or thread-local storage is gone by then.
    /// Preconditions: the lock is held.
    bool hears_of_ends() noexcept
    {
        return os::thread_locals_outlive_destructors &&
               (thread_end_.has_started() ||
                thread_end_.start([](void* thread) { registry().detach(*static_cast<thread_state*>(thread)); }));
    }

    bool is_traced(const shared_heap& heap) const noexcept
    {
        return std::any_of(traced_.begin(), traced_.end(), [&heap](const traced_heap& each) { return &each == &heap; });
    }

    /// Effects: gives a thread a parked heap.
    /// Returns: whether there was one, and somebody will say when the thread ends.
    bool adopt(thread_state& thread) noexcept
    {
        const std::lock_guard lock(mutex_);
        return hears_of_ends() && heaps_.adopt(thread.cache);
    }

    /// Effects: gives a thread a new heap.
    /// Returns: whether there is memory for one, and somebody will say when the thread ends.
    bool make_heap(thread_state& thread) noexcept
    {
        void* memory = nullptr;
        {
            const std::lock_guard lock(mutex_);
            memory = hears_of_ends() ? heaps_.take_pages() : nullptr;
        }
        if (memory == nullptr)
            return false;
        // Without the lock: the system brings the pages now, and many threads may begin at once.
        auto* const made = ::new (memory) thread_heap(pages_);
        MEMORY_POOL_DELAY_POINT();
        const std::lock_guard lock(mutex_);
        heaps_.add(*made, thread.cache);
        return true;
    }

    /// Effects: has the heap of a thread wait for another one.
    void park(thread_state& thread) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        if (park_whole(thread))
            return;
        thread_heap& memory = thread.cache.heap();
        misuse_list found; // First, so that it is reported last, without the lock.
        heaps_.leave_empty(thread.cache, found);
        const std::lock_guard lock(mutex_);
        heaps_.park(memory);
    }

    bool park_whole(thread_state& thread) noexcept
    {
        const std::lock_guard lock(mutex_);
        return heaps_.park_whole(thread.cache);
    }

    /// Effects: calls `visit(shared_heap&)` for those that blocks of the program are from.
    template <class Visit>
    void for_each_shared_heap(Visit&& visit) noexcept
    {
        visit(fallback_);
        for (shared_heap& each : traced_)
            visit(each);
        if constexpr (is_checked)
            visit(zero_size_);
        for (shared_heap* each = shared_; each != nullptr; each = each->next)
            visit(*each);
    }

    template <class Visit>
    void for_each_shared_heap_and_internal(Visit&& visit) noexcept
    {
        for_each_shared_heap(visit);
        visit(internal_);
    }

    // Around a fork.

    /// Effects: does something to the heaps that nobody else is at work in, while the lock of the lists is held.
    template <class Action>
    void for_each_quiet_heap(Action&& action) noexcept
    {
        heaps_.for_each_parked([&action](thread_heap& each) { action(each.slabs); });
        if (thread_heap* const mine = heap_of_this_thread())
            action(mine->slabs);
    }

    /// Effects: drains what need not be given up in the child, then. Before the locks are taken for the fork: what is found wrong is
    ///   reported, and an error handler may wait for a thread that needs one of them.
    void drain_before_fork() noexcept
    {
        misuse_list found;
        const os::blocked_signals blocked; // A signal handler that forks would deadlock on this lock.
        const std::lock_guard lock(mutex_);
        for_each_quiet_heap([&found](heap& each) {
            const heap::scoped_lock lock_of_heap(each, found);
            (void)each.drain();
        });
    }

    /// A signal handler may fork while its thread is in fork(): only the outermost fork takes the locks.
    void before_fork() noexcept
    {
        if (this_thread_forks) {
            ++nested_forks_;
            return;
        }
        drain_before_fork();
        // A handler that forks between these would leave its child without the first lock, and that would release it.
        const os::blocked_signals blocked;
        os::lock_stdio_list(); // fork() takes it, too, and a thread that holds it may want one of ours.
        lock_for_fork();
    }

    void after_fork() noexcept
    {
        if (nested_forks_ != 0) {
            --nested_forks_;
            return;
        }
        const os::blocked_signals blocked;
        unlock_after_fork();
        os::unlock_stdio_list();
    }

    /// The child of a nested fork is still in the outer forks, and holds their locks.
    void after_fork_in_child() noexcept
    {
        const os::blocked_signals blocked;
        is_forked_ = true;
        may_have_lost_threads_ = may_have_lost_threads_ || !is_single_threaded_;
        pages_.finish_purges();
        background_.forget_after_fork();
        for_each_quiet_heap([](heap& each) { each.forget_incoming(); });
        heaps_.forget_threads_but(heap_of_this_thread());
        os::reset_stdio_list_lock();
        if (nested_forks_ != 0) {
            --nested_forks_;
            os::lock_stdio_list();
        } else {
            unlock_after_fork();
        }
    }

    void lock_for_fork() noexcept
    {
        count_lock();
        background_.lock_for_fork();
        mutex_.lock_for_fork();
        is_single_threaded_ = os::is_single_threaded();
        for_each_shared_heap_and_internal([](shared_heap& each) { each.lock_for_fork(); });
        for (traced_heap& each : traced_)
            each.sites().lock_for_fork();
        pages_.lock_for_fork();
        this_thread_forks = true;
    }

    void unlock_after_fork() noexcept
    {
        this_thread_forks = false;
        pages_.unlock_after_fork();
        for (traced_heap& each : traced_)
            each.sites().unlock_after_fork();
        for_each_shared_heap_and_internal([](shared_heap& each) { each.unlock_after_fork(); });
        mutex_.unlock_after_fork();
        background_.unlock_after_fork();
        --this_thread_locks;
    }

    /// Returns: nullptr if it has none.
    static thread_heap* heap_of_this_thread() noexcept;

    mutex mutex_; ///< Of the lists.
    std::atomic<bool> is_started_{false};
    std::atomic<bool> accesses_are_watched_{false};
    std::atomic<std::size_t> sample_bytes_{0};
    bool is_forked_ = false;
    bool is_single_threaded_ = false; ///< While this thread forks.
    unsigned nested_forks_ = 0;       ///< Forks by signal handlers, inside of the fork that holds the locks.
    bool may_have_lost_threads_ = false;
    shared_heap* shared_ = nullptr;
    std::atomic<std::size_t> sent_without_heap_{0};
    os::thread_end thread_end_;
    background_work background_;
    page_heap pages_;
    heap_list heaps_{pages_};
    std::atomic<checkpoint_count> checkpoints_{0};
    shared_heap fallback_{pages_};
    std::array<traced_heap, traced_heap_count> traced_{traced_heap(pages_), traced_heap(pages_), traced_heap(pages_),
                                                       traced_heap(pages_)};
    std::atomic<std::uint8_t> next_traced_{0};
    shared_heap internal_{pages_};
    zero_size_heap zero_size_{pages_};
};

// Constant-initialised, so that nothing has to run before the first block is asked for, and never destroyed; hidden, so
// that it is found without the help of the loader.
MEMORY_POOL_HIDDEN extern heap_registry the_registry;

MEMORY_POOL_ALWAYS_INLINE heap_registry& registry() noexcept
{
    return the_registry;
}
} // namespace memory_pool::np
