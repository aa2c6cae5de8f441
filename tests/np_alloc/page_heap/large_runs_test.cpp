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

TEST_F(large_runs, grow_in_place_and_shrink_to_save_a_quarter)
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
    EXPECT_FALSE(all.large().resize_large(large.first, 9 * np::slice_bytes)) << "the next slice is in use";
    EXPECT_FALSE(all.large().resize_large(large.first, ~std::size_t{0}));
}

TEST_F(large_runs, purge_a_large_unused_tail_of_a_reused_run)
{
    namespace os = memory_pool::detail::os;
    if (np::is_checked || os::page_size() != 4096)
        GTEST_SKIP() << "checked free blocks have known contents";
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
    EXPECT_EQ(calls.made(test::system_call::advise), 0U) << "the tails are known to be clean";
}

TEST_F(large_runs, move_the_pages_of_a_block_to_untouched_addresses)
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

TEST_F(large_runs, purge_an_unused_tail_that_a_longer_block_dirtied)
{
    if (np::is_checked || memory_pool::detail::os::page_size() != 4096)
        GTEST_SKIP() << "checked free blocks have known contents";
    constexpr std::size_t short_bytes = 72 * 1024; // two slices
    all.source().decay.set_decay_ms(np::run_decay::never_ms);
    const auto use = [this](std::size_t count, std::size_t bytes) {
        std::vector<np::run> blocks(count);
        for (np::run& each : blocks)
            each = take_filled(bytes);
        for (const np::run& each : blocks)
            all.large().give_large(each.first);
    };
    use(600, short_bytes); // in untouched memory, so the tails are clean
    use(400, 3 * np::slice_bytes);
    const test::system_calls calls;
    use(600, short_bytes);
    EXPECT_GT(calls.made(test::system_call::advise), 300U);
}

#if defined(__linux__)
TEST_F(large_runs, can_be_taken_while_another_moves)
{
    static np::page_heap* shared = nullptr;
    static np::run taken;
    shared = &all;
    taken = {};
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const test::system_calls calls;
    // If the move held the lock, this reentrant call would end the process.
    calls.call_during_moves([] { taken = shared->large().take_large(2 * MiB, 1); });
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 3 * MiB, [] {}), 2 * MiB, 0x5A));
    ASSERT_NE(taken.first, np::no_slice);
    EXPECT_TRUE(is_filled(taken, 2 * MiB, 0));
}
#endif

TEST_F(large_runs, copy_a_block_to_dirty_addresses)
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

TEST_F(large_runs, copy_a_block_if_the_system_cannot_move_pages)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 3 * MiB, [] {}), 2 * MiB, 0x5A));
}

TEST_F(large_runs, copy_a_block_of_several_mappings)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 1, 2 * MiB);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    ASSERT_TRUE(all.large().resize_large(moved.first, 5 * MiB)) << "a moved mapping and the one behind it";
    std::memset(memory(moved), 0x5A, 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(moved.first, 9 * MiB, [] {}), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(large_runs, move_a_reused_block_only_if_it_is_one_mapping)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "an emulator has other mappings";
    const np::run first = take_after_filled(4 * MiB);
    const np::run behind = all.large().take_large(MiB, 1);
    for (const np::run& each : {first, behind}) {
        std::memset(memory(each), 1, each.length * np::slice_bytes);
        all.large().give_large(each.first);
    }
    const np::run block = all.large().take_large(5 * MiB, 1);
    ASSERT_EQ(block.first, first.first);
    ASSERT_EQ(huge_pages(behind.first), huge_pages(first.first)) << "equal advice now";
    std::memset(memory(block), 0x5A, 5 * MiB);
    // Linux rarely merges populated mappings whose advice has become equal, but may have merged these.
    const bool is_one = memory_pool::detail::os::are_one_mapping(memory(block), 5 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(block.first, 9 * MiB, [] {}), 5 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), is_one ? 1U : 0U);
}

TEST_F(large_runs, can_be_moved_repeatedly)
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
TEST(large_runs_that_move_often, limit_the_mappings_that_moves_split)
{
    constexpr std::size_t blocks = 12'000;
    np::page_heap all;
    ASSERT_TRUE(all.source().start(2 * blocks * 2 * np::slice_bytes));
    const test::system_calls calls;
    std::size_t held = 0;
    for (std::size_t i = 0; i != blocks; ++i) {
        const np::run old = all.large().take_large(np::slice_bytes, 1);
        *all.region().address(old.first) = std::byte{7};
        const np::run moved = all.large().move_large(old.first, 2 * np::slice_bytes, [] {}); // stays allocated
        held += moved.first != np::no_slice && *all.region().address(moved.first) == std::byte{7} ? 1U : 0U;
    }
    EXPECT_EQ(held, blocks);
    constexpr std::size_t mappings_of_all = 65'530;
    constexpr std::size_t mappings_of_each = 2; // the old addresses are reused
    EXPECT_LT(calls.made(test::system_call::move) * mappings_of_each, mappings_of_all / 3);
    EXPECT_GT(calls.made(test::system_call::move), 1000U);
    all.source().stop();
}
#endif

TEST_F(large_runs, request_no_huge_pages_for_sparse_blocks)
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

TEST_F(large_runs, request_huge_pages_after_a_dense_block)
{
    const np::run large = take_after_filled(5 * MiB);
    for (np::slice_index slice = large.first; slice != large.first + large.length; ++slice)
        EXPECT_EQ(huge_pages(slice), np::huge_page_use::asked_for);
}

TEST_F(large_runs, stop_requesting_huge_pages_when_one_is_expensive)
{
    test::first_touch_costs::set(20'000); // the cost of small faults
    const np::run filled = take_filled(20 * MiB);
    test::first_touch_costs::set(20'000'000);
    all.large().give_large(filled.first);
    (void)all.source().trim();
    const np::run tried = all.large().take_large(20 * MiB, 1);
    EXPECT_EQ(huge_pages(tried.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(tried.first + tried.length / 2), np::huge_page_use::refused);
    EXPECT_NE(huge_pages(all.large().take_large(20 * MiB, 1).first), np::huge_page_use::asked_for);
}

TEST_F(large_runs, request_huge_pages_for_a_grown_block)
{
    const np::run block = take_filled(MiB);
    ASSERT_TRUE(all.large().resize_large(block.first, 5 * MiB));
    EXPECT_EQ(huge_pages(block.first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(block.first + 5 * MiB / np::slice_bytes - 1), np::huge_page_use::asked_for);
}

TEST_F(large_runs, purge_the_rest_of_a_huge_page_behind_a_freed_block)
{
    const np::run all_clean = all.large().take_large(64 * MiB, 1);
    all.large().give_large(take_filled(3 * MiB).first);
    all.large().give_large(all_clean.first);
    (void)all.source().trim();
    const np::run block = all.large().take_large(3 * MiB, 1);
    std::byte& behind = *all.region().address(block.first + block.length);
    behind = std::byte{1}; // the system would fault in zeros
    give_and_purge(block);
    EXPECT_EQ(behind, huge_pages(block.first) == np::huge_page_use::untold ? std::byte{1} : std::byte{0});
}

TEST_F(large_runs, copy_a_block_between_places_with_different_advice)
{
    const np::run old = all.large().take_large(MiB, 1);
    std::memset(memory(old), 0x5A, MiB);
    (void)all.large().take_large(MiB, 1); // fills the part
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(old.first, 5 * MiB, [] {}), MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 0U);
}

TEST_F(large_runs, forget_the_advice_where_a_move_failed)
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

TEST_F(large_runs, do_not_reuse_addresses_lost_in_a_failed_move)
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
    EXPECT_EQ(all.statistics().large_blocks, 1U) << "the lost addresses count as a block";
    EXPECT_EQ(all.statistics().large, 2 * MiB);
    const np::run moved = all.large().move_large(old.first, 3 * MiB, [] {});
    EXPECT_TRUE(is_filled(moved, 2 * MiB, 0x5A));
}

TEST_F(large_runs, keep_a_block_that_cannot_grow)
{
    const np::run old = all.large().take_large(2 * MiB, 1);
    std::memset(memory(old), 0x5A, 2 * MiB);
    EXPECT_EQ(all.large().move_large(old.first, 300 * MiB, [] {}).first, np::no_slice);
    EXPECT_EQ(in_use(), 2 * MiB / np::slice_bytes);
    EXPECT_TRUE(is_filled(old, 2 * MiB, 0x5A));
}
} // namespace
