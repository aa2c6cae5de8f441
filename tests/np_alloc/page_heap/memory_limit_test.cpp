// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/memory_limit.hpp>

#include <memory_pool/os/pages.hpp>
#include <np_alloc/page_heap/page_heap.hpp>

#include <support/np_page_heap.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;

namespace {
/// A page heap with limits in slices.
struct memory_limit : test::page_heap_fixture
{
    void limit_bytes(std::size_t hard, std::size_t soft = 0)
    {
        all.source().with_limit([=](np::memory_limit& limit, std::size_t reserved) {
            limit.set(hard, soft);
            limit.note(reserved);
        });
    }
    void limit_slices(std::size_t hard, std::size_t soft = 0)
    {
        limit_bytes(hard * np::slice_bytes, soft * np::slice_bytes);
    }
    np::run take(std::size_t slices, std::size_t alignment = 1)
    {
        return all.large().take_large(slices * np::slice_bytes, alignment * np::slice_bytes);
    }
    bool takes(std::size_t slices, std::size_t alignment = 1) { return take(slices, alignment).first != np::no_slice; }
    std::size_t reserved() { return all.statistics().reserved; }
    std::size_t reserved_slices() { return reserved() / np::slice_bytes; }
    bool has_crossed() { return all.source().limit().take_crossing(); }
};

TEST_F(memory_limit, is_off_by_default)
{
    EXPECT_TRUE(takes(1000));
    EXPECT_EQ(all.source().limit().refusals(), 0U);
    EXPECT_FALSE(has_crossed());
}

TEST_F(memory_limit, is_reached_but_not_exceeded)
{
    limit_slices(8);
    const np::run five = take(5);
    EXPECT_TRUE(takes(3));
    EXPECT_EQ(reserved_slices(), 8U);
    EXPECT_FALSE(takes(1));
    EXPECT_EQ(all.source().limit().refusals(), 1U);
    EXPECT_EQ(reserved_slices(), 8U);
    EXPECT_EQ(all.statistics().peak_reserved, 8 * np::slice_bytes);
    all.large().give_large(five.first);
    EXPECT_FALSE(takes(6));
    EXPECT_TRUE(takes(5));
    EXPECT_EQ(reserved_slices(), 8U);
    limit_slices(0);
    EXPECT_TRUE(takes(6));
}

TEST_F(memory_limit, is_exact_to_the_byte)
{
    limit_bytes(4 * np::slice_bytes - 1);
    EXPECT_FALSE(takes(4));
    EXPECT_TRUE(takes(3));
    EXPECT_FALSE(takes(1));
    limit_bytes(4 * np::slice_bytes);
    EXPECT_TRUE(takes(1));
}

TEST_F(memory_limit, does_not_count_refusals_of_impossible_sizes)
{
    limit_slices(4);
    EXPECT_FALSE(takes(5));
    EXPECT_EQ(all.source().limit().refusals(), 0U);
}

TEST_F(memory_limit, refuses_while_it_is_already_exceeded)
{
    const np::run four = take(4);
    (void)take(4);
    limit_slices(6);
    EXPECT_FALSE(takes(1));
    all.large().give_large(four.first);
    EXPECT_TRUE(takes(2)) << "the free run is purged";
    EXPECT_EQ(reserved_slices(), 6U);
}

TEST_F(memory_limit, purges_free_runs_that_are_too_short)
{
    limit_slices(6);
    const np::run first = take(2);
    (void)take(1);
    const np::run second = take(2);
    (void)take(1);
    all.large().give_large(first.first);
    all.large().give_large(second.first);
    EXPECT_EQ(dirty(), 4U);
    EXPECT_TRUE(takes(4));
    EXPECT_EQ(dirty(), 0U);
    EXPECT_EQ(reserved_slices(), 6U);
    EXPECT_EQ(all.source().purged(), 4 * np::slice_bytes);
}

TEST_F(memory_limit, reuses_a_fitting_free_run_without_a_purge)
{
    limit_slices(8);
    const np::run run = take(8);
    all.large().give_large(run.first);
    const np::run again = take(8);
    EXPECT_EQ(again.first, run.first);
    EXPECT_FALSE(again.is_zeroed) << "still dirty";
    EXPECT_EQ(all.source().purged(), 0U);
    EXPECT_EQ(all.source().limit().refusals(), 0U);
}

TEST_F(memory_limit, holds_when_blocks_grow)
{
    limit_slices(8);
    const np::run block = take(4);
    EXPECT_FALSE(all.large().resize_large(block.first, 9 * np::slice_bytes));
    EXPECT_EQ(reserved_slices(), 4U);
    EXPECT_TRUE(all.large().resize_large(block.first, 8 * np::slice_bytes));
    EXPECT_EQ(reserved_slices(), 8U);
    EXPECT_FALSE(all.large().resize_large(block.first, 9 * np::slice_bytes));
    EXPECT_TRUE(all.large().resize_large(block.first, 4 * np::slice_bytes));
    EXPECT_EQ(dirty(), 4U);
    EXPECT_TRUE(all.large().resize_large(block.first, 8 * np::slice_bytes)) << "uses the remaining budget";
    EXPECT_EQ(all.source().purged(), 0U);
}

TEST_F(memory_limit, holds_when_blocks_move)
{
    limit_slices(30);
    const np::run block = take(10);
    EXPECT_EQ(all.large().move_large(block.first, 21 * np::slice_bytes, [] {}).first, np::no_slice)
        << "both blocks exist during the move";
    EXPECT_EQ(reserved_slices(), 10U);
    EXPECT_NE(all.large().move_large(block.first, 20 * np::slice_bytes, [] {}).first, np::no_slice);
    EXPECT_LE(all.statistics().peak_reserved, 30 * np::slice_bytes);
}

TEST_F(memory_limit, holds_for_aligned_blocks)
{
    limit_slices(16);
    const np::run last = take(5);
    all.large().give_large(last.first);
    for (const std::size_t alignment : {std::size_t{8}, std::size_t{64}, std::size_t{256}})
        EXPECT_TRUE(takes(4, alignment)) << alignment;
    EXPECT_FALSE(takes(5, 8));
    EXPECT_LE(all.statistics().peak_reserved, 16 * np::slice_bytes);
    EXPECT_TRUE(takes(4, 8));
    EXPECT_EQ(reserved_slices(), 16U);
}

TEST_F(memory_limit, holds_for_slabs)
{
    const np::slice_index first = all.take_slab(0, 128, false).first;
    const std::size_t slab = reserved();
    limit_bytes(2 * slab);
    EXPECT_NE(all.take_slab(0, 128, false).first, np::no_slice);
    EXPECT_EQ(all.take_slab(0, 128, false).first, np::no_slice);
    all.give_slab(first);
    EXPECT_NE(all.take_slab(0, 128, true).first, np::no_slice);
    EXPECT_EQ(reserved(), 2 * slab);
}

TEST_F(memory_limit, holds_outside_of_the_region)
{
    const std::size_t page = memory_pool::detail::os::page_size();
    limit_bytes(3 * page);
    void* const one = all.take_mmap_block(1, 1);
    EXPECT_NE(one, nullptr);
    EXPECT_EQ(all.take_mmap_block(2 * page + 1, 1), nullptr);
    EXPECT_NE(all.take_mmap_block(2 * page, 1), nullptr);
    EXPECT_EQ(all.take_mmap_block(1, 1), nullptr);
    EXPECT_EQ(reserved(), 3 * page);
    all.give_mmap_block(one);
    EXPECT_NE(all.take_mmap_block(1, 1), nullptr);
}

TEST_F(memory_limit, holds_for_samples)
{
    limit_bytes(160);
    EXPECT_NE(all.take_guarded(112), nullptr);
    EXPECT_EQ(all.take_guarded(64), nullptr);
    EXPECT_NE(all.take_guarded(48), nullptr);
    EXPECT_EQ(reserved(), 160U);
}

TEST_F(memory_limit, refuses_if_the_system_cannot_purge)
{
    test::system_calls calls;
    limit_slices(4);
    const np::run four = take(4);
    all.large().give_large(four.first);
    calls.refuse_from(test::system_call::advise, 1);
    calls.refuse_from(test::system_call::map, 1);
    limit_slices(3);
    EXPECT_FALSE(takes(2));
    EXPECT_EQ(all.source().limit().refusals(), 1U);
    EXPECT_EQ(reserved_slices(), 4U);
}

TEST_F(memory_limit, waits_for_purges_of_other_threads)
{
    constexpr std::size_t threads = 4;
    constexpr std::size_t each_has = 64;
    limit_slices(threads * each_has);
    std::atomic<std::size_t> refused{0};
    test::in_threads(threads, [&](std::size_t thread) {
        for (std::size_t round = 0; round != 200; ++round) {
            const np::run taken = take(1 + (7 * round + 16 * thread) % each_has);
            if (taken.first == np::no_slice) {
                ++refused;
                continue;
            }
            std::memset(memory(taken), 1, taken.length * np::slice_bytes); // makes the purge slow
            all.large().give_large(taken.first);
        }
    });
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(memory_limit, is_reached_but_not_exceeded_by_many_threads)
{
    constexpr std::size_t most = 50;
    limit_slices(most);
    std::atomic<std::size_t> taken{0};
    test::in_threads(4, [&](std::size_t thread) {
        for (std::size_t round = 0; round != 200; ++round) {
            const np::run first = take(1 + thread);
            EXPECT_LE(in_use(), most);
            if (round % 2 == 0 && first.first != np::no_slice)
                all.large().give_large(first.first);
        }
        while (takes(1))
            ++taken;
    });
    EXPECT_EQ(in_use(), most);
    EXPECT_EQ(reserved_slices(), most);
}

TEST_F(memory_limit, reports_a_soft_crossing_once_until_it_falls_below)
{
    limit_slices(0, 8);
    (void)take(4);
    const np::run four = take(4);
    EXPECT_FALSE(has_crossed()) << "at the limit";
    const np::run one = take(1);
    EXPECT_TRUE(has_crossed());
    EXPECT_FALSE(has_crossed()) << "reported once";
    (void)take(1);
    EXPECT_FALSE(has_crossed()) << "already above";
    all.large().give_large(four.first);
    all.large().give_large(one.first);
    EXPECT_EQ(all.source().trim(), 5 * np::slice_bytes);
    (void)take(3);
    EXPECT_FALSE(has_crossed());
    (void)take(1);
    EXPECT_TRUE(has_crossed());
}

TEST_F(memory_limit, reports_a_soft_crossing_by_each_kind_of_memory)
{
    limit_slices(0, 8);
    const np::run eight = take(8);
    EXPECT_TRUE(all.large().resize_large(eight.first, 9 * np::slice_bytes));
    EXPECT_TRUE(has_crossed());
    all.large().give_large(eight.first);
    (void)all.source().trim();
    (void)take(8);
    void* const outside = all.take_mmap_block(1, 1);
    EXPECT_TRUE(has_crossed());
    all.give_mmap_block(outside);
    EXPECT_FALSE(has_crossed());
    (void)all.take_guarded(16);
    EXPECT_TRUE(has_crossed());
}

TEST_F(memory_limit, reports_a_soft_crossing_when_it_is_lowered)
{
    (void)take(4);
    limit_slices(0, 4);
    EXPECT_FALSE(has_crossed());
    limit_bytes(0, 4 * np::slice_bytes - 1);
    EXPECT_TRUE(has_crossed());
    limit_slices(0, 2);
    EXPECT_TRUE(has_crossed()) << "a new limit";
    limit_slices(0, 2);
    EXPECT_FALSE(has_crossed());
}

TEST_F(memory_limit, has_a_callback_for_sizes_above_the_soft_limit)
{
    limit_bytes(0, 100);
    int argument = 0;
    const auto function = [](std::size_t, void*) {};
    const auto called_with = [&](std::size_t bytes) {
        return all.source().with_limit([=](np::memory_limit& limit, std::size_t) { return limit.callback_for(bytes); });
    };
    EXPECT_EQ(called_with(101).function, nullptr);
    all.source().with_limit(
        [&](np::memory_limit& limit, std::size_t) { limit.set_callback({function, &argument, 0}); });
    EXPECT_EQ(called_with(100).function, nullptr);
    EXPECT_EQ(called_with(101).function, function);
    EXPECT_EQ(called_with(101).argument, &argument);
    EXPECT_EQ(called_with(101).bytes, 101U);
}
} // namespace
