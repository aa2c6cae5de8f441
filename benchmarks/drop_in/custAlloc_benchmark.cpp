// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The drop-in for poolAllocator against the original's algorithm, on the shapes of the original's benchmarks, in one
/// thread and in several that share a pool.
///
///     single   a thread allocates one block, and frees it
///     bulk     ... allocates 10,000 blocks, then frees all in FIFO order
///     churn    ... frees one of its 1,000 blocks, chosen at random, and allocates another
///
/// A row is named <shape>/<threads>/<n>/<side>, where n is the number of blocks that each thread has at one time.
/// `per_block` is the core time per allocation and deallocation of a block:
///
///     time from the start of the first thread to the end of the last * min(threads, cores) / blocks of all threads
///
/// Every row runs in new threads, even one with a single thread.
#include <custAlloc/custAlloc.hpp>

#include "context.hpp"
#include "stand_ins/free_list_with_caches.hpp"
#include "thread_team.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace {
using together::team;

constexpr std::size_t object_size = 24;

/// Throws: bad_alloc if the pool returns nullptr.
template <class Pool>
MEMORY_POOL_ALWAYS_INLINE void* take(Pool& pool)
{
    void* const block = pool.allocate_object();
    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}

// The work that a thread repeats. Each repetition allocates and frees `blocks` blocks.

template <class Pool>
class single
{
public:
    static constexpr std::size_t live_blocks = 1;
    static constexpr std::size_t blocks = 1;

    explicit single(Pool& pool) : pool_(pool) {}

    void run(std::size_t times)
    {
        Pool& pool = pool_; // Stays in a register despite possible aliasing.
        for (; times != 0; --times) {
            void* block = take(pool);
            benchmark::DoNotOptimize(static_cast<void* const&>(block));
            pool.deallocate_object(block);
        }
    }

private:
    Pool& pool_;
};

template <class Pool>
class bulk
{
public:
    static constexpr std::size_t live_blocks = 10'000;
    static constexpr std::size_t blocks = live_blocks;

    explicit bulk(Pool& pool) : pool_(pool), blocks_(live_blocks) {}

    void run(std::size_t times)
    {
        for (; times != 0; --times) {
            for (void*& block : blocks_)
                block = take(pool_);
            benchmark::ClobberMemory();
            for (void* const block : blocks_)
                pool_.deallocate_object(block);
        }
    }

private:
    Pool& pool_;
    std::vector<void*> blocks_;
};

template <class Pool>
class churn
{
public:
    static constexpr std::size_t live_blocks = 1'000;
    static constexpr std::size_t blocks = 1;

    explicit churn(Pool& pool) : pool_(pool), blocks_(live_blocks)
    {
        for (void*& block : blocks_)
            block = take(pool_);
    }

    churn(const churn&) = delete;
    churn& operator=(const churn&) = delete;

    void run(std::size_t times)
    {
        for (; times != 0; --times) {
            void*& block = blocks_[next_random() % live_blocks];
            pool_.deallocate_object(block);
            block = take(pool_);
        }
    }

private:
    /// A linear congruential generator: the same numbers for every side.
    std::uint32_t next_random()
    {
        state_ = state_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return static_cast<std::uint32_t>(state_ >> 33);
    }

    Pool& pool_;
    std::vector<void*> blocks_;
    std::uint64_t state_ = 2026;
};

template <class Pool, template <class> class Job>
void row(benchmark::State& state, std::size_t threads)
{
    using job = Job<Pool>;
    constexpr std::size_t slack = 2 * stand_ins::free_list_with_caches::cached_blocks;
    team team(threads);
    Pool pool(object_size, threads * (job::live_blocks + slack));
    const auto times = static_cast<std::size_t>(state.max_iterations);
    while (state.KeepRunningBatch(state.max_iterations)) {
        team.run([&](std::size_t number) {
            job own(pool);
            own.run(2);
            team.time(number, [&] { own.run(times); });
        });
        state.SetIterationTime(team.seconds());
    }
    state.counters["per_block"] = team.core_seconds() / static_cast<double>(times * threads * job::blocks);
    together::finish(state, team);
}

template <class Pool, template <class> class Job>
void add_rows(const std::string& shape, const std::string& side)
{
    const std::string items = std::to_string(Job<Pool>::live_blocks);
    for (const std::size_t threads : {1U, 2U, 4U, 8U}) {
        const std::string name =
            shape + '/' + std::to_string(threads) + (threads == 1 ? "_thread/" : "_threads/") + items + '/' + side;
        benchmark::RegisterBenchmark(name.c_str(), [threads](benchmark::State& state) {
            row<Pool, Job>(state, threads);
        })->UseManualTime();
    }
}

template <class Pool>
void add_side(const std::string& side)
{
    add_rows<Pool, single>("single", side);
    add_rows<Pool, bulk>("bulk", side);
    add_rows<Pool, churn>("churn", side);
}

[[maybe_unused]] const bool rows_are_added = [] {
    context::add();
    add_side<stand_ins::free_list_with_caches>("stand_in");
    add_side<PoolAllocator>("drop_in");
    return true;
}();
} // namespace
