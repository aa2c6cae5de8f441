// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A locked upstream for the pools of one resource shared by threads. A fork waits until no call is in flight.
///
///     pool A --+
///              +--> lock --> upstream
///     pool B --+
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/threads/thread_cache.hpp>
#include <memory_pool/core/threads/thread_slots.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A resource with a lock around each call.
class locked_upstream final : public std::pmr::memory_resource, private thread_cached
{
public:
    static constexpr bool is_shared = true;

    explicit locked_upstream(std::pmr::memory_resource* upstream) noexcept
        : upstream_(upstream), slots_(*this, slot_kind::none)
    {
    }

    ~locked_upstream() override { slots_.leave(); }

    /// Returns: the lock, to exclude concurrent calls.
    // Not analyzed: the analysis does not see that the returned guard holds the lock.
    pool_lock lock() const MEMORY_POOL_ACQUIRE(mutex_) MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        return {mutex_, slots_};
    }

    /// Effects: as enter_again_with of shared_store.
    void enter_again_with(const reported& entry) noexcept { registered.entry = &entry; }

    /// Returns: the upstream for pools.
    std::pmr::memory_resource* for_pools() noexcept { return this; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const pool_lock held = lock();
        return upstream_->allocate(bytes, alignment);
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        const pool_lock held = lock();
        upstream_->deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    // Called by the registry.
    void detach(thread_cache&) noexcept override {}
    bool try_lock_for_fork() noexcept override MEMORY_POOL_TRY_ACQUIRE(true, mutex_) { return mutex_.try_lock(); }
    void unlock_after_fork() noexcept override MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock(); }
    void quiesce() noexcept override {}
    void forget_other_threads(const thread_table*) noexcept override {}

    mutable base::mutex mutex_;
    std::pmr::memory_resource* const upstream_ MEMORY_POOL_POINTEE_GUARDED_BY(mutex_);
    thread_slots slots_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
