// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The blocks of a pool for one thread: a magazine, a span and a row in front of the slabs. block_pool.hpp shows how
/// blocks move. shared_blocks.hpp has the same interface for several threads.
///
///     capacity = in_use + in the magazine + in the outgoing span + in the incoming row + free in the slabs
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/core/blocks/allocation_counters.hpp>
#include <memory_pool/core/blocks/block_statistics.hpp>
#include <memory_pool/core/blocks/local_caches.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/block_walk.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Blocks for one thread. basic_block_pool documents each function.
template <class Policy>
class local_store : public allocation_counters<base::checked_policy<Policy>::counts>,
                    public pool_use<base::checked_policy<Policy>::checks>
{
    using variant = base::checked_policy<Policy>;
    using use = pool_use<variant::checks>;

public:
    /// Waiting is useless: no other thread can free a block.
    static constexpr bool is_shared = false;

    MEMORY_POOL_NOINLINE local_store(std::size_t block_size, const pool_options& options,
                                     std::pmr::memory_resource* upstream, slab_listener* listener)
        : use({name_in(options), block_size}), caches_(checked_stride(block_size, canary_bytes, options, upstream)),
          slabs_(slab_layout(caches_.stride(), alignment_of_blocks(block_size, options.alignment), options.max_capacity,
                             blocks_in_a_step(options), listener != nullptr ? slab_granule : 1),
                 options.max_capacity,
                 {options.prefault, !variant::checks, variant::checks, options.growth_step, listener,
                  options.max_cached_blocks},
                 {name_in(options), block_size}, upstream)
    {
        publish();
        base::pool_made(this);
    }

    MEMORY_POOL_NOINLINE ~local_store()
    {
        this->hand_over();
        if (!caches_.are_abandoned()) { // An abandoned pool has no blocks in use: each was freed.
            observe_end(in_use(), false);
            observe_all_freed();
        }
        if constexpr (variant::checks) {
            const base::late_reports reports(slabs_);
            slabs_.report_damage();
        }
        caches_.magazine().drop(slabs_.chunks());
        base::pool_gone(this);
    }

    /// Notifies the observer of the policy of `count` blocks in use, before the destructor of the pool frees them.
    void observe_end(std::size_t count, bool is_leak) noexcept
    {
        base::observe_end<Policy>(identity().name, identity().block_size, count, is_leak,
                                  [this](auto&& visit) { this->for_each_in_use(visit); });
    }

    /// Returns: the size of a slab of `count` blocks with the smallest magazine, in bytes.
    static constexpr std::size_t bytes_for(std::size_t count, std::size_t block_size, std::size_t alignment) noexcept
    {
        const std::size_t stride = stride_of_blocks(block_size, canary_bytes, alignment);
        const std::size_t pointers = variant::checks ? 0 : magazine::min_room(count, stride, 0);
        return slab_layout(stride, alignment_of_blocks(block_size, alignment), count).slab_bytes(count) +
               pointers * sizeof(void*);
    }

    using use::hand_over, use::allow_any_thread;

    /// As pool_use::note_use.
    bool note_use(const void* block = nullptr) noexcept
    {
        return use::note_use(block, [this] { return in_use() != 0; });
    }

    // One block.

    /// On failure, tries once more if `relieve()` returns true.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(base::relief relieve)
    {
        void* block = nullptr;
        if (!has_caches || MEMORY_POOL_UNLIKELY(!caches_.take(block)))
            block = allocate_uncached(relieve);
        else
            note_allocation(block);
        MEMORY_POOL_ASSUME(block != nullptr); // Removes checks for nullptr from callers, as in deallocate.
        // Called here, so that a profiler sees one call site.
        if constexpr (base::has_observer<Policy>)
            Policy::observer::allocated(identity().name, block, identity().block_size);
        return block;
    }

    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept
    {
        void* block = nullptr;
        if (!has_caches || MEMORY_POOL_UNLIKELY(!caches_.take(block)))
            block = try_allocate_uncached();
        else
            note_allocation(block);
        if constexpr (base::has_observer<Policy>)
            if (MEMORY_POOL_LIKELY(block != nullptr))
                Policy::observer::allocated(identity().name, block, identity().block_size);
        return block;
    }

    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept
    {
        if constexpr (variant::checks) {
            if (block == nullptr || !note_use(block) || !slabs_.check(block))
                return;
            checks_of(slabs_.chunks()).mark_free(block);
        } else if constexpr (base::tools_watch_blocks) {
            if (MEMORY_POOL_UNLIKELY(base::is_access_forbidden(block)) && report_misuse_of(block))
                return;
        }
        if (!has_caches || MEMORY_POOL_UNLIKELY(!caches_.put(block)))
            take_back_slowly(block);
        else
            given_back(block);
    }

    // Bulk forms.

    /// Takes up to `count` cached blocks. Returns: their number.
    template <class T>
    std::size_t allocate_cached(T** blocks, std::size_t count) noexcept
    {
        const std::size_t taken = caches_.take(blocks, count);
        for (std::size_t i = 0; i != taken; ++i) {
            note_allocation(base::address_of(blocks[i]));
            if constexpr (base::has_observer<Policy>)
                Policy::observer::allocated(identity().name, base::address_of(blocks[i]), identity().block_size);
        }
        return taken;
    }

    /// Frees up to `count` blocks, as many as the magazine takes. Skips nullptr. Returns: the number of accepted
    /// pointers.
    template <class T>
    std::size_t deallocate_cached(T* const* blocks, std::size_t count) noexcept
    {
        return caches_.put(blocks, count, [this](void* block) { given_back(block); });
    }

    // All blocks.

    MEMORY_POOL_NOINLINE void reserve(std::size_t count)
    {
        (void)note_use();
        if (capacity() >= count)
            return;
        while (capacity() < count)
            grow([&] { slabs_.grow(count - capacity()); });
        slabs_.note_step();
        publish();
    }

    MEMORY_POOL_NOINLINE std::size_t trim() noexcept
    {
        (void)note_use();
        const deferred_callbacks deferred;
        const cache_suspension suspended(*this);
        const std::size_t before = bytes_reserved();
        const slab_store::detached_chunks detached = slabs_.detach_free([this](std::size_t capacity_left) {
            caches_.magazine().leave_first_chunk(slabs_.chunks(), capacity_left);
        });
        caches_.magazine().shrink(slabs_.chunks());
        std::size_t bytes = before - bytes_reserved();
        slabs_.chunks().leave(detached); // May call user code, which may use the pool.
        slabs_.chunks().give_back(detached);
        if (has_caches && caches_.magazine().room() == 0 &&
            caches_.magazine().grow(slabs_.chunks())) // Now there is memory for it.
            bytes -= std::min(bytes, caches_.magazine().own_bytes(slabs_.chunks()));
        publish();
        return bytes;
    }

    MEMORY_POOL_NOINLINE void release() noexcept
    {
        (void)note_use();
        const base::late_reports reports(slabs_);
        forget_blocks();
        caches_.magazine().drop(slabs_.chunks());
        slabs_.release();
        publish();
    }

    MEMORY_POOL_NOINLINE void clear() noexcept
    {
        (void)note_use();
        const base::late_reports reports(slabs_);
        forget_blocks();
        slabs_.reset();
        if constexpr (variant::checks)
            core::for_each_free(slabs_.chunks(), [this](void* block) { checks_of(slabs_.chunks()).mark_free(block); });
        publish();
    }

    template <class Visit>
    void for_each_in_use(Visit&& visit)
    {
        (void)note_use();
        const cache_suspension suspended(*this);
        for_each_outstanding(slabs_.chunks(), visit);
    }

    /// Returns: the blocks in use behind the lowest block of `at`, which may have been freed; if `at` is empty, the
    ///   first blocks in use. For iterators.
    MEMORY_POOL_NOINLINE blocks_in_use next_in_use(blocks_in_use at) noexcept
    {
        (void)note_use();
        {
            const base::late_reports reports(slabs_);
            this->uncount_deallocations(caches_.watch(slabs_));
        }
        return block_walk(slabs_.chunks(), caches_).next(at);
    }

    /// Returns: the blocks in use behind all blocks of `at`.
    /// Preconditions: no block was freed since `at` was returned: `changes()` is unchanged.
    MEMORY_POOL_NOINLINE blocks_in_use next_in_use_behind(blocks_in_use at) const noexcept
    {
        return block_walk(slabs_.chunks(), caches_).next_behind(at);
    }

    /// Frees block number `index` of `home` directly into that slab.
    void deallocate(slab& home, std::size_t index) noexcept
    {
        given_back(home.block(index, layout().stride()));
        if (!slabs_.put(home, index))
            this->uncount_deallocations(1);
        caches_.note_change();
    }

    std::size_t abandon() noexcept
    {
        this->allow_any_thread(); // hand_over() of the pool no longer includes these blocks.
        const base::late_reports reports(slabs_);
        this->uncount_deallocations(caches_.abandon(slabs_));
        return in_use();
    }

    template <class Visit>
    void for_each_free(Visit&& visit) const
    {
        core::for_each_free(slabs_.chunks(), visit);
    }

    template <class Look>
    auto with_slabs(Look&& look) const
    {
        return look(slabs_);
    }

    /// Only a shared pool can lose threads in a fork.
    static constexpr bool has_lost_threads() noexcept { return false; }

    // Statistics.

    /// Returns: as local_caches::changes.
    std::uint64_t changes() const noexcept { return caches_.changes(); }
    std::size_t stride() const noexcept { return caches_.stride(); }

    const pool_identity& identity() const noexcept { return slabs_.identity(); }
    const slab_layout& layout() const noexcept { return slabs_.layout(); }
    std::size_t alignment() const noexcept { return layout().alignment(); }
    std::pmr::memory_resource* upstream() const noexcept { return slabs_.chunks().upstream(); }
    std::size_t limit() const noexcept { return slabs_.chunks().limit(); }
    std::size_t capacity() const noexcept { return slabs_.capacity(); }
    std::size_t slab_count() const noexcept { return slabs_.chunks().slab_count(); }
    std::size_t bytes_reserved() const noexcept
    {
        return slabs_.chunks().bytes_reserved() + caches_.magazine().own_bytes(slabs_.chunks());
    }

    std::size_t in_use() const noexcept { return slabs_.outstanding() - caches_.count(); }

    std::size_t available() const noexcept { return (slabs_.chunks().is_bounded() ? limit() : capacity()) - in_use(); }

    pool_statistics statistics() const noexcept
    {
        pool_statistics statistics;
        if constexpr (variant::counts)
            statistics = this->read();
        statistics.slabs = slab_count();
        statistics.bytes_reserved = bytes_reserved();
        return statistics;
    }

    report_statistics reported_statistics() const noexcept
    {
        report_statistics statistics = block_statistics(slabs_, in_use(), bytes_reserved());
        if constexpr (variant::counts)
            add_counts(statistics, this->read());
        return statistics;
    }

    /// The entry in reports.
    const reported& entry() const noexcept { return entry_; }

    bool verify() const noexcept
    {
        if (!slabs_.verify() || in_use() > capacity() ||
            !are_cached_blocks_valid(slabs_.chunks(), [this](auto&& visit) { caches_.for_each(visit); }))
            return false;
        if constexpr (variant::counts)
            if (this->read().in_use != in_use())
                return false;
        return !variant::checks || !has_damage(slabs_.chunks());
    }

private:
    MEMORY_POOL_SLOW_PATH static report_statistics read_statistics(const void* pool) noexcept
    {
        return static_cast<const local_store*>(pool)->reported_statistics();
    }

    void publish() const noexcept { entry_.publish(); }

    /// A pool whose policy checks fills free blocks, and keeps all of them in the slabs.
    static constexpr bool has_caches = !variant::checks;

    static constexpr std::size_t canary_bytes = variant::checks ? fill_pattern::canary_bytes : 0;

    /// Empties the magazine, span and row into the slabs, and keeps them empty during its lifetime: the bits of the
    /// slabs then show exactly which blocks are in use. May be nested.
    class cache_suspension : base::immovable<cache_suspension>
    {
    public:
        explicit cache_suspension(local_store& pool) noexcept
            : pool_(pool), is_outermost_(!pool.caches_.are_suspended())
        {
            const base::late_reports reports(pool.slabs_);
            pool.uncount_deallocations(pool.caches_.suspend(pool.slabs_));
        }
        ~cache_suspension()
        {
            if (is_outermost_)
                pool_.caches_.resume();
        }

    private:
        local_store& pool_;
        bool is_outermost_;
    };

    // Allocation.

    MEMORY_POOL_ALWAYS_INLINE void note_allocation(void* block) noexcept
    {
        if constexpr (variant::counts)
            this->count_allocation();
        if constexpr (base::tools_watch_blocks)
            base::block_allocated(this, block, identity().block_size);
    }

    /// Reports a write after free, and marks the block as in use.
    void check_out(void* block) noexcept
    {
        if (!checks_of(slabs_.chunks()).is_untouched(block))
            slabs_.report_misuse(error_kind::write_after_free, block);
        checks_of(slabs_.chunks()).mark_in_use(block);
    }

    MEMORY_POOL_NOINLINE void* allocate_uncached(base::relief relieve)
    {
        base::failure_guard guard([this] { this->count_failure(); });
        void* block = nullptr;
        base::try_again_after(relieve, [&] { block = hand_out_after_growth(); });
        if (block == nullptr)
            base::throw_exhausted(identity().name, limit(), identity().block_size);
        guard.succeeded();
        return block;
    }

    MEMORY_POOL_NOINLINE void* try_allocate_uncached() noexcept
    {
        void* block = nullptr;
        if (!base::succeeds([&] { block = hand_out_after_growth(); }) || block == nullptr)
            this->count_failure();
        return block;
    }

    /// Allocates a block, and enlarges the pool if needed. Returns: nullptr if the pool is at its limit.
    void* hand_out_after_growth()
    {
        (void)note_use();
        void* block = hand_out_from_store();
        while (block == nullptr && slabs_.may_grow()) {
            grow([this] { slabs_.enlarge(); });
            block = hand_out_from_store();
        }
        publish();
        return block;
    }

    /// Allocates a block from the caches or the slabs. Returns: nullptr if there is no free block.
    void* hand_out_from_store() noexcept
    {
        // Nothing in this scope throws: the destructor of `reports` calls the error handler, which need not return.
        const base::late_reports reports(slabs_);
        void* block = nullptr;
        if (!has_caches || !caches_.take(block)) // take succeeds if the error handler has used the pool since.
            block = take_from_store();
        if (block != nullptr) {
            if constexpr (variant::checks)
                check_out(block);
            note_allocation(block);
        }
        return block;
    }

    /// Upper bound of the blocks that a pool with an entry in reports allocates before it publishes its statistics
    /// again. A share of the capacity, because each batch may search a slab, in linear time.
    std::size_t max_unpublished() const noexcept { return std::max<std::size_t>(256, capacity() / 64); }

    /// Refills the caches from the slabs. Returns: a block; nullptr if there is no free block.
    void* take_from_store() noexcept
    {
        if (!has_caches || !caches_.are_used())
            return slabs_.take_one_late();
        const std::size_t max_blocks = entry_.is_on() ? max_unpublished() : slab::any_number;
        this->uncount_deallocations(caches_.refill(slabs_, max_blocks));
        void* block = nullptr;
        return caches_.take(block) ? block : nullptr;
    }

    template <class Enlarge>
    void grow(Enlarge&& enlarge)
    {
        const deferred_callbacks deferred;
        enlarge();
        if (has_caches && caches_.magazine().grow(slabs_.chunks())) // If upstream fails, the magazine keeps its size.
            caches_.open();
    }

    // Deallocation.

    /// Puts a block into its slab. A rejected block does not count as freed.
    void put(void* block) noexcept { this->uncount_deallocations(slabs_.put(&block, 1)); }

    void given_back(void* block) noexcept
    {
        if constexpr (variant::counts)
            this->count_deallocation();
        if constexpr (base::tools_watch_blocks)
            base::block_given_back(this, block, identity().block_size);
        if constexpr (base::has_observer<Policy>)
            Policy::observer::freed(identity().name, block);
    }

    /// Reports the misuse, if any, of freeing `block`, which may be cached. Returns: whether there was a misuse.
    /// (There is none if the program itself has poisoned a block in use.)
    MEMORY_POOL_SLOW_PATH bool report_misuse_of(const void* block) noexcept
    {
        std::optional<error_kind> misuse;
        {
            const cache_suspension suspended(*this);
            misuse = misuse_at(slabs_.chunks(), block);
        }
        if (misuse)
            slabs_.report_misuse(*misuse, block);
        return misuse.has_value();
    }

    MEMORY_POOL_NOINLINE void take_back_slowly(void* block) noexcept
    {
        if (block == nullptr)
            return;
        if (caches_.are_abandoned()) {
            given_back(block);
            if constexpr (variant::checks) // Otherwise, the block's fill pattern would look like an overflow.
                put(block);
            slabs_.chunks().listener()->survivor_returned(block); // May destroy this store.
            return;
        }
        const base::late_reports reports(slabs_);
        if (caches_.is_watched() || !caches_.are_used()) {
            given_back(block);
            put(block);
            if (caches_.note_freed())
                caches_.open();
            return;
        }
        do
            this->uncount_deallocations(caches_.make_room(slabs_));
        while (!caches_.put(block));
        given_back(block);
        publish();
    }

    void observe_all_freed() noexcept
    {
        base::observe_all_freed<Policy>(identity().name, [this](auto&& freed) { this->for_each_in_use(freed); });
    }

    void forget_blocks() noexcept
    {
        observe_all_freed();
        if constexpr (variant::checks)
            slabs_.report_damage();
        this->count_deallocations(in_use());
        caches_.clear();
        base::pool_gone(this);
        base::pool_made(this);
    }

    local_caches caches_;
    slab_store slabs_;
    reported entry_{"block_pool", identity().name, {&read_statistics, this, is_shared}};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
