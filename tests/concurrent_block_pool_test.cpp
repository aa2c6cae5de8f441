// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/block_pool_conformance.hpp>
#include <support/concurrent_block_pool_ways.hpp>
#include <support/options.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using namespace std::chrono_literals;
using test::bounded_to;
using test::in_a_thread;
using test::in_threads;
using test::pool_that_counts;

namespace test {
using every_shared_policy = testing::Types<mp::basic_concurrent_block_pool<mp::default_policy>,
                                           mp::basic_concurrent_block_pool<mp::counting_policy>,
                                           mp::basic_concurrent_block_pool<mp::checking_policy>>;
INSTANTIATE_TYPED_TEST_SUITE_P(every_shared_policy, block_pool_conformance, every_shared_policy, );
} // namespace test

namespace {
/// A block in use, filled with the number of its owner, which a check compares.
class marked_block
{
public:
    static constexpr std::size_t size = 64;

    marked_block(void* block, std::uint64_t owner) : words_(static_cast<std::uint64_t*>(block)), owner_(owner)
    {
        std::fill(words_, words_ + size / sizeof(std::uint64_t), owner_);
    }

    bool is_intact() const
    {
        return std::all_of(words_, words_ + size / sizeof(std::uint64_t),
                           [this](std::uint64_t word) { return word == owner_; });
    }

    void* block() const { return words_; }

private:
    std::uint64_t* words_;
    std::uint64_t owner_;
};

class concurrent_block_pool_test : public test::in_each_way
{
};

INSTANTIATE_TEST_SUITE_P(in_each_way, concurrent_block_pool_test, test::every_way(), test::name_of_way);

TEST_P(concurrent_block_pool_test, allocates_each_block_to_one_thread_at_a_time)
{
    mp::concurrent_block_pool pool(marked_block::size, {}, &upstream_);
    std::atomic<std::size_t> damaged{0};
    in_threads(4, [&](std::size_t thread) {
        std::vector<marked_block> mine;
        for (std::uint64_t i = 0; i != 20'000; ++i) {
            mine.emplace_back(pool.allocate(), thread << 32 | i);
            if (i % 3 == 0 || mine.size() > 500) {
                std::swap(mine[(i * 7) % mine.size()], mine.back());
                damaged += mine.back().is_intact() ? 0 : 1;
                pool.deallocate(mine.back().block());
                mine.pop_back();
            }
        }
        for (const marked_block& block : mine) {
            damaged += block.is_intact() ? 0 : 1;
            pool.deallocate(block.block());
        }
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, allocates_exactly_max_capacity_despite_thread_caches)
{
    for (const std::size_t limit : {1u, 3u, 100u, 1000u}) {
        mp::concurrent_block_pool pool(32, bounded_to(limit), &upstream_);
        for (int round = 0; round != 5; ++round) {
            std::vector<std::vector<void*>> taken(8);
            in_threads(taken.size(), [&](std::size_t thread) {
                while (void* const block = pool.try_allocate())
                    taken[thread].push_back(block);
            });
            std::set<void*> all;
            std::size_t count = 0;
            for (const std::vector<void*>& some : taken) {
                count += some.size();
                all.insert(some.begin(), some.end());
            }
            EXPECT_EQ(count, limit);
            EXPECT_EQ(all.size(), limit);
            EXPECT_EQ(pool.in_use(), limit);
            EXPECT_EQ(pool.try_allocate(), nullptr);
            EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
            in_threads(taken.size(), [&](std::size_t thread) {
                for (void* const block : taken[(thread + 1) % taken.size()])
                    pool.deallocate(block);
            });
            EXPECT_EQ(pool.available(), limit);
            EXPECT_TRUE(pool.verify());
        }
    }
}

TEST_P(concurrent_block_pool_test, reclaims_the_last_blocks_from_the_cache_of_an_idle_thread)
{
    mp::concurrent_block_pool pool(32, bounded_to(200), &upstream_);
    std::atomic<bool> holds{false};
    std::atomic<bool> is_over{false};
    std::thread idle([&] {
        std::vector<void*> blocks(200);
        pool.allocate_bulk(blocks.data(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        holds = true;
        while (!is_over)
            std::this_thread::yield();
        pool.deallocate(pool.try_allocate()); // The cache is empty, and there is no memory for magazines.
    });
    while (!holds)
        std::this_thread::yield();
    std::vector<void*> blocks(200);
    EXPECT_EQ(pool.allocate_bulk(blocks.data(), blocks.size()), 200u);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), 200u);
    is_over = true;
    idle.join();
    pool.deallocate_bulk(blocks.data(), blocks.size());
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, serves_two_threads_while_a_third_exhausts_it)
{
    constexpr std::size_t limit = 64;
    mp::concurrent_block_pool pool(marked_block::size, bounded_to(limit), &upstream_);
    std::atomic<std::size_t> damaged{0};
    in_threads(3, [&](std::size_t thread) {
        std::vector<marked_block> mine;
        for (std::uint64_t i = 0; i != 3'000; ++i) {
            while (mine.size() < (thread == 0 ? limit : 5))
                if (void* const block = pool.try_allocate())
                    mine.emplace_back(block, thread << 32 | i);
                else
                    break;
            for (const marked_block& block : mine) {
                damaged += block.is_intact() ? 0 : 1;
                pool.deallocate(block.block());
            }
            mine.clear();
        }
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.available(), limit);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, trims_blocks_in_the_caches_of_other_threads)
{
    mp::concurrent_block_pool pool(64, {}, &upstream_);
    std::atomic<int> ready{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&] {
            std::vector<void*> blocks(1000);
            pool.allocate_bulk(blocks.data(), blocks.size());
            pool.deallocate_bulk(blocks.data(), blocks.size());
            ++ready;
            while (!is_over)
                std::this_thread::yield();
            pool.deallocate(pool.allocate());
        });
    while (ready != 3)
        std::this_thread::yield();
    EXPECT_GT(pool.capacity(), 0u);
    EXPECT_GT(pool.trim(), 3'000u * 64 / 2);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(upstream_.live_bytes(), pool.bytes_reserved());
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, can_be_trimmed_at_any_time)
{
    mp::concurrent_block_pool pool(marked_block::size, {}, &upstream_);
    std::atomic<std::size_t> damaged{0};
    std::atomic<int> working{3};
    in_threads(4, [&](std::size_t thread) {
        if (thread == 3) {
            while (working != 0)
                pool.trim();
            return;
        }
        for (std::uint64_t i = 0; i != 200; ++i) {
            std::vector<marked_block> mine;
            for (std::uint64_t j = 0; j != 300; ++j)
                mine.emplace_back(pool.allocate(), thread << 32 | i << 16 | j);
            for (const marked_block& block : mine) {
                damaged += block.is_intact() ? 0 : 1;
                pool.deallocate(block.block());
            }
        }
        --working;
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
    pool.trim();
    EXPECT_EQ(pool.capacity(), 0u);
}

TEST_P(concurrent_block_pool_test, lets_one_thread_use_any_number_of_pools_in_turn)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools;
    for (int i = 0; i != 200; ++i) // More than the slots in thread-local storage.
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(32, bounded_to(64), &upstream_));
    const auto use_all = [&] {
        for (int round = 0; round != 20; ++round) {
            std::vector<void*> blocks;
            blocks.reserve(pools.size());
            for (const auto& pool : pools)
                blocks.push_back(pool->allocate());
            for (std::size_t i = 0; i != pools.size(); ++i)
                pools[i]->deallocate(blocks[i]);
        }
    };
    use_all();
    in_a_thread(use_all);
    for (const auto& pool : pools) {
        EXPECT_EQ(pool->available(), 64u);
        std::vector<void*> blocks(64);
        EXPECT_EQ(pool->allocate_bulk(blocks.data(), 64), 64u) << "all blocks";
    }
    pools.erase(pools.begin(), pools.begin() + 100);
    for (int i = 0; i != 100; ++i) // Their IDs are reused.
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(48, bounded_to(10), &upstream_));
    for (std::size_t i = 100; i != 200; ++i) {
        void* const block = pools[i]->allocate();
        EXPECT_TRUE(pools[i]->owns(block));
        pools[i]->deallocate(block);
        EXPECT_TRUE(pools[i]->verify());
    }
    pools.clear();
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST_P(concurrent_block_pool_test, works_beyond_the_number_of_pool_ids)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools;
    for (std::size_t i = 0; i != mp::detail::core::max_pools_with_slots + 3; ++i)
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(32, bounded_to(2)));
    for (const std::size_t i : {std::size_t{0}, pools.size() - 1}) {
        void* const a = pools[i]->allocate();
        void* const b = pools[i]->allocate();
        EXPECT_EQ(pools[i]->try_allocate(), nullptr);
        pools[i]->deallocate(a);
        pools[i]->deallocate(b);
        EXPECT_EQ(pools[i]->in_use(), 0u);
        EXPECT_TRUE(pools[i]->verify());
    }
}

TEST_P(concurrent_block_pool_test, does_not_grow_when_one_thread_frees_the_blocks_of_others)
{
    constexpr std::size_t batch = 500;
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::vector<void*> handed_over;
    std::mutex mutex;
    std::atomic<int> working{4};
    in_threads(5, [&](std::size_t thread) {
        if (thread != 4) {
            for (int i = 0; i != 100; ++i) {
                std::vector<void*> blocks(batch);
                pool.allocate_bulk(blocks.data(), blocks.size());
                while (true) { // A queue with room for one batch of each thread.
                    const std::lock_guard lock(mutex);
                    if (handed_over.size() >= 4 * batch)
                        continue;
                    handed_over.insert(handed_over.end(), blocks.begin(), blocks.end());
                    break;
                }
            }
            --working;
            return;
        }
        while (true) {
            const bool is_over = working == 0;
            std::vector<void*> mine;
            {
                const std::lock_guard lock(mutex);
                mine.swap(handed_over);
            }
            pool.deallocate_bulk(mine.data(), mine.size());
            if (is_over && mine.empty())
                return;
            std::this_thread::yield();
        }
    });
    EXPECT_EQ(pool.in_use(), 0u);
    // In use at once: the batches in the queue, and one batch of each thread; the last thread has up to 4 blocks more.
    EXPECT_LE(pool.capacity(), batch * 2 * (4 + 4 + 5 + 4)) << "the last chunk may have doubled the capacity";
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, gives_threads_blocks_in_separate_cache_lines)
{
    mp::concurrent_block_pool pool(8, {}, &upstream_);
    std::vector<std::set<std::uintptr_t>> lines(4);
    in_threads(4, [&](std::size_t thread) {
        for (int i = 0; i != 1000; ++i)
            lines[thread].insert(reinterpret_cast<std::uintptr_t>(pool.allocate()) / mp::cache_line_size);
    });
    for (std::size_t a = 0; a != lines.size(); ++a)
        for (std::size_t b = 0; b != a; ++b)
            for (const std::uintptr_t line : lines[a])
                ASSERT_EQ(lines[b].count(line), 0u) << "two threads share a cache line";
}

TEST_P(concurrent_block_pool_test, visits_blocks_in_use_during_concurrent_use)
{
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::vector<void*> kept(500);
    pool.allocate_bulk(kept.data(), kept.size());
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over)
            pool.deallocate(pool.allocate());
    });
    for (int round = 0; round != 20; ++round) {
        std::set<void*> visited;
        pool.for_each([&](void* block) { EXPECT_TRUE(visited.insert(block).second); });
        for (void* const block : kept)
            ASSERT_EQ(visited.count(block), 1u);
    }
    is_over = true;
    other.join();
    pool.deallocate_bulk(kept.data(), kept.size());
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_test, works_without_caches_when_upstream_has_no_memory_for_them)
{
    mp::pool_options options;
    options.initial_capacity = 300;
    mp::concurrent_block_pool pool(32, options, &upstream_);
    upstream_.fail_always();
    in_threads(3, [&](std::size_t) {
        std::vector<void*> blocks(100);
        for (int round = 0; round != 10; ++round) {
            for (void*& block : blocks)
                block = pool.allocate();
            pool.deallocate_bulk(blocks.data(), blocks.size());
        }
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
    upstream_.never_fail();
    pool.deallocate(pool.allocate());
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_block_pool, creates_the_cache_of_a_thread_in_advance_or_throws)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(64, {}, &upstream);
    pool.reserve(1'000);
    upstream.fail_always();
    EXPECT_THROW(pool.reserve_for_thread(), std::bad_alloc);
    EXPECT_TRUE(pool.verify());
    upstream.never_fail();
    pool.reserve_for_thread();
    const std::size_t calls = upstream.calls();
    pool.reserve_for_thread();
    std::array<void*, 1'000> blocks{};
    for (void*& block : blocks)
        block = pool.allocate();
    for (void* const block : blocks)
        pool.deallocate(block);
    EXPECT_EQ(upstream.calls(), calls);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_block_pool, trim_frees_magazines_that_are_not_needed)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(64, {}, &upstream);
    std::vector<void*> blocks(100'000);
    void* const survivor = pool.allocate();
    for (const bool is_reserved : {false, true}) {
        pool.allocate_bulk(blocks.data(), 1'000);
        pool.deallocate_bulk(blocks.data(), 1'000);
        pool.trim();
        const std::size_t bytes_of_few = pool.bytes_reserved() - pool.capacity() * 64;
        if (is_reserved) {
            pool.deallocate(survivor);
            pool.release();
            pool.reserve(blocks.size()); // The first group of magazines is large.
        }
        pool.allocate_bulk(blocks.data(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        const std::size_t bytes_of_many = pool.bytes_reserved();
        const std::size_t returned = pool.trim();
        EXPECT_EQ(returned, bytes_of_many - pool.bytes_reserved());
        EXPECT_LE(pool.bytes_reserved() - pool.capacity() * 64, 2 * bytes_of_few);
        EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
        EXPECT_TRUE(pool.verify());
    }
}

// Each thread fills and empties many magazines, so a trim frees magazines that another thread has just used.
TEST_P(concurrent_block_pool_test, trim_frees_magazines_during_their_exchange)
{
    constexpr std::size_t stride = 1'024; // A magazine holds 32 blocks.
    mp::concurrent_block_pool pool(stride, {}, &upstream_);
    std::atomic<int> working{3};
    std::atomic<std::size_t> damaged{0};
    std::atomic<int> trims{0};
    in_threads(4, [&](std::size_t thread) {
        if (thread == 3) {
            for (; working != 0; ++trims)
                pool.trim();
            return;
        }
        std::vector<std::size_t*> mine;
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int round = 0; round < 100 || trims < 100; ++round) {
            for (std::size_t i = random() % 1'000; i != 0; --i) {
                mine.push_back(::new (pool.allocate()) std::size_t(thread));
                if (random() % 3 == 0) {
                    pool.deallocate(mine.back());
                    mine.pop_back();
                }
            }
            for (std::size_t* const block : mine) {
                damaged += *block != thread ? 1 : 0;
                pool.deallocate(block);
            }
            mine.clear();
        }
        --working;
    });
    pool.trim();
    EXPECT_EQ(damaged, 0u);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(pool.bytes_reserved(), upstream_.live_bytes());
    EXPECT_LT(pool.bytes_reserved(), 64 * stride);
}

TEST(concurrent_block_pool, release_frees_everything_but_caches)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(16, {}, &upstream);
    std::vector<void*> blocks(100'000);
    for (int round = 0; round != 2; ++round) {
        pool.allocate_bulk(blocks.data(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        pool.release();
        EXPECT_LE(upstream.live_bytes(), sizeof(mp::detail::core::thread_cache));
        EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    }
    EXPECT_TRUE(pool.verify());
}

TEST(counting_shared_policy, counts_exactly_across_threads)
{
    pool_that_counts pool(32, bounded_to(1000));
    in_threads(4, [&](std::size_t) {
        std::array<void*, 200> blocks{};
        for (int round = 0; round != 50; ++round) {
            pool.allocate_bulk(blocks.data(), blocks.size());
            pool.deallocate_bulk(blocks.data(), blocks.size());
        }
    });
    std::vector<void*> all(1000);
    pool.allocate_bulk(all.data(), all.size());
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
    EXPECT_EQ(pool.try_allocate_for(1us), nullptr);
    mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.allocations, 4u * 50 * 200 + 1000);
    EXPECT_EQ(statistics.deallocations, 4u * 50 * 200);
    EXPECT_EQ(statistics.failures, 3u);
    EXPECT_EQ(statistics.in_use, 1000u);
    EXPECT_EQ(statistics.peak_in_use, 1000u);
    EXPECT_EQ(statistics.bytes_reserved, pool.bytes_reserved());
    pool.clear();
    statistics = pool.statistics();
    EXPECT_EQ(statistics.deallocations, statistics.allocations);
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_TRUE(pool.verify());
}
} // namespace
