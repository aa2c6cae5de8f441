// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Raw blocks of 32 bytes for many threads: concurrent_block_pool against new/delete and the pools and allocators of
/// other libraries. In each row, all threads share one pool.
///
///     pair                each thread allocates one block, and frees it
///     bulk                ... 10,000 blocks, then frees all in the order of allocation
///     churn               ... 100 blocks, then frees all in the order of allocation
///     producer_consumer   pairs of threads: one allocates batches of 256 blocks, the other frees them
///     ring                each thread allocates batches of 256 blocks, and frees those of its neighbour
///
/// A row is named <shape>/<side>/<threads>. `per_block` is the core time to allocate and free a block:
///
///     time from the start of the first thread to the end of the last * min(threads, cores) / blocks of all threads
///
/// The time is constant over the number of threads as long as threads do not contend. An increase is the price of
/// sharing: twice the time on two cores means that two threads do no more work than one. With more threads than cores,
/// waiting for a core does not count, but waiting for a lock that a preempted thread holds does.
///
/// Thread i is pinned to core i, modulo the number of cores (see thread_team.hpp), so a block that is handed over
/// changes cores.
///
/// glibc's malloc takes shortcuts in a process that never had a second thread. The program therefore starts and joins a
/// thread before it measures any side. Every row runs in new threads, even a row with a single thread.
#include <memory_pool/concurrent_block_pool.hpp>

#include "competitors.hpp"
#include "concurrent_competitors.hpp"
#include "context.hpp"
#include "thread_team.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {
using together::finish;
using together::measure;
using together::team;
using together::threads_of;

constexpr std::size_t block_size = 32;

/// Returns: a block.
/// Throws: bad_alloc, also if the side returns nullptr.
template <class Side>
MEMORY_POOL_ALWAYS_INLINE void* take(Side& side)
{
    void* const block = side.allocate();
    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}

/// Throws: runtime_error unless `count` blocks in use at the same time keep their contents, while other threads write
///   other numbers to their own blocks.
template <class Side>
void check_data(Side& side, std::size_t thread, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks)
        block = take(side);
    for (std::size_t i = 0; i != count; ++i)
        std::memcpy(blocks[i], competitors::content<block_size>(thread * count + i).data(), block_size);
    // Gives other threads time to write to their blocks.
    std::this_thread::yield();
    bool holds = true;
    for (std::size_t i = 0; i != count; ++i)
        holds = holds &&
                std::memcmp(blocks[i], competitors::content<block_size>(thread * count + i).data(), block_size) == 0;
    for (void* block : blocks)
        side.deallocate(block);
    if (!holds)
        throw std::runtime_error("blocks overlap, or lose their contents");
}

// Threads that free their own blocks.

/// The check of the contents uses at least this many blocks in each thread.
constexpr std::size_t min_checked = 64;

/// Runs a row in which threads work independently, with `blocks` blocks in an iteration.
/// `make_part(side)` returns a pointer to the work of a thread: a function object that takes a number of iterations.
template <class Side, class MakePart>
void run_independently(benchmark::State& state, std::size_t blocks, MakePart&& make_part)
{
    team team(threads_of(state));
    const std::size_t most = std::max(blocks, min_checked);
    Side side(team.size() * most);
    std::vector<decltype(make_part(side))> parts;
    for (std::size_t number = 0; number != team.size(); ++number)
        parts.push_back(make_part(side));

    const auto iterations = static_cast<std::size_t>(state.max_iterations);
    const auto all = static_cast<double>(iterations * blocks * team.size());
    measure(
        state, team, [&](std::size_t number) { (*parts[number])(2); },
        [&](std::size_t number) { (*parts[number])(iterations); });
    state.counters["per_block"] = team.core_seconds() / all;
    if (team.failure().empty())
        team.run([&](std::size_t number) { check_data(side, number, most); });
    finish(state, team);
}

template <class Side>
class one_block
{
public:
    explicit one_block(Side& side) : side_(side) {}

    void operator()(std::size_t iterations)
    {
        Side& side = side_; // Stays in a register despite possible aliasing.
        for (; iterations != 0; --iterations) {
            void* block = take(side);
            // A reference to const lets the compiler keep the pointer in a register, as in a real program.
            benchmark::DoNotOptimize(static_cast<void* const&>(block));
            side.deallocate(block);
        }
    }

private:
    Side& side_;
};

template <class Side>
class block_batch
{
public:
    block_batch(Side& side, std::size_t count)
        : side_(side), storage_(count + 2 * page), begin_(storage_.data() + next_place()), end_(begin_ + count)
    {
    }

    void operator()(std::size_t iterations)
    {
        for (; iterations != 0; --iterations) {
            benchmark::DoNotOptimize(begin_);
            for (void** block = begin_; block != end_; ++block)
                *block = take(side_);
            benchmark::ClobberMemory();
            for (void** block = begin_; block != end_; ++block)
                side_.deallocate(*block);
            benchmark::ClobberMemory();
        }
    }

private:
    static constexpr std::size_t page = 4096 / sizeof(void*);
    static constexpr std::size_t step = 41; // In pointers; coprime to the size of a page.

    /// Each array begins at a different offset in its page: see block_pool_benchmark.cpp.
    static std::size_t next_place()
    {
        static std::size_t placement = 0;
        return placement++ * step % page;
    }

    Side& side_;
    std::vector<void*> storage_;
    void** begin_;
    void** end_;
};

template <class Side>
void pair(benchmark::State& state)
{
    run_independently<Side>(state, 1, [](Side& side) { return std::make_unique<one_block<Side>>(side); });
}

template <class Side, std::size_t Count>
void many(benchmark::State& state)
{
    run_independently<Side>(state, Count, [](Side& side) { return std::make_unique<block_batch<Side>>(side, Count); });
}

// Threads that free the blocks of other threads.

/// A queue of batches of blocks, from one thread to another. Batches are filled and emptied in place, so the cost per
/// block is little more than a write and a read of its address.
class batch_queue
{
public:
    using batch = std::array<void*, 256>;
    static constexpr std::size_t room = 8;
    static constexpr std::size_t max_blocks = room * std::tuple_size_v<batch>;

    /// Waits until there is room for a batch, then calls `fill(batch)`.
    template <class Fill>
    void put(const team& team, Fill&& fill)
    {
        const std::size_t number = put_.load(std::memory_order_relaxed);
        team.wait_until([this, number] { return number - taken_.load(std::memory_order_acquire) != room; });
        fill(batches_[number % room]);
        put_.store(number + 1, std::memory_order_release);
    }

    /// Waits until there is a batch, then calls `empty(batch)`.
    template <class Empty>
    void take(const team& team, Empty&& empty)
    {
        const std::size_t number = taken_.load(std::memory_order_relaxed);
        team.wait_until([this, number] { return put_.load(std::memory_order_acquire) != number; });
        empty(batches_[number % room]);
        taken_.store(number + 1, std::memory_order_release);
    }

private:
    alignas(64) std::array<batch, room> batches_{};
    alignas(64) std::atomic<std::size_t> put_{0};
    alignas(64) std::atomic<std::size_t> taken_{0};
};

/// A queue and the side that its blocks come from. Each block is filled with its number.
template <class Side>
class channel
{
public:
    channel(Side& side, const team& team, std::size_t number) : side_(side), team_(team)
    {
        sent_ = received_ = number << 48;
    }

    void send()
    {
        queue_.put(team_, [this](batch_queue::batch& batch) {
            for (void*& block : batch) {
                block = ::take(side_);
                std::memcpy(block, competitors::content<block_size>(sent_++).data(), block_size);
            }
        });
    }

    void receive()
    {
        queue_.take(team_, [this](const batch_queue::batch& batch) {
            bool holds = true;
            for (void* block : batch) {
                holds =
                    std::memcmp(block, competitors::content<block_size>(received_++).data(), block_size) == 0 && holds;
                side_.deallocate(block);
            }
            if (!holds)
                throw std::runtime_error("blocks overlap, or lose their contents");
        });
    }

private:
    Side& side_;
    const team& team_;
    batch_queue queue_;
    alignas(64) std::size_t sent_;     // Used by the sender only.
    alignas(64) std::size_t received_; // Used by the receiver only.
};

/// Runs a row with `count` channels. In an iteration, each transfers one batch from one thread to another.
/// `part(channels, number)` runs one iteration of a thread.
template <class Side, class Part>
void hand_off(benchmark::State& state, std::size_t count, Part&& part)
{
    team team(threads_of(state));
    Side side(count * batch_queue::max_blocks);
    std::vector<std::unique_ptr<channel<Side>>> channels;
    for (std::size_t number = 0; number != count; ++number)
        channels.push_back(std::make_unique<channel<Side>>(side, team, number));

    const auto iterations = static_cast<std::size_t>(state.max_iterations);
    const auto times = [&](std::size_t rounds) {
        return [&, rounds](std::size_t number) {
            for (std::size_t i = 0; i != rounds; ++i)
                part(channels, number);
        };
    };
    const auto all = static_cast<double>(iterations * std::tuple_size_v<batch_queue::batch> * count);
    measure(state, team, times(2 * batch_queue::room), times(iterations));
    state.counters["per_block"] = team.core_seconds() / all;
    finish(state, team);
}

template <class Side>
void producer_consumer(benchmark::State& state)
{
    hand_off<Side>(state, threads_of(state) / 2, [](auto& channels, std::size_t number) {
        if (number % 2 == 0)
            channels[number / 2]->send();
        else
            channels[number / 2]->receive();
    });
}

template <class Side>
void ring(benchmark::State& state)
{
    // Every thread may send before it receives: each channel has room for a batch, so the ring cannot deadlock.
    hand_off<Side>(state, threads_of(state), [](auto& channels, std::size_t number) {
        channels[number]->send();
        channels[(number + 1) % channels.size()]->receive();
    });
}

constexpr std::size_t in_bulk = 10000;
constexpr std::size_t in_churn = 100;

void add(const char* shape, const char* side, void (*run)(benchmark::State&),
         std::initializer_list<std::int64_t> threads)
{
    auto* const rows = benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), run);
    for (const std::int64_t count : threads)
        rows->Arg(count);
    rows->UseManualTime();
}

template <class Side>
void add_all(const char* side)
{
    add("pair", side, pair<Side>, {1, 2, 4, 8});
    add("bulk", side, many<Side, in_bulk>, {1, 2, 4, 8});
    add("churn", side, many<Side, in_churn>, {1, 2, 4, 8});
    add("producer_consumer", side, producer_consumer<Side>, {2, 4, 8});
    add("ring", side, ring<Side>, {4});
}

bool add_rows()
{
    std::thread([] {}).join(); // See the head of this file.

    add_all<competitors::new_delete<block_size>>("new_delete");
    add_all<competitors::concurrent_block_pool<block_size>>("concurrent_block_pool");
    add_all<competitors::counting_concurrent_block_pool<block_size>>("counting_concurrent_block_pool");
    add("pair", "block_pool", pair<competitors::block_pool<block_size>>, {1}); // Shows the cost of sharing.
    add_all<competitors::locked_block_pool<block_size>>("locked_block_pool");
    add_all<competitors::pmr_synchronized_pool<block_size>>("pmr_synchronized_pool");
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    add_all<competitors::boost_lockfree_stack<block_size>>("boost_lockfree_stack");
#endif
#if defined(MEMORY_POOL_BENCHMARK_TBB)
    add_all<competitors::tbb_scalable_malloc<block_size>>("tbb_scalable_malloc");
    add_all<competitors::tbb_memory_pool<block_size>>("tbb_memory_pool");
    benchmark::AddCustomContext("tbb", TBB_VERSION_STRING);
#endif
#if defined(MEMORY_POOL_BENCHMARK_MIMALLOC)
    if (auto* const version = competitors::mimalloc_function<int()>("mi_version")) {
        add_all<competitors::mimalloc<block_size>>("mimalloc");
        benchmark::AddCustomContext("mimalloc", std::to_string(version()));
    }
#endif
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
