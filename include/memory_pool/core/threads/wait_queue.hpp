// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that wait for a block, in the order they came.
///
///     first -> waiter -> waiter -> ... -> last      each on the stack of the thread that waits
///
/// Thread safety: none; the pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>

#include <condition_variable>
#include <cstddef>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// One who waits.
struct waiter
{
    void* block = nullptr; ///< Once it is there.
    std::condition_variable ready;
    waiter* next = nullptr;
};

/// First come, first served.
class wait_queue
{
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// Complexity: linear in those who wait.
    std::size_t size() const noexcept
    {
        std::size_t count = 0;
        for (const waiter* entry = first_; entry != nullptr; entry = entry->next)
            ++count;
        return count;
    }

    /// Effects: has it wait behind all others.
    void enter(waiter& newcomer) noexcept
    {
        (last_ != nullptr ? last_->next : first_) = &newcomer;
        last_ = &newcomer;
    }

    /// Effects: takes it out, wherever it is, if it is there at all.
    /// Complexity: linear in those who wait before it.
    void leave(waiter& leaving) noexcept
    {
        waiter* previous = nullptr;
        waiter* found = first_;
        for (; found != nullptr && found != &leaving; found = found->next)
            previous = found;
        if (found == nullptr)
            return;
        (previous != nullptr ? previous->next : first_) = leaving.next;
        if (last_ == &leaving)
            last_ = previous;
    }

    /// Effects: gives a block to who has waited longest.
    /// Preconditions: not empty.
    void serve(void* block) noexcept
    {
        waiter& served = *first_;
        leave(served);
        served.block = block;
        served.ready.notify_one(); // with the lock held: after it, the waiter may be gone
    }

private:
    waiter* first_ = nullptr;
    waiter* last_ = nullptr;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
