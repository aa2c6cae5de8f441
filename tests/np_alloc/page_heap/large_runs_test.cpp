// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/large_runs.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <support/emulation.hpp>
#include <support/np_page_heap.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t MiB = std::size_t{1} << 20;

using large_runs = test::page_heap_fixture;

TEST_F(large_runs, makes_large_blocks_longer_in_place_and_shorter_if_that_saves_a_quarter)
{
    const np::run large = all.large().take_large(8 * np::slice_bytes, 1);
    const auto length = [&] { return all.region().record(large.first).length; };
    EXPECT_TRUE(all.large().resize_large(large.first, 12 * np::slice_bytes));
    EXPECT_EQ(length(), 12U);
    EXPECT_EQ(tag(large.first + 11), np::inside_large_block);
    EXPECT_TRUE(all.large().resize_large(large.first, 9 * np::slice_bytes));
    EXPECT_EQ(length(), 12U) << "a quarter may be unused";
    EXPECT_TRUE(all.large().resize_large(large.first, 8 * np::slice_bytes));
    EXPECT_EQ(length(), 8U);
    EXPECT_EQ(tag(large.first + 8), np::no_owner);
    const np::run next = all.large().take_large(np::slice_bytes, 1);
    EXPECT_EQ(next.first, large.first + 8);
    EXPECT_FALSE(all.large().resize_large(large.first, 9 * np::slice_bytes)) << "something is in the way";
    EXPECT_FALSE(all.large().resize_large(large.first, ~std::size_t{0}));
}

TEST_F(large_runs, have_no_memory_of_longer_blocks_before_behind_what_was_asked_for_if_that_is_much)
{
    namespace os = memory_pool::detail::os;
    if (np::is_checked || os::page_size() != 4096)
        GTEST_SKIP() << "where blocks are checked, the bytes of free ones are known";
    std::vector<np::run> blocks(600);
    for (np::run& each : blocks)
        each = take_filled(np::slice_bytes);
    std::byte* const begin = memory(blocks.front());
    for (const np::run& each : blocks)
        all.large().give_large(each.first);
    for (np::run& each : blocks)
        each = take_filled(33'000);
    constexpr std::size_t few = std::size_t{10} << 20;
    EXPECT_LE(os::resident_pages(begin, blocks.size() * np::slice_bytes) * 4096, blocks.size() * 36'864 + few);
    const auto replace_all = [&] {
        for (np::run& each : blocks) {
            all.large().give_large(each.first);
            each = take_filled(33'000);
        }
    };
    replace_all();
    const test::system_calls calls;
    replace_all();
    EXPECT_EQ(calls.made(test::system_call::advise), 0U) << "it is known that there is none";
}

TEST_F(large_runs, moves_the_memory_of_a_large_block_to_where_there_is_none_yet)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    ASSERT_NE(moved.first, np::no_slice);
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
#if defined(__linux__)
    const np::run again = all.large().take_large(2 * MiB, 1);
    EXPECT_EQ(again.first, old.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_TRUE(is_filled(again, 2 * MiB, 0));
#endif
}

TEST_F(large_runs, have_no_memory_behind_what_was_asked_for_either_where_longer_blocks_were_meanwhile)
{
    if (np::is_checked || memory_pool::detail::os::page_size() != 4096)
        GTEST_SKIP() << "where blocks are checked, the bytes of free ones are known";
    constexpr std::size_t short_bytes = 72 * 1024; // Of two slices.
    all.source().decay.set_decay_ms(np::run_decay::never_ms);
    const auto use = [this](std::size_t count, std::size_t bytes) {
        std::vector<np::run> blocks(count);
        for (np::run& each : blocks)
            each = take_filled(bytes);
        for (const np::run& each : blocks)
            all.large().give_large(each.first);
    };
    use(600, short_bytes); // In memory that was never used: the ends of their runs are clean.
    use(400, 3 * np::slice_bytes);
    const test::system_calls calls;
    use(600, short_bytes);
    EXPECT_GT(calls.made(test::system_call::advise), 300U);
}

#if defined(__linux__)
TEST_F(large_runs, are_taken_while_the_memory_of_another_moves)
{
    static np::page_heap* shared = nullptr;
    static np::run taken;
    shared = &all;
    taken = {};
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const test::system_calls calls;
    // With the lock held, this would be a reentrant call, which ends the process.
    calls.do_during_moves([] { taken = shared->large().take_large(2 * MiB, 1); });
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 3 * MiB, [] {}), 2 * MiB, 0x5A));
    ASSERT_NE(taken.first, np::no_slice);
    EXPECT_TRUE(is_filled(taken, 2 * MiB, 0));
}
#endif

TEST_F(large_runs, copies_a_large_block_to_where_there_is_memory)
{
    const np::run dirty = all.large().take_large(3 * MiB, 1);
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    all.large().give_large(dirty.first);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    EXPECT_EQ(moved.first, dirty.first);
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
    EXPECT_EQ(tag(old.first), np::no_owner);
}

TEST_F(large_runs, copies_a_large_block_if_the_system_cannot_move_it)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 3 * MiB, [] {}), 2 * MiB, 0x5A));
}

TEST_F(large_runs, copies_a_large_block_of_several_mappings_as_it_might_move_in_part)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 1, 2 * MiB);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    ASSERT_TRUE(all.large().resize_large(moved.first, 5 * MiB)) << "what was moved, and what follows it";
    std::memset(memory(moved), 0x5A, 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(moved.first, 9 * MiB, [] {}), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(large_runs, moves_a_large_block_only_if_the_system_sees_one_mapping_where_two_were_used_with_different_advice)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "mappings are others";
    const np::run first = take_after_filled(4 * MiB);
    const np::run behind = all.large().take_large(MiB, 1);
    for (const np::run& each : {first, behind}) {
        std::memset(memory(each), 1, each.length * np::slice_bytes);
        all.large().give_large(each.first);
    }
    const np::run block = all.large().take_large(5 * MiB, 1);
    ASSERT_EQ(block.first, first.first);
    ASSERT_EQ(huge_pages(behind.first), huge_pages(first.first)) << "nothing tells them apart now";
    std::memset(memory(block), 0x5A, 5 * MiB);
    // Linux mostly keeps two mappings with contents apart that no longer differ, but may have joined these.
    const bool is_one = memory_pool::detail::os::are_one_mapping(memory(block), 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(block.first, 9 * MiB, [] {}), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), is_one ? 1U : 0U);
}

TEST_F(large_runs, moves_what_was_moved_before)
{
    np::run block = all.large().take_large(2 * MiB, 1);
    std::memset(memory(block), 0x5A, 2 * MiB);
    for (std::size_t bytes = 3 * MiB; bytes <= 24 * MiB; bytes *= 2) {
        block = all.large().move_large(block.first, bytes, [] {});
        ASSERT_NE(block.first, np::no_slice);
        memory(block)[bytes - 1] = std::byte{1};
    }
    EXPECT_TRUE(is_filled(block, 2 * MiB, 0x5A));
    EXPECT_EQ(memory(block)[3 * MiB - 1], std::byte{1});
}

#if defined(__linux__)
TEST(large_runs_that_move_often, leaves_the_program_most_of_the_mappings_that_it_may_have)
{
    constexpr std::size_t blocks = 12'000;
    np::page_heap all;
    ASSERT_TRUE(all.source().start(2 * blocks * 2 * np::slice_bytes));
    const test::system_calls calls;
    std::size_t held = 0;
    for (std::size_t i = 0; i != blocks; ++i) {
        const np::run old = all.large().take_large(np::slice_bytes, 1);
        *all.region().address(old.first) = std::byte{7};
        const np::run moved =
            all.large().move_large(old.first, 2 * np::slice_bytes, [] {}); // It stays, so that the next goes elsewhere.
        held += moved.first != np::no_slice && *all.region().address(moved.first) == std::byte{7} ? 1U : 0U;
    }
    EXPECT_EQ(held, blocks);
    constexpr std::size_t mappings_of_all = 65'530;
    constexpr std::size_t mappings_of_each = 2; // Where the memory was before, the same is used again.
    EXPECT_LT(calls.made(test::system_call::move) * mappings_of_each, mappings_of_all / 3);
    EXPECT_GT(calls.made(test::system_call::move), 1000U);
    all.source().stop();
}
#endif

TEST_F(large_runs, asks_for_no_huge_pages_under_large_blocks_that_are_touched_here_and_there)
{
    const test::system_calls calls;
    for (int i = 0; i != 10; ++i) {
        const np::run large = all.large().take_large(16 * MiB, 1);
        for (const std::size_t place : {std::size_t{0}, 8 * MiB, 16 * MiB - 1})
            memory(large)[place] = std::byte{1};
        EXPECT_EQ(huge_pages(large.first), np::huge_page_use::untold);
    }
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(large_runs, asks_for_huge_pages_under_large_blocks_when_one_was_filled)
{
    const np::run large = take_after_filled(5 * MiB);
    for (np::slice_index slice = large.first; slice != large.first + large.length; ++slice)
        EXPECT_EQ(huge_pages(slice), np::huge_page_use::asked_for);
}

TEST_F(large_runs, asks_for_no_more_huge_pages_when_one_turns_out_to_be_dear)
{
    test::first_touch_costs::set(20'000); // The cost of small faults.
    const np::run filled = take_filled(20 * MiB);
    test::first_touch_costs::set(20'000'000);
    all.large().give_large(filled.first);
    (void)all.source().trim();
    const np::run tried = all.large().take_large(20 * MiB, 1);
    EXPECT_EQ(huge_pages(tried.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(tried.first + tried.length / 2), np::huge_page_use::refused);
    EXPECT_NE(huge_pages(all.large().take_large(20 * MiB, 1).first), np::huge_page_use::asked_for);
}

TEST_F(large_runs, asks_for_huge_pages_when_a_block_has_become_so_large)
{
    const np::run block = take_filled(MiB);
    ASSERT_TRUE(all.large().resize_large(block.first, 5 * MiB));
    EXPECT_EQ(huge_pages(block.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(block.first + 5 * MiB / np::slice_bytes - 1), np::huge_page_use::asked_for);
}

TEST_F(large_runs, gives_back_what_a_huge_page_has_brought_behind_a_block_when_that_goes_back)
{
    const np::run all_clean = all.large().take_large(64 * MiB, 1);
    all.large().give_large(take_filled(3 * MiB).first);
    all.large().give_large(all_clean.first);
    (void)all.source().trim();
    const np::run block = all.large().take_large(3 * MiB, 1);
    std::byte& behind = *all.region().address(block.first + block.length);
    behind = std::byte{1}; // The system would write zeros.
    give_and_purge(block);
    EXPECT_EQ(behind, huge_pages(block.first) == np::huge_page_use::untold ? std::byte{1} : std::byte{0});
}

TEST_F(large_runs, copies_a_large_block_where_the_system_was_told_otherwise_than_where_it_goes)
{
    const np::run old = all.large().take_large(MiB, 1);
    std::memset(memory(old), 0x5A, MiB);
    (void)all.large().take_large(MiB, 1); // The rest of that part.
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 5 * MiB, [] {}), MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(large_runs, does_not_know_of_huge_pages_where_it_was_refused_to_move_a_block)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    np::run moved;
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::move, 1);
        moved = all.large().move_large(old.first, 4 * MiB, [] {});
    }
    EXPECT_EQ(huge_pages(moved.first), np::huge_page_use::unknown);
}

TEST_F(large_runs, hands_out_no_addresses_that_were_lost_when_memory_should_have_moved_there)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::move, 1);
        calls.refuse_from(test::system_call::map, 1);
        EXPECT_EQ(all.large().move_large(old.first, 3 * MiB, [] {}).first, np::no_slice);
    }
    EXPECT_TRUE(is_filled(old, 2 * MiB, 0x5A));
    EXPECT_EQ(all.source().unowned_runs(), 1U);
    EXPECT_EQ(all.figures().large_blocks, 1U) << "the lost addresses count as a block";
    EXPECT_EQ(all.figures().large, 2 * MiB);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
}

TEST_F(large_runs, leaves_a_large_block_as_it_is_if_there_is_no_room_for_a_larger_one)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    EXPECT_EQ(all.large().move_large(old.first, 300 * MiB, [] {}).first, np::no_slice);
    EXPECT_EQ(in_use(), 2 * MiB / np::slice_bytes);
    EXPECT_TRUE(is_filled(old, 2 * MiB, 0x5A));
}
} // namespace
