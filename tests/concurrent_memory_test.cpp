// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Bounds the memory of a shared pool in which some threads only allocate and others only free: blocks in use, capacity
// of the caches, and the chunk allocated last.
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/handed_over.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace mp = memory_pool;

namespace {
constexpr std::size_t block_size = 1024;
constexpr std::size_t max_queued = 8192;

// A pool grows when all its blocks are in use or in the caches of other threads. With blocks of 1 KiB, the two
// magazines of a thread hold 64 KiB, so 17 threads hide 1.1 MiB from each other. A pool that has grown to 1 MiB adds 1
// MiB at a time. Magazines, bits and headers take a few percent. When the queue is full, 8 MiB are in use, so the
// overhead is less than half of this memory. The bound also holds for 2 threads and 3 MiB.
constexpr std::size_t max_bytes_for(std::size_t blocks_in_use)
{
    return blocks_in_use * block_size * 3 / 2;
}

TEST(memory_of_a_shared_pool, stays_bounded_when_one_thread_frees_the_blocks_of_sixteen)
{
    constexpr std::size_t producers = 16;
    constexpr std::size_t batch = 64;
    constexpr std::size_t rounds = 20;
    static_assert(max_queued % batch == 0, "so that it can be full");
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(block_size, {}, &upstream);
    test::live_bytes live;
    test::bounded_queue<void*> queue(max_queued);
    std::atomic<std::size_t> working{producers};
    test::in_threads(producers + 1, [&](std::size_t thread) {
        if (thread == producers) {
            for (auto blocks = queue.take_all(); !blocks.empty(); blocks = queue.take_all()) {
                for (void* const block : blocks) {
                    live.subtract(1);
                    pool.deallocate(block);
                }
            }
            return;
        }
        std::vector<void*> blocks(batch);
        for (std::size_t i = 0; i != rounds * max_queued / producers / batch; ++i) {
            for (void*& block : blocks) {
                block = pool.allocate();
                live.add(1);
            }
            queue.put(blocks);
        }
        if (--working == 0)
            queue.close();
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_GE(live.peak(), max_queued);
    EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    EXPECT_LE(upstream.live_bytes(), max_bytes_for(live.peak()));
    EXPECT_TRUE(pool.verify());
}

// Thousands of threads may each need a few blocks of many pools, so a magazine must not be filled with 256 blocks.
TEST(memory_of_a_shared_pool, is_not_hoarded_in_caches_when_threads_allocate_one_block_each)
{
    constexpr std::size_t threads = 100;
    constexpr std::size_t small_block = 64;
    mp::concurrent_block_pool pool(small_block);
    std::vector<test::lasting_thread> users(threads);
    for (int round = 0; round != 10; ++round)
        for (test::lasting_thread& user : users)
            user.does([&] { pool.deallocate(pool.allocate()); });
    EXPECT_LE(pool.capacity(), threads * 8 * 2) << "8 for each thread, doubled by the growth of the pool";
}

TEST(memory_of_a_shared_pool, is_fully_available_to_a_new_thread)
{
    mp::concurrent_block_pool pool(64);
    for (int round = 0; round != 100; ++round)
        test::in_a_thread([&] { pool.deallocate(pool.allocate()); });
    std::vector<void*> blocks(pool.capacity());
    test::lasting_thread first;
    first.does([&] { blocks[0] = pool.allocate(); });
    for (std::size_t i = 1; i != blocks.size() - 7; ++i)
        blocks[i] = pool.allocate();
    EXPECT_EQ(pool.growth_count(), 1u) << "all blocks but the 7 spare ones of the first thread";
}

/// One thread that only allocates and one that only frees, in turn.
class one_way : public testing::Test
{
protected:
    static constexpr std::size_t batch = 3001; // Not a multiple of 32, the size of a magazine.

    void produce()
    {
        producer_.does([this] { pool_.allocate_bulk(blocks_.data(), blocks_.size()); });
    }

    void consume()
    {
        consumer_.does([this] { pool_.deallocate_bulk(blocks_.data(), blocks_.size()); });
    }

    test::accounting_upstream upstream_;
    mp::concurrent_block_pool pool_{block_size, {}, &upstream_};
    std::vector<void*> blocks_ = std::vector<void*>(batch);
    test::lasting_thread producer_;
    test::lasting_thread consumer_;
};

TEST_F(one_way, needs_no_more_memory_over_time)
{
    const auto turn = [this] {
        produce();
        consume();
    };
    for (int i = 0; i != 32; ++i)
        turn();
    const std::size_t bytes = upstream_.live_bytes();
    const std::size_t calls = upstream_.calls();
    for (int i = 0; i != 300; ++i)
        turn();
    EXPECT_EQ(upstream_.live_bytes(), bytes);
    EXPECT_EQ(upstream_.calls(), calls);
    EXPECT_LE(bytes, max_bytes_for(batch));
}

TEST_F(one_way, can_be_trimmed_completely_while_both_threads_are_idle)
{
    for (int i = 0; i != 10; ++i) {
        produce();
        consume();
    }
    const std::size_t bytes = upstream_.live_bytes();
    const std::size_t trimmed = pool_.trim();
    EXPECT_EQ(upstream_.live_bytes(), bytes - trimmed);
    EXPECT_EQ(pool_.capacity(), 0u);
    EXPECT_LE(upstream_.live_bytes(), bytes / 20) << "only empty magazines";
    produce();
    EXPECT_EQ(pool_.in_use(), batch) << "the pool still works";
    consume();
    EXPECT_EQ(pool_.in_use(), 0u);
    EXPECT_TRUE(pool_.verify());
}

TEST_F(one_way, release_frees_even_magazines_while_both_threads_are_idle)
{
    produce();
    consume();
    pool_.release();
    EXPECT_LE(upstream_.live_bytes(), 2 * sizeof(mp::detail::core::thread_cache));
    produce();
    consume();
    EXPECT_TRUE(pool_.verify());
}
} // namespace
