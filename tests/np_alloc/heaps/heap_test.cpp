// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap.hpp>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/page_heap/page_heap.hpp>
#include <np_alloc/support/fork_mutex.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
/// Two heaps; the helpers take their locks.
struct heap_of_a_thread : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(100);

    np::page_heap page_heap;
    np::outbox from_mine{};
    np::outbox from_other{};
    np::heap mine{page_heap, from_mine};
    np::heap other{page_heap, from_other};

    heap_of_a_thread() { EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20)); }
    ~heap_of_a_thread() override { page_heap.source().stop(); }

    static std::vector<void*> take(np::heap& from, std::uint32_t count)
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(from, found);
        std::vector<void*> blocks(count);
        EXPECT_EQ(from.take(size_class, blocks.data(), count), count);
        return blocks;
    }
    static void put(np::heap& back, const std::vector<void*>& blocks)
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(back, found);
        back.put(size_class, blocks.data(), blocks.size());
    }
    static bool drain(np::heap& of)
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(of, found);
        return of.drain();
    }
    static std::vector<const void*> in_transit(const np::heap& from)
    {
        std::vector<const void*> blocks;
        EXPECT_TRUE(from.for_each_in_transit([&blocks](const void* each) { return blocks.push_back(each), true; }));
        return blocks;
    }
};

TEST_F(heap_of_a_thread, buffers_remote_frees_until_it_sends_them)
{
    std::vector<void*> blocks = take(mine, 5);
    const std::vector<void*> of_other = take(other, 3);
    blocks.insert(blocks.begin() + 2, of_other.begin(), of_other.end());
    put(mine, blocks);
    EXPECT_EQ(mine.outstanding(size_class), 0U);
    EXPECT_EQ(in_transit(mine).size(), of_other.size() + 1) << "the batch counts, too";
    EXPECT_FALSE(drain(other));
    mine.send_all();
    EXPECT_TRUE(in_transit(mine).empty());
    EXPECT_TRUE(other.has_incoming());
    EXPECT_TRUE(drain(other));
    EXPECT_EQ(other.outstanding(size_class), 0U);
}

TEST_F(heap_of_a_thread, has_a_batch_from_the_first_remote_free_until_it_is_sent)
{
    const np::slice_tag tag = other.own_tag() | size_class;
    EXPECT_FALSE(mine.has_batch_for(tag));
    put(mine, take(other, 1));
    EXPECT_TRUE(mine.has_batch_for(tag));
    EXPECT_TRUE(mine.has_batch_for(other.own_tag() | np::sizes::of(5000))) << "a batch is for all classes";
    EXPECT_FALSE(other.has_batch_for(mine.own_tag() | size_class));
    mine.send_all();
    EXPECT_FALSE(mine.has_batch_for(tag));
}

TEST_F(heap_of_a_thread, keeps_single_blocks_in_transit_until_drained)
{
    const std::vector<void*> blocks = take(mine, 2);
    for (void* each : blocks)
        mine.send_one(each);
    EXPECT_EQ(in_transit(mine).size(), 2U);
    EXPECT_FALSE(mine.for_each_in_transit([](const void*) { return false; }));
    EXPECT_EQ(mine.outstanding(size_class), 2U);
    EXPECT_TRUE(drain(mine));
    EXPECT_TRUE(in_transit(mine).empty());
    EXPECT_EQ(mine.outstanding(size_class), 0U);
    EXPECT_EQ(mine.sent_minus_received(size_class), std::uint32_t{0} - 2) << "the sender counts sent blocks";
}

TEST_F(heap_of_a_thread, drains_nothing_during_a_fork)
{
    mine.send_one(take(mine, 1)[0]);
    np::this_thread_forks = true;
    EXPECT_FALSE(drain(mine));
    np::this_thread_forks = false;
    EXPECT_EQ(mine.outstanding(size_class), 1U);
    EXPECT_TRUE(drain(mine));
    EXPECT_EQ(mine.outstanding(size_class), 0U);
}

TEST_F(heap_of_a_thread, reports_double_frees_even_if_the_slab_is_gone)
{
    const test::error_recorder recorder;
    const std::vector<void*> blocks = take(mine, 2);
    put(mine, {blocks[0], blocks[0]});
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::double_free));
    EXPECT_EQ(recorder.reports().back().address, blocks[0]);
    put(mine, {blocks[1]});
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(mine, found);
        mine.give_back_empty_slabs();
    }
    put(mine, {blocks[1]});
    put(other, {blocks[0]});
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::double_free));
    EXPECT_EQ(mine.outstanding(size_class) + other.outstanding(size_class), 0U);
}
} // namespace
