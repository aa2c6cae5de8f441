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
constexpr std::uint64_t expensive = 2'000 * small_cost;

/// Takes successive blocks of one region, so each block is untouched.
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

    /// Returns: a block. Sets `touch` to the first touch to measure.
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

    /// Returns: the freed block.
    np::run free(const np::run& block)
    {
        policy.leave_large(block.first, block.length);
        return block;
    }

    void fill(const np::run& block) { std::memset(region.address(block.first), 1, block.length * np::slice_bytes); }

    /// Returns: whether huge pages were requested under the whole block.
    bool is_huge(const np::run& block) { return policy.parts().are_asked_for(block.first, block.length); }

    /// Returns: whether huge pages were requested under any part of the block.
    bool is_huge_somewhere(const np::run& block)
    {
        for (np::slice_index each = block.first; each != block.first + block.length; ++each)
            if (policy.parts().are_asked_for(each, 1))
                return true;
        return false;
    }
};

#if defined(__linux__)
TEST_F(huge_page_policy, refuses_huge_pages_to_sparse_large_blocks)
{
    for (int i = 0; i != 20; ++i)
        EXPECT_FALSE(is_huge_somewhere(free(take_and_touch(4 * part)))) << i;
}

TEST_F(huge_page_policy, grants_huge_pages_after_a_dense_block)
{
    EXPECT_FALSE(is_huge_somewhere(free(take_and_fill(2 * part))));
    for (int i = 0; i != 8; ++i)
        EXPECT_TRUE(is_huge(take(2 * part))) << i;
    EXPECT_FALSE(is_huge(take(2 * part))) << "the next probe";
}

TEST_F(huge_page_policy, probes_the_first_block)
{
    const np::run probe = take_and_fill(2 * part);
    free(take_and_fill(2 * part));
    EXPECT_FALSE(is_huge_somewhere(take(2 * part)));
    free(probe);
    EXPECT_TRUE(is_huge(take(2 * part)));
}

TEST_F(huge_page_policy, probes_another_block_if_the_first_stays_outstanding)
{
    for (int i = 0; i != 65; ++i)
        take_and_fill(part);
    free(take_and_fill(part));
    EXPECT_TRUE(is_huge(take(part)));
}

TEST_F(huge_page_policy, probes_without_system_calls)
{
    const test::system_calls calls;
    const std::size_t before = calls.made(test::system_call::any);
    const np::run probe = take_and_fill(2 * part);
    free(probe);
    EXPECT_EQ(calls.made(test::system_call::any), before);
}

TEST_F(huge_page_policy, stops_granting_after_a_sparse_probe)
{
    free(take_and_fill(2 * part));
    for (int i = 0; i != 8; ++i)
        take(2 * part);
    free(take_and_touch(2 * part));
    for (int i = 0; i != 8; ++i)
        EXPECT_FALSE(is_huge_somewhere(free(take_and_touch(2 * part)))) << i;
}

TEST_F(huge_page_policy, treats_a_new_size_as_the_last_probed_size)
{
    free(take_and_fill(part));
    EXPECT_TRUE(is_huge(take(2 * part)));
    EXPECT_TRUE(is_huge(take(8 * part)));
    take_and_touch(16 * part);
    take_and_touch(16 * part);
    EXPECT_FALSE(is_huge(free(take_and_touch(16 * part))));
    EXPECT_FALSE(is_huge(take(16 * part)));
    EXPECT_FALSE(is_huge_somewhere(take(32 * part))) << "the last probe was sparse";
    EXPECT_TRUE(is_huge(take(2 * part))) << "no newer probe of this size";
}

TEST_F(huge_page_policy, treats_a_block_with_a_filled_front_as_dense)
{
    const np::run half = take(4 * part);
    std::memset(region.address(half.first), 1, np::huge_page_bytes);
    free(half);
    EXPECT_TRUE(is_huge(take(4 * part)));
}

TEST_F(huge_page_policy, treats_a_block_of_zeros_as_untouched)
{
    const np::run zeros = take(4 * part);
    std::memset(region.address(zeros.first), 0, zeros.length * np::slice_bytes);
    free(zeros);
    EXPECT_FALSE(is_huge_somewhere(take(4 * part)));
}

TEST_F(huge_page_policy, probes_small_blocks_but_grants_them_nothing)
{
    free(take_and_fill(part / 2));
    EXPECT_FALSE(is_huge_somewhere(take(part / 2)));
    EXPECT_TRUE(is_huge(take(2 * part)));
}

TEST_F(huge_page_policy, refuses_huge_pages_in_parts_that_an_unprobed_block_enters)
{
    policy.parts().ask_for(np::first_slice, 8 * part);
    EXPECT_FALSE(is_huge_somewhere(take(4 * part)));
    next = next + 3; // not at the beginning of a part
    np::run dirty = reserve(2 * part);
    dirty.is_zeroed = false;
    policy.enter_large(dirty, true);
    EXPECT_TRUE(is_huge(dirty)) << "no probe yet";
}

TEST_F(huge_page_policy, grants_huge_pages_to_a_dense_block_that_grows)
{
    np::run block = take_and_fill(part);
    region.record(block.first).length = 3 * part;
    next = next + 2 * part;
    const std::uint32_t old_length = block.length;
    block.length = 3 * part;
    policy.grow_large(block.first, old_length, block);
    EXPECT_TRUE(is_huge(block)) << "the whole block, so it stays one mapping";
    const np::run moved = reserve(6 * part);
    policy.grow_large(block.first, block.length, moved);
    EXPECT_TRUE(is_huge(moved));
}

TEST_F(huge_page_policy, does_not_probe_a_block_that_grows_within_its_last_part)
{
    const np::run block = take_and_fill(part + 1);
    policy.grow_large(block.first, part + 1, {block.first, 2 * part});
    EXPECT_FALSE(is_huge_somewhere(block));
    policy.grow_large(block.first, 2 * part, {block.first, 2 * part + 1});
    EXPECT_TRUE(is_huge({block.first, 2 * part + 1}));
}

TEST_F(huge_page_policy, refuses_huge_pages_to_a_sparse_block_that_grows)
{
    const np::run sparse = take_and_touch(2 * part);
    policy.parts().ask_for(next, 4 * part);
    const np::run moved = reserve(4 * part);
    policy.grow_large(sparse.first, sparse.length, moved);
    EXPECT_FALSE(is_huge_somewhere(sparse));
    EXPECT_FALSE(is_huge_somewhere(moved)) << "same advice at both places, so the pages can be moved";
}

TEST_F(huge_page_policy, backs_off_after_three_expensive_huge_faults)
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
        touch = policy.note_cost(touch, expensive, end);
    }
    EXPECT_EQ(touch.kind, page::none);
    EXPECT_TRUE(policy.parts().are_asked_for(first.first, 3 * part)) << "huge pages already faulted in stay";
    EXPECT_FALSE(is_huge_somewhere({first.first + 3 * part, 5 * part})) << "the remaining parts back off";
    for (std::size_t left = np::fault_costs::min_back_off; left != 0; left -= 8)
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
        EXPECT_EQ(policy.note_cost(touch, expensive, next).kind, page::none) << "a slab touches one part only";
    }
    for (std::size_t i = 0; i != np::fault_costs::min_back_off; ++i) {
        next = np::slice_at((i + enough) * part);
        const np::run slab = reserve(1);
        policy.enter_slab(slab, true);
        EXPECT_FALSE(is_huge_somewhere(slab));
        EXPECT_EQ(policy.enter_slab({slab.first + 1, 1, true, slab.first + 1, np::slice_at(2 * parts)}, true).kind,
                  page::none)
            << "the part already has memory";
    }
    next = next + (part - 1);
    const np::run slab = reserve(1);
    EXPECT_EQ(policy.enter_slab(slab, true).kind, page::huge);
    EXPECT_TRUE(is_huge(slab));
}

TEST_F(huge_page_policy, keeps_the_advice_of_a_moved_block_while_it_backs_off)
{
    free(take_and_fill(4 * part));
    np::first_touch touch;
    const np::run block = take(4 * part, &touch);
    for (int i = 0; i != 3; ++i)
        policy.note_cost({page::huge, touch.at + 4 * part}, expensive, touch.at + 4 * part);
    const np::run moved = reserve(8 * part);
    policy.grow_large(block.first, block.length, moved);
    EXPECT_TRUE(policy.parts().are_alike(block.first, moved.first, block.length));
    EXPECT_FALSE(is_huge_somewhere({moved.first + 4 * part, 4 * part}));
}

TEST_F(huge_page_policy, measures_untouched_pages_only)
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
    EXPECT_EQ(measured, 3) << "the constructor noted a fourth one";
}

TEST_F(huge_page_policy, subtracts_the_cost_of_the_clock)
{
    const test::first_touch_costs cost(1'234);
    EXPECT_EQ(policy.measure(region.address(np::slice_at(3))), 1'234U);
}

TEST_F(huge_page_policy, ignores_a_stopped_clock)
{
    const test::first_touch_costs none(0);
    EXPECT_EQ(policy.measure(region.address(np::slice_at(3))), 0U);
    policy.note_cost({page::huge, np::first_slice}, 0, np::slice_at(part));
    EXPECT_TRUE(is_huge_somewhere((policy.enter_slab(reserve(1), true), np::run{np::first_slice, 1})));
}
#endif

TEST_F(huge_page_policy, does_nothing_if_huge_pages_are_disabled)
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
