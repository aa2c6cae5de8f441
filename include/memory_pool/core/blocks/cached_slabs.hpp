// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slabs and thread caches of a shared pool. Moves blocks between them.
///
///     slabs -> spare span -> loaded magazines     a thread takes a share, so that each of many threads gets some
///     slabs <- depot, closed caches               drained completely
///
///     outstanding blocks of the slabs = in use + in the caches + in the depot + in the spare span
///
/// Thread safety: none; the owning pool synchronizes. A `cache` argument is the cache of the calling thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/core/threads/magazine_exchange.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_caches.hpp>
#include <memory_pool/core/threads/thread_counts.hpp>
#include <memory_pool/os/process_barrier.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Blocks in slabs and caches. cache_revocation decides when caches may be open.
class cached_slabs : base::immovable<cached_slabs>
{
public:
    cached_slabs(const slab_layout& layout, std::size_t limit, const slab_store_options& options,
                 const pool_identity& identity, std::pmr::memory_resource* upstream, magazine_exchange& exchange,
                 thread_counts& counts)
        : slabs(layout, limit, options, identity, upstream), exchange_(exchange), counts_(counts)
    {
    }
    ~cached_slabs() { caches.free_all(slabs.chunks().upstream()); }

    // Caches.

    /// Registers a cache for a thread, with an empty magazine.
    thread_cache& begin_cache()
    {
        thread_cache& cache = caches.unused(slabs.chunks().upstream());
        provide_magazines();
        if (!exchange_.equip(cache))
            throw_no_magazine();
        caches.take_unused();
        cache.share = first_share;
        return cache;
    }

    void provide_magazines() { exchange_.provide(slabs.capacity(), caches.made()); }

    /// Opens the closed cache of the calling thread. Returns: whether the cache is open.
    bool open_equipped(thread_cache& cache) noexcept
    {
        if (!exchange_.is_equipped(cache)) { // the pool has been trimmed or released since
            (void)base::succeeds([this] { provide_magazines(); });
            if (!exchange_.equip(cache))
                return false;
        }
        exchange_.open(cache);
        return true;
    }

    /// Takes a block through an open cache, which is refilled from the depot, or with a share of blocks from the slabs.
    void* take_or_fill(thread_cache& cache) noexcept
    {
        if (void* const block = exchange_.take(cache))
            return block;
        cache_slot& slot = *cache.slot;
        void** top = slot.begin_slowly(); // The cache is empty.
        top += fill(cache, top);
        void* const block = top != exchange_.bottom_of(cache) ? *--top : nullptr;
        slot.end(top);
        return block;
    }

    /// Takes the next block for a thread without a cache.
    void* take_next() noexcept
    {
        void* block = nullptr;
        if (refill_spare())
            (void)spare_.pop_front(block, slabs.layout().stride());
        else if (slabs.take(&block, 1) == 0 && empty_one_of_depot())
            return take_next();
        return block;
    }

    /// Puts a block into an open cache. Spills its loaded magazine into the slabs if the depot has no empty magazine.
    /// Returns: whether the cache took the block.
    bool put_or_spill(thread_cache& cache, void* block) noexcept
    {
        if (exchange_.put(cache, block))
            return true;
        spill(cache);
        return exchange_.put(cache, block);
    }

    // Slabs.

    void put_into_slabs(void* const* blocks, std::size_t count) noexcept { refuse(slabs.put(blocks, count)); }

    /// Closes every cache, and moves all cached blocks into the slabs.
    void close_caches() noexcept
    {
        constexpr std::size_t max_closed = 64;
        thread_cache* closed[max_closed];
        std::size_t count = 0;
        const auto empty_closed = [&] {
            if (count != 0 && exchange_.has_barrier())
                os::process_barrier();
            while (count != 0) {
                thread_cache& cache = *closed[--count];
                empty(cache, cache.slot->wait_for_top());
            }
        };
        caches.for_each_in_use([&](thread_cache& cache) {
            if (!cache.slot->is_open())
                return;
            cache.slot->close();
            closed[count++] = &cache;
            if (count == max_closed)
                empty_closed();
        });
        empty_closed();
        // Blocks that were in transit between caches are in the depot now.
        while (empty_one_of_depot())
            continue;
    }

    /// Moves the blocks of a closed cache into the slabs.
    void empty(thread_cache& cache, void** top) noexcept
    {
        exchange_.empty(cache, top, [this](void* const* blocks, std::size_t count) { put_into_slabs(blocks, count); });
    }

    bool empty_one_of_depot() noexcept
    {
        return exchange_.empty_one_of_depot(
            [this](void* const* blocks, std::size_t count) { put_into_slabs(blocks, count); });
    }

    /// Moves all free blocks into the slabs.
    void gather() noexcept
    {
        close_caches();
        refuse(slabs.put(std::exchange(spare_, {})));
    }

    // Statistics.

    std::size_t bytes_reserved() const noexcept
    {
        return slabs.chunks().bytes_reserved() + exchange_.bytes_reserved() + caches.bytes();
    }

    std::size_t in_use() const noexcept
    {
        std::size_t free = spare_.bytes() / slabs.layout().stride() + exchange_.blocks_in_depot();
        caches.for_each_in_use([&](const thread_cache& cache) {
            if (cache.slot->is_open())
                free += exchange_.blocks_in(cache);
        });
        return slabs.outstanding() - std::min(free, slabs.outstanding());
    }

    slab_store slabs;
    thread_caches<> caches;

private:
    /// The size of a thread's first batch from the slabs, unless a magazine is smaller. Each batch doubles the size.
    /// The first batch is small, because thousands of threads may need a block or two from each of many pools.
    static constexpr std::size_t first_share = 8;
    static_assert(first_share * sizeof(void*) % cache_line_size == 0);

    [[noreturn]] static void throw_no_magazine()
    {
#if MEMORY_POOL_EXCEPTIONS
        throw std::bad_alloc();
#else
        std::abort(); // Unreachable: provide_magazines has already called the error handler and ended the program.
#endif
    }

    /// Writes the thread's fair share of blocks to `out`. Returns: their number.
    std::size_t fill(thread_cache& cache, void** out) noexcept
    {
        const std::size_t wanted = share(cache);
        std::size_t taken = 0;
        if (refill_spare()) {
            const std::size_t stride = slabs.layout().stride();
            taken = std::min(wanted, spare_.bytes() / stride);
            for (std::size_t i = taken; i != 0; --i) // The lowest address comes on top.
                (void)spare_.pop_front(out[i - 1], stride);
        } else {
            taken = slabs.take(out, wanted);
        }
        return taken;
    }

    /// The fair share of a thread: up to a full magazine, growing with each batch. If the pool cannot grow, at most
    /// half of an equal share of the free blocks.
    std::size_t share(thread_cache& cache) const noexcept
    {
        const std::size_t max_share = std::min(cache.share, exchange_.room());
        cache.share = 2 * max_share;
        if (slabs.may_grow())
            return max_share;
        const std::size_t free = slabs.capacity() - slabs.outstanding() + spare_.bytes() / slabs.layout().stride();
        return std::clamp(free / (2 * std::max<std::size_t>(caches.in_use(), 1)), std::size_t{1}, max_share);
    }

    /// Takes a span from the slabs if the spare span is empty. Returns: whether the spare span has blocks.
    bool refill_spare() noexcept
    {
        if (spare_.empty())
            spare_ = slabs.take_span();
        return !spare_.empty();
    }

    /// Empties the loaded magazine of this thread's open cache into the slabs.
    void spill(thread_cache& cache) noexcept
    {
        void** const top = cache.slot->begin_slowly();
        void** const bottom = exchange_.bottom_of(cache);
        put_into_slabs(bottom, static_cast<std::size_t>(top - bottom));
        cache.slot->end(bottom);
    }

    /// Uncounts deallocations of foreign or free blocks.
    void refuse(std::size_t blocks) noexcept { counts_.refuse(blocks); }

    magazine_exchange& exchange_;
    thread_counts& counts_;
    block_span spare_; ///< Taken out of the slabs; the next blocks to allocate.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
