// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/thread_heap.hpp>

#include <memory_pool/np_alloc.h>

#include <np_alloc/heaps/heap_pages.hpp>
#include <np_alloc/heaps/thread_cache.hpp>

#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace np = memory_pool::np;

namespace {
/// A heap in pages like those of threads, without a thread.
struct thread_heap : testing::Test
{
    np::page_heap page_heap;
    np::heap_pages pages;
    np::thread_heap& heap = np::heap_pages::make(pages.take(), page_heap);

    thread_heap() { EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20)); }
    ~thread_heap() override { page_heap.source().stop(); }

    std::vector<std::uint32_t> rooms_of_growing(std::size_t size_class)
    {
        std::vector<std::uint32_t> rooms;
        while (heap.grow(size_class))
            rooms.push_back(heap.room(size_class));
        return rooms;
    }
};

TEST_F(thread_heap, grows_each_magazine_to_its_maximum)
{
    const test::option_for_now enough(np_option_thread_cache_bytes, std::size_t{1} << 30);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        EXPECT_EQ(heap.room(size_class), 0U);
        const std::vector<std::uint32_t> rooms = rooms_of_growing(size_class);
        ASSERT_FALSE(rooms.empty());
        EXPECT_EQ(rooms.front(), np::min_room(size_class));
        EXPECT_TRUE(std::is_sorted(rooms.begin(), rooms.end()));
        EXPECT_EQ(rooms.back(), np::max_room(size_class));
    }
}

TEST_F(thread_heap, has_disjoint_magazines_with_an_end_mark_each)
{
    const test::option_for_now enough(np_option_thread_cache_bytes, std::size_t{1} << 30);
    std::map<void**, void**> magazines;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        for (std::size_t times = 0; times <= size_class % 5; ++times)
            (void)heap.grow(size_class);
        EXPECT_EQ(*heap.end(size_class), np::thread_heap::full_mark());
        magazines[heap.begin(size_class)] = heap.end(size_class) + 1;
    }
    ASSERT_EQ(magazines.size(), np::class_count);
    for (auto each = std::next(magazines.begin()); each != magazines.end(); ++each)
        EXPECT_GE(each->first, std::prev(each)->second);
}

TEST_F(thread_heap, keeps_the_blocks_of_a_growing_magazine)
{
    EXPECT_TRUE(heap.grow(0));
    void** const small = heap.begin(0);
    std::vector<void*> blocks;
    do {
        for (void** place = heap.begin(0) + blocks.size(); place != heap.end(0); ++place) {
            *place = reinterpret_cast<void*>(16 * (blocks.size() + 1));
            blocks.push_back(*place);
        }
    } while (heap.grow(0));
    EXPECT_NE(heap.begin(0), small);
    EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), heap.begin(0)));
    EXPECT_EQ(blocks.size(), np::max_room(0));
}

TEST_F(thread_heap, divides_one_share_among_all_magazines)
{
    const std::size_t bytes = np::sizes::size(0) * (np::max_room(0) - np::min_room(0));
    const test::option_for_now as_much_as_one(np_option_thread_cache_bytes, bytes);
    EXPECT_EQ(rooms_of_growing(0).back(), np::max_room(0));
    EXPECT_EQ(rooms_of_growing(1), std::vector<std::uint32_t>{np::min_room(1)});
    heap.shrink(0, np::block_count{np::min_room(0)});
    EXPECT_EQ(*(heap.begin(0) + np::min_room(0)), np::thread_heap::full_mark());
    EXPECT_TRUE(heap.grow(1));
}

TEST_F(thread_heap, keeps_small_magazines_of_classes_with_slabs)
{
    np::misuse_list found;
    const np::heap::scoped_lock lock(heap.slabs, found);
    void* block = nullptr;
    EXPECT_EQ(heap.slabs.take(3, &block, 1), 1U);
    for (const std::size_t size_class : {3U, 5U}) {
        EXPECT_GT(rooms_of_growing(size_class).size(), 1U);
        heap.tops[size_class] = heap.begin(size_class);
    }
    const test::system_calls calls;
    heap.drop_magazines();
    EXPECT_EQ(calls.made(test::system_call::advise), 1U);
    EXPECT_EQ(heap.room(3), np::min_room(3));
    EXPECT_EQ(heap.tops[3], heap.begin(3));
    EXPECT_EQ(heap.room(5), 0U);
    EXPECT_EQ(heap.tops[5], nullptr);
    heap.tops.fill(nullptr);
    heap.drop_magazines();
    EXPECT_EQ(calls.made(test::system_call::advise), 1U) << "no magazines are left to purge";
}

TEST_F(thread_heap, is_known_only_while_owned_or_parked)
{
    EXPECT_TRUE(heap.grow(0));
    int block = 0;
    heap.begin(0)[0] = &block;
    heap.tops[0] = heap.begin(0) + 1;
    EXPECT_FALSE(heap.is_known());
    EXPECT_EQ(heap.held(0), 0U);
    heap.is_parked = true;
    EXPECT_TRUE(heap.is_known());
    EXPECT_EQ(heap.held(0), 1U);
    std::vector<const void*> held;
    heap.for_each_held(0, [&held](const void* each) { held.push_back(each); });
    EXPECT_EQ(held, std::vector<const void*>{&block});
}
} // namespace
