// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All caches of one pool: those that threads have, and those whose threads have ended.
///
///     in use:   cache <--> cache <--> cache      each in the table of its thread, too
///     unused:   cache ---> cache                 the one that was left last is the next that a thread gets
///
///     made = in use + unused
///
/// Thousands of threads may come and go, or be there at one time. So nothing here searches, and who looks for blocks in the caches
/// of threads does not come by those of threads that have ended.
///
/// Thread safety: none. The pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// The caches of a pool, each a `Cache`, which is a thread_cache.
template <class Cache = thread_cache>
class thread_caches
{
public:
    thread_caches() noexcept = default;
    thread_caches(const thread_caches&) = delete;
    thread_caches& operator=(const thread_caches&) = delete;
    ~thread_caches() = default;

    std::size_t made() const noexcept { return made_; }
    std::size_t in_use() const noexcept { return in_use_; }
    std::size_t bytes() const noexcept { return made_ * sizeof(Cache); }

    /// Returns: a cache that no thread has. The next call returns the same one, unless it was taken.
    /// Throws: what upstream throws, if it has to make one.
    Cache& unused(std::pmr::memory_resource* upstream)
    {
        if (unused_ == nullptr) {
            auto* const cache = ::new (upstream->allocate(sizeof(Cache), alignof(Cache))) Cache;
            cache->shard = made_++;
            unused_ = cache;
        }
        return static_cast<Cache&>(*unused_);
    }

    /// Effects: makes the cache that `unused` has returned last one in use.
    void take_unused() noexcept
    {
        thread_cache& taken = *unused_;
        unused_ = taken.next_in_pool;
        taken.next_in_pool = used_;
        if (used_ != nullptr)
            used_->previous_in_pool = &taken;
        used_ = &taken;
        ++in_use_;
    }

    /// Effects: notes that no thread has that cache any more, which was in use.
    void put(Cache& left) noexcept
    {
        (left.previous_in_pool != nullptr ? left.previous_in_pool->next_in_pool : used_) = left.next_in_pool;
        if (left.next_in_pool != nullptr)
            left.next_in_pool->previous_in_pool = left.previous_in_pool;
        left.previous_in_pool = nullptr;
        left.next_in_pool = unused_;
        unused_ = &left;
        --in_use_;
        left.slot = nullptr;
        left.thread = nullptr;
    }

    /// Effects: calls `visit(Cache&)` for each cache that a thread has. `visit` may put it.
    template <class Visit>
    void for_each_in_use(Visit&& visit) const
    {
        for_each_from(used_, visit);
    }

    /// Effects: calls `visit(Cache&)` for each cache that no thread has.
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

    /// Effects: gives all caches back upstream.
    /// Preconditions: they came from there, and no thread has one.
    void free_all(std::pmr::memory_resource* upstream) noexcept
    {
        for_each([upstream](Cache& cache) {
            cache.~Cache();
            upstream->deallocate(&cache, sizeof(Cache), alignof(Cache));
        });
        used_ = nullptr; // They were not put if the pool has taken them out of their threads.
        unused_ = nullptr;
        made_ = 0;
        in_use_ = 0;
    }

private:
    template <class Visit>
    static void for_each_from(thread_cache* first, Visit& visit)
    {
        while (thread_cache* const cache = first) {
            first = cache->next_in_pool;
            visit(static_cast<Cache&>(*cache));
        }
    }

    thread_cache* used_ = nullptr;
    thread_cache* unused_ = nullptr;
    std::size_t made_ = 0;
    std::size_t in_use_ = 0;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
