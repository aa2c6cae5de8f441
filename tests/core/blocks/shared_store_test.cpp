// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the blocks shared by threads directly; concurrent_block_pool_test.cpp tests them through a pool.
#include <memory_pool/core/blocks/shared_store.hpp>

#include <support/error_recorder.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 64;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

/// A store as in a pool.
struct store : core::shared_store
{
    explicit store(std::pmr::memory_resource* upstream, std::size_t limit = unbounded, bool fills = false)
        : shared_store({stride, memory_pool::cache_line_size, limit}, limit, {false, false, fills},
                       {"test", stride - 16}, upstream)
    {
    }
};

class shared_store : public testing::Test
{
protected:
    ~shared_store() override
    {
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    static std::vector<void*> take(core::shared_store& from, std::size_t count)
    {
        std::vector<void*> blocks(count);
        for (void*& each : blocks)
            if (!from.take_cached(each))
                each = from.take();
        return blocks;
    }

    static void put(core::shared_store& to, const std::vector<void*>& blocks)
    {
        for (void* const each : blocks)
            if (!to.put_cached(each))
                to.put(each);
    }

    test::accounting_upstream upstream_;
};

TEST_F(shared_store, allocates_nothing_from_upstream_at_construction)
{
    store blocks(&upstream_);
    EXPECT_EQ(upstream_.calls(), 0U);
    EXPECT_EQ(blocks.capacity(), 0U);
    EXPECT_EQ(blocks.in_use(), 0U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(shared_store, counts_blocks_in_use_exactly)
{
    store blocks(&upstream_);
    const std::vector<void*> mine = take(blocks, 1000);
    EXPECT_EQ(blocks.in_use(), 1000U);
    std::vector<void*> of_another;
    test::in_a_thread([&] {
        of_another = take(blocks, 500);
        put(blocks, std::vector<void*>(of_another.begin(), of_another.begin() + 100));
        EXPECT_EQ(blocks.in_use(), 1400U);
    });
    of_another.erase(of_another.begin(), of_another.begin() + 100);
    EXPECT_EQ(blocks.in_use(), 1400U) << "the thread has ended";
    EXPECT_TRUE(blocks.verify());
    put(blocks, of_another);
    put(blocks, mine);
    EXPECT_EQ(blocks.in_use(), 0U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(shared_store, allocates_up_to_the_limit_from_caches_of_other_threads)
{
    store blocks(&upstream_, 300);
    test::in_a_thread([&] {
        put(blocks, take(blocks, 200));
        std::vector<void*> all;
        test::in_a_thread([&] { all = take(blocks, 300); });
        EXPECT_EQ(blocks.take(), nullptr);
        EXPECT_EQ(blocks.available(), 0U);
        put(blocks, all);
    });
    EXPECT_EQ(blocks.available(), 300U);
}

TEST_F(shared_store, visits_each_block_in_use_once)
{
    store blocks(&upstream_);
    std::vector<void*> used = take(blocks, 700);
    put(blocks, take(blocks, 50));
    std::vector<void*> visited;
    blocks.for_each_in_use([&visited](void* block) { visited.push_back(block); });
    std::sort(used.begin(), used.end());
    EXPECT_EQ(visited, used);
    put(blocks, used);
}

TEST_F(shared_store, trims_chunks_without_blocks_in_use)
{
    store blocks(&upstream_);
    put(blocks, take(blocks, 20'000));
    const std::size_t before = upstream_.live_bytes();
    const std::size_t bytes = blocks.trim();
    EXPECT_GT(bytes, 20'000 * stride);
    EXPECT_EQ(before - upstream_.live_bytes(), bytes);
    EXPECT_EQ(blocks.capacity(), 0U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(shared_store, loses_no_block_when_upstream_fails)
{
    store blocks(&upstream_);
    const std::vector<void*> first = take(blocks, 10);
    upstream_.fail_always();
    std::vector<void*> more;
    try {
        while (true)
            more.push_back(blocks.take());
    } catch (const std::bad_alloc&) {
        EXPECT_EQ(blocks.in_use(), first.size() + more.size());
    }
    upstream_.never_fail();
    put(blocks, more);
    put(blocks, first);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(shared_store, hands_a_freed_block_to_the_waiting_thread)
{
    store blocks(&upstream_, 1);
    void* const only = blocks.take();
    test::in_a_thread([&] {
        std::size_t waits = 0;
        void* const got =
            blocks.take_waiting<false>([&](std::condition_variable& ready, std::unique_lock<std::mutex>& lock) {
                if (++waits == 1) {
                    lock.unlock();
                    EXPECT_EQ(blocks.waiting(), 1U);
                    test::in_a_thread([&] { blocks.put(only); });
                    lock.lock();
                    return true;
                }
                ready.wait(lock);
                return true;
            });
        EXPECT_EQ(got, only);
        EXPECT_EQ(waits, 1U);
        EXPECT_EQ(blocks.waiting(), 0U);
        blocks.put(got);
    });
}

TEST_F(shared_store, marks_and_verifies_filled_blocks)
{
    const test::error_recorder recorder;
    store blocks(&upstream_, unbounded, true);
    void* const block = blocks.take();
    std::size_t accepted = 0;
    const auto accept = [&accepted] { ++accepted; };
    blocks.put_verified(block, accept);
    blocks.put_verified(block, accept);
    EXPECT_EQ(accepted, 1U);
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::double_free));
    EXPECT_TRUE(blocks.verify());
}

TEST_F(shared_store, sums_the_counts_of_all_threads)
{
    store blocks(&upstream_);
    const std::vector<void*> used = take(blocks, 5);
    for (std::size_t i = 0; i != 5; ++i)
        blocks.count_allocation();
    test::in_a_thread([&blocks] {
        blocks.count_failure();
        blocks.count_deallocation();
    });
    const memory_pool::pool_statistics all = blocks.statistics();
    EXPECT_EQ(all.allocations, 5U);
    EXPECT_EQ(all.deallocations, 1U);
    EXPECT_EQ(all.failures, 1U);
    EXPECT_EQ(all.in_use, 5U);
    put(blocks, used);
}
} // namespace
