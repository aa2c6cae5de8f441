// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/report.hpp>

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/page_resource.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
mp::pool_options named(const char* name)
{
    return mp::pool_options{}.with_name(name);
}

std::vector<std::string> names()
{
    std::vector<std::string> all;
    for (const mp::report_entry& each : mp::snapshot().entries)
        all.push_back(each.name);
    return all;
}

std::vector<mp::report_entry> entries_of(const std::string& name)
{
    std::vector<mp::report_entry> found = mp::snapshot().entries;
    found.erase(std::remove_if(found.begin(), found.end(), [&](const auto& each) { return each.name != name; }),
                found.end());
    return found;
}

mp::report_entry entry_of(const std::string& name)
{
    const std::vector<mp::report_entry> found = entries_of(name);
    EXPECT_EQ(found.size(), 1U) << name;
    return found.empty() ? mp::report_entry() : found.front();
}

struct item : mp::pooled<item>
{
    int value = 0;
};

TEST(snapshot, lists_named_pools_and_resources_in_order_of_creation)
{
    const mp::block_pool first(64, named("first"));
    auto second = std::make_unique<mp::concurrent_block_pool>(64, named("second"));
    const mp::object_pool<int> third(named("third"));
    EXPECT_EQ(names(), (std::vector<std::string>{"first", "second", "third"}));
    second.reset();
    EXPECT_EQ(names(), (std::vector<std::string>{"first", "third"}));
}

TEST(snapshot, omits_unnamed_pools_and_resources)
{
    const mp::block_pool pool(64);
    const mp::block_pool nothing(64, named(""));
    const mp::block_pool null(64, named(nullptr));
    const mp::unsynchronized_arena_resource arenas;
    mp::unsynchronized_pool_resource resource;
    const std::pmr::vector<int> numbers(10, &resource);
    const mp::tracking_resource tracking;
    const mp::limit_resource limit(1000);
    const mp::page_resource pages;
    EXPECT_TRUE(mp::snapshot().entries.empty());
}

TEST(snapshot, reports_the_kind_of_each_entry)
{
    const mp::block_pool block_pool(8, named("1"));
    const mp::concurrent_block_pool concurrent_block_pool(8, named("2"));
    const mp::object_pool<int> object_pool(named("3"));
    const mp::concurrent_object_pool<int> concurrent_object_pool(named("4"));
    const mp::intrusive_pool<item> intrusive_pool(named("5"));
    const mp::recycling_pool<item> recycling_pool(mp::recycle::nothing, named("6"));
    const mp::shared_pool<int> shared_pool(named("7"));
    const mp::unsynchronized_shared_pool<int> unsynchronized_shared_pool(named("8"));
    const mp::recycling_shared_pool<int> recycling_shared_pool(mp::recycle::nothing, named("9"));
    const mp::unsynchronized_recycling_shared_pool<int> unsynchronized_recycling(mp::recycle::nothing, named("10"));
    const mp::unsynchronized_arena_resource unsynchronized_arenas(mp::arena_options{}.with_name("11"));
    const mp::synchronized_arena_resource synchronized_arenas(mp::arena_options{}.with_name("12"));
    auto* const upstream = std::pmr::new_delete_resource();
    const mp::unsynchronized_pool_resource unsynchronized_pools({}, upstream, "13");
    const mp::synchronized_pool_resource synchronized_pools({}, upstream, "14");
    const mp::limit_resource limit(mp::limit_options{}.with_name("15"));
    const mp::tracking_resource tracking(upstream, "16");
    const mp::handle_pool<int> handle_pool(named("17"));
    const mp::concurrent_handle_pool<int> concurrent_handle_pool(named("18"));
    const mp::page_resource pages(mp::page_options{}.with_name("19"));
    std::vector<std::string> kinds;
    for (const mp::report_entry& each : mp::snapshot().entries)
        kinds.push_back(each.kind);
    EXPECT_EQ(kinds, (std::vector<std::string>{"block_pool", "concurrent_block_pool", "object_pool",
                                               "concurrent_object_pool", "intrusive_pool", "recycling_pool",
                                               "shared_pool", "unsynchronized_shared_pool", "recycling_shared_pool",
                                               "unsynchronized_recycling_shared_pool", "unsynchronized_arena_resource",
                                               "synchronized_arena_resource", "unsynchronized_pool_resource",
                                               "synchronized_pool_resource", "limit_resource", "tracking_resource",
                                               "handle_pool", "concurrent_handle_pool", "page_resource"}));
}

TEST(snapshot, has_current_statistics_of_a_shared_pool)
{
    mp::basic_concurrent_block_pool<mp::counting_policy> pool(40, named("shared").with_max_capacity(1000));
    std::vector<void*> blocks(700);
    for (void*& block : blocks)
        block = pool.allocate();
    for (std::size_t i = 0; i != 200; ++i)
        pool.deallocate(blocks[i]);
    const mp::report_entry entry = entry_of("shared");
    EXPECT_FALSE(entry.age.has_value());
    EXPECT_EQ(entry.statistics.block_size, 40U);
    EXPECT_EQ(entry.statistics.in_use, 500U);
    EXPECT_EQ(entry.statistics.peak_in_use, 700U);
    EXPECT_EQ(entry.statistics.allocations, 700U);
    EXPECT_EQ(entry.statistics.failures, 0U);
    EXPECT_EQ(entry.statistics.limit, 1000U);
    EXPECT_EQ(entry.statistics.capacity, pool.capacity());
    EXPECT_EQ(entry.statistics.slabs, pool.slab_count());
    EXPECT_EQ(entry.statistics.bytes_reserved, pool.bytes_reserved());
    EXPECT_EQ(entry.statistics.bytes_in_use, 500U * 40);
    EXPECT_GT(entry.statistics.bytes_cached, 0U);
}

TEST(snapshot, has_the_published_statistics_of_an_unshared_pool)
{
    mp::basic_block_pool<mp::counting_policy, mp::detail::core::local_store<mp::counting_policy>> pool(
        12, named("mine").with_growth_step(100));
    EXPECT_EQ(entry_of("mine").statistics.capacity, 0U);
    std::vector<void*> blocks(250);
    for (void*& block : blocks)
        block = pool.allocate();
    const mp::report_entry entry = entry_of("mine");
    ASSERT_TRUE(entry.age.has_value());
    EXPECT_LT(*entry.age, std::chrono::minutes(1));
    EXPECT_EQ(entry.statistics.capacity, 300U);
    EXPECT_EQ(entry.statistics.limit, mp::report_statistics::unlimited);
    EXPECT_GT(entry.statistics.in_use, 200U) << "at its last batch";
    EXPECT_LE(entry.statistics.in_use, 250U);
    EXPECT_EQ(entry.statistics.bytes_in_use, entry.statistics.in_use * 12);
    EXPECT_EQ(entry.statistics.bytes_of_slack, entry.statistics.in_use * 4) << "12 bytes take 16";
    pool.clear();
    EXPECT_EQ(entry_of("mine").statistics.in_use, 0U);
    EXPECT_EQ(entry_of("mine").statistics.peak_in_use, 250U);
    (void)pool.trim();
    EXPECT_EQ(entry_of("mine").statistics.bytes_reserved, pool.bytes_reserved());
}

TEST(snapshot, lists_each_size_class_and_the_large_blocks_of_a_pool_resource)
{
    mp::synchronized_pool_resource resource({}, std::pmr::new_delete_resource(), "sizes");
    void* const small = resource.allocate(32);
    void* const large = resource.allocate(100'000);
    const std::vector<mp::report_entry> entries = entries_of("sizes");
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].statistics.block_size, 0U);
    EXPECT_EQ(entries[0].statistics.bytes_in_use, 100'000U);
    EXPECT_EQ(entries[1].statistics.block_size, 32U);
    EXPECT_EQ(entries[1].statistics.in_use, 1U);
    EXPECT_EQ(entries[0].statistics.bytes_reserved + entries[1].statistics.bytes_reserved, resource.bytes_reserved());
    resource.deallocate(small, 32);
    resource.deallocate(large, 100'000);
    EXPECT_EQ(entries_of("sizes")[0].statistics.bytes_in_use, 0U);
}

TEST(snapshot, lists_the_large_blocks_of_an_unsynchronized_pool_resource)
{
    mp::unsynchronized_pool_resource resource({}, std::pmr::new_delete_resource(), "sizes");
    void* const large = resource.allocate(100'000);
    EXPECT_EQ(entry_of("sizes").statistics.bytes_in_use, 100'000U);
    resource.deallocate(large, 100'000);
    EXPECT_EQ(entry_of("sizes").statistics.bytes_in_use, 0U);
}

TEST(snapshot, lists_the_arenas_of_a_resource)
{
    const mp::arena_options options = mp::arena_options{}.with_arena_size(4096).with_max_arenas(100);
    mp::synchronized_arena_resource shared(options.with_name("shared arenas"));
    mp::unsynchronized_arena_resource mine(options.with_name("my arenas"));
    for (int i = 0; i != 50; ++i) {
        (void)shared.allocate(1000);
        (void)mine.allocate(1000);
    }
    const mp::report_statistics of_shared = entry_of("shared arenas").statistics;
    EXPECT_EQ(of_shared.block_size, 4096U);
    EXPECT_EQ(of_shared.capacity, shared.arena_count());
    EXPECT_EQ(of_shared.limit, 100U);
    EXPECT_EQ(of_shared.bytes_in_use, shared.bytes_in_use());
    EXPECT_EQ(of_shared.bytes_reserved, shared.bytes_reserved());
    const mp::report_statistics of_mine = entry_of("my arenas").statistics;
    EXPECT_GE(of_mine.capacity * 10, mine.arena_count() * 8) << "published whenever the number has grown by an eighth";
    mine.clear();
    EXPECT_EQ(entry_of("my arenas").statistics.bytes_in_use, 0U);
}

TEST(snapshot, lists_a_page_resource_without_adding_its_memory_to_the_total)
{
    mp::page_resource pages(mp::page_options{}.with_name("pages"));
    EXPECT_EQ(entry_of("pages").statistics.bytes_in_use, 0U);
    void* const chunk = pages.allocate(1);
    EXPECT_EQ(entry_of("pages").statistics.bytes_in_use, pages.bytes_in_use());
    EXPECT_GT(pages.bytes_in_use(), 0U);
    EXPECT_EQ(entry_of("pages").age, std::nullopt);
    EXPECT_EQ(mp::snapshot().totals().bytes_in_use, 0U);
    mp::object_pool<int> pool(named("pool"), &pages);
    (void)pool.create(1);
    EXPECT_EQ(mp::snapshot().totals().bytes_reserved, pool.bytes_reserved());
    pages.deallocate(chunk, 1);
}

TEST(snapshot, omits_a_destroyed_page_resource)
{
    {
        const mp::page_resource pages(mp::page_options{}.with_name("pages"));
    }
    EXPECT_TRUE(mp::snapshot().entries.empty());
}

TEST(snapshot, lists_adaptors_without_adding_their_memory_to_the_total)
{
    mp::limit_resource limit(mp::limit_options{}.with_limit(1000).with_name("limit"));
    mp::tracking_resource tracking(&limit, "tracking");
    const std::pmr::vector<char> bytes(300, &tracking);
    EXPECT_EQ(entry_of("limit").statistics.limit, 1000U);
    EXPECT_EQ(entry_of("limit").statistics.bytes_in_use, 300U);
    EXPECT_EQ(entry_of("tracking").statistics.bytes_in_use, 300U);
    EXPECT_EQ(entry_of("tracking").statistics.allocations, 1U);
    EXPECT_EQ(mp::snapshot().totals().bytes_in_use, 0U);
    mp::object_pool<int> pool(named("pool"));
    (void)pool.create(1);
    EXPECT_EQ(mp::snapshot().totals().bytes_reserved, pool.bytes_reserved());
}

TEST(snapshot, keeps_the_first_127_characters_of_a_name)
{
    const std::string name(1000, 'n');
    const mp::block_pool pool(8, named(name.c_str()));
    EXPECT_EQ(names(), std::vector<std::string>{std::string(127, 'n')});
}

TEST(snapshot, lists_more_pools_than_are_queried_at_once)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools;
    std::vector<std::string> expected;
    for (int i = 0; i != 100; ++i)
        expected.push_back("pool " + std::to_string(i));
    for (const std::string& name : expected)
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(8, named(name.c_str())));
    EXPECT_EQ(names(), expected);
}

// Each block holds the number of a thread. The statistics must be consistent whenever they are read.
TEST(snapshot, is_consistent_during_allocations_and_pool_creation)
{
    mp::concurrent_block_pool shared(64, named("shared"));
    std::atomic<int> at_work{3};
    test::in_threads(4, [&](std::size_t thread) {
        if (thread == 0) {
            do {
                for (const mp::report_entry& each : mp::snapshot().entries) {
                    EXPECT_LE(each.statistics.in_use, each.statistics.capacity);
                    EXPECT_LE(each.statistics.bytes_in_use, each.statistics.bytes_reserved);
                }
            } while (at_work.load() != 0);
            return;
        }
        for (int round = 0; round != 300; ++round) {
            mp::block_pool mine(32, named("mine"));
            mp::concurrent_block_pool others(32, named("others"));
            std::vector<void*> blocks;
            for (int i = 0; i != 100; ++i) {
                blocks.push_back(shared.allocate());
                (void)mine.allocate();
                (void)others.allocate();
            }
            for (void* block : blocks)
                shared.deallocate(block);
        }
        --at_work;
    });
    EXPECT_EQ(entry_of("shared").statistics.in_use, 0U);
    EXPECT_EQ(names(), std::vector<std::string>{"shared"});
}

/// Each allocation destroys a named pool and creates another.
class renaming_upstream final : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        pool_ = std::make_unique<mp::concurrent_block_pool>(8, named("of an upstream"));
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override
    {
        std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::unique_ptr<mp::concurrent_block_pool> pool_;
};

TEST(snapshot, does_not_deadlock_with_an_upstream_that_destroys_pools_under_a_lock)
{
    std::atomic<bool> is_over{false};
    test::in_threads(2, [&](std::size_t thread) {
        if (thread == 0) {
            while (!is_over.load())
                (void)mp::snapshot();
            return;
        }
        renaming_upstream upstream;
        for (int round = 0; round != 1000; ++round) {
            mp::concurrent_block_pool pool(64, named("grows"), &upstream);
            (void)pool.allocate();
        }
        is_over = true;
    });
    EXPECT_TRUE(names().empty());
}

#if TESTS_MAY_FORK
TEST(snapshot, does_not_block_a_fork_while_a_thread_creates_named_pools)
{
    std::atomic<bool> is_over{false};
    test::in_threads(2, [&](std::size_t thread) {
        if (thread == 0) {
            for (int forks = 0; forks != 100; ++forks)
                test::expect_in_child([] { return mp::snapshot().left_out == 0; });
            is_over = true;
            return;
        }
        while (!is_over.load()) {
            mp::synchronized_pool_resource resource({}, std::pmr::new_delete_resource(), "resource");
            resource.deallocate(resource.allocate(64), 64); // Creates a pool while holding the lock.
        }
    });
}

TEST(snapshot, keeps_published_statistics_of_lost_threads_in_a_child_process_until_the_pool_is_used)
{
    test::lasting_thread other;
    std::unique_ptr<mp::block_pool> mine_of_other;
    std::unique_ptr<mp::concurrent_block_pool> shared_of_other;
    other.does([&] {
        mine_of_other = std::make_unique<mp::block_pool>(64, named("mine of other"));
        shared_of_other = std::make_unique<mp::concurrent_block_pool>(64, named("shared of other"));
        (void)mine_of_other->allocate();
        (void)shared_of_other->allocate();
    });
    mp::concurrent_block_pool shared(64, named("shared"));
    (void)shared.allocate();
    test::expect_in_child([&] {
        const bool are_lost = entry_of("mine of other").is_of_lost_thread &&
                              entry_of("mine of other").statistics.in_use == 1 &&
                              entry_of("shared of other").is_of_lost_thread && !entry_of("shared").is_of_lost_thread &&
                              entry_of("shared").statistics.in_use == 1;
        (void)shared_of_other->allocate();
        (void)mine_of_other->trim();
        const mp::report_entry used = entry_of("shared of other");
        const bool is_back = !used.is_of_lost_thread && used.statistics.in_use == 2 && !used.age.has_value() &&
                             !entry_of("mine of other").is_of_lost_thread;
        shared_of_other.reset();
        return are_lost && is_back && names().size() == 2 && !testing::Test::HasFailure();
    });
}
#endif
} // namespace
