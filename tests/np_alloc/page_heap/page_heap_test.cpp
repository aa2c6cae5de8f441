// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/page_heap.hpp>

#include <support/mappings.hpp>
#include <support/np_page_heap.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t MiB = std::size_t{1} << 20;

using page_heap = test::page_heap_fixture;

TEST_F(page_heap, tags_the_slices_of_large_blocks)
{
    const np::run large = all.large().take_large(3 * np::slice_bytes, 1);
    EXPECT_EQ(tag(large.first), np::large_block);
    EXPECT_EQ(tag(large.first + 1), np::inside_large_block);
    EXPECT_EQ(tag(large.first + 2), np::inside_large_block);
    all.large().give_large(large.first);
    for (np::slice_index slice = large.first; slice != large.first + 3; ++slice)
        EXPECT_EQ(tag(slice), np::no_owner);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(page_heap, keeps_freed_memory_for_the_decay_time)
{
    const np::run large = all.large().take_large(MiB, 1);
    all.large().give_large(large.first);
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.source().purged(), 0U);
}

TEST_F(page_heap, purges_memory_after_the_decay_time)
{
    all.source().decay.set_decay_ms(0);
    const np::run large = all.large().take_large(MiB, 1);
    memory(large)[0] = std::byte{1};
    all.large().give_large(large.first);
    EXPECT_EQ(dirty(), 0U);
    EXPECT_EQ(all.source().purged(), MiB);
    const np::run again = all.large().take_large(MiB, 1);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_EQ(memory(again)[0], std::byte{0});
}

TEST_F(page_heap, keeps_little_dirty_memory_when_most_stays_free)
{
    all.source().decay.set_decay_ms(60000); // nothing is due during this test
    use_a_lot();
    EXPECT_LE(dirty(), 8 * MiB / np::slice_bytes);
}

TEST_F(page_heap, keeps_freed_memory_while_as_much_is_in_use)
{
    all.source().decay.set_decay_ms(60000);
    const np::run in_use = all.large().take_large(100 * MiB, 1);
    const np::run large = all.large().take_large(100 * MiB, 1);
    all.large().give_large(large.first);
    EXPECT_EQ(all.source().purged(), 0U);
    EXPECT_EQ(all.source().trim(), 100 * MiB);
    all.large().give_large(in_use.first);
}

TEST_F(page_heap, purges_at_once_when_nearly_all_is_free_unless_reused)
{
    all.source().decay.set_decay_ms(60000);
    const auto use_and_free = [this] { all.large().give_large(all.large().take_large(150 * MiB, 1).first); };
    use_and_free();
    EXPECT_EQ(all.source().purged(), 150 * MiB);
    use_and_free();
    EXPECT_EQ(all.source().purged(), 150 * MiB);
    EXPECT_EQ(dirty(), 150 * MiB / np::slice_bytes);
}

TEST_F(page_heap, does_not_discard_the_fresh_gap_before_an_aligned_block)
{
    all.source().decay.set_decay_ms(np::run_decay::never_ms);
    (void)all.large().take_large(MiB, 1);
    const np::run block = all.large().take_large(MiB, 64 * MiB);
    ASSERT_NE(block.first, np::no_slice);
    EXPECT_NE(huge_pages(block.first - np::slices_of_huge_page), np::huge_page_use::discarded);
    all.source().decay.set_decay_ms(60'000);
    EXPECT_FALSE(all.source().purge_old(1));
}

TEST_F(page_heap, includes_clean_runs_merged_with_dirty_ones_in_the_peak)
{
    all.source().decay.set_decay_ms(60000);
    const auto expect_peak = [this] { EXPECT_GE(all.statistics().peak_reserved, all.statistics().reserved); };
    const np::run to_be_clean = all.large().take_large(MiB, 1);
    const np::run neighbour = all.large().take_large(MiB / 4, 1);
    ASSERT_EQ(neighbour.first, to_be_clean.first + to_be_clean.length);
    all.large().give_large(to_be_clean.first);
    EXPECT_EQ(all.source().trim(), MiB);
    const np::run others = all.large().take_large(3 * MiB, 1);
    EXPECT_TRUE(all.large().resize_large(neighbour.first, MiB / 8));
    expect_peak();
    all.large().give_large(neighbour.first);
    EXPECT_EQ(dirty(), (MiB + MiB / 4) / np::slice_bytes);
    expect_peak();
    all.large().give_large(others.first);
    expect_peak();
}

TEST_F(page_heap, retries_a_failed_purge)
{
    all.source().decay.set_decay_ms(0);
    const np::run large = all.large().take_large(MiB, 1);
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::advise, 1);
        all.large().give_large(large.first);
        EXPECT_EQ(all.source().trim(), 0U);
    }
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.source().trim(), MiB);
    EXPECT_EQ(dirty(), 0U);
}

TEST_F(page_heap, goes_on_trimming_after_a_failed_purge)
{
    all.source().decay.set_decay_ms(60000);
    std::vector<np::run> blocks(5);
    for (np::run& each : blocks)
        each = all.large().take_large(MiB, 1);
    for (const std::size_t number : {0U, 2U, 4U})
        all.large().give_large(blocks[number].first);
    const test::system_calls calls;
    calls.refuse(test::system_call::advise, 1);
    EXPECT_EQ(all.source().trim(), 2 * MiB);
    EXPECT_EQ(dirty(), MiB / np::slice_bytes);
    EXPECT_EQ(all.source().trim(), MiB);
}

TEST_F(page_heap, trims_all_free_runs)
{
    const np::run a = all.large().take_large(MiB, 1);
    const np::run b = all.large().take_large(MiB, 1);
    const np::run c = all.large().take_large(MiB, 1);
    all.large().give_large(a.first);
    all.large().give_large(c.first);
    EXPECT_EQ(all.source().trim(), 2 * MiB);
    EXPECT_EQ(all.source().trim(), 0U);
    all.large().give_large(b.first);
}

TEST_F(page_heap, finishes_the_purges_of_lost_threads)
{
    const np::run a = all.large().take_large(MiB, 1);
    (void)all.large().take_large(MiB, 1);
    const np::run b = all.large().take_large(2 * MiB, 1);
    (void)all.large().take_large(MiB, 1);
    all.large().give_large(a.first);
    all.large().give_large(b.first);
    const auto begin_to_purge = [](auto& runs) {
        return runs.take_dirty_since(std::numeric_limits<std::uint64_t>::max());
    };
    EXPECT_EQ(all.source().with_runs(begin_to_purge).length, a.length);
    EXPECT_EQ(all.source().with_runs(begin_to_purge).length, b.length);
    all.source().finish_purges();
    EXPECT_EQ(all.source().purged(), 3 * MiB);
    EXPECT_EQ(all.statistics().reserved, 2 * MiB);
    EXPECT_EQ(all.large().take_large(2 * MiB, 1).first, b.first);
}

TEST_F(page_heap, discards_trimmed_parts_and_commits_them_again)
{
    const np::run before = take_filled(MiB);
    const np::run block = take_filled(20 * MiB);
    (void)take_filled(MiB);
    const np::run behind = take_filled(MiB);
    all.large().give_large(block.first);
    EXPECT_EQ(all.source().trim(), 20 * MiB);
    EXPECT_EQ(huge_pages(block.first + block.length / 2), np::huge_page_use::discarded);
    EXPECT_EQ(huge_pages(np::slice_at(all.region().committed() - np::slices_of_huge_page)),
              np::huge_page_use::discarded)
        << "memory committed ahead";
    EXPECT_EQ(all.statistics().reserved, 3 * MiB);
    const np::run slab_like = all.large().take_large(100'000, 1);
    ASSERT_TRUE(is_filled(slab_like, 100'000, 0));
    const np::run again = take_filled(15 * MiB);
    EXPECT_TRUE(is_filled(again, 15 * MiB, 1));
    EXPECT_TRUE(all.large().resize_large(behind.first, 40 * MiB)) << "into memory committed ahead";
    std::memset(memory(behind) + MiB, 2, 39 * MiB);
    EXPECT_TRUE(is_filled(before, MiB, 1));
}

TEST_F(page_heap, discards_runs_that_stay_clean_for_a_decay_time)
{
    const np::run block = take_filled(20 * MiB);
    (void)take_filled(MiB);
    give_and_purge(block);
    all.source().decay.set_decay_ms(60'000);
    EXPECT_FALSE(all.source().purge_old(1));
    EXPECT_NE(huge_pages(block.first + block.length / 2), np::huge_page_use::discarded);
    all.source().decay.set_decay_ms(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_TRUE(all.source().purge_old(1));
    EXPECT_EQ(huge_pages(block.first + block.length / 2), np::huge_page_use::discarded);
    EXPECT_FALSE(all.source().purge_old(1));
}

TEST_F(page_heap, survives_a_failed_commit_of_discarded_parts)
{
    const np::run first = take_filled(MiB);
    const np::run block = take_filled(20 * MiB);
    (void)take_filled(MiB);
    all.large().give_large(block.first);
    (void)all.source().trim();
    const std::size_t before = in_use();
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::protect, 1);
        EXPECT_EQ(all.large().take_large(10 * MiB, 1).first, np::no_slice);
        EXPECT_FALSE(all.large().resize_large(first.first, 10 * MiB));
        EXPECT_EQ(in_use(), before);
    }
    EXPECT_TRUE(all.large().resize_large(first.first, 10 * MiB));
    std::memset(memory(first), 2, 10 * MiB);
}

TEST_F(page_heap, finishes_the_discards_of_lost_threads)
{
    const np::run block = take_filled(20 * MiB);
    (void)take_filled(MiB);
    give_and_purge(block);
    const auto begin_to_discard = [](auto& runs) { return runs.take_clean_since(runs.never); };
    EXPECT_EQ(all.source().with_runs(begin_to_discard).first, block.first);
    EXPECT_EQ(all.statistics().reserved, MiB) << "the discarded run does not count";
    all.source().finish_purges();
    const np::run again = take_filled(20 * MiB);
    EXPECT_EQ(again.first, block.first);
}

#if defined(__linux__)
TEST_F(page_heap, counts_as_committed_data_until_trimmed)
{
    test::system_calls calls;
    calls.commit_all_memory();
    np::page_heap other;
    ASSERT_TRUE(other.source().start(std::size_t{256} << 20));
    const std::size_t data = test::data_bytes();
    const std::size_t promised = test::bytes_with_flag("ac");
    const np::run block = other.large().take_large(200 * MiB, 1);
    std::memset(other.region().address(block.first), 1, 200 * MiB);
    EXPECT_GE(test::data_bytes() - data, 200 * MiB);
    EXPECT_GE(test::bytes_with_flag("ac") - promised, 200 * MiB);
    other.large().give_large(block.first);
    (void)other.source().trim();
    EXPECT_LE(test::data_bytes(), data + 10 * MiB);
    EXPECT_LE(test::bytes_with_flag("ac"), promised + 10 * MiB);
    other.source().stop();
}
#endif

TEST_F(page_heap, tries_huge_pages_for_the_first_slab_of_a_part)
{
    test::first_touch_costs::set(20'000);
    (void)all.take_slab(0, 128, false);
    test::first_touch_costs::set(20'000'000);
    for (int tried = 0; tried != 3; ++tried) {
        while (huge_pages(all.take_slab(0, 128, true).first) != np::huge_page_use::asked_for) {
        }
        (void)all.large().take_large(2 * MiB - np::guard_bytes, 1); // the next slab enters another part
    }
    EXPECT_EQ(huge_pages(all.take_slab(0, 128, true).first), np::huge_page_use::untold);
}

TEST_F(page_heap, requests_no_huge_pages_if_disabled)
{
    const test::option_for_now unwanted(np_option_huge_pages, 0);
    const test::system_calls calls;
    const np::run block = take_after_filled(5 * MiB);
    EXPECT_EQ(huge_pages(block.first), np::huge_page_use::untold);
    const np::slice_index slab = all.take_slab(0, 128, true).first;
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::untold);
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(page_heap, requests_huge_pages_for_a_dense_slab_that_is_first_in_its_part)
{
    const np::slice_index first = all.take_slab(0, 128, true).first;
    EXPECT_EQ(huge_pages(first), np::huge_page_use::asked_for);
    std::vector<np::slice_index> others;
    do
        others.push_back(all.take_slab(0, 128, false).first);
    while (np::position(others.back()) % np::slices_of_huge_page != 0);
    EXPECT_EQ(huge_pages(first), np::huge_page_use::asked_for);
    EXPECT_EQ(huge_pages(others.back()), np::huge_page_use::untold);
}

TEST_F(page_heap, refuses_huge_pages_in_partly_purged_parts)
{
    all.source().decay.set_decay_ms(0);
    const np::slice_index slab = all.take_slab(0, 128, true).first;
    all.lose_memory_of_slab(slab);
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::refused);
    const np::run large = take_after_filled(6 * MiB);
    const np::run behind = all.large().take_large(MiB / 2, 1);
    const np::slice_index inside = large.first + 2 * np::slices_of_huge_page;
    const np::slice_index last = large.first + large.length - 1;
    all.large().give_large(large.first);
    EXPECT_EQ(huge_pages(large.first), np::huge_page_use::refused);
    EXPECT_EQ(huge_pages(inside), np::huge_page_use::asked_for) << "this part is purged completely";
    EXPECT_EQ(huge_pages(last), np::huge_page_use::refused);
    all.large().give_large(behind.first);
}

#if defined(__linux__)
TEST_F(page_heap, moves_a_block_that_began_small_in_a_part_without_huge_pages)
{
    const np::slice_index slab = all.take_slab(0, 128, false).first;
    const np::run block = all.large().take_large(MiB, 1);
    ASSERT_TRUE(all.large().resize_large(block.first, 6 * MiB));
    std::memset(memory(block), 0x5A, 6 * MiB);
    const test::system_calls calls;
    EXPECT_TRUE(is_filled(all.large().move_large(block.first, 9 * MiB, [] {}), 6 * MiB, 0x5A));
    EXPECT_EQ(calls.made(test::system_call::move), 1U);
    EXPECT_EQ(huge_pages(slab), np::huge_page_use::asked_for);
}
#endif

TEST_F(page_heap, stops_eager_purges_when_memory_is_reused_soon)
{
    all.source().decay.set_decay_ms(60000);
    use_a_lot();
    use_a_lot();
    const std::size_t purged = all.source().purged();
    EXPECT_NE(purged, 0U);
    use_a_lot();
    EXPECT_EQ(all.source().purged(), purged);
}

TEST_F(page_heap, finds_the_blocks_outside_of_the_region)
{
    EXPECT_EQ(all.mmap_bytes(&all), 0U);
    EXPECT_FALSE(all.is_in_mmap_block(&all));
    auto* const block = static_cast<std::byte*>(all.take_mmap_block(MiB, 1));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(all.mmap_bytes(block), MiB);
    EXPECT_FALSE(all.is_in_mmap_block(block - 1));
    EXPECT_TRUE(all.is_in_mmap_block(block));
    EXPECT_TRUE(all.is_in_mmap_block(block + MiB - 1));
    EXPECT_FALSE(all.is_in_mmap_block(block + MiB));
    all.give_mmap_block(block);
    EXPECT_EQ(all.mmap_bytes(block), 0U);
    EXPECT_FALSE(all.is_in_mmap_block(block));
}

/// A page heap whose region grows on demand.
struct growing_page_heap : testing::Test
{
    np::page_heap all;

    growing_page_heap() { EXPECT_TRUE(all.source().start(std::size_t{256} << 20, true)); }
    ~growing_page_heap() override
    {
        EXPECT_TRUE(all.source().with_runs([](const auto& runs) { return runs.is_valid(); }));
        all.source().stop();
    }

    void SetUp() override
    {
#if MEMORY_POOL_TSAN
        GTEST_SKIP() << "ThreadSanitizer leaves too few addresses";
#endif
    }

    std::size_t mebibytes() { return all.region().slices() * np::slice_bytes / MiB; }
};

TEST_F(growing_page_heap, releases_free_addresses_at_its_end)
{
    EXPECT_LE(mebibytes(), 1U);
    const np::run small = all.large().take_large(MiB, 1);
    const np::run large = all.large().take_large(100 * MiB, 1);
    std::memset(all.region().address(large.first), 7, 100 * MiB);
    EXPECT_GE(mebibytes(), 101U);
    EXPECT_LE(mebibytes(), 108U);
    all.large().give_large(large.first);
    (void)all.source().trim();
    EXPECT_LE(mebibytes(), 2U);
    const np::run again = all.large().take_large(100 * MiB, 1);
    EXPECT_EQ(again.first, large.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_EQ(*all.region().address(again.first), std::byte{0});
    all.large().give_large(small.first);
    all.source().trim();
    EXPECT_GE(mebibytes(), 101U) << "the last block is in use";
    all.large().give_large(again.first);
    all.source().trim();
    EXPECT_LE(mebibytes(), 1U);
}

TEST_F(growing_page_heap, keeps_addresses_that_are_reused_soon)
{
    const auto go_on = [this] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
        while (std::chrono::steady_clock::now() < end)
            all.large().give_large(all.large().take_large(MiB, 1).first);
    };
    std::size_t given_back = 0;
    for (int round = 0; round != 8; ++round) {
        const np::run hole = all.large().take_large(MiB, 1);
        const np::run small = all.large().take_large(MiB, 1);
        const np::run large = all.large().take_large(100 * MiB, 1);
        all.large().give_large(hole.first);
        all.large().give_large(large.first);
        go_on(); // allocates in the hole
        all.large().give_large(small.first);
        given_back += mebibytes() < 50 ? 1U : 0U;
    }
    EXPECT_GE(given_back, 1U);
    EXPECT_LE(given_back, 3U) << "releasing was in vain, so it backs off";
    all.source().trim();
}
} // namespace
