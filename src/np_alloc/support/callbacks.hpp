// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Callbacks through which the library trims and lists the program's pools. Pools are header-only, so the program and
/// each shared library may have a registry of pools. Each registry registers its callbacks: see
/// core/threads/pressure_trim.hpp and core/reports/report_listener.hpp.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/short_wait.hpp>

#include "fork_mutex.hpp"
#include "internals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Trims pools.
using trim_function = void();
/// Calls `each(view, bytes, argument)` for each named pool; the view, of `bytes` bytes, is a core::report_view.
using visit_function = void(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument);

/// Registered functions. `Function` is a pointer type.
template <class Function>
class callbacks : base::immovable<callbacks<Function>>
{
public:
    /// Effects: registers a function; a no-op if the table is full.
    void add(Function added) noexcept
    {
        const base::lock_guard lock(mutex_);
        const auto place = std::find(all_.begin(), all_.end(), nullptr);
        if (place != all_.end())
            *place = added;
    }

    /// Effects: unregisters a function, and waits for its calls in progress.
    void remove(Function removed) noexcept
    {
        for (std::size_t i = 0; i != max_functions; ++i)
            if (clear(i, removed))
                for (os::short_wait wait; calls_[i].load(std::memory_order_acquire) != 0;)
                    wait.once_more();
    }

    /// Effects: calls `call(function)` for each function, without the lock. Skips functions removed in the meantime,
    ///   and functions whose turn comes while another thread holds the lock.
    template <class Call>
    void for_each(Call&& call) noexcept
    {
        for (std::size_t i = 0; i != max_functions; ++i)
            if (const Function function = begin(i)) {
                call(function);
                calls_[i].fetch_sub(1, std::memory_order_release);
            }
    }

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock_after_fork(); }

    /// Effects: forgets calls in progress in the child of a fork, where their threads do not exist.
    void forget_after_fork() noexcept
    {
        for (std::atomic<std::uint32_t>& each : calls_)
            each.store(0, std::memory_order_relaxed);
    }

private:
    /// Maximum number of functions; more are ignored. A program or shared library with a registry needs one.
    static constexpr std::size_t max_functions = 64;

    /// Clears a place of the table. Returns: whether the function was there.
    bool clear(std::size_t place, Function removed) noexcept
    {
        const base::lock_guard lock(mutex_);
        if (all_[place] != removed)
            return false;
        all_[place] = nullptr;
        return true;
    }

    /// Counts a call. Returns: the function to call, or nullptr.
    Function begin(std::size_t place) noexcept
    {
        if (!mutex_.try_lock())
            return nullptr;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        if (all_[place] != nullptr)
            calls_[place].fetch_add(1, std::memory_order_relaxed);
        return all_[place];
    }

    fork_mutex mutex_{lock_rank::callbacks};
    std::array<Function, max_functions> all_ MEMORY_POOL_GUARDED_BY(mutex_){};
    std::array<std::atomic<std::uint32_t>, max_functions> calls_{}; ///< Calls in progress, by place.
};
} // namespace memory_pool::np
