// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/huge_page_policy.hpp>

#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace np = memory_pool::np;

namespace {
using page = np::first_touch::page;

constexpr std::uint32_t part = np::slices_of_huge_page;
constexpr std::size_t parts = 256;
constexpr std::uint64_t small_cost = 1'000;
constexpr std::uint64_t cheap = 100 * small_cost;
constexpr std::uint64_t dear = 2'000 * small_cost;

/// Blocks of one region, one behind the other, so that none has had memory before.
struct huge_page_policy : testing::Test
{
    using region_type = np::region<std::uintptr_t, np::run_links>;
    region_type region;
    np::huge_page_policy<region_type> policy{region};
    np::slice_index next{};

    huge_page_policy()
    {
        EXPECT_TRUE(region.reserve(parts * np::huge_page_bytes));
        EXPECT_TRUE(region.commit(parts * part));
        policy.note_cost({page::small, np::first_slice}, small_cost, np::slice_at(1));
    }
    ~huge_page_policy() override { region.release(); }

    np::run reserve(std::uint32_t length)
    {
        const np::run taken{next, length, true, next, np::slice_at(parts * part)};
        next = next + length;
        region.record(taken.first).length = length;
        return taken;
    }

    /// Returns: a block; sets `touch` to the first touch to time.
    np::run take(std::uint32_t length, np::first_touch* touch = nullptr)
    {
        const np::run taken = reserve(length);
        const np::first_touch asked = policy.enter_large(taken, true);
        if (touch != nullptr)
            *touch = asked;
        return taken;
    }

    np::run take_and_fill(std::uint32_t length)
    {
        const np::run taken = take(length);
        fill(taken);
        return taken;
    }

    np::run take_and_touch(std::uint32_t length)
    {
        const np::run taken = take(length);
        for (const np::slice_index each : {taken.first, taken.first + length / 2, taken.first + length - 1})
            *region.address(each) = std::byte{1};
        return taken;
    }

    /// Returns: the block, which is no more.
    np::run free(const np::run& its)
    {
        policy.leave_large(its.first, its.length);
        return its;
    }

    void fill(const np::run& its) { std::memset(region.address(its.first), 1, its.length * np::slice_bytes); }

    /// Returns: whether huge pages were asked for under the whole block.
    bool is_huge(const np::run& its) { return policy.parts().are_asked_for(its.first, its.length); }

    /// Returns: whether they were asked for under any part of it.
    bool is_huge_somewhere(const np::run& its)
    {
        for (np::slice_index each = its.first; each != its.first + its.length; ++each)
            if (policy.parts().are_asked_for(each, 1))
                return true;
        return false;
    }
};

#if defined(__linux__)
TEST_F(huge_page_policy, gives_none_to_large_blocks_that_are_touched_here_and_there)
{
    for (int i = 0; i != 20; ++i)
        EXPECT_FALSE(is_huge_somewhere(free(take_and_touch(4 * part)))) << i;
}

TEST_F(huge_page_policy, gives_some_to_the_next_blocks_when_one_was_filled_and_freed)
{
    EXPECT_FALSE(is_huge_somewhere(free(take_and_fill(2 * part))));
    for (int i = 0; i != 8; ++i)
        EXPECT_TRUE(is_huge(take(2 * part))) << i;
    EXPECT_FALSE(is_huge(take(2 * part))) << "that is the next probe";
}

TEST_F(huge_page_policy, learns_from_the_block_that_was_there_first)
{
    const np::run probe = take_and_fill(2 * part);
    free(take_and_fill(2 * part));
    EXPECT_FALSE(is_huge_somewhere(take(2 * part)));
    free(probe);
    EXPECT_TRUE(is_huge(take(2 * part)));
}

TEST_F(huge_page_policy, learns_from_another_one_if_that_is_not_freed)
{
    for (int i = 0; i != 65; ++i)
        take_and_fill(part);
    free(take_and_fill(part));
    EXPECT_TRUE(is_huge(take(part)));
}

TEST_F(huge_page_policy, makes_no_system_call_to_learn)
{
    const test::system_calls calls;
    const std::size_t before = calls.made(test::system_call::any);
    const np::run probe = take_and_fill(2 * part);
    free(probe);
    EXPECT_EQ(calls.made(test::system_call::any), before);
}

TEST_F(huge_page_policy, gives_no_more_when_a_probe_is_sparse)
{
    free(take_and_fill(2 * part));
    for (int i = 0; i != 8; ++i)
        take(2 * part);
    free(take_and_touch(2 * part));
    for (int i = 0; i != 8; ++i)
        EXPECT_FALSE(is_huge_somewhere(free(take_and_touch(2 * part)))) << i;
}

TEST_F(huge_page_policy, takes_the_first_block_of_a_size_for_one_as_the_last_was)
{
    free(take_and_fill(part));
    EXPECT_TRUE(is_huge(take(2 * part)));
    EXPECT_TRUE(is_huge(take(8 * part)));
    take_and_touch(16 * part);
    take_and_touch(16 * part);
    EXPECT_FALSE(is_huge(free(take_and_touch(16 * part))));
    EXPECT_FALSE(is_huge(take(16 * part)));
    EXPECT_FALSE(is_huge_somewhere(take(32 * part))) << "the last was sparse";
    EXPECT_TRUE(is_huge(take(2 * part))) << "of which nothing else is known";
}

TEST_F(huge_page_policy, takes_a_block_for_dense_that_is_filled_from_its_begin_on)
{
    const np::run half = take(4 * part);
    std::memset(region.address(half.first), 1, np::huge_page_bytes);
    free(half);
    EXPECT_TRUE(is_huge(take(4 * part)));
}

TEST_F(huge_page_policy, takes_a_block_of_zeros_for_one_that_was_not_filled)
{
    const np::run zeros = take(4 * part);
    std::memset(region.address(zeros.first), 0, zeros.length * np::slice_bytes);
    free(zeros);
    EXPECT_FALSE(is_huge_somewhere(take(4 * part)));
}

TEST_F(huge_page_policy, gives_small_blocks_none_but_learns_from_them)
{
    free(take_and_fill(part / 2));
    EXPECT_FALSE(is_huge_somewhere(take(part / 2)));
    EXPECT_TRUE(is_huge(take(2 * part)));
}

TEST_F(huge_page_policy, refuses_them_where_a_block_enters_that_may_not_have_them)
{
    policy.parts().ask_for(np::first_slice, 8 * part);
    EXPECT_FALSE(is_huge_somewhere(take(4 * part)));
    next = next + 3; // So that it does not begin a part.
    np::run dirty = reserve(2 * part);
    dirty.is_zeroed = false;
    policy.enter_large(dirty, true);
    EXPECT_TRUE(is_huge(dirty)) << "nothing is known yet";
}

TEST_F(huge_page_policy, gives_more_to_a_block_that_grows_if_it_is_filled)
{
    np::run block = take_and_fill(part);
    region.record(block.first).length = 3 * part;
    next = next + 2 * part;
    const std::uint32_t old_length = block.length;
    block.length = 3 * part;
    policy.grow_large(block.first, old_length, block);
    EXPECT_TRUE(is_huge(block)) << "all of it, so that it is one mapping";
    const np::run moved = reserve(6 * part);
    policy.grow_large(block.first, block.length, moved);
    EXPECT_TRUE(is_huge(moved));
}

TEST_F(huge_page_policy, does_not_look_at_a_block_that_grows_in_the_part_where_it_ends)
{
    const np::run block = take_and_fill(part + 1);
    policy.grow_large(block.first, part + 1, {block.first, 2 * part});
    EXPECT_FALSE(is_huge_somewhere(block));
    policy.grow_large(block.first, 2 * part, {block.first, 2 * part + 1});
    EXPECT_TRUE(is_huge({block.first, 2 * part + 1}));
}

TEST_F(huge_page_policy, gives_nothing_to_a_block_that_grows_if_it_is_not)
{
    const np::run sparse = take_and_touch(2 * part);
    policy.parts().ask_for(next, 4 * part);
    const np::run moved = reserve(4 * part);
    policy.grow_large(sparse.first, sparse.length, moved);
    EXPECT_FALSE(is_huge_somewhere(sparse));
    EXPECT_FALSE(is_huge_somewhere(moved)) << "both are told the same";
}

TEST_F(huge_page_policy, backs_off_where_three_huge_pages_are_dear)
{
    free(take_and_fill(8 * part));
    np::first_touch touch;
    const np::run first = take(8 * part, &touch);
    const np::slice_index end = first.first + first.length;
    ASSERT_TRUE(is_huge(first));
    for (std::uint32_t measured = 0; measured != 3; ++measured) {
        EXPECT_TRUE(is_huge(first));
        EXPECT_EQ(touch.kind, page::huge);
        EXPECT_EQ(touch.at, first.first + measured * part);
        touch = policy.note_cost(touch, dear, end);
    }
    EXPECT_EQ(touch.kind, page::none);
    EXPECT_TRUE(policy.parts().are_asked_for(first.first, 3 * part)) << "those it has already";
    EXPECT_FALSE(is_huge_somewhere({first.first + 3 * part, 5 * part})) << "the rest does without";
    for (std::size_t left = np::fault_costs::least_back_off; left != 0; left -= 8)
        EXPECT_FALSE(is_huge_somewhere(take(8 * part, &touch)));
    EXPECT_TRUE(is_huge(take(8 * part, &touch)));
    EXPECT_EQ(policy.note_cost(touch, cheap, touch.at + 8 * part).kind, page::none);
    EXPECT_TRUE(is_huge(take(8 * part, &touch)));
}

TEST_F(huge_page_policy, backs_off_for_slabs_too)
{
    constexpr std::size_t enough = 3;
    for (std::size_t i = 0; i != enough; ++i) {
        next = np::slice_at(i * part);
        const np::run slab = reserve(1);
        const np::first_touch touch = policy.enter_slab(slab, true);
        EXPECT_EQ(touch.kind, page::huge);
        EXPECT_TRUE(is_huge(slab));
        EXPECT_EQ(policy.note_cost(touch, dear, next).kind, page::none) << "no other is its own";
    }
    for (std::size_t i = 0; i != np::fault_costs::least_back_off; ++i) {
        next = np::slice_at((i + enough) * part);
        const np::run slab = reserve(1);
        policy.enter_slab(slab, true);
        EXPECT_FALSE(is_huge_somewhere(slab));
        EXPECT_EQ(policy.enter_slab({slab.first + 1, 1, true, slab.first + 1, np::slice_at(2 * parts)}, true).kind,
                  page::none)
            << "it enters no part";
    }
    next = next + (part - 1);
    const np::run slab = reserve(1);
    EXPECT_EQ(policy.enter_slab(slab, true).kind, page::huge);
    EXPECT_TRUE(is_huge(slab));
}

TEST_F(huge_page_policy, goes_on_to_move_what_has_huge_pages_where_they_are_dear)
{
    free(take_and_fill(4 * part));
    np::first_touch touch;
    const np::run block = take(4 * part, &touch);
    for (int i = 0; i != 3; ++i)
        policy.note_cost({page::huge, touch.at + 4 * part}, dear, touch.at + 4 * part);
    const np::run moved = reserve(8 * part);
    policy.grow_large(block.first, block.length, moved);
    EXPECT_TRUE(policy.parts().are_alike(block.first, moved.first, block.length));
    EXPECT_FALSE(is_huge_somewhere({moved.first + 4 * part, 4 * part}));
}

TEST_F(huge_page_policy, measures_no_page_that_may_have_memory)
{
    const np::run block = take_and_fill(part);
    np::run grown{block.first, 3 * part};
    EXPECT_EQ(policy.grow_large(block.first, part, grown).kind, page::none);
    grown.is_zeroed = true;
    grown.length = 5 * part;
    EXPECT_EQ(policy.grow_large(block.first, 3 * part, grown).kind, page::huge);
}

TEST_F(huge_page_policy, measures_few_small_pages)
{
    int measured = 0;
    for (std::size_t i = 0; i != 10; ++i) {
        next = np::slice_at(i * part);
        const np::first_touch touch = policy.enter_slab(reserve(1), false);
        measured += touch.kind == page::small ? 1 : 0;
        policy.note_cost(touch, touch.kind == page::none ? 0 : small_cost, next);
    }
    EXPECT_EQ(measured, 3) << "with one in the beginning";
}

TEST_F(huge_page_policy, does_not_count_the_time_that_the_clock_takes)
{
    const test::first_touch_costs cost(1'234);
    EXPECT_EQ(policy.measure(region.address(np::slice_at(3))), 1'234U);
}

TEST_F(huge_page_policy, does_not_listen_to_a_clock_that_stands_still)
{
    const test::first_touch_costs none(0);
    EXPECT_EQ(policy.measure(region.address(np::slice_at(3))), 0U);
    policy.note_cost({page::huge, np::first_slice}, 0, np::slice_at(part));
    EXPECT_TRUE(is_huge_somewhere((policy.enter_slab(reserve(1), true), np::run{np::first_slice, 1})));
}
#endif

TEST_F(huge_page_policy, does_nothing_if_they_are_not_wanted)
{
    const test::option_for_now unwanted(np_option_huge_pages, 0);
    const test::system_calls calls;
    const np::run block = take_and_fill(2 * part);
    take(2 * part);
    policy.grow_large(block.first, block.length, reserve(4 * part));
    policy.enter_slab(reserve(1), true);
    free(block);
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}
} // namespace
