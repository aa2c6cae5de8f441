// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of 32 bytes: block_pool against new/delete and the pools of other libraries.
///
///     pair           allocate one block, and free it
///     bulk           allocate 10,000 blocks, then free all in the order of allocation
///     bulk_reverse   ... in reverse order
///     bulk_random    ... in a random order, which is the same in every run and for every side
///     churn          allocate 100 blocks, then free all in the order of allocation
///
/// A row is named <shape>/<side>/<blocks>. `per_block` is the time to allocate and free a block.
#include <memory_pool/block_pool.hpp>

#include "competitors.hpp"
#include "context.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {
constexpr std::size_t block_size = 32;

/// Returns: whether `count` blocks in use at the same time keep their contents, and so do not overlap.
template <class Side>
bool holds_data(Side& side, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks)
        block = side.allocate();
    for (std::size_t i = 0; i != count; ++i)
        std::memcpy(blocks[i], competitors::content<block_size>(i).data(), block_size);
    bool holds = true;
    for (std::size_t i = 0; i != count; ++i)
        holds = holds && std::memcmp(blocks[i], competitors::content<block_size>(i).data(), block_size) == 0;
    for (void* block : blocks)
        side.deallocate(block);
    return holds;
}

/// Ends every row: reports an error instead of a time if blocks overlap.
template <class Side>
void finish(benchmark::State& state, Side& side, std::size_t blocks)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(blocks), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!holds_data(side, std::max<std::size_t>(blocks, 64)))
        state.SkipWithError("blocks overlap, or lose their contents");
}

template <class Side>
void pair(benchmark::State& state)
{
    Side side(1);
    for (auto _ : state) {
        void* block = side.allocate();
        // A reference to const lets the compiler keep the pointer in a register, as in a real program.
        benchmark::DoNotOptimize(static_cast<void* const&>(block));
        side.deallocate(block);
    }
    finish(state, side, 1);
}

/// Room for `count` pointers. Each new object begins at a different offset in its page.
///
/// 4K aliasing: a load stalls behind an earlier store if their addresses agree in the low twelve bits. At some offsets
/// of the array, the loop takes nearly twice as long. These offsets differ from side to side. Over several repetitions,
/// each side uses all offsets equally often.
class pointer_array
{
public:
    pointer_array(std::size_t count, unsigned placement) : storage_(count + 2 * page)
    {
        void* start = storage_.data();
        std::size_t room = storage_.size() * sizeof(void*);
        (void)std::align(page * sizeof(void*), (count + page) * sizeof(void*), start, room);
        begin_ = static_cast<void**>(start) + placement * step % page;
        end_ = begin_ + count;
    }

    void** begin() const { return begin_; }
    void** end() const { return end_; }
    void* operator[](std::size_t position) const { return begin_[position]; }

private:
    static constexpr std::size_t page = 4096 / sizeof(void*);
    static constexpr std::size_t step = 41; // In pointers; coprime to the size of a page.

    std::vector<void*> storage_;
    void** begin_;
    void** end_;
};

struct same_order
{
    explicit same_order(std::size_t) {}

    template <class Side>
    void deallocate_all(Side& side, const pointer_array& blocks) const
    {
        for (void* block : blocks)
            side.deallocate(block);
    }
};

struct reverse_order
{
    explicit reverse_order(std::size_t) {}

    template <class Side>
    void deallocate_all(Side& side, const pointer_array& blocks) const
    {
        for (void** block = blocks.end(); block != blocks.begin();)
            side.deallocate(*--block);
    }
};

class random_order
{
public:
    explicit random_order(std::size_t count) : order_(count)
    {
        std::iota(order_.begin(), order_.end(), 0U);
        // A fixed seed: the order is the same for every side and in every run.
        std::shuffle(order_.begin(), order_.end(), std::mt19937(2026));
    }

    template <class Side>
    void deallocate_all(Side& side, const pointer_array& blocks) const
    {
        for (const std::uint32_t position : order_)
            side.deallocate(blocks[position]);
    }

private:
    std::vector<std::uint32_t> order_;
};

template <class Side, class Order>
void many(benchmark::State& state)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    const Order order(count);
    static unsigned placement = 0;
    const pointer_array blocks(count, placement++);
    Side side(count);
    for (auto _ : state) {
        benchmark::DoNotOptimize(blocks.begin());
        for (void*& block : blocks)
            block = side.allocate();
        benchmark::ClobberMemory();
        order.deallocate_all(side, blocks);
        benchmark::ClobberMemory();
    }
    finish(state, side, count);
}

constexpr int in_bulk = 10000;
constexpr int in_churn = 100;

benchmark::internal::Benchmark* add(const char* shape, const char* side, void (*run)(benchmark::State&))
{
    return benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), run);
}

template <class Side>
void add_all_but_bulk(const char* side)
{
    add("pair", side, pair<Side>);
    add("bulk_reverse", side, many<Side, reverse_order>)->Arg(in_bulk);
    add("churn", side, many<Side, same_order>)->Arg(in_churn);
}

template <class Side>
void add_all(const char* side)
{
    add_all_but_bulk<Side>(side);
    add("bulk", side, many<Side, same_order>)->Arg(in_bulk);
    add("bulk_random", side, many<Side, random_order>)->Arg(in_bulk);
}

bool add_rows()
{
    add_all<competitors::new_delete<block_size>>("new_delete");
    add_all<competitors::block_pool<block_size>>("block_pool");
    add_all<competitors::pmr_unsynchronized_pool<block_size>>("pmr_unsynchronized_pool");
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    add_all<competitors::boost_pool<block_size>>("boost_pool");
    // Here, deallocation is linear in the number of free blocks, except in reverse order: all 10,000 blocks take a
    // tenth of a second. Two iterations are enough.
    using linear = competitors::boost_object_pool<block_size>;
    add_all_but_bulk<linear>("boost_object_pool");
    add("bulk", "boost_object_pool", many<linear, same_order>)->Arg(in_bulk)->Iterations(2);
    add("bulk_random", "boost_object_pool", many<linear, random_order>)->Arg(in_bulk)->Iterations(2);
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
    add_all<competitors::foonathan_memory_pool<block_size>>("foonathan_memory_pool");
#endif
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
