// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Limits the guarded samples per second, because each costs system calls.
///
///     samples:   xxxxx|..  xx   |xxxxx.|      five in each tenth of a second; dots are skipped
///
/// Thread safety: any thread. Concurrent threads may exceed the limit by a few samples.
#pragma once

#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Admits a limited number of guarded samples per second.
class guarded_sample_rate
{
public:
    /// Effects: if the guarded sample exceeds the limit, counts the sample as skipped. `max_a_second`: 0 means no
    ///   limit.
    /// Returns: whether the sample may be taken. `now` is in milliseconds.
    bool admit(std::uint64_t now, std::size_t max_a_second) noexcept
    {
        constexpr std::uint64_t window_ms = 100;
        if (now >= window_begin_.load(std::memory_order_relaxed) + window_ms) {
            window_begin_.store(now, std::memory_order_relaxed);
            in_window_.store(0, std::memory_order_relaxed);
        }
        const std::size_t max_in_window = (max_a_second + 1000 / window_ms - 1) / (1000 / window_ms);
        if (max_a_second == 0 || in_window_.fetch_add(1, std::memory_order_relaxed) < max_in_window)
            return true;
        note_skipped();
        return false;
    }

    void note_taken() noexcept { taken_.fetch_add(1, std::memory_order_relaxed); }
    void note_skipped() noexcept { skipped_.fetch_add(1, std::memory_order_relaxed); }

    /// Returns: the number of guarded samples taken so far.
    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

    /// Returns: the number of guarded samples that were due but not taken: over the limit, without a free slot, or for
    ///   lack of memory.
    std::size_t skipped() const noexcept { return skipped_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> window_begin_{0};
    std::atomic<std::size_t> in_window_{0};
    std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> skipped_{0};
};
} // namespace memory_pool::np
