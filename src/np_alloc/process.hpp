// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All heaps of a process: how a thread gets one when it first needs it, and where it goes when the thread ends.
///
///     of threads:   A (thread 1)    B (thread 2)    C -> D (parked)
///     shared:       the late one (of threads that have ended)    the traced ones (blocks with call sites)
///                   those that the program has made            its own one (where those are)
///
/// The heap of a thread is never destroyed. When its thread ends, it is parked whole, with its magazines and the blocks that are
/// still in use; the next thread that begins adopts it. Others post to it as before, and now and then one of them takes in what has
/// come to a heap, so that nothing waits for a thread that has ended, or is idle.
///
/// A thread may free, and even allocate, when it has ended already: in destructors of thread-local objects that run after ours.
/// Such a call goes to a heap that all those threads share, with a lock; so does one of a thread of whose end nobody would hear.
/// And it may free for the first time then, as the C library has it free what is left of other threads: so its first blocks go back
/// to their heaps one by one, and a thread that only frees a few has no heap at all.
///
/// Around a fork, the thread that forks has all locks, so runs and lists are in order in the child. The heaps of threads that are
/// not there are not: those may have been at work in them. They stay as they are, and are not adopted; their blocks may be used
/// and freed, but what is free there is lost to the child. Nor is anything taken in that was posted while the fork went on.
///
/// Locks, in the order in which they are taken: that of the work in the background, that of the lists, those of heaps, those of call
/// sites, the backend's.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/background_thread.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/fault.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/short_wait.hpp>
#include <memory_pool/os/single_thread.hpp>
#include <memory_pool/os/thread_end.hpp>

#include "backend.hpp"
#include "call_sites.hpp"
#include "front.hpp"
#include "heap.hpp"
#include "heap_pages.hpp"
#include "known_bytes.hpp"
#include "mutex.hpp"
#include "options.hpp"
#include "output.hpp"
#include "policy.hpp"
#include "sampled.hpp"
#include "shared_heap.hpp"
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
    front at_hand;
    bool may_have_heap = true;   ///< Not when it has ended, nor before the loader has come to its thread-local storage.
    std::uint8_t slow_calls = 0; ///< Calls that were not done by its front, modulo 256.
    std::uint8_t traced = 0;     ///< The number of its traced heap, counted from 1; 0 if it has none yet.
    std::uint8_t freed_late = 0; ///< Blocks of others that it has freed without a heap, as long as it has none.
};

/// All heaps.
class process
{
public:
    constexpr process() noexcept = default;
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process() = default;

    /// Returns: the one there is. It is never destroyed, as threads may end after everything else.
    static process& current() noexcept;

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
        constexpr std::uint8_t most_freed_late = 32;
        if (thread.freed_late == most_freed_late || !thread.may_have_heap)
            return attach(thread);
        if (thread.freed_late++ == 0) {
            thread.may_have_heap = false; // What is allocated for this is from the heap of threads that have ended.
            (void)thread_end_.ask(&thread);
            thread.may_have_heap = true;
        }
        return false;
    }

    /// Effects: parks the heap of a thread that ends.
    void detach(thread_state& thread) noexcept
    {
        thread.may_have_heap = false;
        if (thread.at_hand.has_heap())
            park(thread);
    }

    /// Effects: is not told any more when threads end: the code that would be called may be gone then, as it is part of a library that
    ///   is closed. Threads go on with their heaps, and leave them behind.
    void stop_watching_threads() noexcept
    {
        thread_end_.stop();
        const std::lock_guard lock(mutex_);
        forget_other_threads();
    }

    /// Effects: is to be called now and then, when time is lost anyway: looks after some of the heaps, in turn, those whose thread was
    ///   not at work in them since they were looked at last, or that have none. Takes in what was posted to such a heap; and when it has
    ///   been idle for half as long as free runs keep their memory, gives back what slabs it has that are empty. And gives the memory of
    ///   a run back that was free for so long: those who come to the runs do so, too, but who needs none may be the only one at work.
    void collect() noexcept
    {
        collect_those_due();
        (void)backend_.purge_one_old();
    }

    /// Effects: has a thread of its own look after all heaps and free runs from now on, so that memory goes back to the system also
    ///   while the program does not call; or not any more.
    /// Returns: whether it is so.
    bool work_in_background(bool is_wanted) noexcept
    {
        const counted_lock counted;
        if (is_wanted)
            return background_.start([] { return current().collect_all(); });
        background_.stop();
        return true;
    }

    /// Returns: whether there is such a thread.
    bool works_in_background() noexcept
    {
        const counted_lock counted;
        return background_.is_running();
    }

    /// A time in which that thread does nothing, so that all stays as it is where nobody else is in a call.
    class background_rest
    {
    public:
        explicit background_rest(process& of) noexcept : of_(of), is_needed_(of.works_in_background()) { (void)add(1); }
        background_rest(const background_rest&) = delete;
        background_rest& operator=(const background_rest&) = delete;
        ~background_rest() { (void)add(-1); }

        /// Effects: calls a function of the program, and lets the thread work meanwhile: the function may never come back, as it
        ///   throws, or leaves by a long jump.
        /// Returns: whether the thread did work.
        template <class Function>
        bool interrupted_by(Function&& function) const
        {
            const std::uint64_t turns_before = add(-1);
            function();
            return add(1) != turns_before;
        }

    private:
        /// Returns: how often the thread has worked so far.
        std::uint64_t add(int more) const noexcept
        {
            if (!is_needed_)
                return 0;
            const std::lock_guard lock(of_.background_work_);
            of_.background_rests_ += more;
            return of_.background_turns_;
        }

        process& of_;
        bool is_needed_;
    };

    /// Effects: has free runs keep their memory for so many milliseconds from now on.
    void set_patience(std::uint64_t milliseconds) noexcept
    {
        const counted_lock counted;
        backend_.set_patience(milliseconds);
        background_.wake();
    }

    /// Effects: gives a block back to the heap of a thread that it is from, for a thread that has no heap.
    void put_late(owner_word owner, void* block) noexcept
    {
        heap& to = heap::of(owner);
        (void)sent_late_.fetch_add(to.post_one(owner & class_bits, block), std::memory_order_relaxed);
    }

    // Shared heaps.

    /// Returns: the heap of threads that have ended.
    shared_heap& late() noexcept { return late_; }

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
        constexpr explicit no_heap(backend&) noexcept {}
        static constexpr owner_word word() noexcept { return nobody; }
    };
    using heap_of_empty_blocks = std::conditional_t<is_checked, shared_heap, no_heap>;
    heap_of_empty_blocks& empty() noexcept { return empty_; }

    /// Returns: the heap of what the program does not know of.
    shared_heap& own() noexcept { return own_; }

    /// Returns: whether this is the child of a fork: then what was on its way may have been lost.
    bool is_forked() const noexcept { return is_forked_; }

    /// Returns: whether it is one of a process that may have had other threads, which were in the middle of something.
    bool may_have_lost_threads() const noexcept { return may_have_lost_threads_; }

    /// Returns: whether the program has made that heap.
    bool is_made(const shared_heap& heap) const noexcept
    {
        const void* const made = &heap;
        return made != &late_ && made != &empty_ && !is_traced(heap);
    }

    /// Returns: a new heap, or nullptr if there is no memory.
    shared_heap* create_heap() noexcept
    {
        void* const memory = start() ? own_.allocate(class_of_heaps) : nullptr;
        if (memory == nullptr)
            return nullptr;
        auto* const created = ::new (memory) shared_heap(backend_);
        MEMORY_POOL_DELAY_POINT();
        const std::lock_guard lock(mutex_);
        created->next = shared_;
        if (shared_ != nullptr)
            shared_->previous = created;
        shared_ = created;
        return created;
    }

    /// Returns: whether there is a heap at `address`, which may be any, that the program has made and not destroyed.
    bool is_heap(const void* address) noexcept { return own_.is_in_use(address); }

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
        own_.free(class_of_heaps, &ended);
    }

    // All of them.

    /// Effects: gives all memory back to the system that is free: what this thread and heaps without a thread have, what others have
    ///   in their slabs, and free runs.
    /// Returns: how many bytes that was.
    std::size_t trim(thread_state& mine) noexcept
    {
        {
            misuse_list found;
            if (mine.at_hand.has_heap())
                mine.at_hand.put_all_back(found);
            const std::lock_guard lock(mutex_);
            for (heap_memory* each = parked_; each != nullptr; each = each->next_parked)
                put_all_back(*each, found);
            // Now all blocks are on their way, and when they have come in, the letters that have brought them.
            for (const bool is_last : {false, true})
                for (heap_memory* each = first_; each != nullptr; each = each->next)
                    if (const guest here(*each, found); here.is_on())
                        is_last ? here.tidy_thoroughly() : (void)here.take_in();
            for_each_shared_heap_and_own([](shared_heap& each) { each.tidy(); });
        }
        return backend_.trim();
    }

    /// Effects: calls `visit(heap_memory&)` for each heap that is or was of a thread, and then `visit(shared_heap&)` for the
    ///   others that blocks of the program are from, while none comes or goes. What is in them may change meanwhile.
    /// Preconditions: `visit` does not allocate or free.
    template <class Visit>
    void for_each_heap(Visit&& visit) noexcept
    {
        const std::lock_guard lock(mutex_);
        for (heap_memory* each = first_; each != nullptr; each = each->next)
            visit(*each);
        for_each_shared_heap(visit);
    }

    /// Returns: how many heaps are in the list of those without a thread.
    std::size_t listed_as_parked() noexcept
    {
        const std::lock_guard lock(mutex_);
        std::size_t count = 0;
        for (const heap_memory* each = parked_; each != nullptr; each = each->next_parked)
            ++count;
        return count;
    }

    /// Returns: bytes of blocks that threads have freed which had no heap any more. See heap::sent_minus_received.
    std::size_t sent_late() const noexcept { return sent_late_.load(std::memory_order_relaxed); }

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

    backend& memory() noexcept { return backend_; }

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
        backend_.set_patience(the_options.get(np_option_decay_ms));
        if (!backend_.start(the_options.get(np_option_region_bytes)))
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
        if (os::at_fork([] { current().before_fork(); }, [] { current().after_fork(); },
                        [] { current().after_fork_in_child(); }))
            return true;
        output(nullptr, nullptr)
            .print("np_alloc: there is no memory to be told of forks: the child of one may wait for ever for a lock\n"
                   "  remedy: have it call nothing but exec and _exit\n");
        return false;
    }

private:
    /// How far somebody has come who looks after heaps.
    enum class progress
    {
        done,   ///< Nothing is left to be done in a heap, as far as is known.
        later,  ///< Something is, later.
        goes_on ///< Something is, at once.
    };

    /// A time in which the background thread may work: short, as others may wait for its end. It never waits for a lock itself:
    /// somebody may end the process with one, and wait for the thread.
    class background_turn
    {
    public:
        explicit background_turn(process& of) noexcept
            : of_(of), has_lock_(of.background_work_.try_lock()),
              is_on_(has_lock_ && of.background_rests_ == 0 && of.background_.is_running())
        {
            of.background_turns_ += is_on_ ? 1 : 0;
        }
        background_turn(const background_turn&) = delete;
        background_turn& operator=(const background_turn&) = delete;
        ~background_turn()
        {
            if (has_lock_)
                of_.background_work_.unlock();
        }

        /// Returns: whether it may work; not while it rests, or has to end.
        bool is_on() const noexcept { return is_on_; }

    private:
        process& of_;
        bool has_lock_;
        bool is_on_;
    };

    /// Effects: looks after all heaps and free runs.
    /// Returns: after how many milliseconds to do so again.
    std::uint64_t collect_all() noexcept
    {
        constexpr std::uint64_t least_pause = 10;
        bool is_done = true;
        for (std::size_t left = heap_count_.load(std::memory_order_relaxed); left != 0; --left)
            is_done = collect_one_wholly() && is_done;
        is_done = tidy_idle_shared_heaps() && is_done;
        while (purge_one_old_run()) {
        }
        is_done = is_done && backend_.figures().dirty == 0;
        const std::uint64_t patience = backend_.patience();
        return std::max(is_done ? patience : patience / 8, least_pause);
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
        const background_turn turn(*this);
        if (!turn.is_on() || !mutex_.try_lock())
            return progress::later;
        const std::lock_guard lock(mutex_, std::adopt_lock);
        return collect_next(true, found);
    }

    bool tidy_idle_shared_heaps() noexcept
    {
        const background_turn turn(*this);
        if (!turn.is_on() || !mutex_.try_lock())
            return false;
        const std::lock_guard lock(mutex_, std::adopt_lock);
        bool are_tidy = true;
        const std::uint64_t now = os::coarse_milliseconds();
        for_each_shared_heap_and_own([&are_tidy, now, this](shared_heap& each) {
            are_tidy = each.tidy_if_idle(now, backend_.patience() / 2) && are_tidy;
        });
        return are_tidy;
    }

    bool purge_one_old_run() noexcept
    {
        const background_turn turn(*this);
        return turn.is_on() && backend_.purge_one_old();
    }

    /// Effects: looks after one heap, and after more if few calls come: each has its turn a few times while free runs keep their
    ///   memory, unless they are very many.
    void collect_those_due() noexcept
    {
        misuse_list found; // First, so that it is reported last, without the lock.
        if (!mutex_.try_lock())
            return;
        const std::lock_guard lock(mutex_, std::adopt_lock);
        for (std::size_t left = heaps_due(); left != 0; --left)
            (void)collect_next(false, found);
    }

    /// Returns: how many heaps are to be looked after since the last call; at least 1. The lock of the lists is held.
    std::size_t heaps_due() noexcept
    {
        constexpr std::size_t rounds_in_patience = 8;
        constexpr std::size_t most = 32; // The caller waits.
        const std::uint64_t now = os::coarse_milliseconds();
        const std::uint64_t passed = now - std::exchange(collected_at_, now);
        const std::uint64_t a_round = std::max<std::uint64_t>(backend_.patience() / rounds_in_patience, 1);
        const std::size_t all = heap_count_.load(std::memory_order_relaxed);
        return passed >= a_round ? std::clamp<std::size_t>(all, 1, most)
                                 : std::clamp<std::size_t>(all * passed / a_round, 1, most);
    }

    /// Effects: looks after the next heap; if there is time, pages of slabs that are not empty are given back, too. The lock of the
    ///   lists is held.
    progress collect_next(bool is_thorough, misuse_list& found) noexcept
    {
        if (next_to_collect_ == nullptr)
            next_to_collect_ = first_;
        if (next_to_collect_ == nullptr)
            return progress::done;
        heap_memory& visited = *next_to_collect_;
        const progress made = look_after(visited, is_thorough, found);
        if (made != progress::goes_on)
            next_to_collect_ = visited.next;
        return made;
    }

    /// Work in a heap of a thread, with its lock, by somebody else, who has the lock of the lists. It is off where that cannot be
    /// now: the heap's thread is at work in it; or was, when another thread forked this process. Whoever tidies a parked heap has put all
    /// back that it had at hand.
    class guest
    {
    public:
        guest(heap_memory& where, misuse_list& found) noexcept
            : where_(where), lock_(where.slabs, found, std::try_to_lock)
        {
        }

        bool is_on() const noexcept { return lock_.is_on() && where_.is_known(); }

        /// Returns: whether something came in.
        bool take_in() const noexcept
        {
            const bool has_come = where_.slabs.take_in();
            if (has_come)
                where_.is_tidy = where_.is_purged = false;
            if (where_.is_parked)
                where_.slabs.post_all();
            return has_come;
        }

        void tidy() const noexcept
        {
            (void)take_in();
            give_back_empty_slabs();
        }

        /// Effects: the same, and gives pages of other slabs back to the system, which takes long.
        void tidy_thoroughly() const noexcept
        {
            tidy();
            where_.slabs.purge_free_pages();
            where_.is_purged = true;
        }

        /// Effects: the same, a part at a time.
        /// Returns: whether that was the last.
        bool tidy_some() const noexcept
        {
            const bool has_come = take_in();
            if (!where_.is_tidy)
                give_back_empty_slabs();
            const bool is_last = where_.slabs.purge_some_free_pages();
            where_.is_purged = is_last && !has_come;
            return is_last;
        }

    private:
        void give_back_empty_slabs() const noexcept
        {
            where_.slabs.give_back_empty_slabs();
            if (where_.is_parked)
                where_.drop_magazines();
            where_.is_tidy = true;
        }

        heap_memory& where_;
        const heap::at_work lock_;
    };

    static constexpr std::size_t class_of_heaps = sizes::of(base::round_up(sizeof(shared_heap), alignof(shared_heap)));
    static_assert(sizes::size(class_of_heaps) % alignof(shared_heap) == 0, "blocks of that class have its alignment");

    /// Returns: whether threads can be asked to say when they end; not if the system has no memory, or the program all its keys.
    /// Preconditions: the lock is held.
    bool hears_of_ends() noexcept
    {
        return thread_end_.has_started() ||
               thread_end_.start([](void* thread) { current().detach(*static_cast<thread_state*>(thread)); });
    }

    /// Effects: has the heap of a thread wait for another one.
    void park(thread_state& thread) noexcept
    {
        heap_memory& memory = thread.at_hand.memory();
        MEMORY_POOL_DELAY_POINT();
        const std::lock_guard lock(mutex_);
        thread.at_hand.leave();
        MEMORY_POOL_DELAY_POINT();
        memory.used_by = nullptr;
        memory.is_parked = true;
        memory.is_tidy = memory.is_purged = false; // What it has at hand may have come since somebody looked after it.
        memory.next_parked = parked_;
        MEMORY_POOL_DELAY_POINT();
        parked_ = &memory;
    }

    /// Effects: sees to it that little waits in a heap whose thread does not come. The lock of the lists is held.
    progress look_after(heap_memory& visited, bool is_thorough, misuse_list& found) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        const std::uint64_t now = os::coarse_milliseconds();
        const std::uint32_t times = visited.slabs.times_at_work();
        if (std::exchange(visited.times_at_work_seen, times) != times) {
            visited.idle_since = now;
            visited.is_tidy = visited.is_purged = false;
            return progress::later;
        }
        const bool is_idle = now - visited.idle_since >= backend_.patience() / 2;
        const bool is_to_be_purged = is_thorough && is_idle && !visited.is_purged;
        const bool is_to_be_tidied = is_to_be_purged || (is_idle && !visited.is_tidy);
        if (is_to_be_tidied && visited.is_parked) {
            put_all_back(visited, found);
            visited.times_at_work_seen = visited.slabs.times_at_work(); // That was not its thread.
        }
        const guest here(visited, found);
        if (!here.is_on()) // Where nobody knows what is in it, there is never more to be done.
            return visited.is_known() ? progress::later : progress::done;
        if (is_to_be_purged) {
            if (!here.tidy_some())
                return progress::goes_on;
        } else if (is_to_be_tidied) {
            here.tidy();
        } else {
            (void)here.take_in();
        }
        return visited.is_tidy && (visited.is_purged || !is_thorough) ? progress::done : progress::later;
    }

    /// Effects: puts the blocks that a parked heap has at hand back into its slabs. The lock of the lists is held.
    static void put_all_back(heap_memory& parked, misuse_list& found) noexcept
    {
        front visitor;
        visitor.use(parked);
        visitor.put_all_back(found);
        visitor.leave();
    }

    bool is_traced(const shared_heap& heap) const noexcept
    {
        return std::any_of(traced_.begin(), traced_.end(), [&heap](const traced_heap& each) { return &each == &heap; });
    }

    /// Effects: gives a thread a parked heap.
    /// Returns: whether there was one.
    bool adopt(thread_state& thread) noexcept
    {
        const std::lock_guard lock(mutex_);
        heap_memory* const adopted = hears_of_ends() ? parked_ : nullptr;
        if (adopted == nullptr)
            return false;
        parked_ = adopted->next_parked;
        adopted->is_parked = false;
        give_to(thread, *adopted);
        return true;
    }

    /// Effects: gives a thread a new heap.
    /// Returns: whether there is memory for one, and somebody will say when the thread ends.
    bool make_heap(thread_state& thread) noexcept
    {
        void* memory = nullptr;
        {
            const std::lock_guard lock(mutex_);
            memory = hears_of_ends() ? heap_pages_.take() : nullptr;
        }
        if (memory == nullptr)
            return false;
        // Without the lock: the system brings the pages now, and many threads may begin at once.
        auto* const made = ::new (memory) heap_memory(backend_);
        MEMORY_POOL_DELAY_POINT();
        const std::lock_guard lock(mutex_);
        made->next = first_;
        first_ = made;
        (void)heap_count_.fetch_add(1, std::memory_order_relaxed);
        give_to(thread, *made);
        return true;
    }

    /// The lock of the lists is held.
    static void give_to(thread_state& thread, heap_memory& memory) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        thread.at_hand.use(memory);
        memory.used_by = &thread.at_hand;
    }

    /// Effects: calls `visit(shared_heap&)` for those that blocks of the program are from.
    template <class Visit>
    void for_each_shared_heap(Visit&& visit) noexcept
    {
        visit(late_);
        for (shared_heap& each : traced_)
            visit(each);
        if constexpr (is_checked)
            visit(empty_);
        for (shared_heap* each = shared_; each != nullptr; each = each->next)
            visit(*each);
    }

    template <class Visit>
    void for_each_shared_heap_and_own(Visit&& visit) noexcept
    {
        for_each_shared_heap(visit);
        visit(own_);
    }

    /// Effects: looks no more at what other threads have at hand. The lock of the lists is held.
    void forget_other_threads() noexcept
    {
        heap_memory* const mine = heap_of_this_thread();
        for (heap_memory* each = first_; each != nullptr; each = each->next)
            if (each != mine)
                each->used_by = nullptr;
    }

    // Around a fork.

    /// Effects: does something to the heaps that nobody else is at work in, while the lock of the lists is held.
    template <class Action>
    void for_each_quiet_heap(Action&& action) noexcept
    {
        for (heap_memory* each = parked_; each != nullptr; each = each->next_parked)
            action(each->slabs);
        if (heap_memory* const mine = heap_of_this_thread())
            action(mine->slabs);
    }

    /// Effects: takes in what need not be given up in the child, then. Before the locks are taken for the fork: what is found wrong is
    ///   reported, and an error handler may wait for a thread that needs one of them.
    void take_in_before_fork() noexcept
    {
        misuse_list found;
        const std::lock_guard lock(mutex_);
        for_each_quiet_heap([&found](heap& each) {
            const heap::at_work lock_of_heap(each, found);
            (void)each.take_in();
        });
    }

    void before_fork() noexcept
    {
        take_in_before_fork();
        ++this_thread_locks;
        background_work_.lock_for_fork();
        mutex_.lock_for_fork();
        is_single_threaded_ = os::is_single_threaded();
        for_each_shared_heap_and_own([](shared_heap& each) { each.lock_for_fork(); });
        for (traced_heap& each : traced_)
            each.sites().lock_for_fork();
        backend_.lock_for_fork();
        this_thread_forks = true;
    }

    void after_fork() noexcept
    {
        this_thread_forks = false;
        backend_.unlock_after_fork();
        for (traced_heap& each : traced_)
            each.sites().unlock_after_fork();
        for_each_shared_heap_and_own([](shared_heap& each) { each.unlock_after_fork(); });
        mutex_.unlock_after_fork();
        background_work_.unlock_after_fork();
        --this_thread_locks;
    }

    void after_fork_in_child() noexcept
    {
        is_forked_ = true;
        may_have_lost_threads_ = may_have_lost_threads_ || !is_single_threaded_;
        backend_.finish_purges();
        background_.forget_after_fork();
        background_rests_ = 0;
        for_each_quiet_heap([](heap& each) { each.forget_posted(); });
        forget_other_threads();
        after_fork();
    }

    /// Returns: nullptr if it has none.
    static heap_memory* heap_of_this_thread() noexcept;

    mutex background_work_; ///< Held while it is done.
    int background_rests_ = 0;
    std::uint64_t background_turns_ = 0;
    mutex mutex_; ///< Of the lists.
    std::atomic<bool> is_started_{false};
    std::atomic<bool> accesses_are_watched_{false};
    std::atomic<std::size_t> sample_bytes_{0};
    bool is_forked_ = false;
    bool is_single_threaded_ = false; ///< While this thread forks.
    bool may_have_lost_threads_ = false;
    heap_memory* first_ = nullptr;
    heap_memory* parked_ = nullptr;
    heap_memory* next_to_collect_ = nullptr;
    std::uint64_t collected_at_ = 0; ///< By a call of the program.
    std::atomic<std::size_t> heap_count_{0};
    shared_heap* shared_ = nullptr;
    std::atomic<std::size_t> sent_late_{0};
    heap_pages heap_pages_;
    os::thread_end thread_end_;
    os::background_thread background_;
    backend backend_;
    std::atomic<checkpoint_count> checkpoints_{0};
    shared_heap late_{backend_};
    std::array<traced_heap, traced_heap_count> traced_{traced_heap(backend_), traced_heap(backend_),
                                                       traced_heap(backend_), traced_heap(backend_)};
    std::atomic<std::uint8_t> next_traced_{0};
    shared_heap own_{backend_};
    heap_of_empty_blocks empty_{backend_};
};
} // namespace memory_pool::np
