// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace {
using memory_pool::error_kind;

volatile const std::size_t largest = std::numeric_limits<std::size_t>::max();

/// Small blocks, one of each kind of slab, and large blocks.
constexpr std::array<std::size_t, 8> sizes_of_all_kinds{0, 16, 500, 1024, 5000, 30'000, 32'769, 300'000};

struct np_heaps : testing::Test
{
    np_heap* heap = np_heap_create();

    np_heaps() { EXPECT_NE(heap, nullptr); }
    ~np_heaps() override { np_heap_destroy(heap); }
};

TEST_F(np_heaps, return_aligned_blocks_that_do_not_overlap)
{
    std::map<std::uintptr_t, std::size_t> blocks;
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (int i = 0; i != 100; ++i) {
            void* const block = np_heap_alloc(heap, bytes);
            ASSERT_NE(block, nullptr) << bytes;
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
            ASSERT_EQ(np_usable_size(block), np_good_size(bytes));
            std::memset(block, 0x5A, np_usable_size(block));
            blocks.emplace(reinterpret_cast<std::uintptr_t>(block), np_usable_size(block));
        }
    }
    EXPECT_EQ(blocks.size(), 100 * sizes_of_all_kinds.size());
    for (auto each = std::next(blocks.begin()); each != blocks.end(); ++each)
        ASSERT_GE(each->first, std::prev(each)->first + std::prev(each)->second);
}

TEST_F(np_heaps, free_all_blocks_when_destroyed)
{
    np_heap* const ends = np_heap_create();
    std::vector<void*> blocks;
    for (int i = 0; i != 50; ++i)
        for (const std::size_t bytes : sizes_of_all_kinds)
            blocks.push_back(np_heap_alloc(ends, bytes)); // NOLINT(performance-inefficient-vector-operation)
    void* const stays = np_heap_alloc(heap, 500);
    np_heap_destroy(ends);
    EXPECT_TRUE(std::none_of(blocks.begin(), blocks.end(), np_owns));
    EXPECT_TRUE(np_owns(stays));
}

TEST_F(np_heaps, zero_reused_memory_in_calloc)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const dirty = np_heap_alloc(heap, bytes);
        std::memset(dirty, 0xFF, np_usable_size(dirty));
        np_heap_free(heap, dirty);
        auto* const block = static_cast<unsigned char*>(np_heap_calloc(heap, 1, bytes));
        ASSERT_TRUE(std::all_of(block, block + bytes, [](unsigned char each) { return each == 0; })) << bytes;
    }
}

TEST_F(np_heaps, set_ENOMEM_for_impossible_sizes_and_keep_the_block)
{
    auto* const block = static_cast<unsigned char*>(np_heap_alloc(heap, 100));
    block[99] = 7;
    errno = 0;
    EXPECT_EQ(np_heap_alloc(heap, largest), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np_heap_calloc(heap, largest / 2, 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np_heap_realloc(heap, block, largest / 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(block[99], 7);
}

TEST_F(np_heaps, recover_after_the_system_was_out_of_memory)
{
    constexpr std::size_t much = std::size_t{64} << 20;
    const test::system_calls calls;
    calls.refuse_from(test::system_call::protect, 1);
    errno = 0;
    std::size_t had_before = 0; // Blocks from free memory of earlier tests, freed with the heap.
    while (np_heap_alloc(heap, much) != nullptr)
        ASSERT_LT(++had_before, 10'000U);
    EXPECT_EQ(errno, ENOMEM);
    calls.refuse_nothing();
    EXPECT_NE(np_heap_alloc(heap, much), nullptr);
}

void grow_beyond_the_region()
{
    constexpr std::size_t region = std::size_t{16} << 20;
    bool is_right = np_option_set(np_option_region_bytes, region) == 0;
    np_heap* const heap = np_heap_create();
    auto* const traced = static_cast<unsigned char*>(np_alloc_at(100, "a.c", 1));
    traced[99] = 7;
    is_right = is_right && np_heap_realloc(heap, np_heap_alloc(heap, 100), 2 * region) == nullptr;
    auto* const moved = static_cast<unsigned char*>(np_realloc(traced, 2 * region));
    is_right = is_right && moved != nullptr && moved[99] == 7 && np_verify() == 1;
    np_free(moved);
    std::exit(is_right ? 0 : 1); // NOLINT(concurrency-mt-unsafe): single-threaded
}

TEST(np_heaps_death_test, never_leave_the_region_but_other_blocks_may)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(grow_beyond_the_region(), testing::ExitedWithCode(0), "");
}

TEST_F(np_heaps, keep_errno_when_destroyed)
{
    const test::option_for_now at_once(np_option_decay_ms, 0);
    np_heap* const with_large_block = np_heap_create();
    EXPECT_NE(np_heap_alloc(with_large_block, 1'000'000), nullptr);
    const test::system_calls calls;
    calls.refuse_from(test::system_call::advise, 1); // Imitates locked memory.
    errno = 7;
    np_heap_destroy(with_large_block);
    EXPECT_EQ(errno, 7);
}

TEST_F(np_heaps, keep_the_contents_of_a_resized_block)
{
    std::mt19937 random(5); // NOLINT: deterministic
    std::size_t bytes = 1;
    auto* block = static_cast<unsigned char*>(np_heap_realloc(heap, nullptr, bytes));
    for (int step = 0; step != 100; ++step) {
        const std::size_t wanted = sizes_of_all_kinds[random() % sizes_of_all_kinds.size()] + 1;
        std::memset(block, step, bytes);
        block = static_cast<unsigned char*>(np_heap_realloc(heap, block, wanted));
        ASSERT_TRUE(
            std::all_of(block, block + std::min(bytes, wanted), [=](unsigned char each) { return each == step; }));
        bytes = wanted;
    }
}

TEST_F(np_heaps, allow_np_free_and_np_realloc_of_their_blocks)
{
    np_heap* const ends = np_heap_create();
    for (const std::size_t bytes : sizes_of_all_kinds)
        np_free(np_heap_alloc(ends, bytes));
    void* const grown = np_realloc(np_heap_alloc(ends, 10), 100'000);
    void* const shrunk = np_realloc(np_heap_alloc(ends, 100'000), 10);
    EXPECT_TRUE(np_owns(grown));
    EXPECT_TRUE(np_owns(shrunk));
    np_heap_destroy(ends);
    EXPECT_FALSE(np_owns(grown)) << "the block has stayed in its heap";
    EXPECT_FALSE(np_owns(shrunk));
}

TEST_F(np_heaps, report_and_ignore_foreign_pointers)
{
    np_heap* const other = np_heap_create();
    int local = 0;
    const std::array<void*, 5> foreign{np_alloc(100), np_alloc(100'000), np_heap_alloc(other, 100),
                                       np_heap_alloc(other, 100'000), &local};
    const test::error_recorder recorder;
    for (void* block : foreign) {
        np_heap_free(heap, block);
        EXPECT_EQ(np_heap_realloc(heap, block, 10), nullptr);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(2 * foreign.size(), error_kind::foreign_pointer));
    np_free(foreign[0]);
    np_free(foreign[1]);
    np_heap_free(other, foreign[2]);
    np_heap_free(other, foreign[3]);
    EXPECT_EQ(recorder.reports().size(), 2 * foreign.size()) << "all blocks were still in use";
    np_heap_destroy(other);
}

TEST_F(np_heaps, report_double_frees_and_interior_pointers)
{
    auto* const small = static_cast<std::byte*>(np_heap_alloc(heap, 64));
    auto* const large = static_cast<std::byte*>(np_heap_alloc(heap, 100'000));
    const test::error_recorder recorder;
    np_heap_free(heap, small + 16);
    np_heap_free(heap, large + 16);
    np_heap_free(heap, small);
    np_heap_free(heap, small);
    np_heap_free(heap, large);
    np_heap_free(heap, large);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::misaligned_pointer, error_kind::misaligned_pointer,
                                             error_kind::double_free, error_kind::double_free}));
}

TEST(np_heap_destroy, reports_a_double_destroy_and_keeps_the_other_heaps)
{
    const test::immediate_reuse in_order;
    std::array<np_heap*, 3> older{};
    std::generate(older.begin(), older.end(), np_heap_create);
    np_heap* const newest = np_heap_create();
    np_heap_destroy(newest);
    std::for_each(older.begin(), older.end(), np_heap_destroy);
    const std::array<np_heap*, 2> in_place_of_older{np_heap_create(), np_heap_create()};
    const test::error_recorder recorder;
    np_heap_destroy(newest); // The former neighbour of `newest` is another heap now.
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    np_statistics all;
    np_get_statistics(&all);
    EXPECT_EQ(all.heaps, in_place_of_older.size());
    std::for_each(in_place_of_older.begin(), in_place_of_older.end(), np_heap_destroy);
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(np_heaps, report_use_after_they_were_destroyed)
{
    np_heap* const destroyed = np_heap_create();
    void* const block = np_heap_alloc(heap, 100);
    np_heap_destroy(destroyed);
    const test::error_recorder recorder;
    EXPECT_EQ(np_heap_alloc(destroyed, 100), nullptr);
    EXPECT_EQ(np_heap_alloc(destroyed, 100'000), nullptr);
    EXPECT_EQ(np_heap_calloc(destroyed, 10, 10), nullptr);
    EXPECT_EQ(np_heap_realloc(destroyed, nullptr, 100), nullptr);
    EXPECT_EQ(np_heap_realloc(destroyed, block, 200), nullptr);
    np_heap_free(destroyed, block);
    errno = 0;
    EXPECT_EQ(np_heap_visit(destroyed, [](void*, std::size_t, void*) { return 1; }, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(recorder.kinds(), test::kinds(7, error_kind::foreign_pointer));
    np_heap_free(heap, block);
    EXPECT_EQ(recorder.reports().size(), 7U) << "the block was still in use";
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_heap_alloc, reports_a_destroyed_heap_whose_memory_was_discarded)
{
    constexpr std::size_t large = std::size_t{5} << 20;
    const test::error_recorder recorder;
    void* const before = np_alloc(large);
    np_heap* const heap = np_heap_create();
    void* const behind = np_alloc(large);
    np_heap_destroy(heap);
    np_free(before);
    np_free(behind);
    (void)np_trim(); // Discards all three, unless the slab of the heap has other blocks.
    EXPECT_EQ(np_heap_alloc(heap, 10), nullptr);
    EXPECT_EQ(recorder.kinds(), std::vector<error_kind>{error_kind::foreign_pointer});
}

TEST_F(np_heaps, report_a_null_heap)
{
    const test::error_recorder recorder;
    EXPECT_EQ(np_heap_alloc(nullptr, 100), nullptr);
    EXPECT_EQ(np_heap_calloc(nullptr, 10, 10), nullptr);
    EXPECT_EQ(np_heap_realloc(nullptr, nullptr, 100), nullptr);
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::foreign_pointer));
}

TEST_F(np_heaps, report_and_ignore_the_destruction_of_other_pointers)
{
    int local = 0;
    const std::array<void*, 3> foreign{np_alloc(1000), np_heap_alloc(heap, 1000), &local};
    std::memset(foreign[0], 0, 1000);
    std::memset(foreign[1], 0x41, 1000);
    const test::error_recorder recorder;
    for (void* each : foreign)
        np_heap_destroy(reinterpret_cast<np_heap*>(each));
    EXPECT_EQ(recorder.kinds(), test::kinds(foreign.size(), error_kind::foreign_pointer));
    np_heap_destroy(reinterpret_cast<np_heap*>(reinterpret_cast<std::byte*>(heap) + 16));
    EXPECT_EQ(recorder.reports().size(), foreign.size() + 1);
    np_free(foreign[0]);
    np_heap_free(heap, foreign[1]);
    EXPECT_EQ(recorder.reports().size(), foreign.size() + 1) << "both blocks were still in use";
    EXPECT_EQ(np_verify(), 1);
}

np_heap* heap_of_handler;

TEST_F(np_heaps, may_be_used_by_the_error_handler)
{
    void* const block = np_heap_alloc(heap, 64);
    np_heap_free(heap, block);
    heap_of_handler = heap;
    const memory_pool::error_handler before = memory_pool::set_error_handler([](const memory_pool::error_report&) {
        EXPECT_NE(np_heap_alloc(heap_of_handler, 64), nullptr);
        heap_of_handler = nullptr;
    });
    np_heap_free(heap, block);
    memory_pool::set_error_handler(before);
    EXPECT_EQ(heap_of_handler, nullptr) << "the handler was called";
}

TEST_F(np_heaps, ignore_nullptr)
{
    np_heap_free(heap, nullptr);
    np_heap_destroy(nullptr);
}

TEST_F(np_heaps, keep_errno_in_free)
{
    void* const small = np_heap_alloc(heap, 10);
    void* const large = np_heap_alloc(heap, 100'000);
    errno = 77;
    np_heap_free(heap, small);
    np_heap_free(heap, large);
    EXPECT_EQ(errno, 77);
}

TEST_F(np_heaps, may_be_used_by_several_threads_at_once)
{
    std::array<std::atomic<void*>, 64> blocks{};
    std::atomic<std::size_t> faults{0};
    test::in_threads(4, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int step = 0; step != 2000; ++step) {
            const std::size_t bytes = sizeof(std::uintptr_t) + sizes_of_all_kinds[random() % sizes_of_all_kinds.size()];
            void* block = np_heap_alloc(heap, bytes);
            if (step % 3 == 0)
                block = np_heap_realloc(heap, block, bytes * 2);
            const auto mark = reinterpret_cast<std::uintptr_t>(block);
            std::memcpy(block, &mark, sizeof mark);
            if (void* const old = blocks[random() % blocks.size()].exchange(block)) {
                std::uintptr_t marked = 0;
                std::memcpy(&marked, old, sizeof marked);
                faults += marked != reinterpret_cast<std::uintptr_t>(old) ? 1 : 0;
                step % 2 == 0 ? np_heap_free(heap, old) : np_free(old);
            }
        }
    });
    EXPECT_EQ(faults.load(), 0U);
}

TEST_F(np_heaps, may_be_created_and_destroyed_by_any_thread)
{
    std::array<std::atomic<np_heap*>, 8> heaps{};
    const auto use = [](np_heap* used) {
        for (const std::size_t bytes : sizes_of_all_kinds)
            (void)np_heap_alloc(used, bytes);
    };
    test::in_threads(4, [&](std::size_t thread) {
        for (std::size_t step = 0; step != 100; ++step) {
            np_heap* const made = np_heap_create();
            use(made);
            if (np_heap* const taken_over = heaps[(step + thread) % heaps.size()].exchange(made)) {
                use(taken_over);
                np_heap_destroy(taken_over);
            }
        }
    });
    for (std::atomic<np_heap*>& each : heaps)
        np_heap_destroy(each);
}

#if TESTS_MAY_FORK
TEST_F(np_heaps, work_in_the_child_of_a_fork_while_other_threads_allocate)
{
    std::atomic<bool> ends{false};
    std::vector<std::thread> busy;
    for (unsigned seed = 1; seed != 4; ++seed) {
        busy.emplace_back([&, seed] {
            std::mt19937 random(seed);
            while (!ends)
                np_heap_free(heap, np_heap_alloc(heap, sizes_of_all_kinds[random() % sizes_of_all_kinds.size()]));
        });
    }
    for (int i = 0; i != 20; ++i)
        test::expect_in_child([this] {
            for (const std::size_t bytes : sizes_of_all_kinds)
                if (np_heap_alloc(heap, bytes) == nullptr)
                    return false;
            np_heap_destroy(heap);
            np_heap_destroy(np_heap_create());
            return true;
        });
    ends = true;
    for (std::thread& each : busy)
        each.join();
}
#endif
} // namespace
