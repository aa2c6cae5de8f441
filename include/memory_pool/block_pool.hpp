// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of one size, handed out and taken back in about a nanosecond, for one thread.
///
///                        pop                      next                      get a slab
///     allocate    <------------ magazine <------------ outgoing <----- slabs <----------- upstream
///                                  ^                       ^             ^
///     deallocate  -----------------+--------> incoming ----+-------------+
///                        push        append         (full or empty)
///
/// A block that comes back goes on top of the magazine, an array of pointers, and is the next to be handed out, while it
/// is still in the processor's cache. Blocks that come back in the order of their addresses, up or down, as when all are
/// freed in the order they were made or the reverse, are noticed after a while, and only move the end of a row from then
/// on. What overflows returns to the slabs in batches; there a block is one bit.
///
///     capacity = in_use + in the magazine + in the outgoing span + in the incoming row + free in the slabs
///
/// Thread safety: none of its own: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
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
#include <memory_pool/core/slabs/block_row.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/late_reports.hpp>
#include <memory_pool/core/slabs/magazine.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
/// A pool of blocks of one size. See `block_pool` for the plain one, and base/policies.hpp for `Policy`.
template <class Policy = default_policy>
class basic_block_pool : private core::allocation_counters<base::checked_policy<Policy>::counts>,
                         public core::bulk_operations<basic_block_pool<Policy>>
{
    using variant = base::checked_policy<Policy>;

public:
    /// The variant that this pool is.
    using policy = Policy;

    /// Effects: makes a pool of blocks of `block_size` bytes each, and takes `options.initial_capacity` of them from
    ///   `upstream` at once.
    /// Preconditions: `upstream` outlives the pool.
    /// Throws: std::invalid_argument if `block_size` or `max_capacity` is 0, `max_capacity` is below `initial_capacity`,
    ///   `alignment` is not a power of two, or `upstream` is nullptr; size_overflow if the sizes do not fit; what upstream throws.
    /// Complexity: O(1); linear in pages where `options.prefault` asks for it, and in bytes where the policy checks.
    explicit basic_block_pool(std::size_t block_size, const pool_options& options = {},
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : basic_block_pool(block_size, options, upstream, nullptr)
    {
        // The pool is whole by now: should this throw, the destructor gives back what was got.
        if (options.initial_capacity != 0)
            reserve(options.initial_capacity);
    }

    /// Rejects wrong arguments, such as a number of blocks, which is an option.
    template <class Given, class... More, class = core::if_none_of<Given, const pool_options&>>
    basic_block_pool(std::size_t block_size, const Given&, const More&...) : basic_block_pool(block_size)
    {
        static_assert(core::is_of_use<Given>,
                      "a pool of blocks takes the bytes of a block, a pool_options, and then a memory "
                      "resource: set initial_capacity or max_capacity in the options for a number "
                      "of blocks");
    }

    /// For pools that are built on this one: as the other, but `listener` owns the slabs and is told about them. Takes nothing
    /// from `upstream` yet.
    basic_block_pool(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                     core::slab_listener* listener)
        : stride_(core::checked_stride(block_size, canary_bytes, options, upstream)),
          store_(core::slab_layout(stride_, core::alignment_of_blocks(options), options.max_capacity,
                                   core::blocks_in_a_step(options), listener != nullptr ? core::slab_granule : 1),
                 options.max_capacity,
                 {options.prefault, !variant::checks, variant::checks, options.growth_step, listener,
                  options.magazine_size},
                 {core::name_in(options), block_size}, upstream)
    {
        base::check_policy<Policy>();
        base::pool_made(this);
    }

    basic_block_pool(const basic_block_pool&) = delete;
    basic_block_pool& operator=(const basic_block_pool&) = delete;

    /// Effects: gives everything back upstream. Blocks still in use are gone.
    ~basic_block_pool()
    {
        if constexpr (variant::checks) {
            const core::late_reports reports(store_);
            store_.report_damage();
        }
        if (const std::size_t bytes = own_array_bytes())
            upstream_resource()->deallocate(magazine_.array(), bytes);
        base::pool_gone(this);
    }

    /// Effects: hands out a block.
    /// Returns: it: `block_size()` bytes, aligned as asked for, with undefined content.
    /// Throws: pool_exhausted if the pool is bounded and at its limit; what upstream throws. No block is handed out then.
    /// Complexity: O(1), and now and then a batch from the slabs or a call upstream.
    /// Thread safety: one thread at a time.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate()
    {
        void* block = nullptr;
        if (MEMORY_POOL_LIKELY(take_cached(block)))
            hand_out(block);
        else
            block = allocate_uncached();
        MEMORY_POOL_ASSUME(block != nullptr); // Saves callers that ask, as deallocate does, from asking.
        return block;
    }

    /// Effects: hands out a block, if there is one to be had.
    /// Returns: it, as from `allocate`; or nullptr if the pool is at its limit, or upstream fails.
    /// Complexity: as `allocate`.
    /// Thread safety: one thread at a time.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept
    {
        void* block = nullptr;
        if (MEMORY_POOL_UNLIKELY(!take_cached(block)))
            return try_allocate_uncached();
        hand_out(block);
        return block;
    }

    /// Does not compile: no other thread could free a block.
    template <class... Given>
    void* allocate_wait(const Given&...)
    {
        static_assert(core::is_of_use<Given...>,
                      "waiting is for pools that threads share, as another thread must free a "
                      "block: use a concurrent_block_pool or a concurrent_object_pool");
        return nullptr;
    }
    /// Does not compile.
    template <class... Given>
    void* try_allocate_until(const Given&... given)
    {
        return allocate_wait(given...);
    }
    /// Does not compile.
    template <class... Given>
    void* try_allocate_for(const Given&... given)
    {
        return allocate_wait(given...);
    }

    /// Effects: takes a block back. nullptr is ignored.
    /// Preconditions: `block` is from this pool and in use. A policy that checks reports it if not, and ignores the
    ///   call; any other one reports what it sees when a batch of blocks goes back to the slabs.
    /// Complexity: O(1), and now and then a batch to the slabs.
    /// Thread safety: one thread at a time.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept
    {
        if constexpr (variant::checks) {
            if (block == nullptr || !verify(block))
                return;
            store_.checks().mark_free(block);
        }
        take_back(block);
    }

    /// Effects: takes slabs from upstream until `capacity()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_capacity()`; size_overflow if so many blocks do not fit into
    ///   memory; what upstream throws, after which the slabs that were got are kept.
    /// Complexity: linear in slabs added, and in pages with `pool_options::prefault`.
    /// Thread safety: one thread at a time.
    void reserve(std::size_t count)
    {
        core::check_reservation(count, stride_, max_capacity(), store_.identity());
        if (capacity() >= count)
            return;
        while (capacity() < count)
            grow([&] { store_.grow(count - capacity()); });
        store_.note_step();
    }

    /// Effects: gives every slab that is wholly free back upstream.
    /// Returns: how many bytes went back.
    /// Complexity: linear in slabs, and in blocks for the bits that stand for them.
    /// Thread safety: one thread at a time.
    std::size_t trim() noexcept
    {
        const cache_suspension suspended(*this);
        const std::size_t before = bytes_reserved();
        const core::slab_store::detached_chunks detached =
            store_.detach_free([this](std::size_t capacity_left) { return leave_first_chunk(capacity_left); });
        shrink_magazine();
        const std::size_t bytes = before - bytes_reserved();
        store_.leave(detached); // It may run code of the program, which may use the pool.
        store_.give_back(detached);
        return bytes;
    }

    /// Effects: takes every block back and gives every slab back upstream. Whatever was in the blocks is gone; the pool
    ///   works on.
    /// Complexity: linear in slabs.
    /// Thread safety: one thread at a time.
    void release() noexcept
    {
        const core::late_reports reports(store_);
        forget_blocks();
        drop_magazine();
        store_.release();
    }

    /// Effects: takes every block back and keeps the slabs for later.
    /// Complexity: linear in slabs.
    /// Thread safety: one thread at a time.
    void clear() noexcept
    {
        const core::late_reports reports(store_);
        forget_blocks();
        store_.reset();
        if constexpr (variant::checks)
            store_.for_each_free([this](void* block) { store_.checks().mark_free(block); });
    }

    /// Effects: calls `visit(void*)` for each block in use, in the order of addresses. `visit` may hand blocks back and
    ///   ask for more (those may or may not be visited), but not call `trim`, `release` or `clear`.
    /// Throws: what `visit` throws.
    /// Complexity: linear in blocks that were ever in use. Costs nothing elsewhere.
    /// Thread safety: one thread at a time.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        const cache_suspension suspended(*this);
        store_.for_each_handed_out([&visit](void* block) { visit(block); });
    }

    /// Returns: whether a block of this pool, in use or not, starts at `address`. Any pointer may be asked after.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: one thread at a time.
    bool owns(const void* address) const noexcept { return store_.has_block_at(address); }

    /// Returns: whether `block` is a block of this pool that is in use. Any pointer may be asked after.
    /// Preconditions: called from a visitor of `for_each`, or the policy checks: elsewhere a block that came back a moment
    ///   ago still counts as in use.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: one thread at a time.
    bool is_in_use(const void* block) const noexcept { return store_.has_handed_out(block); }

    /// Effects: reports a double free, a foreign or misaligned pointer, or an overflow, if that is what it would be to
    ///   give `block` back now. Each overflow is reported once; the block can then be freed.
    /// Returns: whether there was nothing to report.
    /// Preconditions: `Policy::checks`.
    /// Complexity: logarithmic in slabs.
    /// Thread safety: one thread at a time.
    bool verify(const void* block) const noexcept
    {
        static_assert(variant::checks, "only a pool whose policy checks can verify: use memory_pool::checking_policy");
        return store_.verify(block);
    }

    /// Returns: the bytes of a block, as asked for.
    std::size_t block_size() const noexcept { return store_.identity().block_size; }

    /// Returns: the alignment of every block, in bytes.
    std::size_t alignment() const noexcept { return store_.layout().alignment(); }

    /// Returns: how the pool calls itself in reports.
    const char* name() const noexcept { return store_.identity().name; }

    /// Returns: where the pool takes its memory from.
    std::pmr::memory_resource* upstream_resource() const noexcept { return store_.upstream(); }

    /// Returns: blocks in all slabs, in use or not.
    /// Complexity: O(1).
    std::size_t capacity() const noexcept { return store_.capacity(); }

    /// Returns: the most blocks that can be in use at one time, `pool_options::unbounded` if there is no limit.
    std::size_t max_capacity() const noexcept { return store_.limit(); }

    /// Returns: whether there is a limit.
    bool is_bounded() const noexcept { return max_capacity() != pool_options::unbounded; }

    /// Returns: blocks in use.
    /// Complexity: O(1).
    std::size_t in_use() const noexcept
    {
        return store_.handed_out() - magazine_.size() - (outgoing_.bytes() + incoming_.span().bytes()) / stride_;
    }

    /// Returns: how many more blocks can be had: from a bounded pool until it is exhausted, from any other one without
    ///   going upstream.
    /// Complexity: O(1).
    std::size_t available() const noexcept { return (is_bounded() ? max_capacity() : capacity()) - in_use(); }

    /// Returns: how often the pool has taken blocks from upstream since it was made or released: by a step, or for `reserve`.
    std::size_t enlarge_steps() const noexcept { return store_.steps(); }

    /// Returns: slabs held.
    std::size_t slab_count() const noexcept { return store_.slab_count(); }

    /// Returns: bytes taken from upstream and not given back, bookkeeping included.
    /// Complexity: O(1).
    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved() + own_array_bytes(); }

    /// Returns: what the pool has done so far, exactly.
    /// Preconditions: `Policy::counts`.
    /// Complexity: O(1).
    /// Thread safety: one thread at a time.
    pool_statistics statistics() const noexcept
    {
        static_assert(variant::counts, "this pool does not count: use memory_pool::counting_policy");
        pool_statistics statistics = this->read();
        statistics.slabs = slab_count();
        statistics.bytes_reserved = bytes_reserved();
        return statistics;
    }

    // For pools that are built on this one.

    /// Returns: false: only pools that threads share lose threads in a fork.
    static constexpr bool has_lost_threads() noexcept { return false; }

    /// Returns: how its slabs are cut.
    const core::slab_layout& layout() const noexcept { return store_.layout(); }

    /// Effects: lets go of the blocks: those in use are not taken back any more when they are given back, but the listener is
    ///   told.
    /// Returns: how many are in use.
    /// Preconditions: the pool has a listener, and no block is asked for any more.
    /// Complexity: linear in slabs.
    std::size_t abandon() noexcept
    {
        const core::late_reports reports(store_);
        is_suspended_ = true;
        is_abandoned_ = true;
        flush();
        magazine_.close();
        return in_use();
    }

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
    /// Thread safety: one thread at a time.
    bool is_valid() const noexcept
    {
        if (!store_.is_valid() || in_use() > capacity() || !cached_blocks_are_handed_out_once())
            return false;
        if constexpr (variant::counts) {
            if (this->read().in_use != in_use())
                return false;
        }
        if constexpr (variant::checks)
            return !store_.has_damage();
        return true;
    }

private:
    static constexpr std::size_t canary_bytes = variant::checks ? core::fill_pattern::canary_bytes : 0;

    /// Blocks to take out of the slabs at once, where they do not stand in a row.
    static constexpr std::size_t batch = 64;

    /// Pushes onto the magazine after which to look for a row. Once one was found, every `row_length` are looked at.
    static constexpr std::size_t patience = 128;

    /// Empties the magazine, span and row into the slabs and keeps them empty, so that during its life the bits in the
    /// slabs say exactly which blocks are in use. May be nested.
    class cache_suspension
    {
    public:
        explicit cache_suspension(basic_block_pool& pool) noexcept : pool_(pool), is_outermost_(!pool.is_suspended_)
        {
            const core::late_reports reports(pool.store_);
            pool.is_suspended_ = true;
            pool.flush();
            pool.magazine_.close();
        }
        cache_suspension(const cache_suspension&) = delete;
        cache_suspension& operator=(const cache_suspension&) = delete;
        ~cache_suspension()
        {
            if (is_outermost_) {
                pool_.is_suspended_ = false;
                pool_.open_magazine();
            }
        }

    private:
        basic_block_pool& pool_;
        bool is_outermost_;
    };

    /// Whether free blocks may lie in the magazine, span and row; else each goes to and from its slab by itself.
    bool is_caching() const noexcept { return magazine_.room() != 0 && !is_suspended_; }

    // The way out.

    MEMORY_POOL_ALWAYS_INLINE bool take_cached(void*& block) noexcept
    {
        return magazine_.pop(block) || outgoing_.pop_front(block, stride_);
    }

    MEMORY_POOL_ALWAYS_INLINE void hand_out(void* block) noexcept
    {
        if constexpr (variant::checks)
            hand_out_checked(block);
        else
            note_handed_out(block);
    }

    void hand_out_checked(void* block) noexcept
    {
        const core::late_reports reports(store_);
        if (!store_.checks().is_untouched(block))
            store_.report_misuse(error::write_after_free, block);
        store_.checks().mark_in_use(block);
        note_handed_out(block);
    }

    MEMORY_POOL_ALWAYS_INLINE void note_handed_out(void* block) noexcept
    {
        this->count_allocation();
        base::block_handed_out(this, block, block_size());
    }

    MEMORY_POOL_NOINLINE void* allocate_uncached()
    {
        base::failure_guard guard([this] { this->count_failure(); });
        void* block = hand_out_from_store();
        while (block == nullptr) {
            if (!store_.may_grow())
                base::throw_exhausted(name(), max_capacity(), block_size());
            grow([this] { store_.enlarge(); });
            block = hand_out_from_store();
        }
        guard.succeeded();
        return block;
    }

    MEMORY_POOL_NOINLINE void* try_allocate_uncached() noexcept
    {
        void* block = hand_out_from_store();
        while (block == nullptr) {
            if (!store_.may_grow() || !base::succeeds([this] { grow([this] { store_.enlarge(); }); })) {
                this->count_failure();
                return nullptr;
            }
            block = hand_out_from_store();
        }
        return block;
    }

    /// Returns: a block, or nullptr if no slab has a free one.
    void* hand_out_from_store() noexcept
    {
        // Not around what may throw: where that ends in the error handler, it need not return.
        const core::late_reports reports(store_);
        void* block = nullptr;
        if (!take_cached(block)) // There is something if the error handler has used the pool since.
            block = take_from_store();
        if (block != nullptr)
            hand_out(block);
        return block;
    }

    /// Refills the caches, which are empty, except perhaps `incoming_`.
    /// Returns: a block, or nullptr if no slab has a free one.
    void* take_from_store() noexcept
    {
        if (!is_caching())
            return store_.take_one_late();
        if (!incoming_.empty()) {
            outgoing_ = take_row_out();
        } else {
            outgoing_ = store_.take_span();
            if (outgoing_.empty())
                magazine_.fill(
                    [this](void** out, std::size_t room) { return store_.take(out, std::min(room, batch)); });
        }
        (void)magazine_.open(patience);
        void* block = nullptr;
        return take_cached(block) ? block : nullptr;
    }

    template <class Enlarge>
    void grow(Enlarge&& enlarge)
    {
        enlarge();
        grow_magazine();
    }

    // The way back.

    /// Asks for nullptr only where that costs nothing: while there is no row, `incoming_` is nowhere, and nullptr is next
    /// there; while there is one, the magazine is closed.
    MEMORY_POOL_ALWAYS_INLINE void take_back(void* block) noexcept
    {
        if (incoming_.is_next(block)) {
            if (block == nullptr)
                return;
            incoming_.extend();
        } else if (MEMORY_POOL_UNLIKELY(!magazine_.push(block))) {
            return take_back_slowly(block);
        }
        given_back(block);
    }

    void given_back(void* block) noexcept
    {
        this->count_deallocation();
        base::block_given_back(this, block, block_size());
    }

    MEMORY_POOL_NOINLINE void take_back_slowly(void* block) noexcept
    {
        if (block == nullptr)
            return;
        if (is_abandoned_) {
            given_back(block);
            if constexpr (variant::checks)
                put(&block, 1);                          // Else it would be taken for one that has overflowed.
            store_.listener()->survivor_returned(block); // With it, this may be gone.
            return;
        }
        const core::late_reports reports(store_);
        if (!is_caching()) {
            given_back(block);
            put(&block, 1);
            return;
        }
        if (!incoming_.empty())
            end_row();
        else if (!begin_row())
            make_room_in_magazine();
        take_back(block);
    }

    /// Returns: whether the magazine ended in a row of this pool's blocks, which it is rid of then.
    bool begin_row() noexcept
    {
        const std::ptrdiff_t step = magazine_.step_of_row(stride_);
        if (step == 0 || !store_.owns(magazine_.row(step)))
            return false;
        incoming_ = magazine_.take_row(step);
        magazine_.close();
        return true;
    }

    /// Returns: the blocks of the incoming row, which is over.
    core::block_span take_row_out() noexcept
    {
        const core::block_row row = std::exchange(incoming_, {});
        const core::block_span span = store_.clip(row);
        this->uncount_deallocations((row.span().bytes() - span.bytes()) / stride_);
        return span;
    }

    /// Lets a few blocks into the magazine, to see whether they begin the next row.
    void end_row() noexcept
    {
        put(take_row_out());
        if (!magazine_.open(core::magazine::row_length))
            make_room_in_magazine();
    }

    void make_room_in_magazine() noexcept
    {
        if (magazine_.open(patience))
            return;
        const std::size_t oldest = base::divide_round_up(magazine_.size(), 2);
        put(magazine_.blocks(), oldest);
        magazine_.forget_oldest(oldest);
        (void)magazine_.open(patience);
    }

    /// Empties the caches into the slabs.
    void flush() noexcept
    {
        put(magazine_.blocks(), magazine_.size());
        magazine_.clear();
        put(std::exchange(outgoing_, {}));
        put(take_row_out());
    }

    /// Puts blocks back into their slabs. Those that the store refuses do not count as given back.
    void put(void* const* blocks, std::size_t count) noexcept
    {
        this->uncount_deallocations(store_.put(blocks, count));
    }
    void put(const core::block_span& span) noexcept { this->uncount_deallocations(store_.put(span)); }

    void forget_blocks() noexcept
    {
        if constexpr (variant::checks)
            store_.report_damage();
        this->count_deallocations(in_use());
        magazine_.clear();
        outgoing_ = {};
        incoming_ = {};
        base::pool_gone(this);
        base::pool_made(this);
    }

    // The magazine's array.

    void open_magazine() noexcept
    {
        if (!variant::checks && !is_suspended_ && !is_abandoned_ && incoming_.empty())
            (void)magazine_.open(patience);
    }

    /// How large the magazine's array should be for the slabs there are, in pointers.
    std::size_t suitable_room() const noexcept { return store_.suitable_magazine_room(store_.capacity()); }

    /// The bytes of the magazine's array, if it is not the one behind the first slab.
    std::size_t own_array_bytes() const noexcept
    {
        return magazine_.array() == store_.room_for_magazine().array ? 0 : magazine_.room() * sizeof(void*);
    }

    /// If upstream does not let it, the pool does with less.
    void grow_magazine() noexcept
    {
        if constexpr (!variant::checks) {
            const std::size_t room = magazine_.room();
            const std::size_t suitable = suitable_room();
            if (suitable > room + room / 2)
                (void)base::succeeds([this, suitable] { move_magazine(suitable); });
        }
    }

    void shrink_magazine() noexcept
    {
        if constexpr (!variant::checks) {
            if (2 * suitable_room() < magazine_.room())
                (void)base::succeeds([this] { move_magazine(suitable_room()); });
        }
    }

    /// Moves it into the array behind the first slab, if that is large enough.
    void move_magazine(std::size_t room)
    {
        const auto [array, size] = store_.room_for_magazine();
        if (room > size)
            move_magazine_to(new_array(room), room);
        else if (magazine_.array() != array)
            move_magazine_to(array, size);
    }

    void** new_array(std::size_t room)
    {
        return static_cast<void**>(upstream_resource()->allocate(room * sizeof(void*)));
    }

    void move_magazine_to(void** array, std::size_t room) noexcept
    {
        void** const old = magazine_.array();
        const std::size_t old_bytes = own_array_bytes();
        magazine_.adopt(array, room);
        open_magazine();
        if (old_bytes != 0)
            upstream_resource()->deallocate(old, old_bytes);
    }

    void drop_magazine() noexcept { move_magazine_to(nullptr, 0); }

    /// Moves the magazine, which is empty, out of the first chunk, when `capacity_left` blocks remain without it. It has no more room
    ///   then than before, so that no more is taken from upstream than goes back.
    /// Returns: whether it is out.
    bool leave_first_chunk(std::size_t capacity_left) noexcept
    {
        if (own_array_bytes() != 0 || magazine_.room() == 0)
            return true;
        const std::size_t room = std::min(store_.suitable_magazine_room(capacity_left), magazine_.room());
        if (room == 0)
            drop_magazine();
        else
            return base::succeeds([&] { move_magazine_to(new_array(room), room); });
        return true;
    }

    // Proof.

    template <class Visit>
    void for_each_cached(Visit&& visit) const
    {
        std::for_each(magazine_.blocks(), magazine_.blocks() + magazine_.size(), visit);
        for (const core::block_span& span : {outgoing_, incoming_.span()})
            for (char* block = span.begin; block != span.end; block += stride_)
                visit(block);
    }

    bool cached_blocks_are_handed_out_once() const noexcept
    {
        // Marks each cached block as free in its slab, which shows those that are marked already, and unmarks them.
        bool valid = true;
        std::size_t marked = 0;
        const auto flip = [this](void* block) {
            const auto position = store_.find(block);
            *position.home->word_of(position.index) ^= std::uint64_t{1} << (position.index % base::bits_per_word);
        };
        for_each_cached([&](void* block) {
            const auto position = store_.find(block);
            valid = valid && position.home != nullptr && position.at_start && !position.home->is_free(position.index);
            if (valid) {
                flip(block);
                ++marked;
            }
        });
        for_each_cached([&](void* block) {
            if (marked != 0) {
                flip(block);
                --marked;
            }
        });
        return valid;
    }

    core::magazine magazine_;
    core::block_span outgoing_; ///< Handed out next, when the magazine is empty.
    core::block_row incoming_;  ///< Grows while blocks come back in the order of their addresses.
    std::size_t stride_;        ///< Bytes from one block to the next.
    bool is_suspended_ = false; ///< See cache_suspension.
    bool is_abandoned_ = false; ///< See abandon.
    core::slab_store store_;
};

/// Raw blocks of one size, for one thread, as fast as can be.
using block_pool = basic_block_pool<default_policy>;

} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
