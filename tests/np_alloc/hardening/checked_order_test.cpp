// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: when, and in which order, free blocks are reused.
#include <memory_pool/np_alloc.h>

#include <support/child.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace {
constexpr std::size_t bytes = 100;
constexpr std::size_t block_bytes = 112;

/// Returns: the number of blocks of that size that are freed before np_alloc reuses one of them.
std::size_t frees_until_reuse(std::size_t of_bytes = bytes)
{
    std::set<void*> freed;
    for (void* block = np_alloc(of_bytes); freed.insert(block).second; block = np_alloc(of_bytes))
        np_free(block);
    return freed.size();
}

TEST(checked_order, delays_reuse_by_the_size_of_the_quarantine)
{
    const test::option_for_now in_order(np_option_random_order, 0);
    for (const std::size_t count : {0U, 10U, 500U}) {
        const test::option_for_now quarantine(np_option_quarantine_bytes, count * block_bytes);
        (void)np_trim();
        EXPECT_GE(frees_until_reuse(), count) << count;
    }
}

TEST(checked_order, delays_reuse_of_blocks_above_4_kib_by_16_frees)
{
    const test::option_for_now in_order(np_option_random_order, 0);
    for (const std::size_t large : {4'200U, 9'000U, 20'000U, 32'700U}) {
        (void)np_trim();
        EXPECT_GE(frees_until_reuse(large), 16U) << large;
    }
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    (void)np_trim();
    EXPECT_LT(frees_until_reuse(20'000), 16U);
}

TEST(checked_order, keeps_small_blocks_in_quarantine_while_large_ones_are_freed)
{
    const test::option_for_now in_order(np_option_random_order, 0);
    void* const small = np_alloc(bytes);
    np_free(small);
    for (int i = 0; i != 100; ++i)
        np_free(np_alloc(20'000));
    for (int i = 0; i != 100; ++i) {
        void* const other = np_alloc(bytes);
        EXPECT_NE(other, small);
        np_free(other);
    }
}

TEST(checked_order, bounds_the_memory_in_quarantine)
{
    const test::option_for_now quarantine(np_option_quarantine_bytes, 64 * block_bytes);
    (void)np_trim();
    np_statistics before;
    np_get_statistics(&before);
    for (int i = 0; i != 100'000; ++i)
        np_free(np_alloc(bytes));
    np_statistics after;
    np_get_statistics(&after);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use) << "quarantined blocks are not in use";
    constexpr std::size_t max_bytes_in_magazine = std::size_t{64} << 10;
    EXPECT_LE(after.bytes_cached - before.bytes_cached, 64 * block_bytes + max_bytes_in_magazine);
}

/// Returns: the number of blocks in each state, over all slabs: see np_slabs_print.
std::array<int, 4> blocks_by_state()
{
    std::string text;
    np_slabs_print(
        [](const char* part, std::size_t length, void* to) { static_cast<std::string*>(to)->append(part, length); },
        &text);
    const std::string key = "\"states\": \"";
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<int, 4> count{};
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at))
        for (at += key.size(); text[at] != '"'; ++at)
            if (const std::size_t bits = digits.find(text[at]); bits != std::string::npos)
                for (const unsigned block : {0U, 2U, 4U})
                    ++count[bits >> block & 3U];
    return count;
}

TEST(checked_order, counts_quarantined_blocks_as_cached)
{
    constexpr std::size_t is_cached = 2;
    constexpr std::size_t is_in_use = 3;
    const test::option_for_now with_quarantine(np_option_quarantine_bytes, 64 * block_bytes);
    for (const std::size_t each : {bytes, std::size_t{20'000}}) {
        void* const block = np_alloc(each);
        const std::array<int, 4> before = blocks_by_state();
        np_free(block);
        const std::array<int, 4> after = blocks_by_state();
        EXPECT_EQ(after[is_in_use], before[is_in_use] - 1) << each;
        EXPECT_EQ(after[is_cached], before[is_cached] + 1) << each;
    }
}

TEST(checked_order, is_unpredictable)
{
    const auto some_in_order = [] {
        std::vector<void*> blocks(200);
        std::generate(blocks.begin(), blocks.end(), [] { return np_alloc(700); });
        std::vector<void*> sorted = blocks;
        std::sort(sorted.begin(), sorted.end());
        std::size_t in_order = 0;
        for (std::size_t i = 1; i != blocks.size(); ++i)
            in_order += blocks[i - 1] < blocks[i] ? 1U : 0U;
        std::for_each(blocks.begin(), blocks.end(), np_free);
        return in_order;
    };
    test::in_a_thread([&] { // The thread's heap may be new.
        const test::option_for_now at_random(np_option_random_order, 1);
        const std::size_t ascending = some_in_order();
        EXPECT_GT(ascending, 50U);
        EXPECT_LT(ascending, 160U);
    });
}

TEST(checked_order, starts_at_a_random_place_in_a_slab)
{
    constexpr std::size_t slice_bytes = std::size_t{64} * 1024;
    std::set<std::size_t> offsets;
    for (int i = 0; i != 100; ++i) {
        np_heap* const heap = np_heap_create();
        offsets.insert(reinterpret_cast<std::uintptr_t>(np_heap_alloc(heap, 100)) % slice_bytes);
        np_heap_destroy(heap);
    }
    EXPECT_GE(offsets.size(), 64U);
}

#if TESTS_MAY_FORK
TEST(checked_order, differs_in_the_child_of_a_fork)
{
    const test::option_for_now at_random(np_option_random_order, 1);
    std::array<void*, 50> of_parent{};
    std::array<void*, 50> of_child{};
    const auto allocate = [](std::array<void*, 50>& blocks) {
        std::generate(blocks.begin(), blocks.end(), [] { return np_alloc(bytes); });
    };
    allocate(of_parent);
    std::for_each(of_parent.begin(), of_parent.end(), np_free);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    allocate(child == 0 ? of_child : of_parent);
    if (child == 0)
        _exit(write(ends[1], of_child.data(), sizeof of_child) == sizeof of_child ? 0 : 1);
    ASSERT_EQ(read(ends[0], of_child.data(), sizeof of_child), ssize_t{sizeof of_child});
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    int equal = 0;
    for (std::size_t i = 0; i != of_parent.size(); ++i)
        equal += of_parent[i] == of_child[i] ? 1 : 0;
    EXPECT_LT(equal, 25);
    std::for_each(of_parent.begin(), of_parent.end(), np_free);
    std::for_each(ends.begin(), ends.end(), close);
}
#endif

TEST(checked_order, empties_the_quarantine_on_trim)
{
    std::vector<void*> blocks(3000);
    std::size_t count = 0;
    std::generate(blocks.begin(), blocks.end(), [&] { return np_alloc(++count % 100 != 0 ? bytes : 20'000); });
    test::in_a_thread([&] { std::for_each(blocks.begin(), blocks.end(), np_free); });
    (void)np_trim();
    np_statistics statistics;
    np_get_statistics(&statistics);
    EXPECT_EQ(statistics.bytes_cached, 0U);
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_options, have_the_defaults_of_the_checked_build)
{
    EXPECT_EQ(np_option_get(np_option_quarantine_bytes), std::size_t{64} << 10);
    EXPECT_EQ(np_option_get(np_option_random_order), 1U);
    EXPECT_EQ(np_option_get(np_option_poison), 1U);
    EXPECT_EQ(np_option_get(np_option_guard_pages), 1U);
    EXPECT_EQ(np_option_set(np_option_random_order, 2), EINVAL);
}

TEST(checked_options, that_affect_free_blocks_are_fixed_after_the_first_block)
{
    np_free(np_alloc(10));
    EXPECT_EQ(np_option_set(np_option_poison, 0), EBUSY);
    EXPECT_EQ(np_option_set(np_option_guard_pages, 0), EBUSY);
}
} // namespace
