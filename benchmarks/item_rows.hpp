// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What the benchmarks of pools have in common whose objects return by themselves: the object, and the row that makes one and
/// lets it go.
///
///     side()      a pool, or what does without
///     make()      -> something that points to a derivative of `record`, and gives it back when it is gone
///
/// The faces are always inlined, as in competitors.hpp.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace item_rows
{
/// What is in an object: 24 bytes, which nobody writes to where only the pool is to count.
struct record
{
    record() noexcept {} // NOLINT(modernize-use-equals-default): {} would write zeros.

    std::array<std::uint64_t, 3> words; // NOLINT(cppcoreguidelines-pro-type-member-init): see above.
};

/// Returns: whether `count` objects that are in use at the same time keep what is written to them, twice.
template <class Side>
bool holds_data(Side& side, std::size_t count)
{
    bool holds = true;
    for (std::size_t round = 0; round != 2; ++round) {
        std::vector<decltype(side.make())> objects;
        for (std::size_t i = 0; i != count; ++i) {
            objects.push_back(side.make());
            objects.back()->words.fill(i + round);
        }
        for (std::size_t i = 0; i != count; ++i)
            for (const std::uint64_t word : objects[i]->words)
                holds = holds && word == i + round;
    }
    return holds;
}

/// One object, and back: a wrong result is a failure, not a figure.
template <class Side>
void one(benchmark::State& state)
{
    Side side;
    for (auto _ : state) {
        const auto object = side.make();
        record* const seen = &*object;
        benchmark::DoNotOptimize(static_cast<record* const&>(seen));
    }
    state.counters["per_block"] =
        benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!holds_data(side, 1000))
        state.SkipWithError("objects overlap, or lose what is written to them");
}

template <class Side>
void add(const char* shape, const char* side)
{
    benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), one<Side>);
}
} // namespace item_rows
