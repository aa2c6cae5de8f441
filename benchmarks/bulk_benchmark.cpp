// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Allocates and frees 64 blocks or objects of 32 bytes: one by one in a loop, and with the bulk functions.
///
///     bulk_64    allocate all, then free all in the order of allocation
///
/// Rows are <shape>/<pool>/<loop|bulk>. `per_block` is the time per block. Each pool is used by one thread.
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>

#include "context.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <string>

namespace {
constexpr std::size_t count = 64;
constexpr std::size_t block_size = 32;

struct record
{
    explicit record(int initial_number) noexcept : number(initial_number) {}
    int number;
    std::array<unsigned char, block_size - sizeof(int)> rest; // Never written.
};

template <class Pool>
struct blocks
{
    using pointer = void*;

    void take(void** all)
    {
        for (std::size_t i = 0; i != count; ++i)
            all[i] = pool.allocate();
    }
    void put(void* const* all)
    {
        for (std::size_t i = 0; i != count; ++i)
            pool.deallocate(all[i]);
    }
    void take_bulk(void** all) { pool.allocate_bulk(all, count); }
    void put_bulk(void* const* all) { pool.deallocate_bulk(all, count); }

    Pool pool{block_size};
};

template <class Pool>
struct objects
{
    using pointer = record*;

    void take(record** all)
    {
        for (std::size_t i = 0; i != count; ++i)
            all[i] = pool.create(7);
    }
    void put(record* const* all)
    {
        for (std::size_t i = 0; i != count; ++i)
            pool.destroy(all[i]);
    }
    void take_bulk(record** all) { pool.create_bulk(all, count, 7); }
    void put_bulk(record* const* all) { pool.destroy_bulk(all, count); }

    Pool pool;
};

template <class Side, bool IsBulk>
void out_and_back(benchmark::State& state)
{
    Side side;
    std::array<typename Side::pointer, count> all{};
    for (auto _ : state) {
        if constexpr (IsBulk)
            side.take_bulk(all.data());
        else
            side.take(all.data());
        benchmark::DoNotOptimize(all.data());
        benchmark::ClobberMemory();
        if constexpr (IsBulk)
            side.put_bulk(all.data());
        else
            side.put(all.data());
        benchmark::ClobberMemory();
    }
    state.counters["per_block"] =
        benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (side.pool.in_use() != 0 || !side.pool.verify())
        state.SkipWithError("blocks were lost");
}

template <class Side>
void add(const std::string& pool)
{
    benchmark::RegisterBenchmark(("bulk_64/" + pool + "/loop").c_str(), out_and_back<Side, false>);
    benchmark::RegisterBenchmark(("bulk_64/" + pool + "/bulk").c_str(), out_and_back<Side, true>);
}

bool add_rows()
{
    add<blocks<memory_pool::block_pool>>("block_pool");
    add<blocks<memory_pool::concurrent_block_pool>>("concurrent_block_pool");
    add<objects<memory_pool::object_pool<record>>>("object_pool");
    add<objects<memory_pool::concurrent_object_pool<record>>>("concurrent_object_pool");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
