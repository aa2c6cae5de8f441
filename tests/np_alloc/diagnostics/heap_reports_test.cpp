// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The heaps that reports list. This program must have no registry of pools, because the registry's fork handlers do not
// support the nested forks of fork_test.cpp. Therefore, these tests do not call snapshot(). report/write_report_test.py
// reads whole reports.
#include <memory_pool/np_alloc.h>
#include <memory_pool/np_alloc.hpp>

#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <support/child.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

extern "C" void memory_pool_np_visit_heaps(void (*each)(const void* view, std::size_t bytes, void* argument),
                                           void* argument);

namespace {
struct entry
{
    std::string kind;
    std::string name;
    mp::report_statistics statistics;
    bool is_published;
    bool is_of_lost_thread;
};

/// The heaps that reports list.
std::vector<entry> heaps()
{
    std::vector<entry> all;
    const auto add = [](const void* view, std::size_t bytes, void* to) {
        ASSERT_EQ(bytes, sizeof(core::report_view));
        const auto& seen = *static_cast<const core::report_view*>(view);
        static_cast<std::vector<entry>*>(to)->push_back(
            {seen.kind.data(), seen.name.data(), seen.statistics, seen.is_published, seen.is_of_lost_thread});
    };
    memory_pool_np_visit_heaps(add, &all);
    return all;
}

/// A named heap during a test.
struct named_heap_reports : testing::Test
{
    np_heap* heap = np_heap_create_named("requests");

    named_heap_reports() { EXPECT_NE(heap, nullptr); }
    ~named_heap_reports() override { np_heap_destroy(heap); }

    np_heap_statistics statistics() const
    {
        np_heap_statistics current{};
        EXPECT_EQ(np_heap_get_statistics(heap, &current), 0);
        return current;
    }
};

TEST_F(named_heap_reports, show_the_statistics_of_the_heap)
{
    for (int i = 0; i != 1000; ++i)
        (void)np_heap_alloc(heap, 100);
    (void)np_heap_alloc(heap, 200'000);
    const std::vector<entry> listed = heaps();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].name, "requests");
    EXPECT_EQ(listed[0].kind, "np_heap");
    EXPECT_FALSE(listed[0].is_published) << "the statistics are current";
    EXPECT_FALSE(listed[0].is_of_lost_thread);
    const mp::report_statistics& reported = listed[0].statistics;
    const np_heap_statistics current = statistics();
    EXPECT_EQ(reported.block_size, 0U);
    EXPECT_EQ(reported.in_use, 1001U);
    EXPECT_EQ(reported.slabs, current.slabs);
    EXPECT_EQ(reported.bytes_reserved, current.bytes_reserved);
    EXPECT_EQ(reported.bytes_in_use, 1000 * 100 + test::counted_bytes(200'000)) << "all small requests had one size";
    EXPECT_EQ(reported.bytes_in_use + reported.bytes_of_slack, current.bytes_in_use);
    EXPECT_EQ(reported.counts, 0U);
}

TEST_F(named_heap_reports, are_updated_until_the_heap_is_empty)
{
    void* const block = np_heap_alloc(heap, 100);
    void* const large = np_heap_alloc(heap, 200'000);
    np_heap_free(heap, block);
    ASSERT_EQ(heaps().size(), 1U);
    EXPECT_EQ(heaps()[0].statistics.in_use, 1U);
    np_heap_free(heap, large);
    EXPECT_EQ(heaps()[0].statistics.in_use, 0U);
    EXPECT_EQ(heaps()[0].statistics.bytes_in_use, 0U);
    (void)np_heap_alloc(heap, 100);
    np_heap_clear(heap);
    EXPECT_EQ(heaps()[0].statistics.bytes_reserved, 0U);
}

TEST_F(named_heap_reports, list_a_heap_until_it_is_destroyed)
{
    np_heap* const second = np_heap_create_named("second");
    np_heap* const third = np_heap_create_named("third");
    np_heap_destroy(second);
    const std::vector<entry> listed = heaps();
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_EQ(listed[0].name, "requests");
    EXPECT_EQ(listed[1].name, "third");
    np_heap_destroy(third);
    EXPECT_EQ(heaps().size(), 1U);
}

TEST_F(named_heap_reports, leave_out_heaps_without_a_name)
{
    for (np_heap* each : {np_heap_create(), np_heap_create_named(nullptr), np_heap_create_named("")}) {
        (void)np_heap_alloc(each, 100);
        EXPECT_EQ(heaps().size(), 1U);
        np_heap_destroy(each);
    }
}

TEST_F(named_heap_reports, list_many_heaps_in_the_order_of_creation)
{
    std::vector<np_heap*> made;
    for (int i = 0; i != 100; ++i)
        made.push_back(np_heap_create_named(std::to_string(i).c_str()));
    const std::vector<entry> listed = heaps();
    ASSERT_EQ(listed.size(), 101U);
    for (std::size_t i = 0; i != made.size(); ++i)
        EXPECT_EQ(listed[i + 1].name, std::to_string(i));
    for (np_heap* each : made)
        np_heap_destroy(each);
}

TEST_F(named_heap_reports, truncate_names_to_127_characters)
{
    std::string name(300, 'x');
    np_heap* const other = np_heap_create_named(name.c_str());
    name.assign(300, 'y'); // The heap has a copy.
    EXPECT_EQ(heaps().back().name, std::string(127, 'x'));
    np_heap_destroy(other);
}

TEST_F(named_heap_reports, list_a_named_resource)
{
    const mp::np_heap_resource without_name;
    mp::np_heap_resource resource("of containers");
    (void)resource.allocate(64);
    const std::vector<entry> listed = heaps();
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_EQ(listed[1].name, "of containers");
    EXPECT_EQ(listed[1].statistics.bytes_in_use, 64U);
}

TEST_F(named_heap_reports, are_consistent_while_threads_create_use_and_destroy_heaps)
{
    std::atomic<bool> is_done{false};
    test::in_threads(3, [&](std::size_t thread) {
        if (thread == 0) {
            for (int i = 0; i != 300; ++i)
                for (const entry& each : heaps()) {
                    EXPECT_EQ(each.statistics.bytes_in_use, each.statistics.in_use * 64) << each.name;
                    EXPECT_LE(each.statistics.in_use, each.name == "requests" ? 2U : 1U);
                }
            is_done = true;
        }
        while (!is_done) {
            np_heap* const other = np_heap_create_named("other");
            (void)np_heap_alloc(other, 64);
            np_heap_free(heap, np_heap_alloc(heap, 64));
            np_heap_destroy(other);
        }
    });
    EXPECT_EQ(statistics().blocks_in_use, 0U);
}

#if TESTS_MAY_FORK
TEST_F(named_heap_reports, include_heaps_of_lost_threads_in_the_child_of_a_fork)
{
    np_heap* of_thread = nullptr;
    std::atomic<bool> is_made{false};
    std::atomic<bool> is_done{false};
    std::thread other([&] {
        of_thread = np_heap_create_named("of a thread");
        for (int i = 0; i != 10; ++i)
            (void)np_heap_alloc(of_thread, 64);
        is_made = true;
        while (!is_done)
            np_heap_free(heap, np_heap_alloc(heap, 64));
    });
    while (!is_made)
        std::this_thread::yield();
    test::expect_in_child([&] {
        (void)np_heap_alloc(of_thread, 64);
        const std::vector<entry> listed = heaps();
        const bool is_right = listed.size() == 2 && listed[1].name == "of a thread" &&
                              listed[1].statistics.in_use == 11 && !listed[1].is_of_lost_thread;
        np_heap_destroy(of_thread);
        return is_right && heaps().size() == 1;
    });
    is_done = true;
    other.join();
    EXPECT_EQ(heaps()[1].statistics.in_use, 10U);
    np_heap_destroy(of_thread);
}
#endif
} // namespace
