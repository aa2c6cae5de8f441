// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All caches of a pool: the caches of live threads, and unused caches of threads that have ended.
///
///     in use:   cache <--> cache <--> cache      each also in the table of its thread
///     unused:   cache <--> cache                 reused in LIFO order
///
///     made = in use + unused
///
/// There may be thousands of threads, at one time or one after the other. So no function searches, and functions that
/// gather blocks from caches skip unused caches.
///
/// Thread safety: none. The pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The caches of a pool, of the type `Cache`, which is derived from thread_cache, or thread_cache itself.
template <class Cache = thread_cache>
class thread_caches
{
public:
    std::size_t made() const noexcept { return made_; }
    std::size_t in_use() const noexcept { return in_use_; }
    std::size_t bytes() const noexcept { return made_ * sizeof(Cache); }

    /// Returns: an unused cache. The next call returns the same cache, unless take_unused was called.
    /// Throws: exceptions of upstream, if there is no unused cache.
    Cache& unused(std::pmr::memory_resource* upstream)
    {
        if (unused_.empty()) {
            auto* const cache = ::new (allocate_upstream(upstream, sizeof(Cache), alignof(Cache))) Cache;
            cache->shard = made_++;
            unused_.add_first(cache);
        }
        return static_cast<Cache&>(*unused_.first());
    }

    /// Effects: takes the cache last returned by `unused` into use.
    void take_unused() noexcept
    {
        thread_cache* const taken = unused_.first();
        unused_.remove(taken);
        used_.add_first(taken);
        ++in_use_;
    }

    /// Effects: moves a cache in use to the unused caches.
    void put(Cache& left) noexcept
    {
        used_.remove(&left);
        unused_.add_first(&left);
        --in_use_;
        left.slot = nullptr;
        left.thread = nullptr;
    }

    /// Effects: calls `visit(Cache&)` for each cache in use. `visit` may `put` the cache.
    template <class Visit>
    void for_each_in_use(Visit&& visit) const
    {
        for_each_from(used_, visit);
    }

    /// Effects: calls `visit(Cache&)` for each unused cache.
    template <class Visit>
    void for_each_unused(Visit&& visit) const
    {
        for_each_from(unused_, visit);
    }

    /// Effects: calls `visit(Cache&)` for each cache.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for_each_from(used_, visit);
        for_each_from(unused_, visit);
    }

    /// Effects: returns all caches to upstream.
    /// Preconditions: all caches are from this upstream, and no thread uses one.
    void free_all(std::pmr::memory_resource* upstream) noexcept
    {
        for_each([upstream](Cache& cache) {
            cache.~Cache();
            upstream->deallocate(&cache, sizeof(Cache), alignof(Cache));
        });
        used_.clear(); // Has caches that the pool has unlinked from their threads without `put`.
        unused_.clear();
        made_ = 0;
        in_use_ = 0;
    }

private:
    using list = base::intrusive_list<
        base::member_links<thread_cache, &thread_cache::next_in_pool, &thread_cache::previous_in_pool>>;

    template <class Visit>
    static void for_each_from(const list& caches, Visit& visit)
    {
        caches.for_each([&visit](thread_cache* cache) { visit(static_cast<Cache&>(*cache)); });
    }

    list used_;
    list unused_;
    std::size_t made_ = 0;
    std::size_t in_use_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
