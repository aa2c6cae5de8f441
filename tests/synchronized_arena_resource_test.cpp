// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/arena_resource.hpp>

#include <support/arena_resource_conformance.hpp>
#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/resource_conformance.hpp>
#include <support/shared_resource_conformance.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace mp = memory_pool;

namespace test {
using plain_arenas = mp::basic_synchronized_arena_resource<mp::default_policy>;
using checking_arenas = mp::basic_synchronized_arena_resource<mp::checking_policy>;
using synchronized_arenas = testing::Types<plain_arenas, checking_arenas>;
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_arenas, resource_conformance, synchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_arenas, arena_resource_conformance, synchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_arenas, shared_resource_conformance, synchronized_arenas, );
#if TESTS_MAY_FORK
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_arenas, forked_resource_conformance, synchronized_arenas, );
#endif
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_arenas, checking_arena_conformance, testing::Types<checking_arenas>, );
} // namespace test

namespace {
using mp::error_kind;
using test::allocate_filled;
using test::filled_block;
using test::in_a_thread;
using test::in_threads;

mp::arena_options bounded_to(std::size_t max_arenas)
{
    mp::arena_options options = test::with_arenas_of(1024);
    options.max_arenas = max_arenas;
    return options;
}

TEST(synchronized_arena_resource, fills_a_separate_arena_for_each_thread)
{
    mp::synchronized_arena_resource arenas(test::with_arenas_of(1024));
    const filled_block mine = allocate_filled(arenas, 48);
    in_a_thread([&] {
        const filled_block theirs = allocate_filled(arenas, 48);
        EXPECT_EQ(arenas.arena_count(), 2u);
        EXPECT_EQ(arenas.free_arenas(), 0u);
        EXPECT_TRUE(give_back(arenas, theirs));
        EXPECT_EQ(arenas.free_arenas(), 1u);
    });
    EXPECT_EQ(arenas.allocate(48), mine.address + 48) << "the other thread has not used this arena";
}

TEST(synchronized_arena_resource, stays_consistent_if_the_last_block_is_freed_twice)
{
    const test::error_recorder recorder;
    mp::synchronized_arena_resource arenas;
    void* const small = arenas.allocate(8, 8);
    void* const last = arenas.allocate(1000, 8);
    arenas.deallocate(small, 8, 8);
    arenas.deallocate(small, 8, 8); // Not detected yet: enough bytes of the arena are in use.
    arenas.deallocate(last, 1000, 8);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_TRUE(arenas.verify());
}

TEST(synchronized_arena_resource, reuses_the_arena_of_a_thread_that_has_ended)
{
    mp::synchronized_arena_resource arenas(bounded_to(2));
    void* in_its_arena = nullptr;
    in_a_thread([&] { in_its_arena = arenas.allocate(40); });
    EXPECT_EQ(arenas.free_arenas(), 0u);
    EXPECT_EQ(arenas.bytes_wasted(), 0u) << "the next thread continues this arena";
    arenas.deallocate(in_its_arena, 40);
    EXPECT_EQ(arenas.free_arenas(), 1u);
    EXPECT_EQ(arenas.allocate(40), in_its_arena);
}

TEST(synchronized_arena_resource, reuses_an_arena_emptied_by_other_threads)
{
    mp::synchronized_arena_resource arenas(bounded_to(1));
    const std::size_t half = arenas.largest_block() / 2;
    for (int round = 0; round != 10; ++round) {
        void* const first = arenas.allocate(half, 8);
        void* const second = arenas.allocate(half, 8);
        EXPECT_THROW((void)arenas.allocate(8), mp::pool_exhausted);
        in_a_thread([&] { arenas.deallocate(first, half, 8); });
        EXPECT_EQ(arenas.bytes_in_use(), half);
        EXPECT_EQ(arenas.bytes_wasted(), half);
        in_a_thread([&] { arenas.deallocate(second, half, 8); });
        EXPECT_EQ(arenas.free_arenas(), 1u);
        EXPECT_TRUE(arenas.verify());
    }
}

TEST(synchronized_arena_resource, frees_an_abandoned_arena_when_its_last_block_is_freed)
{
    mp::synchronized_arena_resource arenas(bounded_to(2));
    const std::size_t whole = arenas.largest_block();
    void* const left = arenas.allocate(whole);
    void* const filled = arenas.allocate(whole);
    EXPECT_THROW((void)arenas.allocate(whole), mp::pool_exhausted);
    in_a_thread([&] { arenas.deallocate(left, whole); });
    EXPECT_EQ(arenas.allocate(whole), left);
    arenas.deallocate(filled, whole); // A free by a thread that has left the arena, as by any other thread.
    EXPECT_EQ(arenas.free_arenas(), 1u);
}

TEST(synchronized_arena_resource, has_exactly_max_arenas_for_eight_threads)
{
    constexpr std::size_t limit = 20;
    mp::synchronized_arena_resource arenas(bounded_to(limit));
    for (int round = 0; round != 20; ++round) {
        std::atomic<std::size_t> count{0};
        std::vector<std::vector<filled_block>> blocks(8);
        in_threads(8, [&](std::size_t thread) {
            try {
                while (true) {
                    blocks[thread].push_back(allocate_filled(arenas, arenas.largest_block()));
                    ++count;
                }
            } catch (const mp::pool_exhausted&) {
                EXPECT_LE(arenas.arena_count(), limit);
            }
        });
        EXPECT_EQ(count, limit);
        EXPECT_EQ(arenas.arena_count(), limit);
        in_threads(8, [&](std::size_t thread) { EXPECT_TRUE(give_back_all(arenas, blocks[(thread + 3) % 8])); });
        EXPECT_EQ(arenas.free_arenas(), limit);
        EXPECT_TRUE(arenas.verify());
    }
}

TEST(synchronized_arena_resource, keeps_the_current_arena_of_a_thread_until_it_ends)
{
    mp::synchronized_arena_resource arenas(bounded_to(1));
    in_a_thread([&] {
        arenas.deallocate(arenas.allocate(8), 8);
        in_a_thread([&] { EXPECT_THROW((void)arenas.allocate(8), mp::pool_exhausted); });
    });
    arenas.deallocate(arenas.allocate(8), 8);
}

TEST(synchronized_arena_resource, works_for_threads_without_a_cache)
{
    test::accounting_upstream upstream;
    mp::arena_options options = bounded_to(2);
    options.arena_count = 2;
    mp::synchronized_arena_resource arenas(options, &upstream);
    upstream.fail_always();
    const filled_block mine = allocate_filled(arenas, 48);
    in_a_thread([&] {
        const filled_block theirs = allocate_filled(arenas, 48);
        EXPECT_EQ(theirs.address, mine.address + 48) << "they share one arena";
        EXPECT_TRUE(give_back(arenas, mine));
        EXPECT_TRUE(give_back(arenas, theirs));
    });
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
    EXPECT_EQ(arenas.free_arenas(), 2u);
    EXPECT_TRUE(arenas.verify());
    upstream.never_fail();
    (void)arenas.allocate(40);
    in_a_thread([&] {
        EXPECT_NE(arenas.allocate(arenas.largest_block()), nullptr) << "the shared arena is empty";
        EXPECT_THROW((void)arenas.allocate(arenas.largest_block()), mp::pool_exhausted);
    });
    (void)arenas.trim();
    EXPECT_TRUE(arenas.verify());
}

#if TESTS_MAY_FORK
TEST(synchronized_arena_resource, loses_no_arena_in_a_child_whose_parent_has_threads_about_to_free_one)
{
    mp::synchronized_arena_resource arenas(test::with_arenas_of(1024));
    const std::size_t whole = arenas.largest_block();
    std::atomic<bool> is_over{false};
    std::atomic<int> at_work{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i != 4; ++i)
        threads.emplace_back([&] {
            void* previous = arenas.allocate(whole);
            for (++at_work; !is_over;) {
                void* const next = arenas.allocate(whole);
                arenas.deallocate(previous, whole); // The last block of an arena that this thread has left.
                previous = next;
            }
            arenas.deallocate(previous, whole);
        });
    while (at_work != 4)
        std::this_thread::yield();
    for (int round = 0; round != 30; ++round)
        test::expect_in_child([&] {
            // The blocks of the lost threads stay in use, and every arena is either in use or free.
            const std::size_t arenas_in_use = arenas.arena_count() - arenas.free_arenas();
            return arenas.verify() && arenas.bytes_in_use() == arenas_in_use * whole;
        });
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(arenas.free_arenas(), arenas.arena_count());
}
#endif

TEST(checking_synchronized_arena_resource, reports_one_of_two_concurrent_frees_of_a_block)
{
    mp::basic_synchronized_arena_resource<mp::checking_policy> arenas;
    for (int round = 0; round != 50; ++round) {
        static std::atomic<int> reports;
        reports = 0;
        const mp::error_handler before = mp::set_error_handler([](const mp::error_report& report) {
            EXPECT_EQ(report.kind, error_kind::double_free);
            ++reports;
        });
        void* const block = arenas.allocate(40);
        in_threads(2, [&](std::size_t) { arenas.deallocate(block, 40); });
        mp::set_error_handler(before);
        EXPECT_EQ(reports, 1);
        EXPECT_EQ(arenas.bytes_in_use(), 0u);
        EXPECT_TRUE(arenas.verify());
    }
}
mp::arena_options at_most(std::size_t arenas)
{
    mp::arena_options options;
    options.max_arenas = arenas;
    return options;
}

TEST(synchronized_arena_resource, keeps_its_current_arena_after_a_trim)
{
    mp::synchronized_arena_resource arenas(at_most(1));
    std::vector<void*> blocks;
    for (int i = 0; i != 100; ++i) {
        blocks.push_back(arenas.allocate(64));
        EXPECT_EQ(arenas.trim(), 0U);
    }
    for (void* block : blocks)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.trim(), arenas.arena_size());
}

TEST(synchronized_arena_resource, lets_a_thread_continue_the_arena_of_one_that_has_ended)
{
    mp::synchronized_arena_resource arenas(at_most(2));
    std::vector<void*> blocks;
    for (int i = 0; i != 50; ++i)
        in_a_thread([&] { blocks.push_back(arenas.allocate(64)); });
    EXPECT_EQ(arenas.arena_count(), 1U);
    for (void* block : blocks)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_EQ(arenas.free_arenas(), 1U);
    EXPECT_TRUE(arenas.verify());
}

TEST(synchronized_arena_resource, uses_empty_arenas_before_it_fails)
{
    mp::synchronized_arena_resource arenas(at_most(1));
    void* theirs = nullptr;
    in_a_thread([&] { theirs = arenas.allocate(64); });
    arenas.deallocate(theirs, 64);
    void* const mine = arenas.allocate(64); // From the arena of a thread that has ended.
    EXPECT_NE(mine, nullptr);
    arenas.deallocate(mine, 64);
}

TEST(synchronized_arena_resource, reports_more_frees_than_allocations_in_the_arena_of_a_thread)
{
    mp::synchronized_arena_resource arenas;
    void* const block = arenas.allocate(64);
    void* const other = arenas.allocate(64);
    const test::error_recorder recorder;
    arenas.deallocate(block, 64);
    arenas.deallocate(other, 64);
    arenas.deallocate(other, 64);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
    EXPECT_TRUE(arenas.verify());
}
} // namespace
