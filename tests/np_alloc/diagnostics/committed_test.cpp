// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Committed bytes are exactly the sum of their terms after any sequence of calls.
#include <memory_pool/np_alloc.h>

#include <support/child.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {
np_statistics now()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics;
}

std::size_t sum_of_terms(const np_statistics& all)
{
    return all.bytes_in_use + all.bytes_cached + all.bytes_in_transit + all.bytes_free_in_slabs +
           all.bytes_never_carved + all.bytes_dirty + all.bytes_of_metadata;
}

void expect_sum()
{
    const np_statistics all = now();
    EXPECT_EQ(all.bytes_committed, sum_of_terms(all));
}

/// A random sequence of calls, with blocks of every kind.
class tape
{
public:
    explicit tape(unsigned seed) : random_(seed) {}
    tape(const tape&) = delete;
    tape& operator=(const tape&) = delete;
    ~tape()
    {
        for (void* block : blocks_)
            np_free(block);
        np_heap_destroy(heap_);
    }

    void run(int steps)
    {
        for (int step = 0; step != steps; ++step)
            do_one(blocks_[random_() % blocks_.size()]);
    }

    /// Frees blocks of another tape, as remote frees.
    void free_some_of(tape& other)
    {
        for (void*& block : other.blocks_)
            if (random_() % 2 == 0)
                np_free(std::exchange(block, nullptr));
    }

private:
    std::size_t some_bytes()
    {
        constexpr std::array<std::size_t, 6> largest{64, 1024, 8000, 32 * 1024, 300'000, 5'000'000};
        return random_() % largest[random_() % (random_() % 10 == 0 ? 6 : 4)];
    }

    void do_one(void*& block)
    {
        const std::size_t bytes = some_bytes();
        switch (random_() % 10) {
        case 0: np_free(std::exchange(block, np_aligned_alloc(std::size_t{16} << random_() % 10, bytes))); break;
        case 1:
            np_free(std::exchange(block, np_alloc_at(bytes, "committed.c", 1 + static_cast<int>(bytes % 7))));
            break;
        case 2: np_free(std::exchange(block, np_calloc(1, bytes))); break;
        case 3: block = np_realloc(block, bytes); break;
        case 4: use_heap(bytes); break;
        case 5: trim_now_and_then(); break;
        default: np_free(std::exchange(block, random_() % 3 != 0 ? np_alloc(bytes) : nullptr)); break;
        }
    }

    void use_heap(std::size_t bytes)
    {
        if (heap_ == nullptr)
            heap_ = np_heap_create();
        (void)np_heap_alloc(heap_, bytes);
        if (random_() % 50 == 0)
            np_heap_clear(heap_);
        else if (random_() % 50 == 0)
            np_heap_destroy(std::exchange(heap_, nullptr));
    }

    void trim_now_and_then()
    {
        if (random_() % 20 == 0)
            (void)np_trim();
    }

    std::mt19937 random_;
    std::array<void*, 500> blocks_{};
    np_heap* heap_ = nullptr;
};

/// Runs tapes one after another in a new thread, because they may enlarge the magazines of the thread.
void run_tapes(unsigned count)
{
    test::lasting_thread thread;
    thread.does([count] {
        for (unsigned seed = 0; seed != count; ++seed) {
            tape tape(seed);
            for (int part = 0; part != 20; ++part) {
                tape.run(100);
                expect_sum();
            }
        }
        expect_sum();
    });
    expect_sum();
}

TEST(committed_bytes, are_the_sum_of_their_terms_after_any_calls_of_one_thread)
{
    run_tapes(20);
}

TEST(committed_bytes, are_the_sum_of_their_terms_with_samples)
{
    ASSERT_EQ(np_option_set(np_option_sample_bytes, 4096), 0);
    run_tapes(5);
    ASSERT_EQ(np_option_set(np_option_sample_bytes, 0), 0);
}

TEST(committed_bytes, are_the_sum_of_their_terms_with_idle_and_ended_threads)
{
    constexpr std::size_t thread_count = 4;
    for (unsigned round = 0; round != 5; ++round) {
        std::vector<std::unique_ptr<tape>> tapes;
        for (unsigned thread = 0; thread != thread_count; ++thread)
            tapes.push_back(std::make_unique<tape>(100 * round + thread));
        {
            std::array<test::lasting_thread, thread_count> threads;
            for (std::size_t thread = 0; thread != thread_count; ++thread)
                threads[thread].does([&] { tapes[thread]->run(500); });
            expect_sum();
            for (std::size_t thread = 0; thread != thread_count; ++thread)
                threads[thread].does([&] { tapes[thread]->free_some_of(*tapes[(thread + 1) % thread_count]); });
            if (!test::blocks_are_checked()) { // The checked build keeps these few blocks in quarantine.
                EXPECT_NE(now().bytes_in_transit, 0U);
            }
            expect_sum();
        }
        expect_sum();
        test::in_threads(thread_count, [&](std::size_t thread) { tapes[thread]->run(500); });
        expect_sum();
    }
    (void)np_trim();
    expect_sum();
}

#if TESTS_MAY_FORK
TEST(committed_bytes, are_the_sum_of_their_terms_in_the_child_of_a_fork)
{
    tape tape(1);
    tape.run(500);
    test::lasting_thread other;
    other.does([] { np_free(np_alloc(100)); });
    test::expect_in_child([&] {
        tape.run(500);
        const np_statistics all = now();
        return all.bytes_committed == sum_of_terms(all);
    });
}
#endif

TEST(committed_bytes, distinguish_free_blocks_from_never_carved_memory)
{
    const test::immediate_reuse no_quarantine;
    np_heap* const heap = np_heap_create();
    const np_statistics before = now();
    void* const block = np_heap_alloc(heap, 1000);
    const np_statistics with_one = now();
    EXPECT_EQ(with_one.bytes_in_use - before.bytes_in_use, test::counted_bytes(1000));
    EXPECT_EQ(with_one.bytes_never_carved - before.bytes_never_carved, 65'536 - test::counted_bytes(1000));
    EXPECT_EQ(with_one.bytes_free_in_slabs, before.bytes_free_in_slabs);
    np_heap_free(heap, block);
    EXPECT_EQ(now().bytes_free_in_slabs - before.bytes_free_in_slabs, test::counted_bytes(1000));
    EXPECT_EQ(now().bytes_never_carved, with_one.bytes_never_carved);
    np_heap_destroy(heap);
    EXPECT_EQ(now().bytes_never_carved, before.bytes_never_carved);
}

TEST(bytes_of_slack, are_exact_for_large_blocks)
{
    const np_statistics before = now();
    void* block = np_alloc(100'000);
    for (const std::size_t bytes : {100'000U, 200'001U, 5'000'000U, 300'000U, 3'000'000U}) {
        block = np_realloc(block, bytes);
        const np_statistics with_it = now();
        EXPECT_EQ(with_it.bytes_of_slack - before.bytes_of_slack, with_it.bytes_large - before.bytes_large - bytes);
    }
    np_free(block);
    EXPECT_EQ(now().bytes_of_slack, before.bytes_of_slack);
}

/// Returns: the relative error of the reported slack, for blocks from `allocate(bytes)`.
template <class Allocate>
double error_of_slack(Allocate&& allocate)
{
    const np_statistics before = now();
    std::mt19937 random(1);
    std::size_t requested = 0;
    std::vector<void*> blocks;
    for (int i = 0; i != 100'000; ++i) {
        const std::size_t bytes = 1 + random() % (i % 10 == 0 ? 9000 : 400);
        requested += bytes;
        blocks.push_back(allocate(bytes));
    }
    const np_statistics with_blocks = now();
    const auto slack = static_cast<double>(with_blocks.bytes_in_use - before.bytes_in_use - requested);
    const auto reported = static_cast<double>(with_blocks.bytes_of_slack - before.bytes_of_slack);
    std::for_each(blocks.begin(), blocks.end(), np_free);
    return std::abs(reported - slack) / slack;
}

TEST(bytes_of_slack, are_estimated_well_for_blocks_of_a_heap)
{
    np_heap* const heap = np_heap_create();
    const double error = error_of_slack([heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); });
    EXPECT_LE(error, test::blocks_are_checked() ? 0 : 0.05);
    np_heap_destroy(heap);
}

TEST(bytes_of_slack, are_estimated_well_for_blocks_of_a_thread)
{
    np_free(np_alloc(1));
    if (now().parked_heaps != 0)
        GTEST_SKIP() << "a new thread would reuse a parked heap, whose slack includes earlier requests";
    test::lasting_thread thread;
    thread.does([] { EXPECT_LE(error_of_slack(np_alloc), test::blocks_are_checked() ? 0 : 0.15); });
}

TEST(resident_bytes, grow_when_blocks_are_touched)
{
    if (np_resident_bytes() == 0)
        GTEST_SKIP() << "this system does not count resident memory";
    constexpr std::size_t bytes = std::size_t{16} << 20;
    (void)np_trim();
    const std::size_t before = np_resident_bytes();
    auto* const block = static_cast<char*>(np_alloc(bytes));
    EXPECT_LT(np_resident_bytes() - before, bytes / 2) << "untouched memory is not resident";
    std::memset(block, 1, bytes);
    EXPECT_GE(np_resident_bytes() - before, bytes);
    EXPECT_LE(np_resident_bytes(), now().bytes_committed);
    np_free(block);
    (void)np_trim();
    EXPECT_LT(np_resident_bytes(), before + bytes / 2);
}
} // namespace
