// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The blocks of a shared pool: a cache for each thread, a depot where threads exchange magazines, the slabs behind a
/// lock, and a queue of waiting threads.
///
///     thread:  slot -> loaded, previous  <--- whole magazines, no lock --->  depot
///                           ^                                                  |
///                           |   never-used blocks, and single freed blocks     |  trim, exhaustion, for_each
///                           +------------------- slabs, with the lock <--------+
///
///     outstanding blocks of the slabs = in use + in the caches + in the depot + in the spare span
///
/// Threads take the lock only for growth, which includes taking blocks out of the slabs for the first time. As long as
/// the depot serves them, they take no lock.
///
/// Thread safety: any thread, unless documented otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/blocks/block_statistics.hpp>
#include <memory_pool/core/blocks/cache_revocation.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Blocks for many threads.
class shared_store
{
    using locked = cache_revocation::locked;

public:
    /// Effects: makes a store without slabs. If free blocks are filled to detect misuse, each operation takes the lock.
    shared_store(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
                 const pool_identity& identity, std::pmr::memory_resource* upstream)
        : gate_(layout, limit, options, identity, upstream)
    {
    }

    // Blocks.

    /// Effects: takes a block out of this thread's cache, into `block`.
    /// Returns: false if the cache has no block.
    MEMORY_POOL_ALWAYS_INLINE bool take_cached(void*& block) const noexcept
    {
        cache_slot* const mine = gate_.slots_of_threads.slot();
        return mine != nullptr && mine->pop(block);
    }

    /// Effects: puts a block into this thread's cache.
    /// Returns: false if the cache has no room.
    MEMORY_POOL_ALWAYS_INLINE bool put_cached(void* block) const noexcept
    {
        cache_slot* const mine = gate_.slots_of_threads.slot();
        return mine != nullptr && mine->push(block);
    }

    /// Effects: takes up to `count` blocks out of this thread's cache, or a full magazine of the depot, into `blocks`.
    /// Returns: their number.
    template <class T>
    std::size_t take_cached(T** blocks, std::size_t count) noexcept
    {
        thread_cache* const cache = gate_.slots_of_threads.existing_cache();
        return cache != nullptr ? gate_.exchange.take(*cache, blocks, count) : 0;
    }

    /// Effects: puts up to `count` blocks into this thread's cache, or an empty magazine of the depot. Skips nullptr.
    ///   Calls `accepted(block)` before the block can be allocated again.
    /// Returns: the number of accepted pointers, including nullptr.
    template <class T, class Accepted>
    std::size_t put_cached(T* const* blocks, std::size_t count, Accepted&& accepted) noexcept
    {
        thread_cache* const cache = gate_.slots_of_threads.existing_cache();
        return cache != nullptr ? gate_.exchange.put(*cache, blocks, count, accepted) : 0;
    }

    /// Effects: takes a block from any source, including the caches of other threads, and upstream. If free blocks are
    ///   filled, marks the block as in use, and reports a write after free.
    /// Returns: the block; nullptr if all blocks that the limit allows are in use.
    /// Throws: exceptions of upstream, if there is no free block anywhere.
    void* take()
    {
        thread_cache* const cache = gate_.cache_of_this_thread();
        if (void* const block = gate_.take_without_lock(cache))
            return block;
        const locked lock(gate_);
        return gate_.marked(gate_.take_locked(cache));
    }

    /// Effects: frees a block, or hands it to the first waiter.
    void put(void* block) noexcept
    {
        thread_cache* const cache = gate_.cache_of_this_thread();
        if (gate_.put_without_lock(cache, block))
            return;
        {
            const locked lock(gate_);
            if (MEMORY_POOL_LIKELY(!gate_.is_abandoned)) {
                gate_.put_locked(cache, block);
                return;
            }
        }
        gate_.slabs().chunks().listener()->survivor_returned(block); // May destroy this store.
    }

    /// Effects: as `put`, but reports misuse instead of freeing the block. Calls `accepted()` before the block can be
    ///   allocated again.
    /// Preconditions: free blocks are filled.
    template <class Accepted>
    void put_verified(void* block, Accepted&& accepted) noexcept
    {
        {
            const locked lock(gate_);
            if (!gate_.cached.slabs.check(block))
                return;
            checks().mark_free(block);
            accepted();
            if (!gate_.is_abandoned) {
                gate_.put_locked(nullptr, block);
                return;
            }
            gate_.cached.put_into_slabs(&block, 1); // Otherwise, the block's fill pattern would look like an overflow.
        }
        gate_.slabs().chunks().listener()->survivor_returned(block); // May destroy this store.
    }

    /// Effects: reports the misuse, if any, of freeing `block`, which may be cached.
    /// Returns: whether there was a misuse. (There is none if the program itself has poisoned a block in use.)
    MEMORY_POOL_SLOW_PATH bool report_misuse_of(const void* block) noexcept
    {
        const cache_revocation::suspension suspended(gate_);
        const locked lock(gate_);
        const std::optional<error_kind> misuse = misuse_at(gate_.cached.slabs.chunks(), block);
        if (misuse)
            gate_.cached.slabs.report_misuse(*misuse, block);
        return misuse.has_value();
    }

    /// Effects: takes a block as `take` does. If there is none, waits until a block is freed; waiting threads are
    ///   served in FIFO order. `wait(condition_variable, lock)` waits for a while and returns whether to continue
    ///   waiting.
    /// Returns: the block; nullptr if `wait` returned false, or, unless `Throws`, if upstream fails and no block is in
    ///   use.
    /// Throws: exceptions of `wait`; if `Throws` and no block is in use, also exceptions of upstream.
    template <bool Throws, class Wait>
    void* take_waiting(Wait&& wait)
    {
        thread_cache* const cache = gate_.cache_of_this_thread();
        if (void* const block = gate_.take_without_lock(cache))
            return block;
        locked lock(gate_);
        void* block = nullptr;
        const auto take_any = [&] {
            gate_.mutex.assume_held();
            block = gate_.take_locked(cache);
        };
        // If upstream fails, another thread may still free a block.
        if (base::succeeds(take_any) && block != nullptr)
            return gate_.marked(block);
        if (gate_.cached.slabs.outstanding() == 0) // No thread can free a block: as in `take`.
            return Throws ? gate_.marked(gate_.take_locked(cache)) : nullptr;
        cache_revocation::queued_waiter self(gate_);
        lock.report_early(); // Misuse may be the cause of the exhaustion.
        while (self.block == nullptr && wait(self.ready, lock.native()))
            continue;
        return std::exchange(self.block, nullptr);
    }

    // All blocks.

    /// Effects: takes slabs from upstream until the capacity is at least `count`.
    /// Throws: exceptions of upstream.
    void reserve(std::size_t count)
    {
        const locked lock(gate_);
        gate_.has_reserve = gate_.has_reserve || count != 0;
        if (gate_.cached.slabs.capacity() >= count)
            return;
        while (gate_.cached.slabs.capacity() < count)
            gate_.grow([&] {
                gate_.mutex.assume_held();
                gate_.cached.slabs.grow(count - gate_.cached.slabs.capacity());
            });
        gate_.cached.slabs.note_step();
    }

    /// Effects: makes the cache of this thread, with its magazines, if the thread can have one.
    /// Throws: exceptions of upstream.
    void reserve_for_thread()
    {
        thread_cache* const existing = gate_.slots_of_threads.existing_cache();
        thread_cache* const cache = existing != nullptr ? existing : gate_.attach();
        const locked lock(gate_);
        gate_.has_reserve = true;
        if (cache == nullptr)
            return;
        gate_.cached.provide_magazines(); // The pool may have been trimmed, or upstream was out of memory.
        (void)gate_.open(*cache);
    }

    /// Effects: returns every chunk without blocks in use to upstream.
    /// Returns: the number of bytes returned.
    std::size_t trim() noexcept
    {
        cache_revocation::trimming mine;
        std::size_t bytes = 0;
        {
            const locked lock(gate_);
            bytes = gate_.cached.bytes_reserved();
            mine.detached = gate_.detach_free();
            bytes -= gate_.cached.bytes_reserved();
            if (gate_.cached.slabs.chunks().listener() == nullptr) {
                gate_.cached.slabs.chunks().give_back(mine.detached);
                return bytes;
            }
            gate_.trimmings.enter(mine);
        }
        gate_.slabs().chunks().leave(mine.detached); // May call user code, which may use the pool.
        const locked lock(gate_);
        gate_.trimmings.leave(mine);
        gate_.cached.slabs.chunks().give_back(mine.detached);
        return bytes;
    }

    /// Effects: abandons the store: from now on, freed blocks go to the listener.
    /// Returns: the number of blocks in use.
    /// Preconditions: there is a listener, and no thread allocates any more.
    std::size_t abandon() noexcept
    {
        const locked lock(gate_);
        gate_.cached.gather();
        gate_.is_abandoned = true; // From here on, no cache is opened.
        return gate_.cached.slabs.outstanding();
    }

    bool is_abandoned() const noexcept
    {
        const locked lock(gate_);
        return gate_.is_abandoned;
    }

    /// Effects: calls `visit(block)` for each block that was free when the store was abandoned.
    /// Preconditions: the store was abandoned.
    // Not analyzed: the slabs no longer change.
    template <class Visit>
    void for_each_free(Visit&& visit) const MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        core::for_each_free(gate_.cached.slabs.chunks(), visit);
    }

    /// Effects: frees every block. Unless `keeps_slabs`, returns all slabs to upstream.
    /// Preconditions: no other thread uses the pool.
    void forget_blocks(bool keeps_slabs) noexcept
    {
        const locked lock(gate_);
        gate_.cached.gather();
        if (!gate_.may_cache)
            gate_.cached.slabs.report_damage();
        gate_.counts.end_all(gate_.cached.slabs.outstanding());
        gate_.has_lost_threads = false;
        if (!keeps_slabs) {
            gate_.exchange.release(gate_.cached.caches);
            gate_.cached.slabs.release();
            return;
        }
        gate_.cached.slabs.reset();
        if (!gate_.may_cache)
            core::for_each_free(gate_.cached.slabs.chunks(), [this](void* block) { checks().mark_free(block); });
    }

    /// Effects: calls `visit(block)` for each block in use, in address order, without a lock held. The caches
    ///   stay closed during the call.
    template <class Visit>
    void for_each_in_use(Visit&& visit)
    {
        const cache_revocation::suspension suspended(gate_);
        const void* visited = nullptr;
        const auto next = [&](const slab_store& slabs) { return next_outstanding(slabs.chunks(), visited); };
        while (void* const block = with_slabs(next)) {
            visit(block);
            visited = block;
        }
    }

    /// Effects: calls `look(const slab_store&)` with the lock held. Cached blocks are outstanding there, except within
    ///   for_each_in_use.
    template <class Look>
    auto with_slabs(Look&& look) const
    {
        const locked lock(gate_);
        return look(gate_.cached.slabs);
    }

    /// Returns: whether this is the child of a fork, and other threads had used the pool before the fork: objects that
    ///   these threads were constructing or destroying may be incomplete. True until `clear` or `release`.
    bool has_lost_threads() const noexcept
    {
        const locked lock(gate_);
        return gate_.has_lost_threads;
    }

    // Statistics. Exact if no other thread uses the pool.

    const pool_identity& identity() const noexcept { return gate_.slabs().identity(); }
    const slab_layout& layout() const noexcept { return gate_.slabs().layout(); }
    std::pmr::memory_resource* upstream() const noexcept { return gate_.slabs().chunks().upstream(); }
    fill_pattern checks() const noexcept { return checks_of(gate_.slabs().chunks()); }
    std::size_t limit() const noexcept { return gate_.slabs().chunks().limit(); }

    std::size_t capacity() const noexcept
    {
        return with_slabs([](const slab_store& slabs) { return slabs.capacity(); });
    }
    std::size_t slab_count() const noexcept
    {
        return with_slabs([](const slab_store& slabs) { return slabs.chunks().slab_count(); });
    }
    std::size_t bytes_reserved() const noexcept
    {
        const locked lock(gate_);
        return gate_.cached.bytes_reserved();
    }
    std::size_t in_use() const noexcept
    {
        const locked lock(gate_);
        return gate_.cached.in_use();
    }
    std::size_t available() const noexcept
    {
        const locked lock(gate_);
        return (gate_.cached.slabs.chunks().is_bounded() ? limit() : gate_.cached.slabs.capacity()) -
               gate_.cached.in_use();
    }

    /// Returns: the number of threads that wait for a block.
    std::size_t waiting() const noexcept
    {
        const locked lock(gate_);
        return gate_.queue.size();
    }

    // Counting, for a policy that counts.

    void count_allocation() noexcept { gate_.counts.add_allocation(gate_.slots_of_threads.existing_cache()); }
    void count_deallocation() noexcept { gate_.counts.add_deallocation(gate_.slots_of_threads.existing_cache()); }
    void count_failure() noexcept { gate_.counts.add_failure(gate_.slots_of_threads.existing_cache()); }

    void reset_peak() noexcept { gate_.counts.reset_peak(); }

    /// Returns: the statistics, summed over all threads.
    pool_statistics statistics() const noexcept
    {
        const locked lock(gate_);
        pool_statistics all = gate_.counts.sum(gate_.cached.caches);
        all.in_use = gate_.cached.in_use();
        all.slabs = gate_.cached.slabs.chunks().slab_count();
        all.bytes_reserved = gate_.cached.bytes_reserved();
        return all;
    }

    /// Returns: the statistics for reports, with the counts of the policy if `counts`.
    report_statistics reported_statistics(bool counts) const noexcept
    {
        const locked lock(gate_);
        report_statistics statistics =
            block_statistics(gate_.cached.slabs, gate_.cached.in_use(), gate_.cached.bytes_reserved());
        if (counts)
            add_counts(statistics, gate_.counts.sum(gate_.cached.caches));
        return statistics;
    }

    /// Returns: whether the invariants above hold.
    /// Complexity: linear in blocks.
    bool verify() noexcept
    {
        const locked lock(gate_);
        gate_.cached.gather();
        return gate_.cached.slabs.verify() && gate_.exchange.blocks_in_depot() == 0 &&
               gate_.cached.in_use() == gate_.cached.slabs.outstanding();
    }

protected:
    /// Effects: as cache_revocation::enter_again_with.
    void enter_again_with(const reported& entry) noexcept { gate_.enter_again_with(entry); }

    ~shared_store() = default;

private:
    cache_revocation gate_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
