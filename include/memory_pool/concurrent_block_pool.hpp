// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of one size for many threads: handed out and taken back in about a nanosecond, by any of them.
///
///                    pop                    whole magazines                  blocks
///     allocate    <-------  this thread's  <---------------> depot          <-------> slabs <--- upstream
///     deallocate  ------->    magazines        without a lock                with one
///                    push
///
/// A thread takes and gives blocks in its own magazine, and exchanges whole magazines with the others through a depot. A block
/// may be given back by any thread. Before a bounded pool says that it is exhausted, it takes the blocks out of the magazines
/// of all threads. core/shared_store.hpp says how.
///
///     capacity = in_use + in the magazines of all threads + in the depot + free in the slabs
///
/// A process may fork while threads use its pools, but as with malloc, not from a signal handler, nor from what a pool calls
/// with its lock held (its upstream, and the constructors of objects that are kept): a pool may be in the middle of an operation
/// then, and the fork would wait for its end forever. In the child, blocks that other threads had in use, or in their hands, stay
/// in use. The child gives those back that it knows of, or all with `clear` or `release`.
///
/// Thread safety: any thread, but for `release`, `clear` and the destructor, which need the pool for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/base/statistics.hpp>
#include <memory_pool/core/blocks/bulk_operations.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/shared_store.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <type_traits>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
/// A pool of blocks of one size that threads share. See `concurrent_block_pool` for the plain one, and base/policies.hpp for
/// `Policy`.
template <class Policy = default_policy>
class basic_concurrent_block_pool : public core::bulk_operations<basic_concurrent_block_pool<Policy>>
{
    using variant = base::checked_policy<Policy>;

public:
    /// The variant that this pool is.
    using policy = Policy;

    /// Effects: makes a pool of blocks of `block_size` bytes each, and takes `options.initial_capacity` of them from
    ///   `upstream` at once.
    /// Preconditions: `upstream` outlives the pool. The pool calls it with a lock held, so it is never called by two threads at
    ///   the same time on behalf of one pool.
    /// Throws: as basic_block_pool.
    /// Complexity: O(1); linear in pages where `options.prefault` asks for it, and in bytes where the policy checks.
    explicit basic_concurrent_block_pool(std::size_t block_size, const pool_options& options = {},
                                         std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : basic_concurrent_block_pool(block_size, options, upstream, nullptr)
    {
        // The pool is whole by now: should this throw, the destructor gives back what was got.
        if (options.initial_capacity != 0)
            reserve(options.initial_capacity);
    }

    /// Rejects wrong arguments, such as a number of blocks, which is an option.
    template <class Given, class... More, class = core::if_none_of<Given, const pool_options&>>
    basic_concurrent_block_pool(std::size_t block_size, const Given&, const More&...)
        : basic_concurrent_block_pool(block_size)
    {
        static_assert(core::is_of_use<Given>,
                      "a pool of blocks takes the bytes of a block, a pool_options, and then a memory "
                      "resource: set initial_capacity or max_capacity in the options for a number "
                      "of blocks");
    }

    /// For pools that are built on this one: as the other, but `listener` owns the slabs and is told about them, with the lock of
    /// the pool held when they are new. Takes nothing from `upstream` yet.
    basic_concurrent_block_pool(std::size_t block_size, const pool_options& options,
                                std::pmr::memory_resource* upstream, core::slab_listener* listener)
        : alignment_(core::alignment_of_blocks(options)),
          store_(layout_for(core::checked_stride(block_size, canary_bytes, options, upstream), options,
                            listener != nullptr ? core::slab_granule : 1),
                 options.max_capacity,
                 {options.prefault, false, variant::checks, options.growth_step, listener, options.magazine_size},
                 {core::name_in(options), block_size}, upstream)
    {
        base::check_policy<Policy>();
        base::pool_made(this);
    }

    basic_concurrent_block_pool(const basic_concurrent_block_pool&) = delete;
    basic_concurrent_block_pool& operator=(const basic_concurrent_block_pool&) = delete;

    /// Effects: gives everything back upstream. Blocks still in use are gone.
    /// Thread safety: no other thread may use the pool any more. Threads that have used it may end before, at the same time,
    ///   or later.
    ~basic_concurrent_block_pool()
    {
        if constexpr (variant::checks)
            store_.with_slabs([](const core::slab_store& slabs) { slabs.report_damage(); });
        base::pool_gone(this);
    }

    /// Effects: hands out a block.
    /// Returns: it: `block_size()` bytes, aligned as asked for, with undefined content.
    /// Throws: pool_exhausted if the pool is bounded and `max_capacity()` blocks are in use; what upstream throws. No block is
    ///   handed out then.
    /// Complexity: O(1), and now and then an exchange of magazines, a batch from the slabs, or a call upstream; linear in
    ///   threads before it throws.
    /// Thread safety: any thread.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate()
    {
        void* block = nullptr;
        if (MEMORY_POOL_UNLIKELY(!store_.take_cached(block)))
            block = take_uncached();
        MEMORY_POOL_ASSUME(block != nullptr); // Saves callers that ask, as deallocate does, from asking.
        return handed_out(block);
    }

    /// Effects: hands out a block, if there is one to be had.
    /// Returns: it, as from `allocate`; or nullptr if the pool is at its limit, or upstream fails.
    /// Complexity: as `allocate`.
    /// Thread safety: any thread.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept
    {
        void* block = nullptr;
        if (MEMORY_POOL_UNLIKELY(!store_.take_cached(block))) {
            block = try_take_uncached();
            if (block == nullptr)
                return nullptr;
        }
        return handed_out(block);
    }

    /// Effects: hands out a block, as soon as there is one to be had. Threads that wait get theirs in the order they came, and
    ///   before any that does not wait.
    /// Returns: it, as from `allocate`.
    /// Throws: what upstream throws, if no block is in use that could come back. That counts as failed.
    /// Complexity: as `allocate`, and the wait. Costs nothing elsewhere while nobody waits.
    /// Thread safety: any thread. If a thread is cancelled while it waits, nothing is lost with libstdc++; with libc++ the
    ///   program ends, as waiting is noexcept there.
    [[nodiscard]] void* allocate_wait()
    {
        base::failure_guard guard([this] { count_failure(); });
        void* const block =
            store_.template take_waiting<true>([](std::condition_variable& ready, std::unique_lock<std::mutex>& lock) {
                ready.wait(lock);
                return true;
            });
        guard.succeeded();
        return handed_out(block);
    }

    /// Effects: as `allocate_wait`, but gives up at `deadline`; or after a century, if that is sooner.
    /// Returns: the block; or nullptr if none came in time, or upstream fails and no block is in use that could come back. That
    ///   counts as failed.
    /// Throws: what the clock throws.
    /// Complexity: as `allocate_wait`.
    /// Thread safety: any thread.
    template <class Clock, class Duration>
    [[nodiscard]] void* try_allocate_until(const std::chrono::time_point<Clock, Duration>& deadline)
    {
        void* const block = store_.template take_waiting<false>(
            [&](std::condition_variable& ready, std::unique_lock<std::mutex>& lock) {
                return waits_until(deadline, ready, lock);
            });
        if (block != nullptr)
            return handed_out(block);
        count_failure();
        return nullptr;
    }

    /// Effects: as `allocate_wait`, but gives up after `patience`; or after a century, if that is sooner.
    /// Returns: as `try_allocate_until`.
    /// Complexity: as `allocate_wait`.
    /// Thread safety: any thread.
    template <class Rep, class Period>
    [[nodiscard]] void* try_allocate_for(const std::chrono::duration<Rep, Period>& patience)
    {
        using clock = std::chrono::steady_clock;
        const seconds wanted = patience;
        const clock::time_point now = clock::now();
        if (!(wanted > seconds::zero()))
            return try_allocate_until(now);
        return try_allocate_until(now + std::chrono::ceil<clock::duration>(std::min(wanted, seconds(a_century))));
    }

    /// Effects: takes a block back, or gives it to the thread that has waited longest. nullptr is ignored.
    /// Preconditions: `block` is from this pool and in use. A policy that checks reports it if not, and ignores the
    ///   call; any other one reports what it sees when a batch of blocks goes back to the slabs.
    /// Complexity: O(1), and now and then an exchange of magazines. A policy that checks takes the lock of the pool each time.
    /// Thread safety: any thread, also one that has not handed it out.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return;
        if constexpr (variant::checks) {
            store_.put_verified(block, [&] { given_back(block); });
        } else {
            given_back(block);
            if (MEMORY_POOL_UNLIKELY(!store_.put_cached(block)))
                put_uncached(block);
        }
    }

    /// Effects: takes slabs from upstream until `capacity()` is at least `count`.
    /// Throws: as basic_block_pool::reserve.
    /// Complexity: linear in slabs added, and in pages with `pool_options::prefault`.
    /// Thread safety: any thread.
    void reserve(std::size_t count)
    {
        core::check_reservation(count, store_.layout().stride(), max_capacity(), store_.identity());
        store_.reserve(count);
    }

    /// Effects: gives every slab that is wholly free back upstream, wherever its blocks are: also in the magazines of other
    ///   threads. The magazines, which are empty then, stay; only `release` and the destructor give them back.
    /// Returns: how many bytes went back.
    /// Complexity: linear in threads, slabs and free blocks.
    /// Thread safety: any thread.
    std::size_t trim() noexcept { return store_.trim(); }

    /// Effects: takes every block back and gives every slab back upstream. Whatever was in the blocks is gone; the pool
    ///   works on.
    /// Complexity: linear in threads, slabs and free blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    void release() noexcept { forget_blocks(false); }

    /// Effects: takes every block back and keeps the slabs for later.
    /// Complexity: as `release`.
    /// Thread safety: no other thread may use the pool at the same time.
    void clear() noexcept { forget_blocks(true); }

    /// Effects: calls `visit(void*)` for each block in use, in the order of addresses. `visit` may hand blocks back and
    ///   ask for more (those may or may not be visited).
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks that were ever in use. Costs nothing elsewhere.
    /// Thread safety: any thread, but a block that another thread gives back meanwhile may be visited after that. In the child of
    ///   a fork, blocks that other threads were just taking or giving back in the parent are visited, too; `visit` may not touch
    ///   what is in them, and AddressSanitizer and Valgrind see to it.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        store_.for_each_in_use([&visit](void* block) { visit(block); });
    }

    /// Returns: whether a block of this pool, in use or not, starts at `address`. Any pointer may be asked after.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: any thread.
    bool owns(const void* address) const noexcept
    {
        return store_.with_slabs([address](const core::slab_store& slabs) { return slabs.has_block_at(address); });
    }

    /// Returns: whether `block` is a block of this pool that is in use. Any pointer may be asked after.
    /// Preconditions: called from a visitor of `for_each`, or the policy checks: elsewhere a block that came back a moment
    ///   ago still counts as in use.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: any thread.
    bool is_in_use(const void* block) const noexcept
    {
        return store_.with_slabs([block](const core::slab_store& slabs) { return slabs.has_handed_out(block); });
    }

    /// Effects: reports a double free, a foreign or misaligned pointer, or an overflow, if that is what it would be to
    ///   give `block` back now. Each overflow is reported once; the block can then be freed.
    /// Returns: whether there was nothing to report.
    /// Preconditions: `Policy::checks`.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: any thread.
    bool verify(const void* block) const noexcept
    {
        static_assert(variant::checks, "only a pool whose policy checks can verify: use memory_pool::checking_policy");
        return store_.with_slabs([block](const core::slab_store& slabs) { return slabs.verify(block); });
    }

    /// Returns: the bytes of a block, as asked for.
    std::size_t block_size() const noexcept { return store_.identity().block_size; }

    /// Returns: the alignment of every block, in bytes.
    std::size_t alignment() const noexcept { return alignment_; }

    /// Returns: how the pool calls itself in reports.
    const char* name() const noexcept { return store_.identity().name; }

    /// Returns: where the pool takes its memory from.
    std::pmr::memory_resource* upstream_resource() const noexcept { return store_.upstream(); }

    // Figures are read with the lock of the pool, so they may have to wait while a thread makes it grow.

    /// Returns: blocks in all slabs, in use or not.
    /// Complexity: O(1), and takes the lock of the pool.
    std::size_t capacity() const noexcept { return store_.capacity(); }

    /// Returns: the most blocks that can be in use at one time, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return store_.limit(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return max_capacity() != pool_options::unbounded; }

    /// Returns: blocks in use; if other threads are at work in the pool, about as many.
    /// Complexity: linear in threads, and takes the lock of the pool.
    std::size_t in_use() const noexcept { return store_.in_use(); }

    /// Returns: how many more blocks can be had: from a bounded pool until it is exhausted; from any other one, how many are
    ///   free, though it may go upstream before it takes them from the caches of other threads. If other threads are at work in the
    ///   pool, about as many.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return store_.available(); }

    /// Returns: how often the pool has taken blocks from upstream since it was made or released: by a step, or for `reserve`.
    /// Complexity: as `capacity`.
    std::size_t enlarge_steps() const noexcept
    {
        return store_.with_slabs([](const core::slab_store& slabs) { return slabs.steps(); });
    }

    /// Returns: slabs held.
    /// Complexity: as `capacity`.
    std::size_t slab_count() const noexcept { return store_.slab_count(); }

    /// Returns: bytes taken from upstream and not given back, bookkeeping included.
    /// Complexity: as `capacity`.
    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved(); }

    /// Returns: how many threads wait for a block.
    /// Complexity: linear in them.
    std::size_t waiting() const noexcept { return store_.waiting(); }

    /// Returns: what all threads have done with the pool so far, exactly. (The peak is that of one count that all threads keep
    ///   together: what counting costs.) In the child of a fork, what threads that are not there had in their hands is in use.
    /// Preconditions: `Policy::counts`.
    /// Complexity: as `in_use`.
    /// Thread safety: any thread; exact if no other thread is at work in the pool.
    pool_statistics statistics() const noexcept
    {
        static_assert(variant::counts, "this pool does not count: use memory_pool::counting_policy");
        return store_.statistics();
    }

    // For pools that are built on this one.

    /// Returns: whether this is the child of a fork, and other threads have used the pool before: what is in the blocks that they
    ///   had in their hands may be half made, or half gone. Until `clear` or `release`.
    bool has_lost_threads() const noexcept { return store_.has_lost_threads(); }

    /// Returns: how its slabs are cut.
    const core::slab_layout& layout() const noexcept { return store_.layout(); }

    /// Effects: lets go of the blocks: those in use are not taken back any more when they are given back, but the listener is
    ///   told.
    /// Returns: how many are in use.
    /// Preconditions: the pool has a listener, and no block is asked for any more.
    /// Complexity: linear in threads, slabs and free blocks.
    /// Thread safety: other threads may be giving blocks back.
    std::size_t abandon() noexcept { return store_.abandon(); }

    /// Effects: calls `visit(void*)` for each block that was not in use when the pool was abandoned.
    /// Preconditions: it was.
    template <class Visit>
    void for_each_free(Visit&& visit)
    {
        store_.for_each_free(visit);
    }

    /// Returns: whether the pool is in order: every free block is in one place, none is in two, and all counts agree.
    ///   With a policy that checks, also whether no block was written to while free, or past its end. For tests.
    /// Complexity: linear in blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    bool is_valid() const noexcept
    {
        if (!store_.is_valid())
            return false;
        if constexpr (variant::counts) {
            const pool_statistics counted = store_.statistics();
            if (counted.allocations - counted.deallocations != counted.in_use)
                return false;
        }
        if constexpr (variant::checks)
            return store_.with_slabs([](const core::slab_store& slabs) { return !slabs.has_damage(); });
        return true;
    }

private:
    static constexpr std::size_t canary_bytes = variant::checks ? core::fill_pattern::canary_bytes : 0;

    /// The first block of a slab starts a line of the cache: see core::shared_store.
    static core::slab_layout layout_for(std::size_t stride, const pool_options& options, std::size_t granule) noexcept
    {
        return {stride, std::max(core::alignment_of_blocks(options), cache_line_size), options.max_capacity,
                core::blocks_in_a_step(options), granule};
    }

    /// What is longer than the type of another duration can hold does not overflow here.
    using seconds = std::chrono::duration<long double>;

    /// Who waits for so long waits long enough: from now on, this fits into the durations of the system's clocks.
    static constexpr std::chrono::hours a_century{24 * 365 * 100};

    /// Returns: whether to go on waiting.
    template <class Clock, class Duration>
    static bool waits_until(const std::chrono::time_point<Clock, Duration>& deadline, std::condition_variable& ready,
                            std::unique_lock<std::mutex>& lock)
    {
        const seconds left = seconds(deadline.time_since_epoch()) - seconds(Clock::now().time_since_epoch());
        if (!(left > seconds::zero()))
            return false;
        if (left > a_century)
            return ready.wait_for(lock, a_century) == std::cv_status::no_timeout;
        if constexpr (std::is_same_v<Clock, std::chrono::system_clock>) { // It is noticed when somebody sets it.
            return ready.wait_until(lock, deadline) == std::cv_status::no_timeout;
        } else { // Not with the deadline: the standard library would calculate in its type, and in that of the clock.
            (void)ready.wait_for(lock, std::chrono::ceil<std::chrono::nanoseconds>(left));
            return true; // As long as the clock says so.
        }
    }

    MEMORY_POOL_ALWAYS_INLINE void* handed_out(void* block) noexcept
    {
        if constexpr (variant::counts)
            store_.count_allocation();
        base::block_handed_out(this, block, block_size());
        return block;
    }

    MEMORY_POOL_NOINLINE void* take_uncached()
    {
        base::failure_guard guard([this] { count_failure(); });
        void* const block = store_.take();
        if (block == nullptr)
            base::throw_exhausted(name(), max_capacity(), block_size());
        guard.succeeded();
        return block;
    }

    MEMORY_POOL_NOINLINE void* try_take_uncached() noexcept
    {
        void* block = nullptr;
        if (!base::succeeds([&] { block = store_.take(); }) || block == nullptr)
            count_failure();
        return block;
    }

    MEMORY_POOL_NOINLINE void put_uncached(void* block) noexcept { store_.put(block); }

    void forget_blocks(bool keeps_slabs) noexcept
    {
        store_.forget_blocks(keeps_slabs);
        base::pool_gone(this);
        base::pool_made(this);
    }

    MEMORY_POOL_ALWAYS_INLINE void given_back(void* block) noexcept
    {
        if constexpr (variant::counts)
            store_.count_deallocation();
        base::block_given_back(this, block, block_size());
    }

    void count_failure() noexcept
    {
        if constexpr (variant::counts)
            store_.count_failure();
    }

    std::size_t alignment_;
    mutable core::shared_store store_; ///< To look at all blocks, is_valid brings them to one place.
};

/// Raw blocks of one size, for many threads.
using concurrent_block_pool = basic_concurrent_block_pool<default_policy>;
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
