// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How many samples may be taken a second, as each costs system calls.
///
///     samples:   xxxxx|..  xx   |xxxxx.|      five in each tenth of a second; dots are skipped
///
/// Thread safety: any thread. Threads at the same time may take a few more.
#pragma once

#include "../support/internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Admits samples up to a number a second.
class sample_rate
{
public:
    /// Returns: whether one more sample may be taken at `now`, in milliseconds; if not, counts it as skipped.
    ///   `max_a_second`: 0: any number.
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

    /// Returns: how many were taken so far.
    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

    /// Returns: how many were due, but were not taken: beyond that number, without a slot, or for lack of memory.
    std::size_t skipped() const noexcept { return skipped_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> window_begin_{0};
    std::atomic<std::size_t> in_window_{0};
    std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> skipped_{0};
};
} // namespace memory_pool::np
