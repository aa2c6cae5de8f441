// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap.hpp>
#include <np_alloc/heaps/heap_verify.hpp>

#include <support/error_recorder.hpp>
#include <support/np_heaps.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

namespace mp = memory_pool;
namespace np = memory_pool::np;

namespace {
using heap = test::heap_fixture;

TEST_F(heap, allocates_disjoint_blocks_of_every_class)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t size = np::sizes::size(size_class);
        const std::vector<void*> blocks = take(mine, size_class, np::slab_capacity(size_class) + 3);
        std::set<std::uintptr_t> starts;
        for (void* block : blocks) {
            std::memset(block, 0xAB, size);
            starts.insert(reinterpret_cast<std::uintptr_t>(block));
        }
        ASSERT_EQ(starts.size(), blocks.size());
        for (auto each = std::next(starts.begin()); each != starts.end(); ++each)
            ASSERT_GE(*each - *std::prev(each), size);
        for (void* block : blocks)
            put(mine, block);
    }
    EXPECT_EQ(outstanding(mine), 0U);
}

TEST_F(heap, aligns_blocks_to_each_power_of_two_dividing_their_size)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t size = np::sizes::size(size_class);
        for (void* block : take(mine, size_class, 10))
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % (size & (~size + 1)), 0U) << size;
    }
}

TEST_F(heap, orders_fresh_blocks_so_that_the_lowest_pops_first)
{
    const std::vector<void*> blocks = take(mine, 0, 8);
    EXPECT_TRUE(std::is_sorted(blocks.rbegin(), blocks.rend()));
}

TEST_F(heap, keeps_one_empty_slab_per_class)
{
    const std::vector<void*> blocks = take(mine, 63, 3 * np::slab_capacity(63));
    EXPECT_EQ(mine.slabs(), 3U);
    for (void* block : blocks)
        put(mine, block);
    EXPECT_EQ(mine.slabs(), 1U);
    EXPECT_EQ(slices_in_use(), 1U);
    mine.give_back_empty_slabs();
    EXPECT_EQ(mine.slabs(), 0U);
    EXPECT_EQ(slices_in_use(), 0U);
}

TEST_F(heap, keeps_more_empty_slabs_of_a_busy_class)
{
    const auto use_five_slabs = [&] {
        for (void* block : take(mine, 63, 5 * np::slab_capacity(63)))
            put(mine, block);
        return mine.slabs();
    };
    std::vector<std::size_t> kept;
    for (int round = 0; round != 4; ++round)
        kept.push_back(use_five_slabs());
    EXPECT_EQ(kept, (np::is_checked ? std::vector<std::size_t>{1, 1, 1, 1} : std::vector<std::size_t>{1, 2, 4, 5}));
    mine.give_back_empty_slabs();
    EXPECT_EQ(slices_in_use(), 0U);
    EXPECT_EQ(use_five_slabs(), 1U) << "as at first";
}

TEST_F(heap, reuses_empty_slabs_for_other_classes)
{
    for (int round = 0; round != 4; ++round)
        for (void* block : take(mine, 63, 5 * np::slab_capacity(63)))
            put(mine, block);
    const std::size_t kept = slices_in_use();
    for (std::size_t slabs = 1; slabs < kept; ++slabs) {
        (void)take(mine, 31, np::slab_capacity(31));
        EXPECT_EQ(slices_in_use(), kept) << "class 63 keeps one slab";
    }
    EXPECT_FALSE(np::verify(mine));
}

TEST_F(heap, requests_huge_pages_for_a_busy_class_if_it_is_large)
{
    constexpr std::size_t class_of_1k = np::sizes::of(1024);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        (void)take(mine, size_class, 1);
    const std::vector<void*> thousands_of_1k = take(mine, class_of_1k, 5'000);
    EXPECT_EQ(huge_pages_under(thousands_of_1k.back()), np::huge_page_use::untold);
    const std::vector<void*> many = take(mine, class_of_1k, 20'000);
    EXPECT_EQ(huge_pages_under(many.back()), np::huge_page_use::asked_for);
}

TEST_F(heap, requests_huge_pages_for_a_busy_class_if_it_is_dense)
{
    constexpr std::size_t class_of_1k = np::sizes::of(1024);
    const std::vector<void*> few = take(mine, class_of_1k, 900);
    EXPECT_EQ(huge_pages_under(few.back()), np::huge_page_use::untold);
    const std::vector<void*> many = take(mine, class_of_1k, 4'000);
    EXPECT_EQ(huge_pages_under(many.back()), np::huge_page_use::asked_for);
}

TEST_F(heap, requests_no_huge_pages_for_classes_with_few_blocks)
{
    constexpr std::size_t class_of_32k = np::sizes::of(32 * 1024);
    (void)take(mine, class_of_32k, 400);
    const test::system_calls calls;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        (void)take(mine, size_class, size_class != class_of_32k ? np::slab_slices(size_class) : 0);
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(heap, counts_only_used_memory_as_sparse_slices)
{
    constexpr std::size_t class_of_1k = np::sizes::of(1024);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        (void)take(mine, size_class, 1);
    constexpr std::size_t few = (std::size_t{1} << 20) / np::slice_bytes;
    EXPECT_LT(mine.sparse_slices(), 2 * few);
    const std::vector<void*> many = take(mine, class_of_1k, 10'000);
    EXPECT_EQ(mine.sparse_slices(), 0U) << "most memory is in use";
    for (std::size_t i = 0; i != many.size(); ++i)
        if (i % 32 != 0)
            put(mine, many[i]);
    EXPECT_GT(mine.sparse_slices(), 4 * few);
    mine.restart_peak();
    EXPECT_LT(mine.sparse_slices(), 4 * few);
}

/// Keeps one block in 32 of each slab in use.
struct sparse_heap : test::heap_fixture
{
    static constexpr std::size_t class_of_1k = np::sizes::of(1024);

    void SetUp() override
    {
        (void)np::release_clock::now();
        const std::vector<void*> blocks = take(mine, class_of_1k, 16'000);
        for (std::size_t i = 0; i != blocks.size(); ++i)
            if (i % 32 != 0)
                put(mine, blocks[i]);
    }

    void make_old()
    {
        mine.for_each_slab([](np::slice_record& slab) { slab.touched_at = 0; });
    }

    std::size_t purges_while(const std::function<void()>& act)
    {
        const test::system_calls calls;
        act();
        return calls.made(test::system_call::advise);
    }

    /// Takes blocks of another class, from `slabs` new slabs.
    void grow(std::uint32_t slabs)
    {
        constexpr std::size_t other_class = np::sizes::of(2048);
        (void)take(mine, other_class, slabs * np::slab_capacity(other_class));
    }
};

TEST_F(sparse_heap, purges_idle_pages_once)
{
    constexpr std::uint64_t an_hour = 3'600'000;
    EXPECT_EQ(purges_while([this] { EXPECT_TRUE(mine.sweep_some(an_hour)); }), 0U);
    EXPECT_FALSE(mine.is_swept());
    EXPECT_GT(purges_while([this] { mine.sweep_all(); }), 250U);
    EXPECT_TRUE(mine.is_swept());
    EXPECT_EQ(purges_while([this] { mine.sweep_all(); }), 0U);
}

TEST_F(sparse_heap, is_swept_in_steps)
{
    make_old();
    int steps = 1;
    while (!mine.sweep_some(np::min_age_to_pay_ms))
        ++steps;
    EXPECT_EQ(steps, 16'000 / 64 / np::max_slabs_purged_a_step + 1);
}

TEST_F(sparse_heap, purges_old_pages_for_each_new_slab)
{
    EXPECT_EQ(purges_while([this] { grow(10); }), 0U) << "the pages were used just now";
    make_old();
    EXPECT_GT(purges_while([this] { grow(10); }), 20U);
    EXPECT_GT(mine.slabs(), 250U);
}

TEST_F(sparse_heap, purges_nothing_for_new_slabs_while_purged_pages_are_reused)
{
    make_old();
    grow(100);
    (void)take(mine, class_of_1k, 12'000);
    make_old();
    EXPECT_EQ(purges_while([this] { grow(10); }), 0U);
}

TEST_F(sparse_heap, pauses_early_purges_after_their_pages_are_reused)
{
    mine.sweep_all(true);
    EXPECT_TRUE(page_heap.may_be_early_in_slabs(np::release_clock::now()));
    (void)take(mine, class_of_1k, 12'000);
    EXPECT_FALSE(page_heap.may_be_early_in_slabs(np::release_clock::now()));
}

TEST_F(sparse_heap, continues_early_purges_after_other_pages_are_reused)
{
    mine.sweep_all();
    (void)take(mine, class_of_1k, 12'000);
    EXPECT_TRUE(page_heap.may_be_early_in_slabs(np::release_clock::now()));
}

TEST_F(sparse_heap, is_swept_completely_after_a_partial_sweep)
{
    make_old();
    EXPECT_FALSE(mine.sweep_some(np::min_age_to_pay_ms));
    mine.sweep_all();
    EXPECT_TRUE(mine.is_swept());
    EXPECT_EQ(purges_while([this] { mine.sweep_all(); }), 0U);
}

TEST_F(heap, tags_the_slices_of_its_slabs)
{
    const std::size_t size_class = np::sizes::of(5000);
    void* const block = take(mine, size_class, 1)[0];
    const np::slice_index first = page_heap.region().slice_of(block);
    for (np::slice_index slice = first; slice != first + np::slab_slices(size_class); ++slice)
        EXPECT_EQ(page_heap.region().tag(slice).load(), mine.own_tag() | size_class);
    put(mine, block);
    mine.give_back_empty_slabs();
    EXPECT_EQ(page_heap.region().tag(first).load(), np::no_owner);
}

TEST_F(heap, reports_double_frees_and_interior_pointers)
{
    test::error_recorder recorder;
    const std::vector<void*> blocks = take(mine, 5, 2);
    put(mine, blocks[0]);
    put(mine, blocks[0]);
    put(mine, static_cast<std::byte*>(blocks[1]) + 16);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::double_free, mp::error_kind::misaligned_pointer}));
    EXPECT_EQ(outstanding(mine), 1U);
    put(mine, blocks[1]);
    EXPECT_EQ(outstanding(mine), 0U);
}

TEST_F(heap, reports_pointers_past_the_last_block_of_a_slab)
{
    test::error_recorder recorder;
    const np::size_class_info& info = np::class_info[5];
    auto* const first = static_cast<std::byte*>(take(mine, 5, 1)[0]);
    const std::size_t end = std::size_t{info.capacity} * info.block_bytes;
    ASSERT_LT(end, info.slab_bytes);
    put(mine, first + end);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::misaligned_pointer}));
    EXPECT_EQ(outstanding(mine), 1U);
}

TEST_F(heap, reuses_a_slab_with_all_of_its_blocks)
{
    (void)take(mine, 5, np::slab_capacity(5));
    mine.give_back_slabs();
    const std::vector<void*> blocks = take(mine, 5, np::slab_capacity(5));
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_EQ(mine.slabs(), 1U);
}

TEST_F(heap, fails_only_while_the_region_is_exhausted)
{
    const auto all = static_cast<std::uint32_t>(page_heap.region().slices());
    const np::run rest = page_heap.large().take_large(std::size_t{all} * np::slice_bytes, 1);
    ASSERT_NE(rest.first, np::no_slice);
    void* block = nullptr;
    EXPECT_EQ(mine.take(0, &block, 1), 0U);
    page_heap.large().give_large(rest.first);
    EXPECT_EQ(mine.take(0, &block, 1), 1U);
}

} // namespace
