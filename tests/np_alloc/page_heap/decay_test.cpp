// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Memory goes back to the system when threads end, and while the program idles.
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

TEST(np_decay, of_threads_goes_back_when_they_end_without_another_call)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "where blocks are checked, what is known of them stays";
    constexpr std::size_t threads = 200;
    constexpr std::size_t blocks = 50;
    const test::option_for_now others_are_forgotten(np_option_decay_ms,
                                                    1'001); // They needed purged memory again soon.
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

/// Calls rarely, with magazines that serve each call, until at most `enough` bytes are resident, or for a limited time.
/// Returns: the resident bytes then.
std::size_t idle_until_resident_bytes(std::size_t enough)
{
    constexpr int most_calls = 100;
    for (int calls = 0; calls != most_calls && test::resident_bytes() > enough; ++calls) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        np_free(np_alloc(1));
    }
    return test::resident_bytes();
}

TEST(np_decay, goes_back_if_a_thread_is_idle_whose_magazines_serve_its_calls)
{
    std::vector<void*> in_use(8 * kibibyte); // So that the thread does not fall.
    for (void*& block : in_use)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t before = resident_bytes_in_use();
    void* const much_in_use = np_alloc(bytes_in_use); // Most memory is in use, so nothing goes back early.
    const test::option_for_now is_young(np_option_decay_ms, 1'000'000);
    std::vector<void*> blocks(64 * kibibyte);
    for (void*& block : blocks)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t most = test::resident_bytes() - before;
    std::vector<void*> left; // In each slab of one half.
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
TEST(np_decay, goes_back_if_cached_blocks_of_an_idle_thread_pin_each_slab)
{
    const test::option_for_now decays(np_option_decay_ms, 100);
    test::in_a_thread([] { // One that has had no other memory to return.
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

TEST(np_decay, goes_back_from_a_thread_that_has_ended_while_another_goes_on)
{
    const test::option_for_now decays(np_option_decay_ms, 100);
    const std::size_t before = resident_bytes_in_use();
    std::vector<void*> left; // So many that the thread does not fall.
    test::in_a_thread([&left] {
        std::vector<void*> blocks(48 * kibibyte);
        for (void*& block : blocks)
            block = std::memset(np_alloc(kibibyte), 1, kibibyte);
        for (std::size_t i = 0; i != blocks.size(); ++i)
            i % 8 != 0 ? np_free(blocks[i]) : left.push_back(blocks[i]);
    });
    np_free(np_alloc(std::size_t{5} << 20)); // A slow call, which sees the debt.
    const std::size_t enough = before + (std::size_t{32} << 20);
    EXPECT_LE(idle_until_resident_bytes(enough), enough);
    std::for_each(left.begin(), left.end(), np_free);
}

TEST(np_decay, goes_back_from_a_heap_of_the_program_at_calls_for_other_memory)
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

TEST(np_decay, goes_back_at_the_end_of_a_burst_of_frees_without_another_call)
{
    const test::option_for_now others_are_forgotten(np_option_decay_ms, 1'001'000);
    test::in_a_thread([] { // A thread whose slabs have no other blocks.
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

TEST(np_decay, takes_memory_but_once_from_a_thread_that_frees_all_and_needs_as_much_again_each_time)
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

TEST(np_decay, lets_no_double_free_pass_of_a_block_whose_magazine_went_back_meanwhile)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "where blocks are checked, the quarantine has it";
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

TEST(np_decay, leaves_a_little_cached_when_threads_end_and_no_more)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "where blocks are checked, what is known of them stays";
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
