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
/// A heap in pages as heaps of threads have them, without a thread.
struct thread_heap : testing::Test
{
    np::page_heap page_heap;
    np::heap_pages pages;
    np::thread_heap& its = np::heap_pages::make(pages.take(), page_heap);

    thread_heap() { EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20)); }
    ~thread_heap() override { page_heap.source().stop(); }

    std::vector<std::uint32_t> rooms_of_growing(std::size_t size_class)
    {
        std::vector<std::uint32_t> rooms;
        while (its.grow(size_class))
            rooms.push_back(its.room(size_class));
        return rooms;
    }
};

TEST_F(thread_heap, has_no_magazines_at_first_and_makes_each_larger_until_all_blocks_of_its_class_have_room)
{
    const test::option_for_now enough(np_option_thread_cache_bytes, std::size_t{1} << 30);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        EXPECT_EQ(its.room(size_class), 0U);
        const std::vector<std::uint32_t> rooms = rooms_of_growing(size_class);
        ASSERT_FALSE(rooms.empty());
        EXPECT_EQ(rooms.front(), np::least_room(size_class));
        EXPECT_TRUE(std::is_sorted(rooms.begin(), rooms.end()));
        EXPECT_EQ(rooms.back(), np::most_room(size_class));
    }
}

TEST_F(thread_heap, has_magazines_that_do_not_overlap_each_with_a_mark_behind_it)
{
    const test::option_for_now enough(np_option_thread_cache_bytes, std::size_t{1} << 30);
    std::map<void**, void**> magazines;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        for (std::size_t times = 0; times <= size_class % 5; ++times)
            (void)its.grow(size_class);
        EXPECT_EQ(*its.end(size_class), np::thread_heap::full_mark());
        magazines[its.begin(size_class)] = its.end(size_class) + 1;
    }
    ASSERT_EQ(magazines.size(), np::class_count);
    for (auto each = std::next(magazines.begin()); each != magazines.end(); ++each)
        EXPECT_GE(each->first, std::prev(each)->second);
}

TEST_F(thread_heap, keeps_the_blocks_of_a_magazine_that_grows_wherever_it_begins_then)
{
    EXPECT_TRUE(its.grow(0));
    void** const small = its.begin(0);
    std::vector<void*> blocks;
    do {
        for (void** place = its.begin(0) + blocks.size(); place != its.end(0); ++place) {
            *place = reinterpret_cast<void*>(16 * (blocks.size() + 1));
            blocks.push_back(*place);
        }
    } while (its.grow(0));
    EXPECT_NE(its.begin(0), small);
    EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), its.begin(0)));
    EXPECT_EQ(blocks.size(), np::most_room(0));
}

TEST_F(thread_heap, has_one_share_for_all_magazines_of_which_one_that_shrinks_leaves_room_to_others)
{
    const std::size_t bytes = np::sizes::size(0) * (np::most_room(0) - np::least_room(0));
    const test::option_for_now as_much_as_one(np_option_thread_cache_bytes, bytes);
    EXPECT_EQ(rooms_of_growing(0).back(), np::most_room(0));
    EXPECT_EQ(rooms_of_growing(1), std::vector<std::uint32_t>{np::least_room(1)});
    its.shrink(0, np::block_count{np::least_room(0)});
    EXPECT_EQ(*(its.begin(0) + np::least_room(0)), np::thread_heap::full_mark());
    EXPECT_TRUE(its.grow(1));
}

TEST_F(thread_heap, drops_its_magazines_but_small_ones_of_classes_that_it_has_slabs_of)
{
    np::misuse_list found;
    const np::heap::scoped_lock lock(its.slabs, found);
    void* block = nullptr;
    EXPECT_EQ(its.slabs.take(3, &block, 1), 1U);
    for (const std::size_t size_class : {3U, 5U}) {
        EXPECT_GT(rooms_of_growing(size_class).size(), 1U);
        its.tops[size_class] = its.begin(size_class);
    }
    const test::system_calls calls;
    its.drop_magazines();
    EXPECT_EQ(calls.made(test::system_call::advise), 1U);
    EXPECT_EQ(its.room(3), np::least_room(3));
    EXPECT_EQ(its.tops[3], its.begin(3));
    EXPECT_EQ(its.room(5), 0U);
    EXPECT_EQ(its.tops[5], nullptr);
    its.tops.fill(nullptr);
    its.drop_magazines();
    EXPECT_EQ(calls.made(test::system_call::advise), 1U) << "there are none";
}

TEST_F(thread_heap, knows_what_is_in_its_magazines_only_while_a_thread_has_it_or_it_is_parked)
{
    EXPECT_TRUE(its.grow(0));
    int block = 0;
    its.begin(0)[0] = &block;
    its.tops[0] = its.begin(0) + 1;
    EXPECT_FALSE(its.is_known());
    EXPECT_EQ(its.held(0), 0U);
    its.is_parked = true;
    EXPECT_TRUE(its.is_known());
    EXPECT_EQ(its.held(0), 1U);
    std::vector<const void*> held;
    its.for_each_held(0, [&held](const void* each) { held.push_back(each); });
    EXPECT_EQ(held, std::vector<const void*>{&block});
}
} // namespace
