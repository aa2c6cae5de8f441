// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Iteration over an object_pool, against plf::colony, the model of std::hive: in scenarios of its author, for ints and
/// for structs of 40 and 400 bytes.
///
///     insert          inserts n elements into a new container, and destroys the container
///     erase           visits all elements, and erases a random half of them, by iterator
///     iterate_<p>     visits all elements, after a random p per cent were erased
///     low, medium, high_modification
///                     visits all elements, erases a random 0.1, 1 or 10 per cent of them, and inserts the same number
///
/// Rows are <scenario>_<type>/<side>/<n>. `per_block` is the time per visited element; in scenarios without visits, the
/// time for each of the n elements.
#include <memory_pool/object_pool.hpp>

#include "context.hpp"
#include "timed_step.hpp"

#include <benchmark/benchmark.h>
#include <plf_colony.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace {
template <std::size_t Bytes>
struct record
{
    explicit record(int value) noexcept : number(value) {} // NOLINT(cppcoreguidelines-pro-type-member-init): as in plf
    int number;
    std::array<char, Bytes - sizeof(int)> rest;
};

int number_of(int element)
{
    return element;
}
template <std::size_t Bytes>
int number_of(const record<Bytes>& element)
{
    return element.number;
}

// The sides: a range with these two functions.

template <class T>
class object_pool : public memory_pool::object_pool<T>
{
public:
    void insert(int number) { (void)this->create(number); }
};

template <class T>
class plf_colony : public plf::colony<T>
{
public:
    void insert(int number) { this->emplace(number); }
};

/// Draws a random share of a sequence of elements, at the cost of a decrement per element. For small shares.
class lots
{
public:
    explicit lots(double share) : max_steps_(static_cast<std::uint32_t>(2 / share)) { draw(); }

    bool is_drawn()
    {
        if (--left_ != 0)
            return false;
        draw();
        return true;
    }

private:
    /// Draws the distance to the next element: from 1 to `max_steps_` - 1, about `max_steps_` / 2 on average.
    void draw()
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        left_ = 1 + static_cast<std::uint32_t>((state_ >> 32) * (max_steps_ - 1) >> 32);
    }

    std::uint64_t state_ = 0x2545'F491'4F6C'DD1D;
    std::uint32_t max_steps_;
    std::uint32_t left_ = 0;
};

/// Random bits, for shares in 256ths.
class coins
{
public:
    bool is_below(std::uint32_t limit)
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 24 & 0xFF) < limit;
    }

private:
    std::uint64_t state_ = 0x9E37'79B9'7F4A'7C15;
};

template <class Side>
void fill(Side& side, std::size_t count)
{
    for (std::size_t i = 0; i != count; ++i)
        side.insert(static_cast<int>(i));
}

/// Returns: the number of erased elements.
template <class Side>
std::size_t erase_share(Side& side, int per_cent)
{
    coins coin;
    const auto limit = static_cast<std::uint32_t>(per_cent * 256 / 100);
    std::size_t erased = 0;
    std::size_t visited = 0;
    for (auto at = side.begin(); at != side.end(); ++visited) {
        if (coin.is_below(limit)) {
            at = side.erase(at);
            ++erased;
        } else {
            ++at;
        }
    }
    return visited - erased == side.size() ? erased : throw std::logic_error("elements were left out");
}

template <class Side>
std::int64_t sum_of(const Side& side)
{
    std::int64_t sum = 0;
    for (const auto& element : side)
        sum += number_of(element);
    return sum;
}

void report(benchmark::State& state, std::size_t elements, bool is_right)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(elements), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!is_right)
        state.SkipWithError("wrong results");
}

template <class Side>
void insert(benchmark::State& state)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    bool is_right = true;
    for (auto _ : state) {
        Side side;
        fill(side, count);
        is_right = side.size() == count && is_right;
    }
    report(state, count, is_right);
}

template <class Side>
void erase(benchmark::State& state)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    bool is_right = true;
    for (auto _ : state) {
        Side side;
        fill(side, count);
        std::size_t erased = 0;
        timed_step::time(state, [&] { erased = erase_share(side, 50); });
        is_right = side.size() == count - erased && is_right;
    }
    report(state, count, is_right);
}

template <class Side>
void iterate(benchmark::State& state, int per_cent)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    Side side;
    fill(side, count);
    const std::size_t left = count - erase_share(side, per_cent);
    const std::int64_t expected = sum_of(side); // Also warms the caches, as in a program that iterates repeatedly.
    std::int64_t sum = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(sum = sum_of(side));
    report(state, std::max<std::size_t>(left, 1), sum == expected && left == side.size());
}

template <class Side>
void modify(benchmark::State& state, double share)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    Side side;
    fill(side, count);
    lots lot(share);
    int next = 0;
    std::int64_t sum = 0;
    for (auto _ : state) {
        for (auto at = side.begin(); at != side.end();) {
            sum += number_of(*at);
            if (lot.is_drawn())
                at = side.erase(at);
            else
                ++at;
        }
        while (side.size() != count)
            side.insert(next++ & 0xFFFF);
    }
    benchmark::DoNotOptimize(sum);
    report(state, count, sum_of(side) >= 0);
}

template <class Side>
void add(const std::string& type, const std::string& name)
{
    const auto row = [&](const std::string& scenario, auto&& run) {
        return benchmark::RegisterBenchmark((scenario + '_' + type + '/' + name).c_str(), run)
            ->Arg(10)
            ->Arg(1'000)
            ->Arg(10'000)
            ->Arg(100'000)
            ->Arg(1'000'000);
    };
    row("insert", insert<Side>);
    row("erase", erase<Side>)->UseManualTime();
    for (const int per_cent : {0, 25, 50, 75, 95})
        row("iterate_" + std::to_string(per_cent),
            [per_cent](benchmark::State& state) { iterate<Side>(state, per_cent); });
    row("low_modification", [](benchmark::State& state) { modify<Side>(state, 0.001); });
    row("medium_modification", [](benchmark::State& state) { modify<Side>(state, 0.01); });
    row("high_modification", [](benchmark::State& state) { modify<Side>(state, 0.1); });
}

template <class T>
void add_sides(const std::string& type)
{
    add<object_pool<T>>(type, "object_pool");
    add<plf_colony<T>>(type, "plf_colony");
}

bool add_rows()
{
    add_sides<int>("int");
    add_sides<record<40>>("40");
    add_sides<record<400>>("400");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
