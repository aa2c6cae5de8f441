// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/page_heap.hpp>

#include <support/emulation.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace np = memory_pool::np;

namespace
{
constexpr std::size_t MiB = std::size_t{1} << 20;

struct page_heap : testing::Test
{
    np::page_heap all;
    test::first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    page_heap() { EXPECT_TRUE(all.start(std::size_t{256} << 20)); }
    ~page_heap() override
    {
        EXPECT_TRUE(all.with_runs([](const auto& runs) { return runs.is_valid(); }));
        all.stop();
    }

    std::byte* memory(const np::run& of) { return all.region().address(of.first); }
    /// Uses 64 MiB, and frees them, with a pause in between, in which the clock goes on.
    void use_a_lot(int milliseconds)
    {
        std::vector<np::run> blocks(64);
        for (np::run& each : blocks)
            each = all.take_large(MiB, 1);
        for (const np::run& each : blocks)
            all.give_large(each.first);
        const np::run one_more = all.take_large(MiB, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        all.give_large(one_more.first);
    }

    /// Returns: a large block that is fully resident.
    np::run take_filled(std::size_t bytes)
    {
        const np::run taken = all.take_large(bytes, 1);
        std::memset(memory(taken), 1, bytes);
        return taken;
    }

    /// Returns: a large block after another of the same size that was filled.
    np::run take_behind_filled(std::size_t bytes)
    {
        (void)take_filled(bytes);
        return all.take_large(bytes, 1);
    }

    bool is_filled(const np::run& of, std::size_t bytes, unsigned char value)
    {
        return std::all_of(memory(of), memory(of) + bytes,
                           [value](std::byte each) { return each == std::byte{value}; });
    }
    np::huge_page_use huge_pages(std::size_t slice) { return all.region().huge_pages(slice / np::slices_of_huge_page); }
    np::slice_tag tag(std::size_t slice) { return all.region().tag(slice).load(); }
    std::size_t dirty()
    {
        return all.with_runs([](const auto& runs) { return runs.dirty(); });
    }
    std::size_t in_use()
    {
        return all.with_runs([](const auto& runs) { return runs.in_use(); });
    }
};

TEST_F(page_heap, tags_the_slices_of_large_blocks_and_of_none)
{
    const np::run large = all.take_large(3 * np::slice_bytes, 1);
    EXPECT_EQ(tag(large.first), np::large_block);
    EXPECT_EQ(tag(large.first + 1), np::inside_large_block);
    EXPECT_EQ(tag(large.first + 2), np::inside_large_block);
    all.give_large(large.first);
    for (std::size_t slice = large.first; slice != large.first + 3; ++slice)
        EXPECT_EQ(tag(slice), np::no_owner);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(page_heap, keeps_the_memory_of_what_came_back_for_a_while)
{
    const np::run large = all.take_large(MiB, 1);
    all.give_large(large.first);
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.purged(), 0U);
}

TEST_F(page_heap, gives_memory_back_that_has_been_free_for_long_enough)
{
    all.set_decay_ms(0);
    const np::run large = all.take_large(MiB, 1);
    memory(large)[0] = std::byte{1};
    all.give_large(large.first);
    EXPECT_EQ(dirty(), 0U);
    EXPECT_EQ(all.purged(), MiB);
    const np::run again = all.take_large(MiB, 1);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_EQ(memory(again)[0], std::byte{0});
}

TEST_F(page_heap, keeps_little_when_most_is_free_for_more_than_a_moment)
{
    all.set_decay_ms(60000); // so that nothing becomes due in this test
    use_a_lot(20);
    EXPECT_LE(dirty(), 8 * MiB / np::slice_bytes);
}

TEST_F(page_heap, keeps_what_was_freed_a_moment_ago)
{
    all.set_decay_ms(60000);
    const np::run large = all.take_large(100 * MiB, 1);
    all.give_large(large.first);
    EXPECT_EQ(all.purged(), 0U);
    EXPECT_EQ(all.trim(), 100 * MiB);
}

TEST_F(page_heap, has_had_at_its_peak_all_that_is_reserved_also_where_a_clean_run_counts_as_dirty_with_its_neighbour)
{
    all.set_decay_ms(60000);
    const auto expect_peak = [this] { EXPECT_GE(all.figures().peak_reserved, all.figures().reserved); };
    const np::run to_be_clean = all.take_large(MiB, 1);
    const np::run neighbour = all.take_large(MiB / 4, 1);
    ASSERT_EQ(neighbour.first, to_be_clean.first + to_be_clean.length);
    all.give_large(to_be_clean.first);
    EXPECT_EQ(all.trim(), MiB);
    const np::run others = all.take_large(3 * MiB, 1);
    EXPECT_TRUE(all.resize_large(neighbour.first, MiB / 8));
    expect_peak();
    all.give_large(neighbour.first);
    EXPECT_EQ(dirty(), (MiB + MiB / 4) / np::slice_bytes);
    expect_peak();
    all.give_large(others.first);
    expect_peak();
}

TEST_F(page_heap, tries_again_later_when_the_system_takes_no_memory)
{
    all.set_decay_ms(0);
    const np::run large = all.take_large(MiB, 1);
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::advise, 1);
        all.give_large(large.first);
        EXPECT_EQ(all.trim(), 0U);
    }
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.trim(), MiB);
    EXPECT_EQ(dirty(), 0U);
}

TEST_F(page_heap, gives_back_what_the_system_takes_also_if_it_refuses_some)
{
    all.set_decay_ms(60000);
    std::vector<np::run> blocks(5);
    for (np::run& each : blocks)
        each = all.take_large(MiB, 1);
    for (const std::size_t number : {0U, 2U, 4U})
        all.give_large(blocks[number].first);
    const test::system_calls calls;
    calls.refuse(test::system_call::advise, 1);
    EXPECT_EQ(all.trim(), 2 * MiB);
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.trim(), MiB);
}

TEST_F(page_heap, trims_all_that_is_free)
{
    const np::run a = all.take_large(MiB, 1);
    const np::run b = all.take_large(MiB, 1);
    const np::run c = all.take_large(MiB, 1);
    all.give_large(a.first);
    all.give_large(c.first);
    EXPECT_EQ(all.trim(), 2 * MiB);
    EXPECT_EQ(all.trim(), 0U);
    all.give_large(b.first);
}

TEST_F(page_heap, gives_back_what_threads_were_about_to_give_back_that_are_not_there)
{
    const np::run a = all.take_large(MiB, 1);
    (void)all.take_large(MiB, 1);
    const np::run b = all.take_large(2 * MiB, 1);
    (void)all.take_large(MiB, 1);
    all.give_large(a.first);
    all.give_large(b.first);
    const auto begin_to_purge = [](auto& runs) {
        return runs.take_dirty_since(std::numeric_limits<std::uint64_t>::max());
    };
    EXPECT_EQ(all.with_runs(begin_to_purge).length, a.length);
    EXPECT_EQ(all.with_runs(begin_to_purge).length, b.length);
    all.finish_purges();
    EXPECT_EQ(all.purged(), 3 * MiB);
    EXPECT_EQ(all.figures().reserved, 2 * MiB);
    EXPECT_EQ(all.take_large(2 * MiB, 1).first, b.first);
}

TEST_F(page_heap, makes_large_blocks_longer_in_place_and_shorter_if_that_saves_a_quarter)
{
    const np::run large = all.take_large(8 * np::slice_bytes, 1);
    const auto length = [&] { return all.region().record(large.first).length; };
    EXPECT_TRUE(all.resize_large(large.first, 12 * np::slice_bytes));
    EXPECT_EQ(length(), 12U);
    EXPECT_EQ(tag(large.first + 11), np::inside_large_block);
    EXPECT_TRUE(all.resize_large(large.first, 9 * np::slice_bytes));
    EXPECT_EQ(length(), 12U) << "a quarter may be unused";
    EXPECT_TRUE(all.resize_large(large.first, 8 * np::slice_bytes));
    EXPECT_EQ(length(), 8U);
    EXPECT_EQ(tag(large.first + 8), np::no_owner);
    const np::run next = all.take_large(np::slice_bytes, 1);
    EXPECT_EQ(next.first, large.first + 8);
    EXPECT_FALSE(all.resize_large(large.first, 9 * np::slice_bytes)) << "something is in the way";
    EXPECT_FALSE(all.resize_large(large.first, ~std::size_t{0}));
}

TEST_F(page_heap, moves_the_memory_of_a_large_block_to_where_there_is_none_yet)
{
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const np::run moved = all.move_large(old.first, 3 * MiB);
    ASSERT_NE(moved.first, np::no_slice);
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
#if defined(__linux__)
    const np::run again = all.take_large(2 * MiB, 1);
    EXPECT_EQ(again.first, old.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_TRUE(is_filled(again, 2 * MiB, 0));
#endif
}

TEST_F(page_heap, copies_a_large_block_to_where_there_is_memory)
{
    const np::run dirty = all.take_large(3 * MiB, 1);
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    all.give_large(dirty.first);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    const np::run moved = all.move_large(old.first, 3 * MiB);
    EXPECT_EQ(moved.first, dirty.first);
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
    EXPECT_EQ(tag(old.first), np::no_owner);
}

TEST_F(page_heap, copies_a_large_block_if_the_system_cannot_move_it)
{
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    EXPECT_TRUE(is_filled(all.move_large(old.first, 3 * MiB), 2 * MiB, 0x5A));
}

TEST_F(page_heap, copies_a_large_block_of_several_mappings_as_it_might_move_in_part)
{
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 1, 2 * MiB);
    const np::run moved = all.move_large(old.first, 3 * MiB);
    ASSERT_TRUE(all.resize_large(moved.first, 5 * MiB)) << "what was moved, and what follows it";
    std::memset(memory(moved), 0x5A, 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.move_large(moved.first, 9 * MiB), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(page_heap, copies_a_large_block_where_two_were_used_that_the_system_was_told_different_things_about)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "mappings are others";
    const np::run first = take_behind_filled(4 * MiB);
    const np::run behind = all.take_large(MiB, 1);
    for (const np::run& each : {first, behind}) {
        std::memset(memory(each), 1, each.length * np::slice_bytes);
        all.give_large(each.first);
    }
    const np::run block = all.take_large(5 * MiB, 1);
    ASSERT_EQ(block.first, first.first);
    ASSERT_EQ(huge_pages(behind.first), huge_pages(first.first)) << "nothing tells them apart now";
    std::memset(memory(block), 0x5A, 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.move_large(block.first, 9 * MiB), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(page_heap, moves_what_was_moved_before)
{
    np::run block = all.take_large(2 * MiB, 1);
    std::memset(memory(block), 0x5A, 2 * MiB);
    for (std::size_t bytes = 3 * MiB; bytes <= 24 * MiB; bytes *= 2) {
        block = all.move_large(block.first, bytes);
        ASSERT_NE(block.first, np::no_slice);
        memory(block)[bytes - 1] = std::byte{1};
    }
    EXPECT_TRUE(is_filled(block, 2 * MiB, 0x5A));
    EXPECT_EQ(memory(block)[3 * MiB - 1], std::byte{1});
}

#if defined(__linux__)
TEST(page_heap_that_moves_often, leaves_the_program_most_of_the_mappings_that_it_may_have)
{
    constexpr std::size_t blocks = 12'000;
    np::page_heap all;
    ASSERT_TRUE(all.start(2 * blocks * 2 * np::slice_bytes));
    const test::system_calls calls;
    std::size_t held = 0;
    for (std::size_t i = 0; i != blocks; ++i) {
        const np::run old = all.take_large(np::slice_bytes, 1);
        *all.region().address(old.first) = std::byte{7};
        const np::run moved =
            all.move_large(old.first, 2 * np::slice_bytes); // It stays, so that the next goes elsewhere.
        held += moved.first != np::no_slice && *all.region().address(moved.first) == std::byte{7} ? 1U : 0U;
    }
    EXPECT_EQ(held, blocks);
    constexpr std::size_t mappings_of_all = 65'530;
    constexpr std::size_t mappings_of_each = 2; // Where the memory was before, the same is used again.
    EXPECT_LT(calls.made(test::system_call::move) * mappings_of_each, mappings_of_all / 3);
    EXPECT_GT(calls.made(test::system_call::move), 1000U);
    all.stop();
}
#endif

TEST_F(page_heap, asks_for_no_huge_pages_under_large_blocks_that_are_touched_here_and_there)
{
    const test::system_calls calls;
    for (int i = 0; i != 10; ++i) {
        const np::run large = all.take_large(16 * MiB, 1);
        for (const std::size_t place : {std::size_t{0}, 8 * MiB, 16 * MiB - 1})
            memory(large)[place] = std::byte{1};
        EXPECT_EQ(huge_pages(large.first), np::huge_page_use::untold);
    }
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(page_heap, asks_for_huge_pages_under_large_blocks_when_one_was_filled)
{
    const np::run large = take_behind_filled(5 * MiB);
    for (std::size_t slice = large.first; slice != large.first + large.length; ++slice)
        EXPECT_EQ(huge_pages(slice), np::huge_page_use::asked_for);
}

TEST_F(page_heap, asks_for_huge_pages_under_large_blocks_when_one_was_freed_that_was_filled)
{
    all.give_large(take_filled(5 * MiB).first);
    (void)all.trim();
    EXPECT_EQ(huge_pages(all.take_large(5 * MiB, 1).first), np::huge_page_use::asked_for);
}

TEST_F(page_heap, asks_for_no_more_huge_pages_when_one_turns_out_to_be_dear)
{
    test::first_touch_costs::set(20'000); // The cost of small faults.
    (void)take_filled(20 * MiB);
    test::first_touch_costs::set(20'000'000);
    const np::run tried = all.take_large(20 * MiB, 1);
    EXPECT_EQ(huge_pages(tried.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(tried.first + tried.length / 2), np::huge_page_use::refused);
    EXPECT_NE(huge_pages(all.take_large(20 * MiB, 1).first), np::huge_page_use::asked_for);
}

TEST_F(page_heap, tries_huge_pages_where_a_slab_enters_a_part)
{
    test::first_touch_costs::set(20'000);
    (void)all.take_slab(0, 128, false);
    test::first_touch_costs::set(20'000'000);
    while (huge_pages(all.take_slab(0, 128, true)) != np::huge_page_use::asked_for) {
    }
    (void)all.take_large(2 * MiB - np::guard_bytes, 1); // The next slab enters another part.
    EXPECT_EQ(huge_pages(all.take_slab(0, 128, true)), np::huge_page_use::untold);
}

TEST_F(page_heap, asks_for_huge_pages_when_a_block_has_become_so_large)
{
    const np::run block = take_filled(MiB);
    ASSERT_TRUE(all.resize_large(block.first, 5 * MiB));
    EXPECT_EQ(huge_pages(block.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(block.first + 5 * MiB / np::slice_bytes - 1), np::huge_page_use::asked_for);
}

TEST_F(page_heap, asks_for_no_huge_pages_if_they_are_not_wanted)
{
    const test::option_for_now unwanted(np_option_huge_pages, 0);
    const test::system_calls calls;
    const np::run block = take_behind_filled(5 * MiB);
    EXPECT_EQ(huge_pages(block.first), np::huge_page_use::untold);
    const np::slice_number slab = all.take_slab(0, 128, true);
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::untold);
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(page_heap, asks_for_huge_pages_under_a_slab_that_will_be_filled_if_it_is_the_first_there)
{
    const np::slice_number first = all.take_slab(0, 128, true);
    EXPECT_EQ(huge_pages(first), np::huge_page_use::asked_for);
    std::vector<np::slice_number> others;
    do
        others.push_back(all.take_slab(0, 128, false));
    while (others.back() % np::slices_of_huge_page != 0);
    EXPECT_EQ(huge_pages(first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(others.back()), np::huge_page_use::untold);
}

TEST_F(page_heap, refuses_huge_pages_where_memory_has_gone_back_between_others)
{
    all.set_decay_ms(0);
    const np::slice_number slab = all.take_slab(0, 128, true);
    all.purge_part_of_slab(slab, all.region().address(slab), 4096);
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::refused);
    const np::run large = take_behind_filled(6 * MiB);
    const np::run behind = all.take_large(MiB / 2, 1);
    const np::slice_number inside = large.first + 2 * np::slices_of_huge_page;
    const np::slice_number last = large.first + large.length - 1;
    all.give_large(large.first);
    EXPECT_EQ(huge_pages(large.first), np::huge_page_use::refused);
    EXPECT_EQ(huge_pages(inside), np::huge_page_use::asked_for) << "of that part, all has gone";
    EXPECT_EQ(huge_pages(last), np::huge_page_use::refused);
    all.give_large(behind.first);
}

TEST_F(page_heap, gives_back_what_a_huge_page_has_brought_behind_a_block_when_that_goes_back)
{
    const np::run all_clean = all.take_large(64 * MiB, 1);
    all.give_large(take_filled(3 * MiB).first);
    all.give_large(all_clean.first);
    (void)all.trim();
    const np::run block = all.take_large(3 * MiB, 1);
    std::byte& behind = *all.region().address(block.first + block.length);
    behind = std::byte{1}; // The system would write zeros.
    all.give_large(block.first);
    (void)all.trim();
    EXPECT_EQ(behind, huge_pages(block.first) == np::huge_page_use::untold ? std::byte{1} : std::byte{0});
}

TEST_F(page_heap, copies_a_large_block_where_the_system_was_told_otherwise_than_where_it_goes)
{
    const np::run old = all.take_large(MiB, 1);
    std::memset(memory(old), 0x5A, MiB);
    (void)all.take_large(MiB, 1); // The rest of that part.
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.move_large(old.first, 5 * MiB), MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(page_heap, does_not_know_of_huge_pages_where_it_was_refused_to_move_a_block)
{
    const np::run old = all.take_large(2 * MiB, 1);
    np::run moved;
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::move, 1);
        moved = all.move_large(old.first, 4 * MiB);
    }
    EXPECT_EQ(huge_pages(moved.first), np::huge_page_use::unknown);
}

#if defined(__linux__)
TEST_F(page_heap, moves_a_large_block_that_was_small_when_it_began_in_a_part_without_huge_pages)
{
    const np::slice_number slab = all.take_slab(0, 128, false);
    const np::run block = all.take_large(MiB, 1);
    ASSERT_TRUE(all.resize_large(block.first, 6 * MiB));
    std::memset(memory(block), 0x5A, 6 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.move_large(block.first, 9 * MiB), 6 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 1U);
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::asked_for);
}
#endif

TEST_F(page_heap, hands_out_no_addresses_that_were_lost_when_memory_should_have_moved_there)
{
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::move, 1);
        calls.refuse_from(test::system_call::map, 1);
        EXPECT_EQ(all.move_large(old.first, 3 * MiB).first, np::no_slice);
    }
    EXPECT_TRUE(is_filled(old, 2 * MiB, 0x5A));
    const np::run moved = all.move_large(old.first, 3 * MiB);
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
}

TEST_F(page_heap, leaves_a_large_block_as_it_is_if_there_is_no_room_for_a_larger_one)
{
    const np::run old = all.take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    EXPECT_EQ(all.move_large(old.first, 300 * MiB).first, np::no_slice);
    EXPECT_EQ(in_use(), 2 * MiB / np::slice_bytes);
    EXPECT_TRUE(is_filled(old, 2 * MiB, 0x5A));
}

TEST_F(page_heap, backs_off_from_eager_purges_when_memory_is_needed_again_soon)
{
    all.set_decay_ms(60000);
    use_a_lot(20);
    use_a_lot(20);
    const std::size_t purged = all.purged();
    EXPECT_NE(purged, 0U);
    use_a_lot(20);
    EXPECT_EQ(all.purged(), purged);
}

TEST_F(page_heap, knows_the_blocks_outside_of_the_region)
{
    EXPECT_EQ(all.direct_bytes(&all), 0U);
    EXPECT_FALSE(all.is_in_direct(&all));
    auto* const block = static_cast<std::byte*>(all.take_direct(MiB, 1));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(all.direct_bytes(block), MiB);
    EXPECT_FALSE(all.is_in_direct(block - 1));
    EXPECT_TRUE(all.is_in_direct(block));
    EXPECT_TRUE(all.is_in_direct(block + MiB - 1));
    EXPECT_FALSE(all.is_in_direct(block + MiB));
    all.give_direct(block);
    EXPECT_EQ(all.direct_bytes(block), 0U);
    EXPECT_FALSE(all.is_in_direct(block));
}

/// A page heap whose region grows on demand.
struct growing_page_heap : testing::Test
{
    np::page_heap all;

    growing_page_heap() { EXPECT_TRUE(all.start(std::size_t{256} << 20, true)); }
    ~growing_page_heap() override
    {
        EXPECT_TRUE(all.with_runs([](const auto& runs) { return runs.is_valid(); }));
        all.stop();
    }

    void SetUp() override
    {
#if MEMORY_POOL_TSAN
        GTEST_SKIP() << "ThreadSanitizer has no room for it";
#endif
    }

    std::size_t mebibytes() { return all.region().slices() * np::slice_bytes / MiB; }
};

TEST_F(growing_page_heap, gives_addresses_back_when_what_is_behind_them_has_been_free_for_a_while)
{
    EXPECT_LE(mebibytes(), 1U);
    const np::run small = all.take_large(MiB, 1);
    const np::run large = all.take_large(100 * MiB, 1);
    std::memset(all.region().address(large.first), 7, 100 * MiB);
    EXPECT_GE(mebibytes(), 101U);
    EXPECT_LE(mebibytes(), 108U);
    all.give_large(large.first);
    EXPECT_GE(all.trim(), 100 * MiB);
    EXPECT_LE(mebibytes(), 2U);
    const np::run again = all.take_large(100 * MiB, 1);
    EXPECT_EQ(again.first, large.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_EQ(*all.region().address(again.first), std::byte{0});
    all.give_large(small.first);
    all.trim();
    EXPECT_GE(mebibytes(), 101U) << "what is behind is in use";
    all.give_large(again.first);
    all.trim();
    EXPECT_LE(mebibytes(), 1U);
}

TEST_F(growing_page_heap, keeps_what_is_needed_again_soon)
{
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    std::size_t given_back = 0;
    for (int round = 0; round != 8; ++round) {
        const np::run small = all.take_large(MiB, 1);
        const np::run large = all.take_large(100 * MiB, 1);
        all.give_large(large.first);
        pause();
        all.give_large(small.first);
        given_back += mebibytes() < 50 ? 1U : 0U;
    }
    EXPECT_GE(given_back, 1U);
    EXPECT_LE(given_back, 3U) << "it was in vain";
    all.trim();
}
} // namespace
