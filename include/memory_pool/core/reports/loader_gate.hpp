// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Makes a fork wait until no thread holds the lock of the loader: in the child, it would stay locked for ever.
///
///     fork:      close, wait until no thread is inside    ...    open; in the child: reset
///     thread:    enter; if it is closed, do without the loader
///
/// It is closed before any lock is taken for the fork, so that no thread inside waits for one.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/short_wait.hpp>

#include <atomic>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Threads in the loader, and threads that fork.
class loader_gate : base::immovable<loader_gate>
{
public:
    /// Returns: whether it is open. If so, leave has to be called.
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

    /// Effects: in the child of a fork, opens it: other threads do not exist there.
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
