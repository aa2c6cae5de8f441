// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/concurrent_block_pool_ways.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <list>
#include <thread>
#include <vector>

namespace mp = memory_pool;
using mp::error_kind;
using test::bounded_to;
using test::in_a_thread;
using test::pool_that_checks;
using test::pool_that_counts;

namespace {
TEST(concurrent_block_pool, reports_a_block_of_another_pool_without_reading_adjacent_memory)
{
    const test::error_recorder recorder;
    mp::pool_options large;
    large.initial_capacity = 100'000; // A separate mapping, with inaccessible memory around it.
    mp::concurrent_block_pool other(32, large);
    void* const foreign = other.allocate();
    mp::concurrent_block_pool pool(32);
    void* const own = pool.allocate();
    pool.deallocate(foreign);
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::foreign_pointer});
    pool.deallocate(own);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_block_pool, reports_many_errors_at_once_without_holding_a_lock)
{
    static mp::concurrent_block_pool* asked = nullptr;
    static std::size_t reports = 0;
    mp::concurrent_block_pool pool(32);
    asked = &pool;
    reports = 0;
    const mp::error_handler before = mp::set_error_handler([](const mp::error_report&) {
        ++reports;
        (void)asked->in_use();
    });
    std::array<void*, 40> blocks{};
    pool.allocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.trim();
    if (MEMORY_POOL_ASAN == 0) {
        EXPECT_EQ(reports, 17u) << "sixteen, and one with the number of further ones";
    } else {
        EXPECT_EQ(reports, 40u) << "each at its second free";
    }
    EXPECT_TRUE(pool.verify());
    mp::set_error_handler(before);
}

#if MEMORY_POOL_ASAN
TEST(concurrent_block_pool, reports_a_double_free_across_threads)
{
    const test::error_recorder recorder;
    mp::concurrent_block_pool pool(32);
    std::array<void*, 100> blocks{};
    pool.allocate_bulk(blocks.data(), blocks.size());
    std::thread([&] {
        for (void* const block : blocks)
            pool.deallocate(block);
        for (void* const block : blocks)
            std::thread([&] { pool.deallocate(block); }).join();
    }).join();
    EXPECT_EQ(recorder.kinds(), test::kinds(100, error_kind::double_free));
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}
#endif

TEST(concurrent_block_pool, reports_misuse_before_it_waits)
{
    static std::atomic<int> reports{0};
    reports = 0;
    const mp::error_handler before = mp::set_error_handler([](const mp::error_report&) { ++reports; });
    mp::concurrent_block_pool pool(64, bounded_to(1));
    auto* const block = static_cast<char*>(pool.allocate());
    pool.deallocate(block + 8);
    std::thread waiter([&] { pool.deallocate(pool.allocate_wait()); });
    while (reports == 0)
        std::this_thread::yield();
    pool.deallocate(block);
    waiter.join();
    EXPECT_EQ(reports, 1);
    EXPECT_TRUE(pool.verify());
    mp::set_error_handler(before);
}

TEST(concurrent_block_pool, reports_a_foreign_pointer_instead_of_handing_it_to_a_waiting_thread)
{
    const test::error_recorder recorder;
    pool_that_counts pool(64, bounded_to(1));
    mp::concurrent_block_pool other(64);
    auto* const block = static_cast<char*>(pool.allocate());
    void* const foreign = other.allocate();
    void* got = nullptr;
    std::thread waiter([&] { got = pool.allocate_wait(); });
    while (pool.waiting() != 1)
        std::this_thread::yield();
    pool.deallocate(foreign);
    pool.deallocate(block + 8);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::foreign_pointer, error_kind::misaligned_pointer}));
    EXPECT_EQ(pool.waiting(), 1u);
    pool.deallocate(block);
    waiter.join();
    EXPECT_EQ(got, block);
    pool.deallocate(got);
    EXPECT_EQ(pool.statistics().deallocations, 2u);
    EXPECT_TRUE(pool.verify());
    other.deallocate(foreign);
    EXPECT_TRUE(other.verify());
}

TEST(counting_shared_policy, corrects_its_counts_after_a_misuse)
{
    const test::error_recorder recorder;
    pool_that_counts pool(32, bounded_to(40));
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    for (void* const each : {block, block, other, other})
        pool.deallocate(each);
    pool.trim();
    pool.deallocate(pool.allocate());
    EXPECT_EQ(pool.statistics().peak_in_use, 2u);
    EXPECT_EQ(pool.statistics().in_use, 0u);
    EXPECT_TRUE(pool.verify());
}

TEST(counting_shared_policy, corrects_the_peak_after_a_misuse)
{
    const test::error_recorder recorder;
    pool_that_counts pool(32, bounded_to(40));
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    std::vector<void*> rest(40);
    EXPECT_EQ(pool.allocate_bulk(rest.data(), 20), 20u);
    pool.deallocate(other);
    pool.deallocate(other);
    pool.deallocate_bulk(rest.data(), 20);
    pool.trim();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.allocate_bulk(rest.data(), rest.size()), 40u);
    EXPECT_EQ(pool.statistics().in_use, 40u);
    EXPECT_EQ(pool.statistics().peak_in_use, 40u);
}

TEST(checking_shared_policy, reports_misuse_from_any_thread)
{
    test::error_recorder recorder;
    pool_that_checks pool(24);
    void* const block = pool.allocate();
    in_a_thread([&] { pool.deallocate(block); });
    in_a_thread([&] { pool.deallocate(block); });
    pool.deallocate(&pool);
    char* const other = static_cast<char*>(pool.allocate());
    pool.deallocate(other + 8);
    mp::detail::base::permit_access(other + 24, 1);
    const char kept = other[24];
    other[24] = 'x';
    in_a_thread([&] { pool.deallocate(other); });
    mp::detail::base::permit_access(other + 24, 1); // The check has poisoned it again.
    other[24] = kept;
    pool.deallocate(other);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::foreign_pointer,
                                             error_kind::misaligned_pointer, error_kind::buffer_overflow}));
}

TEST(checking_shared_policy, reports_each_overflow_once)
{
    test::expect_one_report_of_each_overflow<pool_that_checks>();
}

pool_that_checks* pool_to_ask = nullptr;
std::size_t in_use_in_handler = 0;

TEST(checking_shared_policy, uses_no_fixed_cache_slots)
{
    std::list<pool_that_checks> checking;
    while (checking.size() != mp::detail::core::slots_in_a_page)
        checking.emplace_back(sizeof(void*));
    mp::concurrent_block_pool caching(sizeof(void*));
    in_a_thread([&] {
        caching.deallocate(caching.allocate());
        for (const mp::detail::core::cache_slot* const page : mp::detail::core::this_thread_table.pages)
            EXPECT_EQ(page, nullptr) << "no page was needed";
    });
}

TEST(checking_shared_policy, lets_the_error_handler_use_the_pool)
{
    const mp::error_handler before =
        mp::set_error_handler([](const mp::error_report&) { in_use_in_handler = pool_to_ask->in_use(); });
    pool_that_checks pool(24);
    pool_to_ask = &pool;
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    EXPECT_EQ(in_use_in_handler, 1u);
    pool.deallocate(other);
    mp::set_error_handler(before);
}

TEST(concurrent_block_pool, reports_a_double_free_when_the_magazine_is_flushed)
{
    const test::error_recorder recorder;
    mp::basic_concurrent_block_pool<mp::counting_policy> pool(32, bounded_to(40));
    void* const block = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.statistics().deallocations, 1u);
    EXPECT_TRUE(pool.verify());
}
} // namespace
