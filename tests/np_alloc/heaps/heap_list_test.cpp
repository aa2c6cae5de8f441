// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace np = memory_pool::np;

namespace {
struct heap_list : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1024);

    np::page_heap page_heap;
    np::heap_list all{page_heap};
    std::array<np::thread_cache, np::max_heaps_kept + 1> threads;
    np::thread_cache& mine = threads[0];
    np::thread_cache& other = threads[1];
    np::misuse_list found;

    heap_list() { EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20)); }
    ~heap_list() override
    {
        EXPECT_TRUE(found.empty());
        page_heap.source().stop();
    }

    np::thread_heap& give_heap(np::thread_cache& user)
    {
        np::thread_heap& made = np::heap_pages::make(all.take_pages(), page_heap);
        all.add(made, user);
        return made;
    }

    /// Leaves a few blocks in the cache of a thread with a heap.
    static void cache_blocks(np::thread_cache& user)
    {
        std::array<void*, 10> blocks{};
        for (void*& each : blocks)
            each = user.get(size_class);
        for (void* each : blocks)
            user.put(size_class, each);
    }

    std::vector<const np::thread_heap*> parked()
    {
        std::vector<const np::thread_heap*> heaps;
        all.for_each_parked([&heaps](const np::thread_heap& each) { heaps.push_back(&each); });
        return heaps;
    }
};

TEST_F(heap_list, lists_the_heap_of_each_thread)
{
    EXPECT_EQ(all.maintain_next(found), np::progress::done) << "the list is empty";
    const np::thread_heap& first = give_heap(mine);
    const np::thread_heap& second = give_heap(other);
    EXPECT_EQ(all.count(), 2U);
    std::vector<const np::thread_heap*> seen;
    all.for_each([&seen](const np::thread_heap& each) { seen.push_back(&each); });
    EXPECT_EQ(seen, (std::vector<const np::thread_heap*>{&second, &first}));
    all.forget_threads_but(&first);
    EXPECT_TRUE(first.is_known());
    EXPECT_FALSE(second.is_known());
}

TEST_F(heap_list, hands_a_parked_heap_with_its_cache_to_another_thread)
{
    np::thread_heap& heap = give_heap(mine);
    cache_blocks(mine);
    const std::size_t held = mine.held(size_class);
    EXPECT_TRUE(all.park_whole(mine));
    EXPECT_FALSE(mine.has_heap());
    EXPECT_TRUE(all.adopt(other));
    EXPECT_EQ(&other.heap(), &heap);
    EXPECT_EQ(other.held(size_class), held);
    EXPECT_FALSE(all.adopt(mine)) << "no other heap is parked";
}

TEST_F(heap_list, reuses_whole_heaps_before_emptied_ones)
{
    for (np::thread_cache& each : threads)
        (void)give_heap(each);
    for (std::size_t i = 0; i != np::max_heaps_kept; ++i)
        EXPECT_TRUE(all.park_whole(threads[i]));
    EXPECT_FALSE(all.park_whole(threads.back()));
    np::thread_heap& emptied = threads.back().heap();
    cache_blocks(threads.back());
    all.leave_empty(threads.back(), found);
    EXPECT_EQ(emptied.slabs.slab_bytes(), 0U);
    all.park(emptied);
    EXPECT_EQ(parked().size(), threads.size());
    EXPECT_EQ(parked().back(), &emptied);
    EXPECT_TRUE(all.adopt(mine));
    EXPECT_NE(&mine.heap(), &emptied);
    EXPECT_TRUE(all.park_whole(mine)) << "there is room again";
}

TEST_F(heap_list, empties_a_parked_heap_after_a_while)
{
    np::thread_heap& heap = give_heap(mine);
    cache_blocks(mine);
    EXPECT_TRUE(all.park_whole(mine));
    (void)all.maintain_next(found);
    EXPECT_GT(heap.slabs.outstanding(size_class), 0U) << "the heap was parked just now";
    heap.parked_at = 0;
    (void)all.maintain_next(found);
    EXPECT_EQ(heap.slabs.outstanding(size_class), 0U);
    EXPECT_TRUE(heap.is_emptied);
    EXPECT_FALSE(heap.is_kept_whole);
}

TEST_F(heap_list, drains_remote_frees_of_an_idle_thread)
{
    np::thread_heap& heap = give_heap(mine);
    void* const block = mine.get(size_class);
    const std::size_t cached = mine.held(size_class);
    heap.slabs.send_one(block);
    EXPECT_EQ(all.maintain_next(found), np::progress::later) << "the thread may drain by itself";
    EXPECT_EQ(all.maintain_next(found), np::progress::drained);
    EXPECT_EQ(heap.slabs.outstanding(size_class), cached);
    EXPECT_FALSE(heap.slabs.has_incoming());
}
} // namespace
