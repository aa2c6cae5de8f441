// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The time for a block by its size, by the number of blocks in use, and by the number of threads: for pools and
/// arenas, and for new and delete of the malloc of the process. The benchmark report runs it.
///
///     by_size      allocates blocks of n bytes, up to 1,000 blocks or 16 MiB, and frees them in that order
///     by_count     allocates n blocks of 64 bytes, and frees them in a random order, the same each time
///     by_threads   each of n threads allocates 100 blocks of 64 bytes from one shared pool, and frees them
///
/// A row is named <shape>/<side>/<n>. A word is written to each block. `per_block` is the time to allocate and free a
/// block; with threads, it is core time, as in concurrent_block_pool_benchmark.cpp. A warm-up round precedes the
/// measured ones.
#include "context.hpp"
#include "sized_sides.hpp"
#include "thread_team.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using order = std::vector<std::uint32_t>;

constexpr std::size_t block_size = 64;
constexpr std::size_t largest_size = std::size_t{1} << 20;
constexpr std::size_t max_bytes = 16 * largest_size;
constexpr std::size_t max_blocks = 1'000;
constexpr std::size_t blocks_of_thread = 100;

order in_order(std::size_t count)
{
    order result(count);
    std::iota(result.begin(), result.end(), 0U);
    return result;
}

order at_random(std::size_t count)
{
    order result = in_order(count);
    std::shuffle(result.begin(), result.end(), std::mt19937(2026)); // the same for every side
    return result;
}

/// Allocates blocks and frees them again.
template <class Side>
class rounds
{
public:
    rounds(Side& side, const order& freed) : side_(side), freed_(freed), blocks_(freed.size()) {}

    void run(std::size_t times)
    {
        for (; times != 0; --times) {
            for (std::size_t i = 0; i != blocks_.size(); ++i)
                blocks_[i] = taken(i);
            benchmark::ClobberMemory();
            for (const std::uint32_t place : freed_)
                side_.deallocate(blocks_[place]);
            benchmark::ClobberMemory();
        }
    }

    /// Throws: runtime_error unless the blocks keep their contents.
    void check(std::size_t first)
    {
        for (std::size_t i = 0; i != blocks_.size(); ++i)
            blocks_[i] = taken(first + i);
        bool holds = true;
        for (const std::uint32_t place : freed_) {
            holds = holds && *blocks_[place] == first + place;
            side_.deallocate(blocks_[place]);
        }
        if (!holds)
            throw std::runtime_error("blocks overlap, or lose their contents");
    }

private:
    MEMORY_POOL_ALWAYS_INLINE std::size_t* taken(std::size_t content)
    {
        void* const block = side_.allocate();
        if (block == nullptr)
            throw std::bad_alloc();
        return ::new (block) std::size_t(content);
    }

    Side& side_;
    const order& freed_;
    std::vector<std::size_t*> blocks_;
};

template <class Side>
void alone(benchmark::State& state, std::size_t bytes, const order& freed)
{
    Side side(bytes);
    rounds<Side> work(side, freed);
    work.run(1);
    for ([[maybe_unused]] auto iteration : state)
        work.run(1);
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(freed.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    try {
        work.check(1);
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}

template <class Side>
void by_size(benchmark::State& state)
{
    const auto bytes = static_cast<std::size_t>(state.range(0));
    alone<Side>(state, bytes, in_order(std::min(max_blocks, max_bytes / bytes)));
}

template <class Side>
void by_count(benchmark::State& state)
{
    alone<Side>(state, block_size, at_random(static_cast<std::size_t>(state.range(0))));
}

template <class Side>
void by_threads(benchmark::State& state)
{
    together::team team(together::threads_of(state));
    const order freed = in_order(blocks_of_thread);
    Side side(block_size);
    std::vector<std::unique_ptr<rounds<Side>>> parts;
    for (std::size_t number = 0; number != team.size(); ++number)
        parts.push_back(std::make_unique<rounds<Side>>(side, freed));
    const auto iterations = static_cast<std::size_t>(state.max_iterations);
    together::measure(
        state, team, [&](std::size_t number) { parts[number]->run(1); },
        [&](std::size_t number) { parts[number]->run(iterations); });
    state.counters["per_block"] =
        team.core_seconds() / static_cast<double>(iterations * blocks_of_thread * team.size());
    if (team.failure().empty())
        team.run([&](std::size_t number) { parts[number]->check(number * blocks_of_thread); });
    together::finish(state, team);
}

void add(const std::string& shape, const std::string& side, void (*row)(benchmark::State&),
         const std::vector<std::int64_t>& values, bool has_manual_time = false)
{
    auto* const added = benchmark::RegisterBenchmark((shape + '/' + side).c_str(), row);
    for (const std::int64_t value : values)
        added->Arg(value);
    if (has_manual_time)
        added->UseManualTime();
}

[[maybe_unused]] const bool rows_are_added = [] {
    const std::vector<std::int64_t> sizes{8,    16,   32,   64,    128,   256,    512,
                                          1024, 2048, 4096, 16384, 65536, 262144, largest_size};
    const std::vector<std::int64_t> counts{10, 100, 1'000, 10'000, 100'000, 1'000'000};
    const std::vector<std::int64_t> threads{1, 2, 4, 8, 16};
    sized_sides::for_each_unshared([&](const char* name, auto type) {
        using side = typename decltype(type)::side;
        add("by_size", name, by_size<side>, sizes);
        add("by_count", name, by_count<side>, counts);
    });
    sized_sides::for_each_shared([&](const char* name, auto type) {
        add("by_threads", name, by_threads<typename decltype(type)::side>, threads, true);
    });
    return context::add();
}();
} // namespace
