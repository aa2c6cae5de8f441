// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The conclusion of the tour in words: the savings of pools, and the jobs in which pools gain nothing or lose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tour {
/// The cost of a job with a side.
struct cost
{
    std::uint64_t nanoseconds;
    std::uint64_t peak_memory;
};

/// The costs of a job with new and delete, and with each pool that does it.
struct compared_job
{
    std::string name;
    cost new_delete;
    std::vector<cost> pools;
};

/// A difference counts if it is at least this share of the cost with new and delete, and at least this amount of time
/// or memory. Smaller differences are noise. If the share is less than the amount, the cost is too small to compare.
constexpr double min_share = 0.05;
constexpr std::uint64_t min_nanoseconds = 1'000'000;
constexpr std::uint64_t min_bytes = std::uint64_t{1024} * 1024;

/// Returns: one or two sentences that compare new and delete with the best pool of each job: the fastest pool, or of
///   equally fast pools the one with the least memory. Empty if there is nothing to compare.
std::string conclusion(const std::vector<compared_job>& jobs);

/// Returns: `text`, wrapped to lines of up to `width` characters. Longer words are not split.
std::string wrapped(const std::string& text, std::size_t width);
} // namespace tour
