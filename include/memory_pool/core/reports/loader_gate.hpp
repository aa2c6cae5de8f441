// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Makes a fork wait until no thread holds the loader's lock, which would stay locked in the child forever.
///
///     fork:      close, wait until no thread is inside    ...    open; in the child: reset
///     thread:    enter; if the gate is closed, proceed without the loader
///
/// Fork handlers close the gate before they acquire any lock, so that no thread inside waits for these locks.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/short_wait.hpp>

#include <atomic>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Counts threads in the loader and threads that fork.
class loader_gate : base::immovable<loader_gate>
{
public:
    /// Returns: whether the gate is open. If so, the caller must call leave.
    bool enter() noexcept
    {
        inside_.fetch_add(1, std::memory_order_seq_cst);
        if (forks_.load(std::memory_order_seq_cst) == 0)
            return true;
        leave();
        return false;
    }

    void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }

    void close() noexcept
    {
        forks_.fetch_add(1, std::memory_order_seq_cst);
        while (inside_.load(std::memory_order_seq_cst) != 0)
            os::sleep_for_a_moment();
    }

    void open() noexcept { forks_.fetch_sub(1, std::memory_order_release); }

    /// Effects: opens the gate in the child of a fork, which has no other threads.
    void reset() noexcept
    {
        inside_.store(0, std::memory_order_relaxed);
        forks_.store(0, std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint32_t> inside_{0};
    std::atomic<std::uint32_t> forks_{0};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
