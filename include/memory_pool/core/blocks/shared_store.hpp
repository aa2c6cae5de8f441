// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The blocks of one pool that threads share: a cache for each thread, a depot where they exchange magazines, the slabs
/// behind a lock, and a queue of those who wait for a block.
///
///     thread:  slot -> loaded, previous  <--- whole magazines, no lock --->  depot
///                           ^                                                  |
///                           |   blocks never used, or given back one by one    |  trim, exhaustion, for_each
///                           +------------------- slabs, with the lock <--------+
///
///     handed out by the slabs = in use + in the caches + in the depot + in the spare span
///
/// "No lock on any path but growth": as long as the depot has what a thread needs, it takes none. To take blocks out of the
/// slabs for the first time is growth.
///
/// Whoever needs all blocks there are closes every cache first (see core/thread_cache.hpp). From then on, until a thread opens
/// its cache again with the lock, each block moves with the lock held. That is how a bounded pool hands out all it has,
/// trimming sees what is free, a fork finds everything in order, and one who gives a block back notices that somebody waits:
/// while anybody does, no cache is opened. When nobody does, it costs nothing.
///
/// Thread safety: any thread, but for what says otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/base/statistics.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/threads/in_flight.hpp>
#include <memory_pool/core/threads/magazine_exchange.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>
#include <memory_pool/core/threads/thread_counts.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/core/threads/thread_slots.hpp>
#include <memory_pool/core/threads/wait_queue.hpp>
#include <memory_pool/os/process_barrier.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// Blocks for many threads.
class shared_store final : private thread_cached
{
public:
    /// Effects: makes a store without slabs. If free blocks are filled, to find misuse, every block goes through the lock.
    shared_store(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
                 const pool_identity& identity, std::pmr::memory_resource* upstream)
        : slabs_(layout, limit, options, identity, upstream), may_cache_(!options.fills_free_blocks),
          has_barrier_(os::has_process_barrier()),
          exchange_(magazine_exchange::suitable_room(layout.stride(), limit, options.magazine_size), has_barrier_,
                    upstream),
          slots_(*this, !may_cache_    ? slot_kind::none
                        : has_barrier_ ? slot_kind::fast
                                       : slot_kind::slow)
    {
        slabs_.log_misuse_to(&misuse_);
    }

    shared_store(const shared_store&) = delete;
    shared_store& operator=(const shared_store&) = delete;

    /// Preconditions: no thread uses the pool any more. Threads that have used it may end at the same time.
    ~shared_store()
    {
        slots_.leave(caches_);
        caches_.free_all(upstream());
    }

    // One block.

    /// Effects: takes a block out of this thread's cache, into `block`.
    /// Returns: whether there was one at hand.
    MEMORY_POOL_ALWAYS_INLINE bool take_cached(void*& block) noexcept
    {
        cache_slot* const mine = slots_.slot();
        return mine != nullptr && mine->pop(block);
    }

    /// Effects: puts a block into this thread's cache.
    /// Returns: whether there was room at hand.
    MEMORY_POOL_ALWAYS_INLINE bool put_cached(void* block) noexcept
    {
        cache_slot* const mine = slots_.slot();
        return mine != nullptr && mine->push(block);
    }

    /// Effects: takes a block from wherever there is one: also from the caches of other threads, and from upstream.
    /// Returns: it, or nullptr if all blocks that the limit allows are in use. Where free blocks are filled, it is marked as in
    ///   use, and reported if it was written to before.
    /// Throws: what upstream throws, if there is no free block anywhere.
    void* take()
    {
        thread_cache* const cache = cache_of_this_thread();
        if (void* const block = take_without_lock(cache))
            return block;
        const locked lock(*this);
        return marked(take_locked(cache));
    }

    /// Effects: puts a block back, or gives it to who has waited longest.
    void put(void* block) noexcept
    {
        thread_cache* const cache = cache_of_this_thread();
        if (put_without_lock(cache, block))
            return;
        {
            const locked lock(*this);
            if (MEMORY_POOL_LIKELY(!is_abandoned_)) {
                put_locked(cache, block);
                return;
            }
        }
        slabs_.listener()->survivor_returned(block); // With it, this may be gone.
    }

    /// Effects: puts a block back as `put` does, if nothing is wrong with that, else reports it. Calls `accepted()` before the
    ///   block can be somebody else's.
    /// Preconditions: free blocks are filled.
    template <class Accepted>
    void put_verified(void* block, Accepted&& accepted) noexcept
    {
        {
            const locked lock(*this);
            if (!slabs_.verify(block))
                return;
            checks().mark_free(block);
            accepted();
            if (!is_abandoned_) {
                put_locked(nullptr, block);
                return;
            }
            put_into_slabs(&block, 1); // Else it would be taken for one that has overflowed.
        }
        slabs_.listener()->survivor_returned(block); // With it, this may be gone.
    }

    /// Effects: takes a block as `take` does. If there is none, waits until one is put back: those who wait are served in the
    ///   order they came. `wait(condition_variable, lock)` waits for a while and returns whether to go on waiting.
    /// Returns: the block, or nullptr if `wait` gave up; or unless `Throws`, if upstream fails and no block is in use.
    /// Throws: what upstream throws, if no block is in use, and `Throws`; what `wait` throws.
    template <bool Throws, class Wait>
    void* take_waiting(Wait&& wait)
    {
        thread_cache* const cache = cache_of_this_thread();
        if (void* const block = take_without_lock(cache))
            return block;
        locked lock(*this);
        void* block = nullptr;
        // If upstream fails, a block may still come back.
        if (base::succeeds([&] { block = take_locked(cache); }) && block != nullptr)
            return marked(block);
        if (slabs_.handed_out() == 0) // Nobody could give one back: as in `take`.
            return Throws ? marked(take_locked(cache)) : nullptr;
        queued_waiter self(*this);
        if (lock.report()) // It may be the reason why there is none.
            lock.lock_again();
        while (self.block == nullptr && wait(self.ready, lock.lock()))
            continue;
        return std::exchange(self.block, nullptr);
    }

    // All blocks.

    /// Effects: takes slabs from upstream until the capacity is at least `count`.
    /// Throws: what upstream throws.
    void reserve(std::size_t count)
    {
        const locked lock(*this);
        if (slabs_.capacity() >= count)
            return;
        while (slabs_.capacity() < count)
            grow([&] { slabs_.grow(count - slabs_.capacity()); });
        slabs_.note_step();
    }

    /// Effects: gives every chunk in which no block is in use back upstream.
    /// Returns: how many bytes that was.
    std::size_t trim() noexcept
    {
        trimming mine;
        std::size_t bytes = 0;
        {
            const locked lock(*this);
            gather();
            bytes = bytes_reserved_locked();
            slabs_.give_back_inherited();
            mine.detached = slabs_.detach_free();
            bytes -= bytes_reserved_locked();
            if (slabs_.listener() == nullptr) {
                slabs_.give_back(mine.detached);
                return bytes;
            }
            trimmings_.enter(mine);
        }
        slabs_.leave(mine.detached); // It may run code of the program, which may use the pool.
        const locked lock(*this);
        trimmings_.leave(mine);
        slabs_.give_back(mine.detached);
        return bytes;
    }

    /// Effects: takes no block back any more: the listener is told instead.
    /// Returns: how many blocks are in use.
    /// Preconditions: there is a listener, and nobody asks for blocks any more.
    std::size_t abandon() noexcept
    {
        const locked lock(*this);
        gather();
        is_abandoned_ = true; // From here on, no cache is opened.
        return slabs_.handed_out();
    }

    /// Effects: calls `visit(block)` for each block that was free when the store was abandoned.
    /// Preconditions: it was: now nothing moves any more.
    template <class Visit>
    void for_each_free(Visit&& visit) const
    {
        slabs_.for_each_free(visit);
    }

    /// Effects: takes every block back; and unless `keeps_slabs`, gives all slabs back upstream.
    /// Preconditions: no other thread uses the pool.
    void forget_blocks(bool keeps_slabs) noexcept
    {
        const locked lock(*this);
        gather();
        if (!may_cache_)
            slabs_.report_damage();
        counts_.end_all(slabs_.handed_out());
        has_lost_threads_ = false;
        if (!keeps_slabs) {
            exchange_.release(caches_);
            slabs_.release();
            return;
        }
        slabs_.reset();
        if (!may_cache_)
            slabs_.for_each_free([this](void* block) { checks().mark_free(block); });
    }

    /// Effects: calls `visit(block)` for each block in use, in the order of addresses. Meanwhile every block moves through the
    ///   slabs; nothing is locked while `visit` runs.
    template <class Visit>
    void for_each_in_use(Visit&& visit)
    {
        const suspension suspended(*this);
        const void* visited = nullptr;
        while (void* const block = next_in_use(visited)) {
            visit(block);
            visited = block;
        }
    }

    /// Effects: calls `look(const slab_store&)` with the lock held. Unless suspended by for_each_in_use, blocks in the caches
    ///   count as handed out there.
    template <class Look>
    auto with_slabs(Look&& look) const
    {
        const locked lock(*this);
        return look(slabs_);
    }

    /// Returns: whether this is the child of a fork, and threads that are not there may have had blocks in their hands. Until the
    ///   blocks are forgotten.
    bool has_lost_threads() const noexcept
    {
        const locked lock(*this);
        return has_lost_threads_;
    }

    // Figures. Exact if no other thread is at work in the pool.

    const pool_identity& identity() const noexcept { return slabs_.identity(); }
    const slab_layout& layout() const noexcept { return slabs_.layout(); }
    std::pmr::memory_resource* upstream() const noexcept { return slabs_.upstream(); }
    fill_pattern checks() const noexcept { return slabs_.checks(); }
    std::size_t limit() const noexcept { return slabs_.limit(); }

    std::size_t capacity() const noexcept
    {
        const locked lock(*this);
        return slabs_.capacity();
    }

    std::size_t slab_count() const noexcept
    {
        const locked lock(*this);
        return slabs_.slab_count();
    }

    std::size_t bytes_reserved() const noexcept
    {
        const locked lock(*this);
        return bytes_reserved_locked();
    }

    std::size_t in_use() const noexcept
    {
        const locked lock(*this);
        return in_use_locked();
    }

    std::size_t available() const noexcept
    {
        const locked lock(*this);
        return (limit() != unbounded ? limit() : slabs_.capacity()) - in_use_locked();
    }

    /// Returns: how many threads wait for a block.
    std::size_t waiting() const noexcept
    {
        const locked lock(*this);
        return queue_.size();
    }

    // Counting, by a policy that does.

    void count_allocation() noexcept { counts_.add_allocation(slots_.existing_cache()); }
    void count_deallocation() noexcept { counts_.add_deallocation(slots_.existing_cache()); }
    void count_failure() noexcept { counts_.add_failure(slots_.existing_cache()); }

    /// Returns: what all threads have done.
    pool_statistics statistics() const noexcept
    {
        const locked lock(*this);
        return statistics_locked();
    }

    /// Returns: whether all that is said above holds.
    /// Complexity: linear in blocks.
    bool is_valid() noexcept
    {
        const locked lock(*this);
        gather();
        return slabs_.is_valid() && exchange_.blocks_in_depot() == 0 && in_use_locked() == slabs_.handed_out();
    }

private:
    static constexpr std::size_t unbounded = pool_options::unbounded;

    /// Holds the lock, and reports what was found meanwhile when it has let it go.
    class locked
    {
    public:
        explicit locked(const shared_store& store) : store_(store), lock_(store.mutex_, store.slots_) {}
        locked(const locked&) = delete;
        locked& operator=(const locked&) = delete;
        ~locked() { report(); }

        /// Effects: takes the lock.
        /// Preconditions: it is not held.
        void lock_again() { lock_.lock_again(); }

        /// Effects: lets the lock go if there is something to report; then it is not held any more.
        /// Returns: whether it did.
        bool report()
        {
            if (MEMORY_POOL_LIKELY(store_.misuse_.empty()))
                return false;
            const misuse_log found = std::exchange(store_.misuse_, {});
            lock_.unlock();
            found.report(store_.identity().block_size, store_.identity().name);
            return true;
        }

        std::unique_lock<std::mutex>& lock() noexcept { return lock_.lock(); }

    private:
        const shared_store& store_;
        pool_lock lock_;
    };

    /// Threads that have come by, as far as it takes to know whether there was more than one.
    class users
    {
    public:
        void add(const thread_table* thread) noexcept
        {
            are_several_ = are_several_ || (first_ != nullptr && first_ != thread);
            first_ = thread;
        }

        bool may_be_other_than(const thread_table* thread) const noexcept
        {
            return are_several_ || (first_ != nullptr && first_ != thread);
        }

    private:
        const thread_table* first_ = nullptr;
        bool are_several_ = false;
    };

    /// One who waits, for as long as it lives.
    struct queued_waiter : waiter
    {
        /// Preconditions: the lock is held, here and when it ends.
        explicit queued_waiter(shared_store& its_store) noexcept : store(its_store) { store.queue_.enter(*this); }
        queued_waiter(const queued_waiter&) = delete;
        queued_waiter& operator=(const queued_waiter&) = delete;
        ~queued_waiter()
        {
            store.queue_.leave(*this);
            if (block != nullptr) // It came, and then the thread was cancelled, or the clock threw.
                store.put_unused(block);
        }

        shared_store& store;
    };

    /// Keeps the caches closed.
    class suspension : public in_flight
    {
    public:
        explicit suspension(shared_store& store) noexcept : store_(store)
        {
            const locked lock(store_);
            store_.suspensions_.enter(*this);
            store_.gather();
        }
        suspension(const suspension&) = delete;
        suspension& operator=(const suspension&) = delete;
        ~suspension()
        {
            const locked lock(store_);
            store_.suspensions_.leave(*this);
        }

    private:
        shared_store& store_;
    };

    /// Has chunks that are about to go upstream.
    struct trimming : in_flight
    {
        slab_store::detached_chunks detached;
    };

    /// What a thread takes out of the slabs at first, unless a magazine is smaller; twice as many each time. There may be thousands
    /// of threads and many pools, of which each thread needs a block or two.
    static constexpr std::size_t first_share = 8;
    static_assert(first_share * sizeof(void*) % cache_line_size == 0);

    // Caches.

    /// Returns: nullptr if there can be none: the pool does not cache, the thread is ending, or upstream gives no memory.
    thread_cache* cache_of_this_thread() noexcept
    {
        thread_cache* const existing = slots_.existing_cache();
        return existing != nullptr ? existing : attach();
    }

    MEMORY_POOL_SLOW_PATH thread_cache* attach() noexcept
    {
        cache_slot* const slot = may_cache_ ? slots_.make_slot() : nullptr;
        if (slot == nullptr)
            return nullptr;
        thread_cache* cache = nullptr;
        {
            const locked lock(*this);
            if (is_abandoned_ || !base::succeeds([&] { cache = &unused_cache(); }))
                return nullptr;
            caches_.take_unused();
            cache->share = first_share;
            slots_.fill(*slot, *cache);
            (void)open(*cache);
        }
        slots_.enlist(*cache);
        return cache;
    }

    /// Returns: a cache that no thread has, with an empty magazine.
    thread_cache& unused_cache()
    {
        thread_cache& cache = caches_.unused(upstream());
        provide_magazines();
        if (!exchange_.equip(cache))
            throw_no_magazine();
        return cache;
    }

    [[noreturn]] static void throw_no_magazine()
    {
#if MEMORY_POOL_EXCEPTIONS
        throw std::bad_alloc();
#else
        std::abort(); // cannot be: provide_magazines has ended in the error handler before
#endif
    }

    void provide_magazines() { exchange_.provide(slabs_.capacity(), caches_.made()); }

    /// Returns: nullptr if neither the cache, if there is one, nor the depot has a block at hand.
    void* take_without_lock(thread_cache* cache) noexcept
    {
        return cache != nullptr ? exchange_.take(*cache) : nullptr;
    }

    /// Returns: whether it did; not if there is no cache, or it is closed, or there is no empty magazine.
    bool put_without_lock(thread_cache* cache, void* block) noexcept
    {
        return cache != nullptr && exchange_.put(*cache, block);
    }

    // With the lock held.

    /// Opens the cache of the calling thread, if it is closed and may be opened.
    /// Returns: whether it is open.
    bool open(thread_cache& cache) noexcept
    {
        if (cache.slot->is_open())
            return true;
        if (!suspensions_.empty() || !queue_.empty() || is_abandoned_)
            return false;
        if (!exchange_.is_equipped(cache)) { // since the pool was released
            (void)base::succeeds([this] { provide_magazines(); });
            if (!exchange_.equip(cache))
                return false;
        }
        exchange_.open(cache);
        return true;
    }

    void* take_locked(thread_cache* cache)
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (void* const block = take_free(cache))
            return block;
        while (slabs_.may_grow() && base::succeeds([this] { enlarge(); }))
            if (void* const block = take_free(cache))
                return block;
        close_caches();
        if (void* const block = take_free(cache))
            return block;
        while (slabs_.may_grow()) {
            enlarge(); // This time with what upstream throws.
            if (void* const block = take_free(cache))
                return block;
        }
        return nullptr;
    }

    /// Takes a block from the depot or the slabs; and some more into the cache, if it may be open.
    void* take_free(thread_cache* cache) noexcept
    {
        if (!queue_.empty())
            return nullptr; // What is free is theirs.
        if (cache == nullptr || !open(*cache))
            return take_one();
        if (void* const block = exchange_.take_slowly(*cache))
            return block;
        cache_slot& slot = *cache->slot;
        void** top = slot.begin_slowly(); // All is empty.
        top += fill(*cache, top);
        void* const block = top != exchange_.bottom_of(*cache) ? *--top : nullptr;
        slot.end(top);
        return block;
    }

    /// Takes a block for one who has no cache.
    void* take_one() noexcept
    {
        if (!may_cache_ || !suspensions_.empty())
            return slabs_.take_one_late();
        void* block = nullptr;
        if (refill_spare())
            (void)spare_.pop_front(block, layout().stride());
        else if (slabs_.take(&block, 1) == 0 && empty_one_of_depot())
            return take_one();
        return block;
    }

    /// Writes as many blocks as seems fair from `out` on.
    /// Returns: how many.
    std::size_t fill(thread_cache& cache, void** out) noexcept
    {
        const std::size_t wanted = share(cache);
        std::size_t taken = 0;
        if (refill_spare()) {
            const std::size_t stride = layout().stride();
            taken = std::min(wanted, spare_.bytes() / stride);
            for (std::size_t i = taken; i != 0; --i) // so that the lowest is on top
                (void)spare_.pop_front(out[i - 1], stride);
        } else {
            taken = slabs_.take(out, wanted);
        }
        return taken;
    }

    /// How many blocks one thread may take at once: up to a magazine full, the more often it comes; but when a bounded pool runs
    /// out, no more than half of what would be this thread's share.
    std::size_t share(thread_cache& cache) const noexcept
    {
        const std::size_t most = std::min(cache.share, exchange_.room());
        cache.share = 2 * most;
        if (slabs_.may_grow())
            return most;
        const std::size_t free = slabs_.capacity() - slabs_.handed_out() + spare_.bytes() / layout().stride();
        return std::clamp(free / (2 * std::max<std::size_t>(caches_.in_use(), 1)), std::size_t{1}, most);
    }

    /// Returns: whether there are blocks in the spare span.
    bool refill_spare() noexcept
    {
        if (spare_.empty())
            spare_ = slabs_.take_span();
        return !spare_.empty();
    }

    /// Where free blocks are filled, makes one that was free one in use. With the lock held, and not later: so a fork finds no
    /// block that is neither.
    void* marked(void* block) noexcept
    {
        if (MEMORY_POOL_LIKELY(may_cache_) || block == nullptr)
            return block;
        if (!checks().is_untouched(block))
            misuse_.add(error::write_after_free, block);
        checks().mark_in_use(block);
        return block;
    }

    /// Puts a block back that went to one who waited, and is not wanted any more.
    void put_unused(void* block) noexcept
    {
        if (!may_cache_)
            checks().mark_free(block);
        put_locked(nullptr, block);
    }

    void put_locked(thread_cache* cache, void* block) noexcept
    {
        if (cache == nullptr)
            users_without_cache_.add(&this_thread_table);
        if (!queue_.empty()) {
            // By way of the slabs, where the bits say whether it is one to be handed on: no cache is open.
            put_into_slabs(&block, 1);
            serve_queue();
            return;
        }
        if (cache != nullptr && open(*cache)) {
            if (exchange_.put_slowly(*cache, block))
                return;
            spill(*cache);
            if (exchange_.put_slowly(*cache, block))
                return;
        }
        put_into_slabs(&block, 1);
    }

    /// Empties the loaded magazine of an open cache of this thread into the slabs.
    void spill(thread_cache& cache) noexcept
    {
        void** const top = cache.slot->begin_slowly();
        void** const bottom = exchange_.bottom_of(cache);
        put_into_slabs(bottom, static_cast<std::size_t>(top - bottom));
        cache.slot->end(bottom);
    }

    void put_into_slabs(void* const* blocks, std::size_t count) noexcept { refuse(slabs_.put(blocks, count)); }

    void enlarge()
    {
        grow([this] { slabs_.enlarge(); });
    }

    template <class Grow>
    void grow(Grow&& grow_slabs)
    {
        grow_slabs();
        // Without them, blocks that come back go to the slabs.
        (void)base::succeeds([this] { provide_magazines(); });
        serve_queue();
    }

    /// Closes every cache and puts what is in them into the slabs.
    void close_caches() noexcept
    {
        thread_cache* closed[64];
        std::size_t count = 0;
        const auto empty_closed = [&] {
            if (count != 0 && has_barrier_)
                os::process_barrier();
            while (count != 0) {
                thread_cache& cache = *closed[--count];
                empty(cache, cache.slot->wait_for_top());
            }
        };
        caches_.for_each_in_use([&](thread_cache& cache) {
            if (!cache.slot->is_open())
                return;
            cache.slot->close();
            closed[count++] = &cache;
            if (count == std::size(closed))
                empty_closed();
        });
        empty_closed();
        // What was on its way from one cache to another is in the depot by now.
        while (empty_one_of_depot())
            continue;
    }

    /// Puts what is in a closed cache into the slabs.
    void empty(thread_cache& cache, void** top) noexcept
    {
        exchange_.empty(cache, top, [this](void* const* blocks, std::size_t count) { put_into_slabs(blocks, count); });
    }

    bool empty_one_of_depot() noexcept
    {
        return exchange_.empty_one_of_depot(
            [this](void* const* blocks, std::size_t count) { put_into_slabs(blocks, count); });
    }

    /// Brings every free block into the slabs.
    void gather() noexcept
    {
        close_caches();
        refuse(slabs_.put(std::exchange(spare_, {})));
    }

    std::size_t bytes_reserved_locked() const noexcept
    {
        return slabs_.bytes_reserved() + exchange_.bytes_reserved() + caches_.bytes();
    }

    std::size_t in_use_locked() const noexcept
    {
        std::size_t free = spare_.bytes() / layout().stride() + exchange_.blocks_in_depot();
        caches_.for_each_in_use([&](const thread_cache& cache) {
            if (cache.slot->is_open())
                free += exchange_.blocks_in(cache);
        });
        return slabs_.handed_out() - std::min(free, slabs_.handed_out());
    }

    void* next_in_use(const void* after) const noexcept
    {
        const locked lock(*this);
        return slabs_.next_handed_out(after);
    }

    void serve_queue() noexcept
    {
        while (!queue_.empty()) {
            void* const block = take_one();
            if (block == nullptr)
                return;
            queue_.serve(marked(block));
        }
    }

    /// Takes back the count of blocks that were given back, but turned out to be not this pool's, or here already.
    void refuse(std::size_t blocks) noexcept { counts_.refuse(blocks); }

    pool_statistics statistics_locked() const noexcept
    {
        pool_statistics all = counts_.sum(caches_);
        all.in_use = in_use_locked();
        all.slabs = slabs_.slab_count();
        all.bytes_reserved = bytes_reserved_locked();
        return all;
    }

    // What the registry calls.

    void detach(thread_cache& cache) noexcept override
    {
        const locked lock(*this);
        cache_slot& slot = *cache.slot;
        if (slot.is_open())
            empty(cache, slot.wait_for_top());
        slot.reset();
        caches_.put(cache); // It keeps its magazines and its counts.
    }

    bool try_lock_for_fork() noexcept override { return mutex_.try_lock(); }
    void unlock_after_fork() noexcept override { mutex_.unlock(); }
    void quiesce() noexcept override { gather(); }

    void forget_other_threads(const thread_table* mine) noexcept override
    {
        has_lost_threads_ = has_lost_threads_ || users_without_cache_.may_be_other_than(&this_thread_table);
        caches_.for_each_in_use([&](thread_cache& cache) {
            has_lost_threads_ = has_lost_threads_ || cache.thread != &this_thread_table;
            if (cache.thread != mine) {
                cache.is_in_thread = false;
                caches_.put(cache);
            }
        });
        queue_ = {};
        suspensions_.forget_other_threads([](const suspension&) {});
        trimmings_.forget_other_threads([this](const trimming& lost) { slabs_.inherit(lost.detached); });
        counts_.settle(caches_, slabs_.handed_out());
    }

    mutable std::mutex mutex_;
    mutable misuse_log misuse_;
    slab_store slabs_;
    const bool may_cache_;
    const bool has_barrier_;
    magazine_exchange exchange_;
    block_span spare_; ///< Blocks out of the slabs, to be handed out next.
    thread_caches<> caches_;
    all_in_flight<suspension> suspensions_;
    all_in_flight<trimming> trimmings_;
    bool is_abandoned_ = false;
    users users_without_cache_;
    bool has_lost_threads_ = false;
    wait_queue queue_;
    thread_counts counts_;
    // Last, as from here on a fork comes by.
    thread_slots slots_;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
