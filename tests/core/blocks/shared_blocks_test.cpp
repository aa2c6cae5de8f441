// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the part of shared_blocks beyond shared_store; concurrent_block_pool_test.cpp tests both through a pool.
#include <memory_pool/core/blocks/shared_blocks.hpp>

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/policies.hpp>

#include <support/error_recorder.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;
using memory_pool::error_kind;
using memory_pool::pool_options;

namespace {
constexpr std::size_t block_size = 48;

/// Records the blocks in use.
struct observer_of_shared
{
    static inline std::set<const void*> used;

    static void allocated(const char*, const void* block, std::size_t) noexcept { used.insert(block); }
    static void freed(const char*, const void* block) noexcept { EXPECT_EQ(used.erase(block), 1U); }
};

/// A clock that advances by a nanosecond with each read.
struct counting_clock
{
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<counting_clock>;
    static inline rep reads = 0;

    static time_point now() noexcept { return time_point(duration(++reads)); }
};

class shared_blocks : public testing::Test
{
protected:
    template <class Policy = memory_pool::counting_policy>
    struct store
    {
        explicit store(std::pmr::memory_resource* upstream, const pool_options& options = {})
            : blocks(block_size, options, upstream, nullptr)
        {
        }
        core::shared_blocks<Policy> blocks;
    };

    template <class Blocks>
    static std::vector<void*> take(Blocks& from, std::size_t count)
    {
        std::vector<void*> blocks(count);
        std::generate(blocks.begin(), blocks.end(), [&from] { return from.allocate({}); });
        return blocks;
    }

    ~shared_blocks() override
    {
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    test::shared_accounting_upstream upstream_;
};

TEST_F(shared_blocks, allocates_each_block_up_to_the_limit_once)
{
    store<> pool(&upstream_, pool_options{}.with_max_capacity(300));
    const std::vector<void*> used = take(pool.blocks, 300);
    EXPECT_EQ(std::set<void*>(used.begin(), used.end()).size(), 300U);
    EXPECT_EQ(pool.blocks.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.blocks.allocate({}), memory_pool::pool_exhausted);
    EXPECT_EQ(pool.blocks.statistics().failures, 2U);
    pool.blocks.deallocate(nullptr);
    pool.blocks.deallocate(used[7]);
    EXPECT_EQ(pool.blocks.try_allocate(), used[7]);
    EXPECT_EQ(pool.blocks.alignment(), 16U) << "though slabs begin at cache lines";
    EXPECT_TRUE(pool.blocks.verify());
}

TEST_F(shared_blocks, retries_upstream_after_relief)
{
    store<> pool(&upstream_);
    upstream_.fail_always();
    const base::relief none{[](void*) { return false; }, nullptr};
    EXPECT_THROW((void)pool.blocks.allocate(none), std::bad_alloc);
    EXPECT_EQ(pool.blocks.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.blocks.allocate_wait(), std::bad_alloc) << "no thread can free a block";
    EXPECT_EQ(pool.blocks.statistics().failures, 3U);
    const base::relief some{[](void* upstream) {
                                static_cast<test::accounting_upstream*>(upstream)->never_fail();
                                return true;
                            },
                            &upstream_};
    EXPECT_NE(pool.blocks.allocate(some), nullptr);
    EXPECT_EQ(pool.blocks.statistics().failures, 3U);
}

TEST_F(shared_blocks, waits_until_another_thread_frees_a_block)
{
    store<> pool(&upstream_, pool_options{}.with_max_capacity(1));
    void* const only = pool.blocks.allocate({});
    test::in_threads(2, [&](std::size_t i) {
        if (i == 0) {
            EXPECT_EQ(pool.blocks.allocate_wait(), only);
            return;
        }
        while (pool.blocks.waiting() == 0)
            std::this_thread::yield();
        pool.blocks.deallocate(only);
    });
    EXPECT_EQ(pool.blocks.in_use(), 1U);
    EXPECT_EQ(pool.blocks.statistics().failures, 0U);
}

TEST_F(shared_blocks, fails_at_the_deadline)
{
    store<> pool(&upstream_, pool_options{}.with_max_capacity(1));
    const counting_clock::time_point long_ago{};
    void* const only = pool.blocks.try_allocate_until(long_ago);
    EXPECT_NE(only, nullptr) << "a block was free";
    counting_clock::reads = 0;
    EXPECT_EQ(pool.blocks.try_allocate_until(long_ago + std::chrono::nanoseconds(5)), nullptr);
    EXPECT_EQ(counting_clock::reads, 5) << "the clock decides";
    EXPECT_EQ(pool.blocks.try_allocate_for(std::chrono::hours(-1)), nullptr);
    EXPECT_EQ(pool.blocks.try_allocate_for(std::chrono::duration<double>(0)), nullptr);
    EXPECT_EQ(pool.blocks.statistics().failures, 3U);
    pool.blocks.deallocate(only);
    EXPECT_EQ(pool.blocks.try_allocate_for(std::chrono::duration<double>(1e300)), only) << "more than a century";
}

TEST_F(shared_blocks, moves_cached_blocks_in_bulk)
{
    store<> pool(&upstream_);
    std::vector<void*> used = take(pool.blocks, 4);
    used.push_back(nullptr);
    EXPECT_EQ(pool.blocks.deallocate_cached(used.data(), used.size()), used.size());
    EXPECT_EQ(pool.blocks.statistics().deallocations, 4U);
    void* out[4] = {};
    ASSERT_EQ(pool.blocks.allocate_cached(out, 4), 4U);
    EXPECT_EQ(std::set<void*>(out, out + 4), std::set<void*>(used.begin(), used.end() - 1));
    EXPECT_EQ(pool.blocks.statistics().allocations, 8U);
    EXPECT_TRUE(pool.blocks.verify());
}

TEST_F(shared_blocks, reports_double_frees_and_writes_after_free)
{
    const test::error_recorder recorder;
    store<memory_pool::checking_policy> pool(&upstream_, pool_options{}.with_max_capacity(1));
    void* const block = pool.blocks.allocate({});
    int foreign = 0;
    pool.blocks.deallocate(block);
    pool.blocks.deallocate(block);
    pool.blocks.deallocate(&foreign);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::foreign_pointer}));
    EXPECT_EQ(pool.blocks.statistics().deallocations, 1U);
    base::permit_access(block, block_size);
    static_cast<unsigned char*>(block)[block_size - 1] ^= 1U;
    EXPECT_FALSE(pool.blocks.verify());
    EXPECT_EQ(pool.blocks.allocate({}), block);
    EXPECT_EQ(recorder.kinds().back(), error_kind::write_after_free);
    EXPECT_TRUE(pool.blocks.verify());
}

TEST_F(shared_blocks, notifies_the_observer_of_each_block)
{
    observer_of_shared::used.clear();
    {
        store<memory_pool::observing_policy<observer_of_shared>> pool(&upstream_);
        std::vector<void*> used = take(pool.blocks, 100);
        pool.blocks.deallocate(used.back());
        used.pop_back();
        EXPECT_EQ(observer_of_shared::used, std::set<const void*>(used.begin(), used.end()));
        pool.blocks.clear();
        EXPECT_TRUE(observer_of_shared::used.empty());
        EXPECT_EQ(pool.blocks.in_use(), 0U);
        EXPECT_GT(pool.blocks.capacity(), 0U);
        (void)take(pool.blocks, 10);
        pool.blocks.release();
        EXPECT_TRUE(observer_of_shared::used.empty());
        EXPECT_EQ(pool.blocks.capacity(), 0U);
        (void)take(pool.blocks, 10);
    }
    EXPECT_TRUE(observer_of_shared::used.empty()) << "the store has ended";
}
} // namespace
