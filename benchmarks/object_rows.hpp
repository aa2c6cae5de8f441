// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The cost of creating and destroying a pool for n objects, and n objects in it, step by step.
///
///     creation                  create a pool with room for n objects, and its first object, because pools may be lazy
///     destruction               destroy such a pool, without live objects
///     sequential_allocation     create n objects, in a pool where n were destroyed in the order of their creation
///     random_allocation         ... in a random order, which is the same for every side
///     sequential_deallocation   destroy n objects in the order of their creation
///     random_deallocation       ... in that random order
///
///     Side::value_type, side(capacity), make() -> value_type*, destroy(value_type*)
///     is_new(object), mark(object, number), is_marked(object, number): found by argument-dependent lookup
///
/// Times are per pool. Only the step in the name of the row is timed, for several small pools at once. If the step
/// creates or destroys n objects, `per_block` is the time divided by n. Rows need manual time.
#pragma once

#include "timed_step.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace object_rows {
using timed_step::time;

/// Several pools of one side, and the objects in them.
template <class Side>
class pools
{
    using object = typename Side::value_type;

public:
    explicit pools(std::size_t capacity, std::size_t min_pools = 1)
        : capacity_(capacity), pools_(std::clamp(blocks_in_a_step / capacity, min_pools, max_pools)),
          objects_(pools_.size() * capacity), order_(capacity)
    {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        // Fixed seed: the same order for every side and in every run.
        std::shuffle(order_.begin(), order_.end(), std::mt19937(2026));
        create();
        destroy_first_objects();
    }

    std::size_t count() const { return pools_.size(); }

    void create()
    {
        for (std::size_t i = 0; i != pools_.size(); ++i) {
            pools_[i].emplace(capacity_);
            objects_[i] = pools_[i]->make();
        }
    }

    void destroy_first_objects()
    {
        for (std::size_t i = 0; i != pools_.size(); ++i)
            pools_[i]->destroy(objects_[i]);
    }

    void destroy()
    {
        for (std::optional<Side>& pool : pools_)
            pool.reset();
    }

    void fill()
    {
        object** slot = objects_.data();
        for (std::optional<Side>& pool : pools_)
            for (object** const end = slot + capacity_; slot != end; ++slot)
                *slot = pool->make();
    }

    void drain_in_order()
    {
        object** slot = objects_.data();
        for (std::optional<Side>& pool : pools_)
            for (object** const end = slot + capacity_; slot != end; ++slot)
                pool->destroy(*slot);
    }

    void drain_at_random()
    {
        object** first = objects_.data();
        for (std::optional<Side>& pool : pools_) {
            for (const std::size_t position : order_)
                pool->destroy(first[position]);
            first += capacity_;
        }
    }

    /// Returns: true if all objects are distinct, were initialised by the constructor, and keep their contents.
    bool hold_data()
    {
        fill();
        bool hold = true;
        for (std::size_t i = 0; i != objects_.size(); ++i) {
            hold = hold && is_new(*objects_[i]);
            mark(*objects_[i], i + 1);
        }
        for (std::size_t i = 0; i != objects_.size(); ++i)
            hold = hold && is_marked(*objects_[i], i + 1);
        drain_in_order();
        return hold;
    }

private:
    /// Enough for a step to take at least as long as reading the clock; few enough to stay in the cache.
    static constexpr std::size_t blocks_in_a_step = 512;
    static constexpr std::size_t max_pools = 64;

    std::size_t capacity_;
    std::vector<std::optional<Side>> pools_;
    std::vector<object*> objects_;
    std::vector<std::size_t> order_;
};

/// Returns: true while the benchmark runs, with an iteration for each pool.
template <class Side>
bool goes_on(benchmark::State& state, const pools<Side>& pools)
{
    return state.KeepRunningBatch(static_cast<benchmark::IterationCount>(pools.count()));
}

/// Ends every row: reports an error instead of a time if the result is wrong.
template <class Side>
void finish(benchmark::State& state, pools<Side>& pools, std::size_t capacity, std::size_t blocks)
{
    if (!pools.hold_data())
        state.SkipWithError("objects overlap, or were not initialised by the constructor");
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(blocks), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.SetComplexityN(static_cast<benchmark::IterationCount>(capacity));
}

template <class Side>
void creation(benchmark::State& state, std::size_t capacity)
{
    pools<Side> pools(capacity, 8); // A single pool is too fast to time.
    while (goes_on(state, pools)) {
        pools.destroy();
        time(state, [&pools] { pools.create(); });
        pools.destroy_first_objects();
    }
    finish(state, pools, capacity, 1);
}

template <class Side>
void destruction(benchmark::State& state, std::size_t capacity)
{
    pools<Side> pools(capacity, 8); // A single pool is too fast to time.
    while (goes_on(state, pools)) {
        time(state, [&pools] { pools.destroy(); });
        pools.create();
        pools.destroy_first_objects();
    }
    finish(state, pools, capacity, 1);
}

template <class Side, void (pools<Side>::*Drain)()>
void allocation(benchmark::State& state, std::size_t capacity)
{
    pools<Side> pools(capacity);
    while (goes_on(state, pools)) {
        pools.fill();
        (pools.*Drain)();
        time(state, [&pools] { pools.fill(); });
        pools.drain_in_order();
    }
    finish(state, pools, capacity, capacity);
}

template <class Side, void (pools<Side>::*Drain)()>
void deallocation(benchmark::State& state, std::size_t capacity)
{
    pools<Side> pools(capacity);
    while (goes_on(state, pools)) {
        pools.fill();
        time(state, [&pools] { (pools.*Drain)(); });
    }
    finish(state, pools, capacity, capacity);
}

template <class Side>
void sequential_allocation(benchmark::State& state, std::size_t capacity)
{
    allocation<Side, &pools<Side>::drain_in_order>(state, capacity);
}

template <class Side>
void random_allocation(benchmark::State& state, std::size_t capacity)
{
    allocation<Side, &pools<Side>::drain_at_random>(state, capacity);
}

template <class Side>
void sequential_deallocation(benchmark::State& state, std::size_t capacity)
{
    deallocation<Side, &pools<Side>::drain_in_order>(state, capacity);
}

template <class Side>
void random_deallocation(benchmark::State& state, std::size_t capacity)
{
    deallocation<Side, &pools<Side>::drain_at_random>(state, capacity);
}
} // namespace object_rows
