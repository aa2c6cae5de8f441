// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Memory returns to the system when threads end and while the program is idle.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/resident_memory.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {
test::np_resource np;

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
constexpr std::size_t kibibyte = 1024;
constexpr std::size_t bytes_in_use = std::size_t{256} << 20;

std::size_t resident_bytes_in_use()
{
    (void)np_trim();
    return test::resident_bytes();
}

TEST(np_decay, returns_the_memory_of_ended_threads)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "checked blocks keep their records";
    constexpr std::size_t threads = 200;
    constexpr std::size_t blocks = 50;
    const test::option_for_now others_are_forgotten(np_option_decay_ms,
                                                    1'001); // forgets early reuse in earlier tests
    const std::size_t before = resident_bytes_in_use();
    std::atomic<std::size_t> most{0};
    std::atomic<std::size_t> at_work{threads};
    test::in_threads(threads, [&](std::size_t thread) {
        std::array<void*, blocks> mine{};
        for (std::size_t i = 0; i != blocks; ++i) {
            const std::size_t bytes = 1 + (thread * 7919 + i * 1289) % (16 * kibibyte);
            mine[i] = std::memset(np_alloc(bytes), 1, bytes);
        }
        if (--at_work == 0)
            most = test::resident_bytes();
        while (most == 0)
            std::this_thread::yield();
        std::for_each(mine.begin(), mine.end(), np_free);
    });
    EXPECT_GT(most, before + threads * blocks * 4 * kibibyte);
    EXPECT_LE(test::resident_bytes(), before + (most - before) / 5);
}

/// Effects: makes a call now and then, which a magazine serves, until at most `enough` bytes are resident or the time
/// is up.
/// Returns: the resident bytes at the end.
std::size_t idle_until_resident_bytes(std::size_t enough)
{
    constexpr int max_calls = 100;
    for (int calls = 0; calls != max_calls && test::resident_bytes() > enough; ++calls) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        np_free(np_alloc(1));
    }
    return test::resident_bytes();
}

TEST(np_decay, returns_the_memory_of_an_idle_thread_served_by_magazines)
{
    std::vector<void*> in_use(8 * kibibyte); // keeps the thread's memory use from falling
    for (void*& block : in_use)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t before = resident_bytes_in_use();
    void* const much_in_use = np_alloc(bytes_in_use); // most memory is in use, so nothing is purged early
    const test::option_for_now is_young(np_option_decay_ms, 1'000'000);
    std::vector<void*> blocks(64 * kibibyte);
    for (void*& block : blocks)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t most = test::resident_bytes() - before;
    std::vector<void*> left; // some in each slab of the first half
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i < blocks.size() / 2 && i % 32 == 0)
            left.push_back(blocks[i]);
        else
            np_free(blocks[i]);
    EXPECT_GE(test::resident_bytes(), before + most / 2);
    const test::option_for_now decays(np_option_decay_ms, 100);
    EXPECT_LE(idle_until_resident_bytes(before + most / 5), before + most / 5);
    for (void* block : left) {
        EXPECT_EQ(*static_cast<unsigned char*>(block), 1);
        np_free(block);
    }
    np_free(much_in_use);
    std::for_each(in_use.begin(), in_use.end(), np_free);
}
TEST(np_decay, returns_the_memory_of_an_idle_thread_whose_cache_pins_every_slab)
{
    const test::option_for_now decays(np_option_decay_ms, 100);
    test::in_a_thread([] { // a new thread has no other memory to return
        const std::size_t before = resident_bytes_in_use();
        std::mt19937 random(1);
        std::vector<void*> blocks(64 * kibibyte);
        for (void*& block : blocks) {
            const std::size_t bytes = 60 + random() % 541;
            block = std::memset(np_alloc(bytes), 1, bytes);
        }
        const std::size_t most = test::resident_bytes() - before;
        std::shuffle(blocks.begin(), blocks.end(), random);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        EXPECT_LE(idle_until_resident_bytes(before + most / 5), before + most / 5);
    });
}

TEST(np_decay, returns_the_memory_of_an_ended_thread_at_calls_of_another)
{
    const test::option_for_now decays(np_option_decay_ms, 100);
    const std::size_t before = resident_bytes_in_use();
    std::vector<void*> left; // enough to keep the thread's memory use from falling
    test::in_a_thread([&left] {
        std::vector<void*> blocks(48 * kibibyte);
        for (void*& block : blocks)
            block = std::memset(np_alloc(kibibyte), 1, kibibyte);
        for (std::size_t i = 0; i != blocks.size(); ++i)
            i % 8 != 0 ? np_free(blocks[i]) : left.push_back(blocks[i]);
    });
    np_free(np_alloc(std::size_t{5} << 20)); // a slow call, which detects the debt
    const std::size_t enough = before + (std::size_t{32} << 20);
    EXPECT_LE(idle_until_resident_bytes(enough), enough);
    std::for_each(left.begin(), left.end(), np_free);
}

TEST(np_decay, returns_the_memory_of_a_heap_at_calls_for_other_memory)
{
    const test::option_for_now decays(np_option_decay_ms, 100);
    np_heap* const heap = np_heap_create();
    const std::size_t before = resident_bytes_in_use();
    std::vector<void*> blocks(32 * kibibyte);
    for (void*& block : blocks)
        block = std::memset(np_heap_alloc(heap, kibibyte), 1, kibibyte);
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i % 64 != 0)
            np_free(blocks[i]);
    const std::size_t enough = before + (std::size_t{8} << 20);
    for (int rounds = 0; rounds != 100 && test::resident_bytes() > enough; ++rounds) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (int calls = 0; calls != 64; ++calls)
            np_free(np_alloc(40'000));
    }
    EXPECT_LE(test::resident_bytes(), enough);
    np_heap_destroy(heap);
}

TEST(np_decay, returns_memory_at_the_end_of_a_burst_of_frees)
{
    const test::option_for_now others_are_forgotten(np_option_decay_ms, 1'001'000);
    test::in_a_thread([] { // a new thread has no other blocks in its slabs
        const std::size_t before = resident_bytes_in_use();
        std::mt19937 random(1);
        std::vector<void*> blocks(512 * kibibyte);
        for (void*& block : blocks) {
            const std::size_t bytes = 60 + random() % 1041;
            block = std::memset(np_alloc(bytes), 1, bytes);
        }
        const std::size_t most = test::resident_bytes() - before;
        std::shuffle(blocks.begin(), blocks.end(), random);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        EXPECT_LE(test::resident_bytes(), before + most / 4) << "of " << most << " bytes";
    });
}

TEST(np_decay, purges_once_if_a_thread_reuses_all_its_memory_each_round)
{
    const test::option_for_now others_are_forgotten(np_option_decay_ms, 1'001'000);
    test::in_a_thread([] {
        std::mt19937 random(1);
        std::vector<void*> blocks(10'000);
        const auto fill_and_empty = [&](int rounds) {
            const std::size_t before = test::page_faults();
            for (int round = 0; round != rounds; ++round) {
                for (void*& block : blocks)
                    *static_cast<char*>(block = np_alloc(100 + random() % 8001)) = 1;
                std::for_each(blocks.begin(), blocks.end(), np_free);
            }
            return test::page_faults() - before;
        };
        const std::size_t of_a_round = fill_and_empty(1);
        (void)fill_and_empty(2);
        EXPECT_LE(fill_and_empty(20), 2 * of_a_round);
    });
}
#endif

TEST(np_decay, reports_a_double_free_after_the_magazine_was_flushed)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "the block is in the quarantine of checked blocks";
    const test::option_for_now decays(np_option_decay_ms, 40);
    const test::error_recorder recorder;
    void* const much = np_alloc(std::size_t{4} << 20);
    void* const block = np_alloc(5000);
    void* const other = np_alloc(5000);
    np_free(std::memset(much, 1, std::size_t{4} << 20));
    np_free(np_alloc(100));
    np_free(block);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    np_free(block);
    EXPECT_EQ(recorder.kinds(), std::vector<memory_pool::error_kind>{memory_pool::error_kind::double_free});
    np_free(other);
}

bool use_all_kinds_of_blocks()
{
    std::vector<test::filled_block> blocks;
    for (std::size_t bytes : test::sizes_of_all_kinds)
        blocks.push_back(test::allocate_filled(np, bytes));
    return test::give_back_all(np, blocks);
}

TEST(np_decay, limits_the_blocks_cached_after_threads_end)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "checked blocks keep their records";
    const auto bytes_cached = [] {
        np_statistics now;
        np_get_statistics(&now);
        return now.bytes_cached;
    };
    (void)np_trim();
    const std::size_t before = bytes_cached();
    test::in_a_thread([] { EXPECT_TRUE(use_all_kinds_of_blocks()); });
    EXPECT_GT(bytes_cached(), before);
    constexpr std::size_t threads = 100;
    test::in_threads_at_the_same_time(threads, [] { EXPECT_TRUE(use_all_kinds_of_blocks()); });
    EXPECT_LE(bytes_cached(), before + (std::size_t{4} << 20));
}
} // namespace
