// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc with its background thread.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/heaps/heap.hpp>

#include <support/block_batch.hpp>
#include <support/child.hpp>
#include <support/comes_true.hpp>
#include <support/option_for_now.hpp>
#include <support/resident_memory.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
class np_background_thread : public testing::Test
{
protected:
    test::option_for_now decay_{np_option_decay_ms, 100};
    test::option_for_now background_{np_option_background_thread, 1};
};

np_statistics statistics()
{
    np_statistics now;
    np_get_statistics(&now);
    return now;
}

TEST_F(np_background_thread, empties_the_heap_of_an_ended_thread)
{
    const test::option_for_now decay(np_option_decay_ms, 20);
    (void)np_trim();
    const std::size_t cached_before = statistics().bytes_cached;
    {
        std::vector<void*> blocks(60);
        test::lasting_thread worker;
        worker.does([&blocks] {
            for (void*& each : blocks)
                each = np_alloc(1000);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // The background thread maintains the idle heap.
        worker.does([&blocks] { std::for_each(blocks.begin(), blocks.end(), np_free); });
    }
    EXPECT_TRUE(test::comes_true([cached_before] { return statistics().bytes_cached < cached_before + 10'000; }));
}

TEST_F(np_background_thread, resumes_after_an_exception_from_np_heap_visit)
{
    void* const block = np_alloc(10);
    const auto throw_number = [](void*, std::size_t, void*) -> int { throw 77; };
    EXPECT_THROW((void)np_heap_visit(nullptr, throw_number, nullptr), int);
    np_free(block);
    np_free(std::memset(np_alloc(1'000'000), 1, 1'000'000));
    EXPECT_TRUE(test::comes_true([] { return statistics().bytes_dirty == 0; }));
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
constexpr std::size_t bytes_to_fill = std::size_t{64} << 20;

/// Effects: waits without calls to np_alloc, for at most 10 seconds, until at most `enough` bytes are resident.
/// Returns: the resident bytes.
std::size_t wait_without_a_call(std::size_t enough)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (test::resident_bytes() > enough && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return test::resident_bytes();
}

TEST_F(np_background_thread, returns_memory_to_the_system_without_calls)
{
    for (const std::size_t max_size : {std::size_t{100}, std::size_t{5'000}, std::size_t{8} << 20}) {
        const auto fill_and_free = [max_size] { const test::block_batch all(bytes_to_fill, max_size / 2, max_size); };
        (void)np_trim();
        const std::size_t enough = test::resident_bytes() + bytes_to_fill / 20;
        fill_and_free();
        EXPECT_LE(wait_without_a_call(enough), enough) << max_size;
        test::in_a_thread(fill_and_free);
        EXPECT_LE(wait_without_a_call(enough), enough) << max_size << ", after the thread ended";
    }
}

TEST_F(np_background_thread, purges_pages_between_blocks_in_every_heap)
{
    np_heap* const heap = np_heap_create();
    const std::array<std::function<void*(std::size_t)>, 3> ways{
        np_alloc, [heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); },
        [](std::size_t bytes) { return np_alloc_at(bytes, "a.c", 1); }};
    constexpr std::size_t bytes = 1000;
    std::vector<void*> blocks(16'000);
    for (const auto& allocate : ways) {
        (void)np_trim();
        const std::size_t enough = test::resident_bytes() + blocks.size() * bytes / 4;
        for (void*& each : blocks)
            each = std::memset(allocate(bytes), 1, bytes);
        for (std::size_t i = 0; i != blocks.size(); ++i)
            if (i % 64 != 0)
                np_free(std::exchange(blocks[i], nullptr));
        EXPECT_LE(wait_without_a_call(enough), enough);
        std::for_each(blocks.begin(), blocks.end(), np_free);
    }
    np_heap_destroy(heap);
}
#endif

TEST_F(np_background_thread, does_not_touch_blocks_in_use)
{
    const test::option_for_now decay(np_option_decay_ms, 0);
    test::in_threads(4, [](std::size_t thread) {
        std::vector<unsigned char*> blocks(200);
        for (std::size_t step = 0; step != 20'000; ++step) {
            unsigned char*& block = blocks[step * 7 % blocks.size()];
            const std::size_t bytes = 16 + step * 131 % 3'000;
            ASSERT_TRUE(block == nullptr || *block == static_cast<unsigned char>(thread));
            np_free(block);
            block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), static_cast<int>(thread), bytes));
        }
        std::for_each(blocks.begin(), blocks.end(), np_free);
    });
    EXPECT_EQ(np_option_set(np_option_background_thread, 0), 0);
    EXPECT_EQ(np_verify(), 1);
    EXPECT_EQ(np_option_set(np_option_background_thread, 1), 0);
}

TEST_F(np_background_thread, pauses_during_np_verify)
{
    const test::option_for_now decay(np_option_decay_ms, 10);
    const auto visit = [](void*, std::size_t, void*) { return 1; };
    std::vector<void*> blocks(160);
    for (int round = 0; round != 20; ++round) {
        for (void*& each : blocks)
            each = std::memset(np_alloc(100'000), 1, 100'000);
        for (std::size_t i = 0; i < blocks.size(); i += 2) // Leaves many free runs.
            np_free(std::exchange(blocks[i], nullptr));
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (std::chrono::steady_clock::now() < end) { // The background thread would purge the runs.
            ASSERT_EQ(np_verify(), 1) << round;
            ASSERT_EQ(np_heap_visit(nullptr, visit, nullptr), 1);
        }
        std::for_each(blocks.begin(), blocks.end(), np_free);
    }
}

using visited_blocks = std::map<void*, std::size_t>;

/// Visits all blocks in use, and calls `do_first` at the first one.
visited_blocks visit_all(const std::function<void()>& do_first)
{
    struct visit
    {
        visited_blocks blocks;
        const std::function<void()>& do_first;
    } all{{}, do_first};
    const auto add = [](void* block, std::size_t bytes, void* to) {
        auto& current = *static_cast<visit*>(to);
        if (current.blocks.empty())
            current.do_first();
        current.blocks.emplace(block, bytes);
        return 1;
    };
    EXPECT_EQ(np_heap_visit(nullptr, add, &all), 1);
    return all.blocks;
}

TEST_F(np_background_thread, sends_batches_unseen_by_a_visit)
{
    const test::option_for_now decay(np_option_decay_ms, 20);
    ASSERT_EQ(np_option_set(np_option_background_thread, 0), 0);
    std::vector<void*> blocks{np_alloc(20'000)}; // The block visited first.
    void* const room_for_batches = np_alloc(500'000);
    blocks.push_back(np_alloc(500'000));
    std::vector<void*> handed_over(200);
    for (void*& each : handed_over)
        each = np_alloc(100);
    test::in_a_thread([&handed_over] {
        np_free(np_alloc(16));
        std::for_each(handed_over.begin(), handed_over.end(), np_free); // They stay in the cache of the parked heap.
    });
    np_free(room_for_batches);
    const visited_blocks before = visit_all([] {});
    ASSERT_EQ(np_option_set(np_option_background_thread, 1), 0);
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(np::this_thread.cache.heap().slabs, found); // Keeps this heap from draining.
        const std::size_t cached = statistics().bytes_cached;
        EXPECT_EQ(visit_all([cached] {
                      EXPECT_TRUE(test::comes_true([cached] { return statistics().bytes_cached + 10'000 < cached; }));
                  }),
                  before);
    }
    std::for_each(blocks.begin(), blocks.end(), np_free);
}

TEST_F(np_background_thread, does_not_block_exit_during_a_visit)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end = [] {
        (void)np_option_set(np_option_background_thread, 1);
        (void)np_alloc(10);
        (void)np_heap_visit(nullptr, [](void*, std::size_t, void*) -> int { std::exit(7); }, nullptr); // NOLINT
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

TEST_F(np_background_thread, runs_while_the_option_is_set)
{
    for (const std::size_t is_wanted : {1U, 1U, 0U, 0U, 1U}) {
        EXPECT_EQ(np_option_set(np_option_background_thread, is_wanted), 0);
        EXPECT_EQ(np_option_get(np_option_background_thread), is_wanted);
    }
    EXPECT_EQ(np_option_set(np_option_background_thread, 2), EINVAL);
    EXPECT_EQ(np_option_get(np_option_background_thread), 1U);
}

TEST_F(np_background_thread, is_refused_if_the_system_makes_no_thread)
{
    ASSERT_EQ(np_option_set(np_option_background_thread, 0), 0);
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::make_thread, 1);
        EXPECT_EQ(np_option_set(np_option_background_thread, 1), EAGAIN);
        EXPECT_EQ(np_option_get(np_option_background_thread), 0U);
    }
    EXPECT_EQ(np_option_set(np_option_background_thread, 1), 0);
}

#if TESTS_MAY_FORK
TEST_F(np_background_thread, does_not_run_in_the_child_of_a_fork_until_set_there)
{
    for (int round = 0; round != 20; ++round)
        test::expect_in_child([] {
            const bool is_running = np_option_get(np_option_background_thread) != 0;
            np_free(np_alloc(100));
            return !is_running && np_option_set(np_option_background_thread, 1) == 0 &&
                   np_option_get(np_option_background_thread) == 1 &&
                   np_option_set(np_option_background_thread, 0) == 0 && np_verify() == 1;
        });
    EXPECT_EQ(np_option_get(np_option_background_thread), 1U);
}
#endif
} // namespace
