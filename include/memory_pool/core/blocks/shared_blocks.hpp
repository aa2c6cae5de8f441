// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The blocks of a pool for several threads, with the counts and checks of its policy. shared_store.hpp shows how
/// blocks move. local_store.hpp has the same interface for one thread.
///
/// Thread safety: as documented in basic_block_pool for pools shared by threads.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/blocks/shared_store.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/statistics.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Blocks for several threads. basic_block_pool documents each function.
template <class Policy>
class shared_blocks final : public shared_store, public pool_use<base::checked_policy<Policy>::checks>
{
    using variant = base::checked_policy<Policy>;
    using use = pool_use<variant::checks>;

public:
    /// Waiting is useful: another thread may free a block.
    static constexpr bool is_shared = true;

    shared_blocks(std::size_t block_size, const pool_options& options, std::pmr::memory_resource* upstream,
                  slab_listener* listener)
        : shared_store(
              layout_for(checked_stride(block_size, canary_bytes, options, upstream),
                         alignment_in_slab(block_size, options.alignment), options,
                         listener != nullptr ? slab_granule : 1),
              options.max_capacity,
              {options.prefault, false, variant::checks, options.growth_step, listener, options.max_cached_blocks},
              {name_in(options), block_size}, upstream),
          use(shared_store::identity()), alignment_(alignment_of_blocks(block_size, options.alignment)),
          entry_("concurrent_block_pool", identity().name, {&read_statistics, this, is_shared})
    {
        this->allow_any_thread();
        enter_again_with(entry_);
        base::pool_made(this);
    }

    ~shared_blocks()
    {
        entry_.leave();
        if (!is_abandoned()) { // An abandoned pool has no blocks in use: each was freed.
            observe_end(in_use(), false);
            observe_all_freed();
        }
        if constexpr (variant::checks)
            with_slabs([](const slab_store& slabs) { slabs.report_damage(); });
        base::pool_gone(this);
    }

    /// Notifies the observer of the policy of `count` blocks in use, before the destructor of the pool frees them.
    void observe_end(std::size_t count, bool is_leak) noexcept
    {
        base::observe_end<Policy>(identity().name, identity().block_size, count, is_leak,
                                  [this](auto&& visit) { this->for_each_in_use(visit); });
    }

    /// Returns: the size of a slab of `count` blocks in bytes, without caches.
    static constexpr std::size_t bytes_for(std::size_t count, std::size_t block_size, std::size_t alignment) noexcept
    {
        return slab_layout(stride_of_blocks(block_size, canary_bytes, alignment),
                           alignment_in_slab(block_size, alignment), count)
            .slab_bytes(count);
    }

    using use::hand_over, use::allow_any_thread;

    /// As pool_use::note_use.
    bool note_use(const void* block) noexcept
    {
        return use::note_use(block, [] { return true; });
    }

    // One block.

    /// On failure, tries once more if `relieve()` returns true.
    MEMORY_POOL_ALWAYS_INLINE void* allocate(base::relief relieve)
    {
        void* block = nullptr;
        if (MEMORY_POOL_UNLIKELY(!take_cached(block)))
            block = take_uncached(relieve);
        MEMORY_POOL_ASSUME(block != nullptr);
        return note_allocation(block);
    }

    MEMORY_POOL_ALWAYS_INLINE void* try_allocate() noexcept
    {
        void* block = nullptr;
        if (MEMORY_POOL_UNLIKELY(!take_cached(block))) {
            block = try_take_uncached();
            if (block == nullptr)
                return nullptr;
        }
        return note_allocation(block);
    }

    void* allocate_wait()
    {
        base::failure_guard guard([this] { count_failure(); });
        void* const block = take_waiting<true>([](std::condition_variable& ready, std::unique_lock<std::mutex>& lock) {
            ready.wait(lock);
            return true;
        });
        guard.succeeded();
        return note_allocation(block);
    }

    template <class Clock, class Duration>
    void* try_allocate_until(const std::chrono::time_point<Clock, Duration>& deadline)
    {
        void* const block =
            take_waiting<false>([&](std::condition_variable& ready, std::unique_lock<std::mutex>& lock) {
                return waits_until(deadline, ready, lock);
            });
        if (block != nullptr)
            return note_allocation(block);
        count_failure();
        return nullptr;
    }

    template <class Rep, class Period>
    void* try_allocate_for(const std::chrono::duration<Rep, Period>& patience)
    {
        using clock = std::chrono::steady_clock;
        const seconds wanted = patience;
        const clock::time_point now = clock::now();
        if (!(wanted > seconds::zero()))
            return try_allocate_until(now);
        return try_allocate_until(now + std::chrono::ceil<clock::duration>(std::min(wanted, seconds(a_century))));
    }

    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return;
        if constexpr (variant::checks) {
            if (note_use(block))
                put_verified(block, [&] { given_back(block); });
        } else {
            if constexpr (base::tools_watch_blocks)
                if (MEMORY_POOL_UNLIKELY(base::is_access_forbidden(block)) && report_misuse_of(block))
                    return;
            given_back(block);
            if (MEMORY_POOL_UNLIKELY(!put_cached(block)))
                put_uncached(block);
        }
    }

    // Bulk forms.

    template <class T>
    std::size_t allocate_cached(T** blocks, std::size_t count) noexcept
    {
        const std::size_t taken = take_cached(blocks, count);
        for (std::size_t i = 0; i != taken; ++i)
            (void)note_allocation(base::address_of(blocks[i]));
        return taken;
    }

    template <class T>
    std::size_t deallocate_cached(T* const* blocks, std::size_t count) noexcept
    {
        return put_cached(blocks, count, [this](void* block) { given_back(block); });
    }

    // All blocks.

    void release() noexcept { forget_blocks(false); }
    void clear() noexcept { forget_blocks(true); }

    std::size_t alignment() const noexcept { return alignment_; }

    /// The entry in reports.
    const reported& entry() const noexcept { return entry_; }

    void count_failure() noexcept
    {
        if constexpr (variant::counts)
            shared_store::count_failure();
    }

    bool verify() noexcept
    {
        if (!shared_store::verify())
            return false;
        if constexpr (variant::counts) {
            const pool_statistics counted = statistics();
            if (counted.allocations - counted.deallocations != counted.in_use)
                return false;
        }
        if constexpr (variant::checks)
            return with_slabs([](const slab_store& slabs) { return !has_damage(slabs.chunks()); });
        return true;
    }

private:
    static constexpr std::size_t canary_bytes = variant::checks ? fill_pattern::canary_bytes : 0;

    /// The first block of a slab is aligned to a cache line: see magazine_exchange::suitable_room.
    static constexpr std::size_t alignment_in_slab(std::size_t block_size, std::size_t alignment) noexcept
    {
        return std::max(alignment_of_blocks(block_size, alignment), cache_line_size);
    }

    static slab_layout layout_for(std::size_t stride, std::size_t alignment, const pool_options& options,
                                  std::size_t granule) noexcept
    {
        return {stride, alignment, options.max_capacity, blocks_in_a_step(options), granule};
    }

    /// Saturates where the other duration type would overflow.
    using seconds = std::chrono::duration<long double>;

    /// Upper bound of a wait: it fits into the durations of the system clocks.
    static constexpr std::chrono::hours a_century{24 * 365 * 100};

    /// Waits for a while. Returns: whether to continue waiting.
    template <class Clock, class Duration>
    static bool waits_until(const std::chrono::time_point<Clock, Duration>& deadline, std::condition_variable& ready,
                            std::unique_lock<std::mutex>& lock)
    {
        const seconds left = seconds(deadline.time_since_epoch()) - seconds(Clock::now().time_since_epoch());
        if (!(left > seconds::zero()))
            return false;
        if (left > a_century)
            return ready.wait_for(lock, a_century) == std::cv_status::no_timeout;
        if constexpr (std::is_same_v<Clock, std::chrono::system_clock>) { // Follows adjustments of the clock.
            return ready.wait_until(lock, deadline) == std::cv_status::no_timeout;
            // Other clocks cannot use wait_until: it would convert the deadline to another duration type.
        } else {
            (void)ready.wait_for(lock, std::chrono::ceil<std::chrono::nanoseconds>(left));
            return true; // The next call reads the clock again.
        }
    }

    MEMORY_POOL_ALWAYS_INLINE void* note_allocation(void* block) noexcept
    {
        if constexpr (variant::counts)
            count_allocation();
        if constexpr (base::tools_watch_blocks)
            base::block_allocated(this, block, identity().block_size);
        if constexpr (base::has_observer<Policy>)
            Policy::observer::allocated(identity().name, block, identity().block_size);
        return block;
    }

    MEMORY_POOL_NOINLINE void* take_uncached(base::relief relieve)
    {
        base::failure_guard guard([this] { count_failure(); });
        void* block = nullptr;
        base::try_again_after(relieve, [&] { block = take(); });
        if (block == nullptr)
            base::throw_exhausted(identity().name, limit(), identity().block_size);
        guard.succeeded();
        return block;
    }

    MEMORY_POOL_NOINLINE void* try_take_uncached() noexcept
    {
        void* block = nullptr;
        if (!base::succeeds([&] { block = take(); }) || block == nullptr)
            count_failure();
        return block;
    }

    MEMORY_POOL_NOINLINE void put_uncached(void* block) noexcept { put(block); }

    void observe_all_freed() noexcept
    {
        base::observe_all_freed<Policy>(identity().name, [this](auto&& freed) { this->for_each_in_use(freed); });
    }

    void forget_blocks(bool keeps_slabs) noexcept
    {
        observe_all_freed();
        shared_store::forget_blocks(keeps_slabs);
        base::pool_gone(this);
        base::pool_made(this);
    }

    MEMORY_POOL_ALWAYS_INLINE void given_back(void* block) noexcept
    {
        if constexpr (variant::counts)
            count_deallocation();
        if constexpr (base::tools_watch_blocks)
            base::block_given_back(this, block, identity().block_size);
        if constexpr (base::has_observer<Policy>)
            Policy::observer::freed(identity().name, block);
    }

    static report_statistics read_statistics(const void* pool) noexcept
    {
        return static_cast<const shared_blocks*>(pool)->reported_statistics(variant::counts);
    }

    std::size_t alignment_;
    reported entry_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
