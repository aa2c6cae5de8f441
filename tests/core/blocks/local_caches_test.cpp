// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/local_caches.hpp>
#include <memory_pool/core/slabs/block_queries.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 32;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

class local_caches : public testing::Test
{
protected:
    local_caches()
    {
        store_.grow(1000);
        EXPECT_TRUE(caches_.magazine().grow(store_.chunks()));
        caches_.open();
    }
    ~local_caches() override
    {
        EXPECT_EQ(caches_.suspend(store_), 0U);
        EXPECT_TRUE(store_.verify());
        caches_.magazine().drop(store_.chunks());
    }

    /// Takes blocks as a pool does.
    std::vector<void*> take(std::size_t count)
    {
        std::vector<void*> blocks;
        for (void* block = nullptr; blocks.size() != count;) {
            if (caches_.take(block))
                blocks.push_back(block);
            else
                EXPECT_EQ(caches_.refill(store_, core::slab::any_number), 0U);
        }
        return blocks;
    }

    /// Puts a block back as a pool does.
    void put(void* block)
    {
        while (!caches_.put(block))
            rejected_ += caches_.make_room(store_);
    }

    std::size_t in_use() const { return store_.outstanding() - caches_.count(); }

    std::vector<void*> cached() const
    {
        std::vector<void*> all;
        caches_.for_each([&all](void* block) { all.push_back(block); });
        return all;
    }

    test::accounting_upstream upstream_;
    const core::slab_layout layout_{stride, 16, unbounded};
    core::slab_store store_{layout_, unbounded, {false, true, false}, {"test", stride}, &upstream_};
    core::local_caches caches_{stride};
    std::size_t rejected_ = 0;
};

TEST_F(local_caches, are_empty_until_they_are_refilled)
{
    void* block = nullptr;
    EXPECT_FALSE(caches_.take(block));
    EXPECT_EQ(caches_.take(&block, 1), 0U);
    EXPECT_EQ(caches_.count(), 0U);
    EXPECT_EQ(caches_.refill(store_, core::slab::any_number), 0U);
    EXPECT_EQ(caches_.count(), store_.outstanding());
    EXPECT_TRUE(caches_.take(block));
    EXPECT_EQ(in_use(), 1U);
    put(block);
}

TEST_F(local_caches, are_not_refilled_beyond_the_request)
{
    EXPECT_EQ(caches_.refill(store_, 70), 0U);
    EXPECT_GT(caches_.count(), 0U);
    EXPECT_LE(caches_.count(), 70U);
}

TEST_F(local_caches, reject_nullptr)
{
    EXPECT_FALSE(caches_.put(nullptr));
    EXPECT_EQ(caches_.count(), 0U);
}

TEST_F(local_caches, reuse_the_block_freed_last)
{
    const std::vector<void*> blocks = take(10);
    put(blocks[3]);
    void* again = nullptr;
    ASSERT_TRUE(caches_.take(again));
    EXPECT_EQ(again, blocks[3]);
    for (void* const each : blocks)
        put(each);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(local_caches, visit_each_cached_block_once_in_any_order_of_frees)
{
    for (const int order : {0, 1, 2}) {
        std::vector<void*> blocks = take(900);
        if (order == 1)
            std::reverse(blocks.begin(), blocks.end());
        if (order == 2)
            std::partition(blocks.begin(), blocks.end(),
                           [](void* block) { return reinterpret_cast<std::uintptr_t>(block) / stride % 3 == 0; });
        for (void* const each : blocks)
            put(each);
        EXPECT_EQ(in_use(), 0U) << order;
        std::vector<void*> all = cached();
        EXPECT_EQ(all.size(), caches_.count());
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
        EXPECT_TRUE(core::are_cached_blocks_valid(store_.chunks(), [this](auto&& visit) { caches_.for_each(visit); }));
    }
    EXPECT_EQ(rejected_, 0U);
}

TEST_F(local_caches, are_empty_while_suspended)
{
    const std::vector<void*> blocks = take(100);
    EXPECT_EQ(caches_.suspend(store_), 0U);
    EXPECT_TRUE(caches_.are_suspended());
    EXPECT_FALSE(caches_.are_used());
    EXPECT_EQ(caches_.count(), 0U);
    EXPECT_EQ(store_.outstanding(), 100U) << "the bits of the slabs are exact";
    EXPECT_FALSE(caches_.put(blocks[0]));
    EXPECT_EQ(store_.put(blocks.data(), blocks.size()), 0U);
    caches_.resume();
    EXPECT_TRUE(caches_.are_used());
    put(take(1)[0]);
}

TEST_F(local_caches, count_changes_while_they_are_watched)
{
    const std::vector<void*> blocks = take(100);
    EXPECT_EQ(caches_.watch(store_), 0U);
    EXPECT_TRUE(caches_.is_watched());
    EXPECT_FALSE(caches_.put(blocks[0])) << "the caller frees it to its slab";
    const std::uint64_t before = caches_.changes();
    std::size_t freed = 0;
    for (void* each : blocks) {
        ++freed;
        EXPECT_EQ(store_.put(&each, 1), 0U);
        if (caches_.note_freed())
            break;
    }
    EXPECT_EQ(caches_.changes(), before + freed);
    EXPECT_FALSE(caches_.is_watched()) << "the watch has ended";
    caches_.open();
    for (std::size_t i = freed; i != blocks.size(); ++i)
        put(blocks[i]);
}

TEST_F(local_caches, report_cached_blocks_to_a_walk)
{
    const std::vector<void*> blocks = take(10);
    EXPECT_EQ(caches_.watch(store_), 0U);
    const std::vector<void*> now = cached();
    for (void* const each : blocks) {
        auto* const block = static_cast<char*>(each);
        EXPECT_EQ(caches_.cached_bits(block) & 1U, 0U);
        EXPECT_EQ(caches_.lowest_cached(block, block + stride), block + stride);
    }
    for (void* const each : now) {
        auto* const block = static_cast<char*>(each);
        EXPECT_EQ(caches_.cached_bits(block) & 1U, 1U);
        EXPECT_EQ(caches_.lowest_cached(block, block + stride), block);
        EXPECT_EQ(caches_.span_from(block).begin, block);
    }
    EXPECT_EQ(store_.put(blocks.data(), blocks.size()), 0U);
}

TEST_F(local_caches, count_blocks_that_the_slabs_reject)
{
    const test::error_recorder recorder;
    const std::vector<void*> blocks = take(2);
    put(blocks[0]);
    put(blocks[1]);
    put(blocks[0]); // The magazine does not compare blocks.
    EXPECT_EQ(caches_.suspend(store_), 1U);
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::double_free));
    caches_.resume();
}

TEST_F(local_caches, stay_closed_once_abandoned)
{
    const std::vector<void*> blocks = take(5);
    EXPECT_EQ(caches_.abandon(store_), 0U);
    EXPECT_TRUE(caches_.are_abandoned());
    caches_.resume();
    EXPECT_FALSE(caches_.put(blocks[0]));
    EXPECT_EQ(store_.put(blocks.data(), blocks.size()), 0U);
}
} // namespace
