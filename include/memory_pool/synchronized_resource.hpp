// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A lock around any memory resource.
///
///     thread  ->  lock  ->  upstream, one call at a time
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/resource_adaptor.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Makes a single-threaded resource usable by any thread, as long as all use it through this one. Upstream must not
/// call it back. As with any std::mutex, a child that is forked while another thread is in a call finds it locked.
class synchronized_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: makes a resource that lets one call at a time through to `upstream`.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit synchronized_resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream)
    {
    }

private:
    /// Makes upstream know that a lock is held: see pool_use.
    struct lock_count : detail::base::immovable<lock_count>
    {
        lock_count() noexcept { ++detail::core::this_thread_table.locks_held; }
        ~lock_count() { --detail::core::this_thread_table.locks_held; }
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const detail::base::lock_guard lock(mutex_);
        const lock_count counted;
        return resource_adaptor::do_allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const detail::base::lock_guard lock(mutex_);
        const lock_count counted;
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
    }

    detail::base::mutex mutex_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
