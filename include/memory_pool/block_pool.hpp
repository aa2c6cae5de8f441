// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of one size, handed out and taken back in about a nanosecond: for one thread, and what such pools have in
/// common with those for several, concurrent_block_pool.hpp. core/blocks/local_store.hpp has the implementation.
///
///                        pop                      next                      get a slab
///     allocate    <------------ magazine <------------ outgoing <----- slabs <----------- upstream
///                                  ^                       ^             ^
///     deallocate  -----------------+--------> incoming ----+-------------+
///                        push        append         (full or empty)
///
/// A block that comes back goes on top of the magazine, an array of pointers, and is the next to be handed out, while
/// it is still in the processor's cache. Blocks that come back in the order of their addresses, up or down, as when all
/// are freed in the order they were made or the reverse, are noticed after a while, and only move the end of a row from
/// then on. What overflows returns to the slabs in batches; there a block is one bit.
///
///     capacity = in_use + in the magazine + in the outgoing span + in the incoming row + free in the slabs
///
/// Thread safety: none of its own: one thread at a time may use a block_pool. "The pool's" below means: one thread at a
///   time for core::local_store, any thread for core::shared_blocks.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
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

/// A pool of blocks of one size. See `block_pool` and `concurrent_block_pool` for the usual instances, and
/// policies.hpp for `Policy`. Both kinds of `Store` have the same public functions, except that only pools shared
/// by threads can wait.
template <class Policy, class Store>
class basic_block_pool
{
    using variant = detail::base::checked_policy<Policy>;

public:
    /// The pool's policy.
    using policy = Policy;

    /// Effects: makes a pool of blocks of `block_size` bytes each, and takes `options.initial_capacity` of them from
    ///   `upstream` at once.
    /// Preconditions: `upstream` outlives the pool. A pool shared by threads calls it under a lock, so never
    ///   concurrently.
    /// Throws: std::invalid_argument if `block_size` or `max_capacity` is 0, `max_capacity` is below
    ///   `initial_capacity`, `alignment` is not a power of two, or `upstream` is nullptr; size_overflow if the sizes do
    ///   not fit; what upstream throws.
    /// Complexity: O(1); linear in pages where `options.prefault` asks for it, and in bytes where the policy checks.
    explicit basic_block_pool(std::size_t block_size, const pool_options& options = {},
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : basic_block_pool(block_size, options, upstream, nullptr)
    {
        detail::base::check_outliving_is_allowed<Policy>();
        // The pool is complete by now: if this throws, the destructor releases the slabs.
        if (options.initial_capacity != 0)
            reserve(options.initial_capacity);
    }

    /// Effects: as the first, with default options, from `upstream`.
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

    // Neither copied nor moved: it lies in place, for speed, and threads refer to it.
    basic_block_pool(const basic_block_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_block_pool& operator=(const basic_block_pool&) = delete; // Hold it by a std::unique_ptr.

    /// Effects: returns all memory to upstream. Blocks still in use are gone.
    /// Thread safety: no other thread may use the pool any more. Threads that have used it may end before, at the same
    ///   time, or later.
    ~basic_block_pool() = default;

    /// Returns: how many bytes of upstream memory hold `count` blocks of `block_size` bytes, aligned to `alignment` as
    ///   in pool_options. From a limit_resource of that many bytes, or from a buffer, a pool whose `initial_capacity`
    ///   is `count` gets exactly `count` blocks. The buffer must be aligned to the blocks and to 16 bytes; to 64 bytes
    ///   if threads share the pool, which then has no memory for caches.
    /// Preconditions: that is less than 4 GiB. `block_size` is not 0, and `alignment` is 0 or a power of two.
    static constexpr std::size_t bytes_for(std::size_t count, std::size_t block_size,
                                           std::size_t alignment = 0) noexcept
    {
        return count != 0 ? Store::bytes_for(count, block_size, alignment) : 0;
    }

    /// Effects: hands out a block.
    /// Returns: the block: `block_size()` bytes, aligned as requested, with undefined content.
    /// Throws: pool_exhausted if the pool is bounded and `max_capacity()` blocks are in use; what upstream throws. No
    ///   block is handed out then.
    /// Complexity: O(1), and occasionally a batch from the slabs, an exchange of magazines or a call upstream; where
    ///   threads share the pool, linear in threads before it throws.
    /// Thread safety: the pool's.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate() { return store_.allocate({}); }

    /// Effects: hands out a block, if one is available.
    /// Returns: the block, as from `allocate`; or nullptr if the pool is at its limit, or upstream fails.
    /// Complexity: as `allocate`.
    /// Thread safety: the pool's.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept { return store_.try_allocate(); }

    /// Effects: hands out a block, as soon as one is available. Waiting threads are served in FIFO order, and before
    ///   any that does not wait.
    /// Returns: the block, as from `allocate`.
    /// Preconditions: threads share the pool; otherwise it does not compile.
    /// Throws: what upstream throws, if no block is in use that could come back. That counts as failed.
    /// Complexity: as `allocate`, and the wait. No overhead elsewhere while no thread waits.
    /// Thread safety: any thread. If a thread is cancelled while it waits, nothing is lost with libstdc++; with libc++
    ///   the program ends, as waiting is noexcept there.
    template <class Shared = Store>
    [[nodiscard]] void* allocate_wait()
    {
        check_waiting<Shared>();
        if constexpr (Shared::is_shared)
            return store_.allocate_wait();
        else
            return nullptr;
    }

    /// Effects: as `allocate_wait`, but gives up at `deadline`; or after a century, if that is sooner.
    /// Returns: the block; or nullptr if none came in time, or upstream fails and no block is in use that could come
    ///   back. That counts as failed.
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

    /// Effects: as `allocate_wait`, but gives up after `patience`; or after a century, if that is sooner.
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

    /// Effects: frees a block; if threads wait for one, hands it to the one that has waited longest. nullptr is
    ///   ignored.
    /// Preconditions: `block` is from this pool and in use. A checking policy reports a violation and ignores the call,
    ///   and so does every policy in units built with AddressSanitizer if the block is free; otherwise, other policies
    ///   report what they detect when a batch of blocks goes back to the slabs.
    /// Complexity: O(1), and occasionally a batch to the slabs or an exchange of magazines. Where threads share the
    ///   pool, a checking policy takes its lock each time.
    /// Thread safety: the pool's; the block may be from another thread.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept { store_.deallocate(block); }

    /// Effects: hands out `count` blocks and writes their addresses from `blocks` on. It takes them from the cache in
    ///   batches.
    /// Returns: `count`.
    /// Throws: as `allocate`. No block is handed out then.
    /// Complexity: linear in `count`.
    /// Thread safety: as `allocate`.
    std::size_t allocate_bulk(void** blocks, std::size_t count) { return allocate_many(blocks, count); }

    /// Effects: hands out up to `count` blocks, as many as are available, and writes their addresses from `blocks` on.
    /// Returns: how many.
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
    ///   space; what upstream throws, after which the slabs allocated so far are kept.
    /// Complexity: linear in slabs added, and in pages with `pool_options::prefault`.
    /// Thread safety: the pool's.
    void reserve(std::size_t count)
    {
        check_count(count);
        store_.reserve(count);
    }

    /// Effects: in a pool shared by threads, makes the cache of the calling thread with its magazines, which the first
    ///   call of a thread does otherwise. After that and `reserve`, its calls take nothing from upstream while there
    ///   are free blocks outside of the caches of other threads, two magazines each, until the pool is trimmed or
    ///   released. A pool for one thread needs only `reserve`: no effect.
    /// Throws: what upstream throws.
    /// Complexity: O(1), and a few calls upstream.
    /// Thread safety: the pool's.
    void reserve_for_thread()
    {
        if constexpr (Store::is_shared)
            store_.reserve_for_thread();
    }

    /// Effects: returns every wholly free slab to upstream, also if its blocks are in the magazines of other threads;
    ///   and magazines that the other slabs and the threads do not need. A thread gets new ones at its next call.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in threads and slabs, and in blocks for the bits that stand for them.
    /// Thread safety: the pool's.
    std::size_t trim() noexcept { return store_.trim(); }

    /// Effects: frees every block and returns every slab to upstream. The contents of the blocks are lost; the pool
    ///   stays usable.
    /// Complexity: linear in threads, slabs and free blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    void release() noexcept { store_.release(); }

    /// Effects: frees every block and keeps the slabs for later.
    /// Complexity: as `release`.
    /// Thread safety: no other thread may use the pool at the same time.
    void clear() noexcept { store_.clear(); }

    /// Effects: lets the thread that uses the pool next do so. Without this call, a checking policy reports a thread
    ///   that uses the pool while blocks are in use that another one has allocated. No-op for other policies, and where
    ///   threads share the pool.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the pool at the same time.
    void hand_over() noexcept { store_.hand_over(); }

    /// Effects: calls `visit(void*)` for each block in use, in the order of addresses. `visit` may hand blocks back and
    ///   ask for more (those may or may not be visited), but, where one thread uses the pool, not call `trim`,
    ///   `release` or `clear`.
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks that were ever in use. Costs nothing elsewhere.
    /// Thread safety: the pool's, but a block that another thread gives back meanwhile may be visited after that. In
    ///   the child of a fork, blocks that other threads were just taking or giving back in the parent are visited, too;
    ///   `visit` may not touch what is in them, and AddressSanitizer and Valgrind see to it.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        store_.for_each_in_use([&visit](void* block) { visit(block); });
    }

    /// Returns: whether a block of this pool, in use or not, starts at `address`. Any pointer is allowed.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: the pool's.
    bool owns(const void* address) const noexcept
    {
        return store_.with_slabs(
            [address](const detail::core::slab_store& slabs) { return has_block_at(slabs.chunks(), address); });
    }

    /// Effects: reports a double free, a foreign or misaligned pointer, or an overflow, if freeing `block` now would be
    ///   one. Each overflow is reported once; the block can then be freed.
    /// Returns: whether there was nothing to report.
    /// Preconditions: `Policy::checks`.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: the pool's.
    template <class Checking = variant>
    bool check(const void* block) const noexcept
    {
        static_assert(Checking::checks,
                      "only a pool whose policy checks can check a block: use memory_pool::checking_policy");
        return store_.with_slabs([block](const detail::core::slab_store& slabs) { return slabs.check(block); });
    }

    /// Returns: the bytes of a block, as requested.
    std::size_t block_size() const noexcept { return store_.identity().block_size; }

    /// Returns: the alignment of every block, in bytes.
    std::size_t alignment() const noexcept { return store_.alignment(); }

    /// Returns: the pool's name in reports.
    const char* name() const noexcept { return store_.identity().name; }

    /// Returns: the pool's upstream.
    std::pmr::memory_resource* upstream_resource() const noexcept { return store_.upstream(); }

    // Reading the figures of a pool shared by threads takes its lock, and may have to wait while a thread makes it
    // grow.

    /// Returns: blocks in all slabs, in use or not.
    /// Complexity: O(1).
    std::size_t capacity() const noexcept { return store_.capacity(); }

    /// Returns: the maximum number of blocks in use, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return store_.limit(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return max_capacity() != pool_options::unbounded; }

    /// Returns: blocks in use; approximate while other threads use the pool.
    /// Complexity: O(1); linear in threads where they share the pool.
    std::size_t in_use() const noexcept { return store_.in_use(); }

    /// Returns: how many more blocks are available: in a bounded pool until it is exhausted, in any other without a
    ///   call upstream. A pool shared by threads may still call upstream before it takes blocks from the caches of
    ///   other threads, and the number is approximate while other threads use the pool.
    /// Complexity: as `in_use`.
    std::size_t available() const noexcept { return store_.available(); }

    /// Returns: how often the pool has grown since it was made or released, by a step or by `reserve`.
    /// Complexity: O(1).
    std::size_t growth_count() const noexcept
    {
        return store_.with_slabs([](const detail::core::slab_store& slabs) { return slabs.steps(); });
    }

    /// Returns: slabs held.
    /// Complexity: O(1).
    std::size_t slab_count() const noexcept { return store_.slab_count(); }

    /// Returns: bytes held from upstream, bookkeeping included.
    /// Complexity: O(1).
    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved(); }

    /// Returns: the number of threads waiting for a block.
    /// Preconditions: as `allocate_wait`.
    /// Complexity: linear in them.
    template <class Shared = Store>
    std::size_t waiting() const noexcept
    {
        check_waiting<Shared>();
        if constexpr (Shared::is_shared)
            return store_.waiting();
        else
            return 0;
    }

    /// Returns: exact statistics of the pool so far. (Where threads share the pool, the peak is that of a common
    ///   counter: that is what counting costs.) In the child of a fork, blocks that lost threads were about to take
    ///   count as in use.
    /// Preconditions: `Policy::counts`.
    /// Complexity: as `in_use`.
    /// Thread safety: the pool's; exact if no other thread uses the pool.
    template <class Counting = variant>
    pool_statistics statistics() const noexcept
    {
        static_assert(Counting::counts, "this pool does not count: use memory_pool::counting_policy");
        return store_.statistics();
    }

    /// Effects: makes the blocks in use now the peak of the statistics.
    /// Preconditions: `Policy::counts`.
    /// Complexity: O(1).
    /// Thread safety: the pool's; exact if no other thread uses the pool.
    template <class Counting = variant>
    void reset_peak() noexcept
    {
        static_assert(Counting::counts, "this pool does not count: use memory_pool::counting_policy");
        store_.reset_peak();
    }

    /// Returns: whether the invariants hold: every free block is in one place, none is in two, and all counts agree.
    ///   With a checking policy, also whether no block was written to while free, or past its end. For tests.
    /// Complexity: linear in blocks.
    /// Thread safety: no other thread may use the pool at the same time.
    bool verify() const noexcept { return store_.verify(); }

private:
    friend detail::core::pool_access;

    /// For pools built on this one: `listener` owns the slabs and is notified. Takes nothing from `upstream` yet.
    basic_block_pool(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                     detail::core::slab_listener* listener)
        : store_(block_size, options, upstream, listener)
    {
        detail::base::check_policy<Policy>();
    }

    // The bulk forms, for pointers of any type.

    /// Throws: as `reserve`, before it calls upstream.
    void check_count(std::size_t count) const
    {
        detail::core::check_reservation(count, store_.layout().stride(), max_capacity(), store_.identity());
    }

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
        // Where free blocks are known, each block is looked at before it is taken back.
        constexpr bool knows_free_blocks = variant::checks || MEMORY_POOL_ASAN != 0;
        while ((done += knows_free_blocks ? 0 : store_.deallocate_cached(blocks + done, count - done)) != count)
            deallocate(detail::base::address_of(blocks[done++]));
    }

    /// Rejects waiting where no other thread could free a block.
    template <class... Given>
    static constexpr void check_waiting() noexcept
    {
        static_assert(Store::is_shared || detail::core::is_of_use<Given...>,
                      "waiting is for pools that threads share, as another thread must free a "
                      "block: use a concurrent_block_pool, a concurrent_object_pool or a shared_pool");
    }

    mutable Store store_; ///< Mutable: visiting all blocks of a shared store gathers them.
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
