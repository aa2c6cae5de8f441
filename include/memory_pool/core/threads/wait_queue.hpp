// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that wait for a block, in FIFO order.
///
///     first -> waiter <-> waiter <-> ... <-> last      each on the stack of the waiting thread
///
/// Thread safety: none; the pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/intrusive_list.hpp>

#include <condition_variable>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A waiting thread.
struct waiter
{
    void* block = nullptr; ///< Set when the waiter is served.
    std::condition_variable ready;
    waiter* next = nullptr;
    waiter* previous = nullptr;
};

/// A FIFO queue.
class wait_queue : public base::intrusive_list<base::member_links<waiter, &waiter::next, &waiter::previous>>
{
public:
    /// Complexity: linear in waiters.
    std::size_t size() const noexcept
    {
        std::size_t count = 0;
        for_each([&count](const waiter*) { ++count; });
        return count;
    }

    /// Effects: hands a block to the first waiter.
    /// Preconditions: the queue is not empty.
    void serve(void* block) noexcept
    {
        waiter* const served = first();
        remove(served);
        served->block = block;
        served->ready.notify_one(); // Needs the lock: once the lock is released, the waiter may be gone.
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
