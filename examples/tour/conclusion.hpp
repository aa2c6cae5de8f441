// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What the figures of the tour say, in words: what pools save, where they gain nothing, and where they lose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tour {
/// What a side took for a job.
struct cost
{
    std::uint64_t nanoseconds;
    std::uint64_t peak_memory;
};

/// A job, with what it took with new and delete, and with each pool that does it.
struct compared_job
{
    std::string name;
    cost new_delete;
    std::vector<cost> pools;
};

/// A difference counts if it is at least this share of what new and delete take, and at least these amounts: less is
/// chance. Where the share is less than the amount, there is too little to compare, and the sentence says so.
constexpr double least_share = 0.05;
constexpr std::uint64_t least_nanoseconds = 1'000'000;
constexpr std::uint64_t least_bytes = std::uint64_t{1024} * 1024;

/// Returns: one or two sentences, which compare new and delete with the best pool of each job: the fastest one, and of
///   those that are as fast, the one with the least memory. Empty if there is nothing to compare.
std::string conclusion(const std::vector<compared_job>& jobs);

/// Returns: `text`, wrapped to lines of up to `width` characters; a longer word has a line of its own.
std::string wrapped(const std::string& text, std::size_t width);
} // namespace tour
