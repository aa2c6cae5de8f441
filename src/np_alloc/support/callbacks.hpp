// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Functions of the program that the library calls: of its pools, to trim and to list them. Pools are header-only, so
/// the program and each shared library may have their own registry of pools, which registers functions:
/// core/threads/pressure_trim.hpp, core/reports/report_listener.hpp.
///
/// Thread safety: any thread.
#pragma once

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
/// Calls `each(view, bytes, argument)` for each pool with a name; the view, of `bytes` bytes, is a core::report_view.
using visit_function = void(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument);

/// Functions of type `Function`, a pointer.
template <class Function>
class callbacks : base::immovable<callbacks<Function>>
{
public:
    /// Effects: registers a function; a no-op if the table is full.
    void add(Function added) noexcept
    {
        const base::lock_guard lock(mutex_);
        const auto place = std::find_if(all_.begin(), all_.end(), [](const entry& each) { return each.is_free(); });
        if (place != all_.end())
            place->function = added;
    }

    /// Effects: unregisters it, and waits for calls in progress.
    void remove(Function removed) noexcept
    {
        for (os::short_wait wait;; wait.once_more()) {
            const base::lock_guard lock(mutex_);
            bool is_called = false;
            for (entry& each : all_)
                if (each.function == removed) {
                    each.is_leaving = true;
                    is_called = is_called || each.calls.load(std::memory_order_acquire) != 0;
                }
            if (is_called)
                continue;
            for (entry& each : all_)
                if (each.function == removed)
                    each.clear();
            return;
        }
    }

    /// Effects: calls `call(function)` for each function, without the lock. One that leaves meanwhile, or while another
    ///   thread has the lock, is left out.
    template <class Call>
    void for_each(Call&& call) noexcept
    {
        for (entry& each : all_)
            if (const Function function = begin(each)) {
                call(function);
                each.calls.fetch_sub(1, std::memory_order_release);
            }
    }

    // Around a fork.

    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock_after_fork(); }

    /// Effects: in the child, forgets calls in progress, as those threads do not exist there.
    void forget_after_fork() noexcept
    {
        for (entry& each : all_)
            each.calls.store(0, std::memory_order_relaxed);
    }

private:
    /// Programs and shared libraries with their own registry; functions of further ones are not called.
    static constexpr std::size_t most = 64;

    struct entry
    {
        Function function = nullptr;
        bool is_leaving = false;
        std::atomic<std::uint32_t> calls{0}; ///< In progress.

        bool is_free() const noexcept { return function == nullptr; }
        void clear() noexcept
        {
            function = nullptr;
            is_leaving = false;
        }
    };

    /// Counts a call. Returns: the function to call, or nullptr.
    Function begin(entry& which) noexcept
    {
        if (!mutex_.try_lock())
            return nullptr;
        const base::lock_guard lock(mutex_, base::adopt_lock);
        if (which.is_free() || which.is_leaving)
            return nullptr;
        which.calls.fetch_add(1, std::memory_order_relaxed);
        return which.function;
    }

    fork_mutex mutex_;
    std::array<entry, most> all_{};
};
} // namespace memory_pool::np
