// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How much of the blocks of a heap was not asked for, by class, as far as requests are seen: those that find a
/// magazine empty, and all of a shared heap.
///
///     slack of a class, about = blocks outstanding * (slack of the requests seen / requests seen)
///
/// Others cost no instruction. A magazine is empty when a program takes more blocks than it gives back, so requests are
/// seen as often as blocks of a class become more. Not seen are those that blocks serve again that a thread has cached:
/// if they ask for other sizes of a class than the rest, the mean is off, by less than the step between two classes.
///
/// Thread safety: `note` the holder of the heap lock, or the thread that has the heap; figures any thread.
#pragma once

#include "size_classes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Requests seen, of one heap.
class slack_samples
{
public:
    /// Effects: notes that a block of that class was asked for by `slack` bytes less than it has.
    void note(std::size_t size_class, std::size_t slack) noexcept
    {
        sample& its = samples_[size_class];
        std::uint32_t requests = its.requests.load(std::memory_order_relaxed) + 1;
        std::uint32_t bytes = its.bytes.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(slack);
        if (requests == most_requests) { // What was seen long ago counts less and less.
            requests /= 2;
            bytes /= 2;
        }
        its.requests.store(requests, std::memory_order_relaxed);
        its.bytes.store(bytes, std::memory_order_relaxed);
    }

    /// Returns: about how many bytes of `blocks` blocks of that class were not asked for.
    std::size_t estimate(std::size_t size_class, std::size_t blocks) const noexcept
    {
        const sample& its = samples_[size_class];
        const std::uint32_t requests = its.requests.load(std::memory_order_relaxed);
        return requests != 0 ? blocks * its.bytes.load(std::memory_order_relaxed) / requests : 0;
    }

private:
    static constexpr std::uint32_t most_requests = 1U << 10U;
    static_assert(std::uint64_t{most_requests} * largest_in_slab <= ~std::uint32_t{0}, "the sum does not overflow");

    struct sample
    {
        std::atomic<std::uint32_t> requests{0};
        std::atomic<std::uint32_t> bytes{0};
    };
    std::array<sample, class_count> samples_{};
};
} // namespace memory_pool::np
