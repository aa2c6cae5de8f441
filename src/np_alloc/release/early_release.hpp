// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Back-off of early purges when the program soon needs the purged memory again.
///
///     early:    10 MiB    10 MiB         pause, ten decay times          10 MiB
///     reused:                   5 MiB
///
/// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Decides whether memory may be purged before its decay time. Times are milliseconds of the coarse clock.
class early_release
{
public:
    /// Reuse that starts a pause: this many bytes, and a quarter of the early purges.
    static constexpr std::size_t min_reused = std::size_t{4} << 20;
    static constexpr std::size_t reused_part = 4;
    /// Length of a pause, in decay times.
    static constexpr std::uint64_t pause_decays = 10;

    bool may_be(std::uint64_t now) const noexcept { return now >= pauses_until_.load(std::memory_order_relaxed); }

    /// Effects: counts an early purge.
    void note(std::size_t bytes, std::uint64_t now) noexcept
    {
        at_.store(now, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }

    /// Effects: counts purged memory that is in use again.
    void note_reuse(std::size_t bytes, std::uint64_t now, std::uint64_t decay_ms) noexcept
    {
        const bool is_soon = now <= at_.load(std::memory_order_relaxed) + decay_ms;
        const std::size_t reused = is_soon ? reused_.fetch_add(bytes, std::memory_order_relaxed) + bytes : 0;
        const bool is_much = reused >= std::max(min_reused, bytes_.load(std::memory_order_relaxed) / reused_part);
        if (is_much)
            pauses_until_.store(now + pause_decays * decay_ms, std::memory_order_relaxed);
        if (is_much || !is_soon)
            restart();
    }

    void end_pause() noexcept
    {
        pauses_until_.store(0, std::memory_order_relaxed);
        restart();
    }

private:
    void restart() noexcept
    {
        bytes_.store(0, std::memory_order_relaxed);
        reused_.store(0, std::memory_order_relaxed);
    }

    std::atomic<std::uint64_t> at_{0}; ///< Time of the last early purge.
    std::atomic<std::uint64_t> pauses_until_{0};
    std::atomic<std::size_t> bytes_{0};  ///< Purged early since the last pause.
    std::atomic<std::size_t> reused_{0}; ///< The part of `bytes_` that is in use again.
};
} // namespace memory_pool::np
