// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The pools of the program that are trimmed under pressure. Pools are header-only, so the program and each shared
/// library may have their own registry of pools, which registers a callback: core/threads/pressure_trim.hpp.
///
/// Thread safety: any thread; trim() the background thread only.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace memory_pool::np {
/// Callbacks that trim pools.
class pool_trims : base::immovable<pool_trims>
{
public:
    using function = void (*)();

    /// Effects: registers a function to be called under pressure; a no-op if the table is full.
    void add(function added) noexcept
    {
        const base::lock_guard lock(mutex_);
        auto* const place = std::find(all_.begin(), all_.end(), nullptr);
        if (place != all_.end())
            *place = added;
    }

    /// Effects: unregisters it, and waits for a call in progress.
    void remove(function removed) noexcept
    {
        for (os::short_wait wait;; wait.once_more()) {
            const base::lock_guard lock(mutex_);
            std::replace(all_.begin(), all_.end(), removed, function{nullptr});
            if (called_.load(std::memory_order_acquire) != removed)
                return;
        }
    }

    /// Effects: calls all of them.
    void trim() noexcept
    {
        for (std::size_t index = 0; index != most; ++index) {
            if (const function next = begin(index))
                next();
            called_.store(nullptr, std::memory_order_release);
        }
    }

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock_after_fork(); }

    /// Effects: in the child, forgets a call in progress, as the background thread does not exist there.
    void forget_after_fork() noexcept { called_.store(nullptr, std::memory_order_relaxed); }

private:
    /// Programs and shared libraries with their own registry; pools of further ones are not trimmed.
    static constexpr std::size_t most = 64;

    /// Marks the function at that index as called. Returns: it; nullptr if there is none, or the table is locked by
    /// another thread.
    function begin(std::size_t index) noexcept
    {
        if (!mutex_.try_lock())
            return nullptr;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        called_.store(all_[index], std::memory_order_relaxed);
        return all_[index];
    }

    fork_mutex mutex_;
    std::array<function, most> all_ MEMORY_POOL_GUARDED_BY(mutex_){};
    std::atomic<function> called_{nullptr};
};
} // namespace memory_pool::np
