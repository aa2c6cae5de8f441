// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads that share a pool and are delayed at every racy point. Each block has one owner at a time, stays intact and
// is returned.
#include "support/delays.hpp"

#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/os/process_barrier.hpp>
#include "support/pool_stress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

namespace mp = memory_pool;

namespace {
constexpr unsigned thread_count = 4;

class delayed_pool : public testing::Test
{
protected:
    using stress = test::pool_stress<mp::concurrent_block_pool>;

    /// A pool so small that threads often run out of blocks, which closes every cache.
    static test::stress_shape tight_shape()
    {
        test::stress_shape shape;
        shape.limit = 40;
        return shape;
    }

    /// Runs `thread_count` threads, each replaced by a new one `lives` times.
    static void run(stress& pool, unsigned operations, unsigned lives = 1)
    {
        std::vector<std::thread> threads;
        for (std::uint64_t me = 0; me != thread_count; ++me) {
            threads.emplace_back([&pool, operations, lives, me] {
                for (unsigned life = 1; life != lives; ++life)
                    std::thread([&] { work(pool, operations, 1000 * me + life); }).join();
                work(pool, operations, 1000 * me);
            });
        }
        for (auto& thread : threads)
            thread.join();
    }

    static void work(stress& pool, unsigned operations, std::uint64_t seed)
    {
        test::random_delays delays(seed);
        const test::delayed_by hook(delays);
        pool.work(seed, [left = operations]() mutable { return left-- != 0; });
    }

    static void expect_all_back(stress& pool)
    {
        EXPECT_EQ(pool.faults(), 0u);
        EXPECT_TRUE(pool.settles());
    }
};

TEST_F(delayed_pool, loses_no_block_when_it_often_runs_out)
{
    stress pool(tight_shape());
    run(pool, 10'000);
    EXPECT_GT(pool.refusals(), 100u) << "the pool hardly ran out";
    expect_all_back(pool);
}

TEST_F(delayed_pool, loses_no_block_while_threads_wait)
{
    test::stress_shape shape = tight_shape();
    shape.waits = 50;
    stress pool(shape);
    run(pool, 5'000);
    expect_all_back(pool);
}

TEST_F(delayed_pool, loses_no_block_when_threads_end)
{
    test::stress_shape shape = tight_shape();
    shape.waits = 5;
    stress pool(shape);
    run(pool, 100, 50);
    expect_all_back(pool);
}

TEST_F(delayed_pool, loses_no_block_while_another_thread_trims)
{
    test::stress_shape shape;
    shape.max_held = 200;
    stress pool(shape);
    std::atomic<bool> has_ended{false};
    std::thread trimmer([&] {
        test::random_delays delays(99);
        const test::delayed_by hook(delays);
        while (!has_ended) {
            (void)pool.pool().trim();
            std::this_thread::yield();
        }
    });
    run(pool, 5'000);
    has_ended = true;
    trimmer.join();
    expect_all_back(pool);
}

// In an unlimited pool, threads exchange magazines through the depot.
TEST_F(delayed_pool, loses_no_block_while_threads_exchange_magazines)
{
    test::stress_shape shape;
    shape.block_size = 8192; // the fewest blocks in a magazine
    shape.arena_bytes = std::size_t{16} << 20;
    shape.whole_pool = 0;
    shape.max_held = 30;
    stress pool(shape);
    run(pool, 5'000);
    expect_all_back(pool);
}

TEST_F(delayed_pool, loses_no_block_when_upstream_is_exhausted)
{
    test::stress_shape shape;
    shape.arena_bytes = std::size_t{64} << 10;
    shape.max_held = 400;
    shape.waits = 5;
    stress pool(shape);
    run(pool, 5'000);
    expect_all_back(pool);
}

TEST_F(delayed_pool, loses_no_block_without_a_process_wide_barrier)
{
    mp::detail::os::platform::process_barrier_is_hidden = true;
    const auto pool = std::make_unique<stress>(tight_shape());
    run(*pool, 5'000);
    expect_all_back(*pool);
    mp::detail::os::platform::process_barrier_is_hidden = false;
}

TEST_F(delayed_pool, loses_no_block_with_slots_in_pages)
{
    std::list<mp::concurrent_block_pool> first_pools;
    while (first_pools.size() != mp::detail::core::slots_in_a_page)
        first_pools.emplace_back(sizeof(void*));
    stress pool(tight_shape());
    run(pool, 5'000);
    expect_all_back(pool);
}

// A new pool reuses the number of a destroyed one in the tables of the same threads.
TEST_F(delayed_pool, loses_no_block_when_pool_numbers_are_reused)
{
    std::unique_ptr<stress> pool;
    std::atomic<unsigned> arrived{0};
    std::atomic<unsigned> round{0};
    constexpr unsigned rounds = 20;
    std::vector<std::thread> threads;
    for (std::uint64_t me = 0; me != thread_count; ++me) {
        threads.emplace_back([&, me] {
            for (unsigned i = 1; i <= rounds; ++i) {
                while (round != i)
                    std::this_thread::yield();
                work(*pool, 300, std::uint64_t{1000} * i + me);
                ++arrived;
            }
        });
    }
    for (unsigned i = 1; i <= rounds; ++i) {
        pool = std::make_unique<stress>(tight_shape());
        round = i;
        while (arrived != i * thread_count)
            std::this_thread::yield();
        expect_all_back(*pool);
        pool.reset();
    }
    for (auto& thread : threads)
        thread.join();
}

// While a thread waits, no cache may be open: the waiting thread would miss a block freed into a cache.
TEST_F(delayed_pool, passes_a_block_freed_by_a_new_thread_to_a_waiting_thread)
{
    mp::pool_options options;
    options.max_capacity = 32;
    mp::concurrent_block_pool pool(64, options);
    std::vector<void*> all(32);
    pool.allocate_bulk(all.data(), all.size());
    std::atomic<void*> got{nullptr};
    std::thread waiter([&] { got = pool.try_allocate_for(std::chrono::seconds(20)); });
    while (pool.waiting() == 0)
        std::this_thread::yield();
    std::thread([&] { pool.deallocate(all.back()); }).join();
    waiter.join();
    ASSERT_EQ(got.load(), all.back());
    pool.deallocate_bulk(all.data(), all.size()); // including the waiting thread's block
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

// marked_blocks detects each fault.

class marked_blocks : public testing::Test
{
protected:
    test::arena_upstream arena_{std::size_t{1} << 16};
    test::marked_blocks marks_{arena_, 64};
    void* block_ = arena_.allocate(128, 64);
    void* other_ = static_cast<char*>(block_) + 64;
};

TEST_F(marked_blocks, count_no_faults_in_correct_use)
{
    marks_.take(block_, 1);
    marks_.take(other_, 2);
    EXPECT_EQ(marks_.count(), 2u);
    marks_.pass(block_, 1, 2);
    marks_.give(block_, 2);
    marks_.give(other_, 2);
    EXPECT_EQ(marks_.faults(), 0u);
    EXPECT_EQ(marks_.count(), 0u);
}

TEST_F(marked_blocks, detect_a_double_allocation)
{
    marks_.take(block_, 1);
    marks_.take(block_, 2);
    EXPECT_EQ(marks_.faults(), 1u);
}

TEST_F(marked_blocks, detect_a_free_by_another_owner)
{
    marks_.take(block_, 1);
    marks_.give(block_, 2);
    EXPECT_EQ(marks_.faults(), 1u);
}

TEST_F(marked_blocks, detect_a_foreign_write)
{
    marks_.take(block_, 1);
    for (const std::size_t byte : {0u, 5u, 63u}) {
        const std::size_t before = marks_.faults();
        static_cast<unsigned char*>(block_)[byte] ^= 1U;
        marks_.check(block_);
        EXPECT_EQ(marks_.faults(), before + 1) << byte;
        static_cast<unsigned char*>(block_)[byte] ^= 1U;
    }
}

TEST_F(marked_blocks, detect_a_block_from_elsewhere)
{
    alignas(64) unsigned char elsewhere[64]{};
    marks_.take(elsewhere, 1);
    EXPECT_EQ(marks_.faults(), 1u);
}

TEST_F(marked_blocks, count_a_leaked_block)
{
    marks_.take(block_, 1);
    EXPECT_EQ(marks_.count(), 1u);
}
} // namespace
