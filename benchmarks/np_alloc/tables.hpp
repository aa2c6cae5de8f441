// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tables of blocks that threads fill and empty, for the workloads `table` and `six_tables`.
#pragma once

#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace workload {
struct table_settings
{
    std::size_t blocks;    ///< Minimum number of allocations of a thread.
    std::size_t live;      ///< Maximum number of blocks in use at once.
    std::size_t min_bytes; ///< Size of the smallest block.
    std::size_t max_bytes; ///< Size of the largest block.
};

/// Allocates a random number of blocks, frees them all, and starts over.
inline void fill_and_empty(const table_settings& limits, const marks& marks, random& random, tally& done)
{
    std::vector<block> table(limits.live);
    while (done.operations < limits.blocks) {
        const std::size_t filled = random.between(1, limits.live);
        for (std::size_t i = 0; i != filled; ++i)
            table[i] = marks.allocate(random.between(limits.min_bytes, limits.max_bytes), random());
        for (std::size_t i = 0; i != filled; ++i) {
            marks.free(table[i]);
            done.count(table[i]);
        }
    }
}

/// Runs fill_and_empty in several threads at once. Returns: the work of all threads.
inline tally fill_and_empty_in_threads(std::size_t threads, std::uint64_t seed, const table_settings& limits,
                                       const marks& marks)
{
    return in_threads(threads, seed,
                      [&](std::size_t, random& random, tally& done) { fill_and_empty(limits, marks, random, done); });
}
} // namespace workload
