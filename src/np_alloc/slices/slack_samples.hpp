// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Estimates the slack of a heap's blocks (bytes beyond the requests) by class. Samples requests that find a magazine
/// empty, and all requests of a shared heap.
///
///     estimated slack of a class = blocks outstanding * (slack of the samples / number of samples)
///
/// Other requests cost no extra instruction. A magazine is empty when a program allocates more blocks than it frees, so
/// sampling follows the growth of a class. Requests served from cached blocks are not sampled. If their sizes differ
/// from the sampled sizes, the mean is off by less than the step between two classes.
///
/// Thread safety: a caller of `note` holds the heap lock or is the heap's owner thread; any thread may call `estimate`.
#pragma once

#include "size_classes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Sampled requests of one heap.
class slack_samples
{
public:
    /// Effects: samples a request that is `slack` bytes smaller than a block of that class.
    void note(std::size_t size_class, std::size_t slack) noexcept
    {
        sample& sums = samples_[size_class];
        std::uint32_t requests = sums.requests.load(std::memory_order_relaxed) + 1;
        std::uint32_t bytes = sums.bytes.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(slack);
        if (requests == max_requests) { // Older samples lose weight.
            requests /= 2;
            bytes /= 2;
        }
        sums.requests.store(requests, std::memory_order_relaxed);
        sums.bytes.store(bytes, std::memory_order_relaxed);
    }

    /// Returns: the estimated slack of `blocks` blocks of that class, in bytes.
    std::size_t estimate(std::size_t size_class, std::size_t blocks) const noexcept
    {
        const sample& sums = samples_[size_class];
        const std::uint32_t requests = sums.requests.load(std::memory_order_relaxed);
        return requests != 0 ? blocks * sums.bytes.load(std::memory_order_relaxed) / requests : 0;
    }

private:
    static constexpr std::uint32_t max_requests = 1U << 10U;
    static_assert(std::uint64_t{max_requests} * largest_in_slab <= ~std::uint32_t{0}, "the sum does not overflow");

    struct sample
    {
        std::atomic<std::uint32_t> requests{0};
        std::atomic<std::uint32_t> bytes{0};
    };
    std::array<sample, class_count> samples_{};
};
} // namespace memory_pool::np
