// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// boost_intrusive_pool.hpp against the original's algorithm: see ../virtual_recycle.hpp.
///
///     continuous    allocate all items, then release all
///     mixed         allocate all items; after each allocation, with a probability of 1/2, release a random kept item,
///                   the same in every run; release the remaining items at the end
///
///     ..._new       with a pool that is created and destroyed each time
///     ..._reused    with a pool that has enough items
///
/// A row is named <pattern>/<bytes in an item>/<step>/<side>, and allocates 100,000 items. A few bytes of each item are
/// written and read. Items have no constructor of their own, so that the pool dominates the time.
#include <boost_intrusive_pool.hpp>

#include "../context.hpp"
#include "../virtual_recycle.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
constexpr std::uint32_t items_in_a_run = 100'000;

/// The payload of an item.
template <std::size_t Bytes>
class record
{
public:
    std::uint64_t process(std::uint32_t number)
    {
        words_[number % words] = number;
        words_[0] += 1;
        return words_[number % words];
    }

private:
    static constexpr std::size_t words = Bytes / sizeof(std::uint64_t);
    std::uint64_t words_[words];
};

template <std::size_t Bytes>
class stand_in
{
    struct item : virtual_recycle::item, record<Bytes>
    {
    };
    static_assert(std::is_trivially_default_constructible_v<record<Bytes>>);

public:
    using pointer = boost::intrusive_ptr<item>;

    explicit stand_in(std::size_t step) : pool_(step) {}
    pointer make() { return pool_.allocate(); }

private:
    virtual_recycle::pool<item> pool_;
};

template <std::size_t Bytes>
class drop_in
{
    struct item : memorypool::boost_intrusive_pool_item, record<Bytes>
    {
    };

public:
    using pointer = boost::intrusive_ptr<item>;

    explicit drop_in(std::size_t step) : pool_(step, step) {}
    pointer make() { return pool_.allocate(); }

private:
    memorypool::boost_intrusive_pool<item> pool_;
};

/// The index of the item to release after each step, among the kept items; or `none`.
using plan = std::vector<std::uint32_t>;
constexpr auto none = static_cast<std::uint32_t>(-1);

plan continuous()
{
    return plan(items_in_a_run, none);
}

plan mixed()
{
    std::mt19937 random(2026); // NOLINT(bugprone-random-generator-seed): the same in every run.
    plan result = continuous();
    std::uint32_t kept = 0;
    for (std::uint32_t& victim : result) {
        ++kept;
        if (random() % 2 == 0)
            victim = static_cast<std::uint32_t>(random() % kept--);
    }
    return result;
}

template <class Side>
void run(Side& side, const plan& to_follow, std::vector<typename Side::pointer>& kept)
{
    std::uint64_t sum = 0;
    std::size_t count = 0;
    std::uint32_t number = 0;
    for (const std::uint32_t victim : to_follow) {
        kept[count] = side.make();
        sum += kept[count++]->process(number++);
        if (victim != none)
            kept[victim] = std::move(kept[--count]);
    }
    for (std::size_t i = 0; i != count; ++i)
        kept[i].reset();
    benchmark::DoNotOptimize(sum);
}

template <class Side>
void with_new_pools(benchmark::State& state, plan (*pattern)(), std::size_t step)
{
    const plan to_follow = pattern();
    std::vector<typename Side::pointer> kept(items_in_a_run + 1);
    for (auto _ : state) {
        Side side(step);
        run(side, to_follow, kept);
    }
    state.SetItemsProcessed(state.iterations() * items_in_a_run);
}

template <class Side>
void with_a_reused_pool(benchmark::State& state, plan (*pattern)(), std::size_t step)
{
    const plan to_follow = pattern();
    std::vector<typename Side::pointer> kept(items_in_a_run + 1);
    Side side(step);
    run(side, to_follow, kept);
    for (auto _ : state)
        run(side, to_follow, kept);
    state.SetItemsProcessed(state.iterations() * items_in_a_run);
}

template <class Side>
void add_side(const char* name, std::size_t bytes, std::size_t step)
{
    const std::string row = '/' + std::to_string(bytes) + '/' + std::to_string(step) + '/' + name;
    const auto add = [&row](const char* pattern, auto function, plan (*to_follow)(), std::size_t by) {
        benchmark::RegisterBenchmark((pattern + row).c_str(), function, to_follow, by)->Unit(benchmark::kMicrosecond);
    };
    add("continuous_new", with_new_pools<Side>, continuous, step);
    add("continuous_reused", with_a_reused_pool<Side>, continuous, step);
    add("mixed_new", with_new_pools<Side>, mixed, step);
    add("mixed_reused", with_a_reused_pool<Side>, mixed, step);
}

template <std::size_t Bytes>
bool add_sides()
{
    for (const std::size_t step : {std::size_t{64}, std::size_t{1000}, std::size_t{16384}}) {
        add_side<stand_in<Bytes>>("stand_in", Bytes, step);
        add_side<drop_in<Bytes>>("drop_in", Bytes, step);
    }
    return true;
}

const bool is_complete = context::add() && add_sides<16>() && add_sides<64>() && add_sides<1024>();
} // namespace
