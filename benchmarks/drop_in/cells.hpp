// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Registers the cells of a drop-in: the same work for the stand-in of the original and for the drop-in. drop_ins.py
/// compares the two rows of each cell by their names:
///
///     <shape>/<arguments>/<n>/<side>
///
/// The arguments are the size of an item or other parameters of the shape, without a slash. The side is stand_in or
/// drop_in.
///
/// A row is compared by its counter `per_block`, in seconds. A row without this counter is compared by its time per
/// iteration.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

namespace cells {
/// Runs one row for `n` items.
using row = void (*)(benchmark::State& state, std::size_t n);

/// Selects the time that is reported for an iteration.
enum class timing
{
    of_thread, ///< CPU time of the thread for the whole iteration.
    manual,    ///< Set by the row with SetIterationTime.
};

inline void add_row(const std::string& cell, const char* side, row run, std::size_t n, timing timed)
{
    auto* const added =
        benchmark::RegisterBenchmark((cell + '/' + side).c_str(), [run, n](benchmark::State& state) { run(state, n); });
    if (timed == timing::manual)
        added->UseManualTime();
}

/// Effects: registers both rows of a cell.
inline void add(const std::string& shape, const std::string& arguments, std::size_t n, row stand_in, row drop_in,
                timing timed = timing::of_thread)
{
    const std::string cell = shape + '/' + arguments + '/' + std::to_string(n);
    add_row(cell, "stand_in", stand_in, n, timed);
    add_row(cell, "drop_in", drop_in, n, timed);
}

/// Effects: makes `state` report the time per block, for iterations of `blocks` blocks.
inline void set_per_block(benchmark::State& state, std::size_t blocks)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(blocks), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
} // namespace cells
