// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of raw blocks of one size, for one thread, and the common interface of all block pools. Allocating or freeing
/// a block takes about a nanosecond. The pool that threads share is in concurrent_block_pool.hpp, the implementation
/// for one thread in core/blocks/local_store.hpp.
///
///                        pop                      next                      get a slab
///     allocate    <------------ magazine <------------ outgoing <----- slabs <----------- upstream
///                                  ^                       ^             ^
///     deallocate  -----------------+--------> incoming ----+-------------+
///                        push        append         (full or empty)
///
/// A freed block goes on top of the magazine, an array of pointers. It is allocated next, while it is still in the
/// processor's cache. Programs often free all blocks in the order in which they allocated them, or in reverse. After a
/// few frees in ascending or descending address order, the pool detects the row, and each further free only moves the
/// end of the row. Excess blocks return to the slabs in batches. A slab has one bit for each block.
///
///     capacity = in_use + in the magazine + in the outgoing span + in the incoming row + free in the slabs
///
/// Thread safety: one thread at a time may use a block_pool. Below, "as `Store`" means one thread at a time for
///   core::local_store, and any thread for core::shared_blocks.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/local_store.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>
#include <memory_resource>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
struct pool_access;
} // namespace detail::core

/// A pool of blocks of one size. See `block_pool` and `concurrent_block_pool` for the usual instances, and policies.hpp
/// for `Policy`. Pools with either kind of `Store` have the same public functions, except that only pools shared by
/// threads have the functions that wait.
template <class Policy, class Store>
class basic_block_pool
{
    using variant = detail::base::checked_policy<Policy>;

public:
    /// The pool's policy.
    using policy = Policy;

    /// Effects: makes a pool of blocks of `block_size` bytes each, and allocates `options.initial_capacity` of them
    ///   from `upstream`.
    /// Preconditions: `upstream` outlives the pool. A pool shared by threads calls `upstream` under a lock, and
    ///   therefore never concurrently.
    /// Throws: std::invalid_argument if `block_size` or `max_capacity` is 0, `max_capacity` is below
    ///   `initial_capacity`, `alignment` is not a power of two, or `upstream` is nullptr; size_overflow if the sizes do
    ///   not fit; what upstream throws.
    /// Complexity: O(1); linear in pages with `options.prefault`, and in bytes with a checking policy.
    explicit basic_block_pool(std::size_t block_size, const pool_options& options = {},
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : basic_block_pool(block_size, options, upstream, nullptr)
    {
        detail::base::check_outliving_is_allowed<Policy>();
        // The delegated constructor has completed: if this call throws, the destructor releases the slabs.
        if (options.initial_capacity != 0)
            reserve(options.initial_capacity);
    }

    /// Effects: makes a pool with default options that allocates from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    basic_block_pool(std::size_t block_size, Resource* upstream) : basic_block_pool(block_size, {}, upstream)
    {
    }

    /// Rejects wrong arguments, such as a number of blocks, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_wrong<
                  detail::core::a_block_pool_takes_a_block_size_a_pool_options_with_max_capacity_and_a_memory_resource,
                  detail::core::takes<const pool_options&>, Given, More...>>
    basic_block_pool(std::size_t block_size, const Given&, const More&...) = delete;

    // Neither copyable nor movable: for speed, the store is a member of the pool, and threads refer to the store.
    basic_block_pool(const basic_block_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_block_pool& operator=(const basic_block_pool&) = delete; // Hold the pool in a std::unique_ptr.

    /// Effects: returns all memory to upstream, including blocks still in use.
    /// Thread safety: no other thread may use the pool any more. Threads that have used it may end before the
    ///   destructor, during it, or later.
    ~basic_block_pool() = default;

    /// Returns: the bytes of upstream memory that `count` blocks of `block_size` bytes need, aligned to `alignment` as
    ///   in pool_options. A pool whose `initial_capacity` is `count` gets exactly `count` blocks from a limit_resource
    ///   or a buffer of that size. The buffer must be aligned as the blocks are, and at least to 16 bytes, or to 64
    ///   bytes if threads share the pool. A pool shared by threads then has no memory for caches.
    /// Preconditions: the result is less than 4 GiB. `block_size` is not 0, and `alignment` is 0 or a power of two.
    static constexpr std::size_t bytes_for(std::size_t count, std::size_t block_size,
                                           std::size_t alignment = 0) noexcept
    {
        return count != 0 ? Store::bytes_for(count, block_size, alignment) : 0;
    }

    /// Effects: allocates a block.
    /// Returns: the block: `block_size()` bytes, aligned as requested, with undefined content.
    /// Throws: pool_exhausted if the pool is bounded and `max_capacity()` blocks are in use; what upstream throws. On
    ///   failure no block is allocated.
    /// Complexity: O(1), and occasionally a batch from the slabs, an exchange of magazines or a call to upstream. If
    ///   threads share the pool, linear in threads before it throws.
    /// Thread safety: as `Store`.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate() { return store_.allocate({}); }

    /// Effects: allocates a block, if one is available.
    /// Returns: the block, as from `allocate`; or nullptr if the pool is at its limit, or upstream fails.
    /// Complexity: as `allocate`.
    /// Thread safety: as `Store`.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept { return store_.try_allocate(); }

    /// Effects: allocates a block, after waiting for one if none is available. Waiting threads are served in FIFO
    ///   order, and before threads that do not wait.
    /// Returns: the block, as from `allocate`.
    /// Preconditions: threads share the pool; otherwise the call does not compile.
    /// Throws: what upstream throws, if no block is in use that could be freed. This counts as a failure.
    /// Complexity: as `allocate`, plus the wait. Other functions have no overhead unless a thread waits.
    /// Thread safety: any thread. With libstdc++, cancelling a waiting thread loses no block. With libc++, cancellation
    ///   terminates the program, because waiting is noexcept.
    template <class Shared = Store>
    [[nodiscard]] void* allocate_wait()
    {
        check_waiting<Shared>();
        if constexpr (Shared::is_shared)
            return store_.allocate_wait();
        else
            return nullptr;
    }

    /// Effects: as `allocate_wait`, but gives up at `deadline`, or after a century, whichever is sooner.
    /// Returns: the block; or nullptr, which counts as a failure, if none became available in time, or upstream fails
    ///   while no block is in use.
    /// Preconditions: as `allocate_wait`.
    /// Throws: what the clock throws.
    /// Complexity: as `allocate_wait`.
    /// Thread safety: any thread.
    template <class TimePoint>
    [[nodiscard]] void* try_allocate_until(const TimePoint& deadline)
    {
        check_waiting<TimePoint>();
        if constexpr (Store::is_shared)
            return store_.try_allocate_until(deadline);
        else
            return nullptr;
    }

    /// Effects: as `allocate_wait`, but gives up after `patience`, or after a century, whichever is sooner.
    /// Returns: as `try_allocate_until`.
    /// Preconditions: as `allocate_wait`.
    /// Complexity: as `allocate_wait`.
    /// Thread safety: any thread.
    template <class Duration>
    [[nodiscard]] void* try_allocate_for(const Duration& patience)
    {
        check_waiting<Duration>();
        if constexpr (Store::is_shared)
            return store_.try_allocate_for(patience);
        else
            return nullptr;
    }

    /// Effects: frees a block. If threads are waiting, the thread that has waited longest gets the block. nullptr is
    ///   ignored.
    /// Preconditions: `block` is from this pool and in use. A checking policy reports a violation and ignores the call.
    ///   In units built with AddressSanitizer, every policy reports and ignores a double free. Otherwise, other
    ///   policies report the misuse that they detect when a batch of blocks returns to the slabs.
    /// Complexity: O(1), and occasionally a batch to the slabs or an exchange of magazines. If threads share the pool,
    ///   a checking policy takes the pool's lock each time.
    /// Thread safety: as `Store`. Another thread may have allocated the block.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept { store_.deallocate(block); }

    /// Effects: allocates `count` blocks, from the cache in batches, and writes their addresses to the array `blocks`.
    /// Returns: `count`.
    /// Throws: as `allocate`. On failure no block is allocated.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    std::size_t allocate_bulk(void** blocks, std::size_t count) { return allocate_many(blocks, count); }

    /// Effects: allocates up to `count` blocks, as many as are available, and writes their addresses to the array
    ///   `blocks`.
    /// Returns: the number of blocks allocated.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    [[nodiscard]] std::size_t try_allocate_bulk(void** blocks, std::size_t count) noexcept
    {
        return try_allocate_many(blocks, count);
    }

    /// Effects: frees `count` blocks, as `deallocate` does.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    void deallocate_bulk(void* const* blocks, std::size_t count) noexcept { deallocate_many(blocks, count); }

    /// Effects: takes slabs from upstream until `capacity()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_capacity()`; size_overflow if `count` blocks exceed the address
    ///   space; what upstream throws. On failure, the slabs allocated so far are kept.
    /// Complexity: linear in slabs added, and in pages with `pool_options::prefault`.
    /// Thread safety: as `Store`.
    void reserve(std::size_t count)
    {
        check_count(count);
        store_.reserve(count);
    }

    /// Effects: in a pool shared by threads, allocates the cache of the calling thread with its magazines. Otherwise,
    ///   the thread's first call allocates the cache. After this and `reserve`, until the pool is trimmed or released,
    ///   the thread's calls take nothing from upstream while there are free blocks outside of other threads' caches.
    ///   (Each cache has two magazines.) No-op in a pool for one thread, which needs only `reserve`.
    /// Throws: what upstream throws.
    /// Complexity: O(1), and a few calls to upstream.
    /// Thread safety: as `Store`.
    void reserve_for_thread()
    {
        if constexpr (Store::is_shared)
            store_.reserve_for_thread();
    }

    /// Effects: returns every wholly free slab to upstream, even if its blocks are in the magazines of other threads.
    ///   Also returns the magazines that the remaining slabs and the threads do not need. A thread gets new magazines
    ///   at its next call.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in threads, slabs, and the bits of blocks.
    /// Thread safety: as `Store`.
    std::size_t trim() noexcept { return store_.trim(); }

    /// Effects: frees every block, and returns every slab to upstream. The pool remains usable.
    /// Complexity: linear in threads, slabs and free blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    void release() noexcept { store_.release(); }

    /// Effects: frees every block, and keeps the slabs for later.
    /// Complexity: as `release`.
    /// Thread safety: no other thread may use the pool at the same time.
    void clear() noexcept { store_.clear(); }

    /// Effects: hands the pool off to the next thread that uses it. Without this call, a checking policy reports a
    ///   thread that uses the pool while blocks of another thread are in use. No-op for other policies, and if threads
    ///   share the pool.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { store_.hand_over(); }

    /// Effects: calls `visit(void*)` for each block in use, in address order. `visit` may free and allocate blocks.
    ///   Blocks allocated by `visit` may or may not be visited. In a pool for one thread, `visit` must not call `trim`,
    ///   `release` or `clear`.
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks ever used. Other functions bear no cost.
    /// Thread safety: as `Store`, but a block that another thread frees during the call may be visited after it was
    ///   freed. In the child of a fork, blocks that other threads of the parent were allocating or freeing are visited,
    ///   too. `visit` must not access the contents of these blocks; AddressSanitizer and Valgrind report such accesses.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        store_.for_each_in_use([&visit](void* block) { visit(block); });
    }

    /// Returns: whether a block of this pool, in use or not, starts at `address`. Any pointer is allowed.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: as `Store`.
    bool owns(const void* address) const noexcept
    {
        return store_.with_slabs(
            [address](const detail::core::slab_store& slabs) { return has_block_at(slabs.chunks(), address); });
    }

    /// Effects: reports the misuse that freeing `block` now would reveal: a double free, a foreign or misaligned
    ///   pointer, or an overflow. Each overflow is reported once; the block can then be freed.
    /// Returns: whether there was nothing to report.
    /// Preconditions: `Policy::checks`.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: as `Store`.
    template <class Checking = variant>
    bool check(const void* block) const noexcept
    {
        static_assert(Checking::checks,
                      "only a pool whose policy checks can check a block: use memory_pool::checking_policy");
        return store_.with_slabs([block](const detail::core::slab_store& slabs) { return slabs.check(block); });
    }

    /// Returns: the requested bytes of a block.
    std::size_t block_size() const noexcept { return store_.identity().block_size; }

    /// Returns: the alignment of every block, in bytes.
    std::size_t alignment() const noexcept { return store_.alignment(); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return store_.identity().name; }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return store_.upstream(); }

    // In a pool shared by threads, the following functions take the pool's lock, and may wait for a thread that grows
    // the pool.

    /// Returns: the number of blocks in all slabs, in use or not.
    /// Complexity: O(1).
    std::size_t capacity() const noexcept { return store_.capacity(); }

    /// Returns: the maximum number of blocks in use; `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return store_.limit(); }

    /// Returns: whether the number of blocks in use is limited.
    bool is_bounded() const noexcept { return max_capacity() != pool_options::unbounded; }

    /// Returns: the number of blocks in use; approximate while other threads use the pool.
    /// Complexity: O(1); linear in threads if they share the pool.
    std::size_t in_use() const noexcept { return store_.in_use(); }

    /// Returns: the number of blocks that can still be allocated: in a bounded pool, until it is exhausted; in an
    ///   unbounded pool, without a call to upstream. A pool shared by threads may nevertheless call upstream before it
    ///   takes blocks from other threads' caches. The number is approximate while other threads use the pool.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return store_.available(); }

    /// Returns: the number of times that the pool has grown, by a step or by `reserve`, since it was made or released.
    /// Complexity: O(1).
    std::size_t growth_count() const noexcept
    {
        return store_.with_slabs([](const detail::core::slab_store& slabs) { return slabs.steps(); });
    }

    /// Returns: the number of slabs.
    /// Complexity: O(1).
    std::size_t slab_count() const noexcept { return store_.slab_count(); }

    /// Returns: the bytes allocated from upstream, including bookkeeping.
    /// Complexity: O(1).
    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved(); }

    /// Returns: the number of threads waiting for a block.
    /// Preconditions: as `allocate_wait`.
    /// Complexity: linear in waiting threads.
    template <class Shared = Store>
    std::size_t waiting() const noexcept
    {
        check_waiting<Shared>();
        if constexpr (Shared::is_shared)
            return store_.waiting();
        else
            return 0;
    }

    /// Returns: exact statistics of the pool so far. (In a pool shared by threads, counting costs a common counter for
    ///   the peak.) In the child of a fork, blocks that other threads of the parent were about to allocate count as in
    ///   use.
    /// Preconditions: `Policy::counts`.
    /// Complexity: as `in_use`.
    /// Thread safety: as `Store`; exact if no other thread uses the pool.
    template <class Counting = variant>
    pool_statistics statistics() const noexcept
    {
        static_assert(Counting::counts, "this pool does not count: use memory_pool::counting_policy");
        return store_.statistics();
    }

    /// Effects: resets the peak in the statistics to the blocks in use now.
    /// Preconditions: `Policy::counts`.
    /// Complexity: O(1).
    /// Thread safety: as `Store`; exact if no other thread uses the pool.
    template <class Counting = variant>
    void reset_peak() noexcept
    {
        static_assert(Counting::counts, "this pool does not count: use memory_pool::counting_policy");
        store_.reset_peak();
    }

    /// Returns: whether the invariants hold: every free block is in exactly one place, and all counts agree. With a
    ///   checking policy, also whether no free block was written to, and no block past its end. For tests.
    /// Complexity: linear in blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    bool verify() const noexcept { return store_.verify(); }

private:
    friend detail::core::pool_access;

    /// For pools built on this pool: `listener` owns the slabs and is notified. Allocates nothing from `upstream` yet.
    basic_block_pool(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                     detail::core::slab_listener* listener)
        : store_(block_size, options, upstream, listener)
    {
        detail::base::check_policy<Policy>();
    }

    /// Throws: as `reserve`, before it calls upstream.
    void check_count(std::size_t count) const
    {
        detail::core::check_reservation(count, store_.layout().stride(), max_capacity(), store_.identity());
    }

    // The bulk forms, for pointers of any type.

    template <class T>
    std::size_t allocate_many(T** blocks, std::size_t count)
    {
        detail::base::failure_guard refusal([this] { store_.count_failure(); });
        check_count(count);
        refusal.succeeded();
        std::size_t done = 0;
        detail::base::failure_guard guard([&] { deallocate_many(blocks, done); });
        while ((done += store_.allocate_cached(blocks + done, count - done)) != count)
            blocks[done++] = static_cast<T*>(allocate());
        guard.succeeded();
        return count;
    }

    template <class T>
    std::size_t try_allocate_many(T** blocks, std::size_t count) noexcept
    {
        if (!detail::core::is_addressable(count)) {
            store_.count_failure();
            return 0;
        }
        std::size_t done = 0;
        while ((done += store_.allocate_cached(blocks + done, count - done)) != count) {
            void* const block = try_allocate();
            if (block == nullptr)
                break;
            blocks[done++] = static_cast<T*>(block);
        }
        return done;
    }

    template <class T>
    void deallocate_many(T* const* blocks, std::size_t count) noexcept
    {
        std::size_t done = 0;
        // If the pool can recognize free blocks, it checks each block before it frees the block.
        constexpr bool knows_free_blocks = variant::checks || MEMORY_POOL_ASAN != 0;
        while ((done += knows_free_blocks ? 0 : store_.deallocate_cached(blocks + done, count - done)) != count)
            deallocate(detail::base::address_of(blocks[done++]));
    }

    /// Rejects waiting in a pool for one thread, where no other thread could free a block.
    template <class... Given>
    static constexpr void check_waiting() noexcept
    {
        static_assert(Store::is_shared || detail::core::is_of_use<Given...>,
                      "waiting is for pools that threads share, as another thread must free a "
                      "block: use a concurrent_block_pool, a concurrent_object_pool or a shared_pool");
    }

    mutable Store store_; ///< Mutable: visiting all blocks of a shared store empties the caches.
};

namespace detail::core {
MEMORY_POOL_INSTANCE(class local_store<default_policy>)
MEMORY_POOL_INSTANCE(class local_store<counting_policy>)
MEMORY_POOL_INSTANCE(class local_store<checking_policy>)
} // namespace detail::core
MEMORY_POOL_INSTANCE(class basic_block_pool<default_policy>)
MEMORY_POOL_INSTANCE(class basic_block_pool<counting_policy>)
MEMORY_POOL_INSTANCE(class basic_block_pool<checking_policy>)
}} // namespace memory_pool::MEMORY_POOL_ABI
