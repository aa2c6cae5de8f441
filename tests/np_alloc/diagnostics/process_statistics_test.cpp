// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/diagnostics/process_statistics.hpp>

#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;

namespace {
np::process_statistics statistics_now()
{
    return np::take_statistics(np::registry());
}

np::class_statistics of_class(std::size_t bytes)
{
    return statistics_now().classes[np::sizes::of(bytes)];
}

TEST(statistics, derive_the_terms_of_a_size_class)
{
    np::class_statistics one_class{};
    one_class.block_bytes = 100;
    one_class.out_of_slabs = 10;
    one_class.cached = 3;
    one_class.in_transit = 2;
    one_class.slab_bytes = 5000;
    one_class.carved_bytes = 1500;
    EXPECT_EQ(one_class.outstanding(), 7U);
    EXPECT_EQ(one_class.in_use(), 5U);
    EXPECT_EQ(one_class.free_bytes(), 500U);
    EXPECT_EQ(one_class.never_carved(), 3500U);
    one_class.cached = 11;
    EXPECT_EQ(one_class.outstanding(), 0U) << "the terms were read at different times";
    EXPECT_EQ(one_class.in_use(), 0U);
}

TEST(statistics, are_summed_over_all_classes_and_large_blocks)
{
    np::process_statistics all{};
    all.memory.large = 1000;
    all.memory.large_asked = 900;
    for (const std::size_t number : {1U, 2U}) {
        all.classes[number].block_bytes = 10 * number;
        all.classes[number].out_of_slabs = 8;
        all.classes[number].cached = 4;
        all.classes[number].slack = 16;
    }
    EXPECT_EQ(all.bytes_in_use(), 1000U + 4 * 10 + 4 * 20);
    EXPECT_EQ(all.bytes_cached(), 4U * 10 + 4 * 20);
    EXPECT_EQ(all.bytes_of_slack(), 100U + 8 + 8) << "slack is shared evenly among all blocks out of slabs";
}

TEST(statistics, distinguish_blocks_in_use_from_cached_ones)
{
    np_free(np_alloc(1000));
    const np::class_statistics before = of_class(1000);
    void* const block = np_alloc(1000);
    EXPECT_EQ(of_class(1000).in_use(), before.in_use() + 1);
    EXPECT_EQ(of_class(1000).cached, before.cached - 1);
    np_free(block);
    EXPECT_EQ(of_class(1000).in_use(), before.in_use());
    EXPECT_EQ(of_class(1000).cached, before.cached);
}

TEST(statistics, count_blocks_in_transit)
{
    np_free(np_alloc(16));
    test::lasting_thread other;
    void* block = nullptr;
    other.does([&block] { block = np_alloc(16); });
    const np::class_statistics before = of_class(16);
    np_free(block);
    EXPECT_EQ(of_class(16).in_transit, before.in_transit + 1);
    EXPECT_EQ(of_class(16).in_use(), before.in_use() - 1);
}

TEST(statistics, count_thread_heaps_and_heaps_of_the_program)
{
    np_heap* const heap = np_heap_create();
    void* const block = np_heap_alloc(heap, 1000);
    const np::process_statistics before = statistics_now();
    const std::size_t in_use = of_class(1000).in_use();
    np_heap_free(heap, block);
    EXPECT_EQ(of_class(1000).in_use(), in_use - 1) << "shared heaps cache nothing";
    np_heap_destroy(heap);
    EXPECT_EQ(statistics_now().made_heaps, before.made_heaps - 1);
    test::in_a_thread([&before] {
        np_free(np_alloc(1000));
        const np::process_statistics now = statistics_now();
        EXPECT_EQ(now.thread_heaps - now.parked_heaps, before.thread_heaps - before.parked_heaps + 1);
    });
    EXPECT_EQ(statistics_now().thread_heaps - statistics_now().parked_heaps, before.thread_heaps - before.parked_heaps);
}

TEST(statistics, add_up_to_the_committed_bytes)
{
    void* const small = np_alloc(100);
    void* const large = np_alloc(3'000'000);
    np_free(np_alloc(30'000));
    np_free(np_alloc(200'000));
    const np::process_statistics all = statistics_now();
    EXPECT_EQ(all.bytes_committed(), all.sum_of_terms());
    EXPECT_GE(all.bytes_in_use(), 3'000'100U);
    EXPECT_GE(all.memory.dirty, 200'000U);
    np_free(small);
    np_free(large);
}

TEST(resident_bytes_of_all, grow_with_the_memory_written_to)
{
    constexpr std::size_t bytes = 8'000'000;
    (void)np_trim();
    void* const block = np_alloc(bytes);
    const std::size_t before = np::resident_bytes(np::registry());
    std::memset(block, 1, bytes);
    const std::size_t after = np::resident_bytes(np::registry());
    np_free(block);
    if (after == 0)
        GTEST_SKIP() << "this system does not count resident memory";
    EXPECT_GE(after, before + bytes / 2) << "some of the block may be resident before the write";
}
} // namespace
