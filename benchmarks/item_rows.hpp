// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Shared by the benchmarks of pools whose objects return automatically: the object, and the row that creates and
/// releases one.
///
///     side()      a pool, or an alternative without one
///     make()      -> a smart pointer to an object derived from `record`; its destructor returns the object
///
/// The wrappers are always inlined, as in competitors.hpp.
#pragma once

#include <memory_pool/base/config.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if MEMORY_POOL_GNU_BUILTINS
#define MEMORY_POOL_BENCHMARK_FLATTEN __attribute__((flatten, noinline))
#else
#define MEMORY_POOL_BENCHMARK_FLATTEN
#endif

namespace item_rows {
/// The payload of an object: 24 uninitialised bytes, so that only the cost of the pool is measured.
struct record
{
    record() noexcept {} // NOLINT(modernize-use-equals-default): {} would write zeros.

    std::array<std::uint64_t, 3> words; // NOLINT(cppcoreguidelines-pro-type-member-init): see above.
};

/// Returns: whether `count` objects in use at the same time keep their contents, in two rounds. Not inlined, so that
///   the compiler sees a single release in the measured loop.
template <class Side>
MEMORY_POOL_NOINLINE bool holds_data(Side& side, std::size_t count)
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

/// Effects: makes the compiler assume that `object` is used. benchmark::DoNotOptimize would also clobber memory, which
///   forces the pointer to the object into memory. That store costs more than the pool, and real programs do not need
///   it.
MEMORY_POOL_ALWAYS_INLINE void see(const record* object)
{
#if MEMORY_POOL_GNU_BUILTINS
    asm volatile("" : : "r"(object));
#else
    benchmark::DoNotOptimize(object);
#endif
}

/// The compiler inlines destructors such as ~intrusive_ptr in small programs, but not in large ones. Everything here is
/// inlined, so that all sides are measured as in a small program.
template <class Side>
MEMORY_POOL_BENCHMARK_FLATTEN void repeat_one(benchmark::State& state, Side& side)
{
    for (auto _ : state) {
        {
            const auto object = side.make();
            see(&*object);
        }
        benchmark::ClobberMemory();
    }
}

/// Creates and releases one object. Reports an error instead of a time if the result is wrong.
template <class Side>
void one(benchmark::State& state)
{
    Side side;
    repeat_one(state, side);
    state.counters["per_block"] =
        benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!holds_data(side, 1000))
        state.SkipWithError("objects overlap, or lose their contents");
}

template <class Side>
void add(const char* shape, const char* side)
{
    benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), one<Side>);
}
} // namespace item_rows
