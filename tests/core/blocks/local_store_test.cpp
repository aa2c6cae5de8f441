// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the blocks of one thread directly; block_pool_test.cpp tests them through a pool.
#include <memory_pool/core/blocks/local_store.hpp>

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/policies.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <set>
#include <vector>

namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t block_size = 48;

/// Records the blocks in use.
struct recording_observer
{
    static inline std::set<const void*> used;

    static void allocated(const char*, const void* block, std::size_t) noexcept { used.insert(block); }
    static void freed(const char*, const void* block) noexcept { EXPECT_EQ(used.erase(block), 1U); }
};

class local_store : public testing::Test
{
protected:
    template <class Policy = memory_pool::default_policy>
    struct store : core::local_store<Policy>
    {
        explicit store(std::pmr::memory_resource* upstream, const memory_pool::pool_options& options = {})
            : core::local_store<Policy>(block_size, options, upstream, nullptr)
        {
        }
    };

    template <class Store>
    static std::vector<void*> take(Store& from, std::size_t count)
    {
        std::vector<void*> blocks(count);
        std::generate(blocks.begin(), blocks.end(), [&from] { return from.allocate({}); });
        return blocks;
    }

    ~local_store() override
    {
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    test::accounting_upstream upstream_;
};

TEST_F(local_store, allocates_nothing_from_upstream_at_construction)
{
    const store<> blocks(&upstream_);
    EXPECT_EQ(upstream_.calls(), 0U);
    EXPECT_EQ(blocks.capacity(), 0U);
    EXPECT_EQ(blocks.bytes_reserved(), 0U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, allocates_each_block_up_to_the_limit_once)
{
    store<memory_pool::counting_policy> blocks(&upstream_, memory_pool::pool_options{}.with_max_capacity(700));
    const std::vector<void*> used = take(blocks, 700);
    EXPECT_EQ(std::set<void*>(used.begin(), used.end()).size(), 700U);
    EXPECT_EQ(blocks.available(), 0U);
    EXPECT_EQ(blocks.try_allocate(), nullptr);
    EXPECT_THROW((void)blocks.allocate({}), memory_pool::pool_exhausted);
    EXPECT_EQ(blocks.statistics().failures, 2U);
    blocks.deallocate(used[13]);
    EXPECT_EQ(blocks.available(), 1U);
    EXPECT_EQ(blocks.try_allocate(), used[13]);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, retries_upstream_after_relief)
{
    store<memory_pool::counting_policy> blocks(&upstream_);
    upstream_.fail_always();
    EXPECT_THROW((void)blocks.allocate({}), std::bad_alloc);
    EXPECT_EQ(blocks.try_allocate(), nullptr);
    const base::relief none{[](void*) { return false; }, nullptr};
    EXPECT_THROW((void)blocks.allocate(none), std::bad_alloc);
    EXPECT_EQ(blocks.statistics().failures, 3U);
    const base::relief some{[](void* upstream) {
                                static_cast<test::accounting_upstream*>(upstream)->never_fail();
                                return true;
                            },
                            &upstream_};
    EXPECT_NE(blocks.allocate(some), nullptr);
    EXPECT_EQ(blocks.statistics().failures, 3U);
    EXPECT_EQ(blocks.in_use(), 1U);
}

TEST_F(local_store, moves_cached_blocks_in_bulk)
{
    store<> blocks(&upstream_);
    void* out[8] = {};
    EXPECT_EQ(blocks.allocate_cached(out, 8), 0U) << "none is cached yet";
    std::vector<void*> used = take(blocks, 8);
    used.push_back(nullptr);
    EXPECT_EQ(blocks.deallocate_cached(used.data(), used.size()), used.size());
    EXPECT_EQ(blocks.in_use(), 0U);
    EXPECT_EQ(blocks.allocate_cached(out, 8), 8U);
    EXPECT_EQ(std::set<void*>(out, out + 8), std::set<void*>(used.begin(), used.end() - 1));
    EXPECT_EQ(blocks.in_use(), 8U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, visits_each_block_in_use_once)
{
    store<> blocks(&upstream_);
    std::vector<void*> used = take(blocks, 1000);
    for (; used.size() != 500; used.pop_back())
        blocks.deallocate(used.back());
    std::set<void*> visited;
    blocks.for_each_in_use([&](void* block) {
        EXPECT_TRUE(visited.insert(block).second);
        blocks.deallocate(block);
    });
    EXPECT_EQ(visited, std::set<void*>(used.begin(), used.end()));
    EXPECT_EQ(blocks.in_use(), 0U);
    EXPECT_EQ(blocks.next_in_use({}).bits, 0U);
    void* const only = blocks.allocate({});
    const core::blocks_in_use at = blocks.next_in_use({});
    ASSERT_NE(at.home, nullptr);
    EXPECT_EQ(at.home->block(at.lowest(), blocks.stride()), only);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, trims_free_chunks_and_keeps_them_in_clear)
{
    store<> blocks(&upstream_);
    (void)take(blocks, 20'000);
    const std::size_t reserved = blocks.bytes_reserved();
    EXPECT_EQ(reserved, upstream_.live_bytes());
    blocks.clear();
    EXPECT_EQ(blocks.in_use(), 0U);
    EXPECT_EQ(upstream_.live_bytes(), reserved);
    void* const kept = blocks.allocate({});
    const std::size_t bytes = blocks.trim();
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ(upstream_.live_bytes(), reserved - bytes);
    EXPECT_EQ(blocks.in_use(), 1U);
    blocks.deallocate(kept);
    (void)blocks.trim();
    EXPECT_EQ(blocks.capacity(), 0U);
    blocks.reserve(100);
    EXPECT_GE(blocks.capacity(), 100U);
    blocks.release();
    EXPECT_EQ(upstream_.live_bytes(), 0U);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, reports_double_frees_and_writes_after_free)
{
    const test::error_recorder recorder;
    store<memory_pool::checking_policy> blocks(&upstream_, memory_pool::pool_options{}.with_max_capacity(1));
    void* const block = blocks.allocate({});
    int foreign = 0;
    blocks.deallocate(block);
    blocks.deallocate(block);
    blocks.deallocate(&foreign);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::foreign_pointer}));
    EXPECT_EQ(blocks.statistics().deallocations, 1U);
    base::permit_access(block, block_size);
    static_cast<unsigned char*>(block)[block_size - 1] ^= 1U;
    EXPECT_FALSE(blocks.verify());
    EXPECT_EQ(blocks.allocate({}), block);
    EXPECT_EQ(recorder.kinds().back(), error_kind::write_after_free);
    EXPECT_TRUE(blocks.verify());
}

TEST_F(local_store, notifies_the_observer_of_each_block)
{
    recording_observer::used.clear();
    {
        store<memory_pool::observing_policy<recording_observer>> blocks(&upstream_);
        std::vector<void*> used = take(blocks, 100);
        blocks.deallocate(used[50]);
        used.erase(used.begin() + 50);
        EXPECT_EQ(recording_observer::used, std::set<const void*>(used.begin(), used.end()));
        blocks.clear();
        EXPECT_TRUE(recording_observer::used.empty());
        (void)take(blocks, 10);
        EXPECT_EQ(recording_observer::used.size(), 10U);
    }
    EXPECT_TRUE(recording_observer::used.empty()) << "the store has ended";
}
} // namespace
