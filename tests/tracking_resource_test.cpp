// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using mp::call_site;
using mp::resource_statistics;
using test::contains;

namespace {
/// Returns: the statistics of `site`; all 0 if there is no such call site.
resource_statistics statistics_of(const mp::tracking_resource& tracked, const call_site& site)
{
    resource_statistics found;
    tracked.for_each_site([&](const call_site& one, const resource_statistics& statistics) {
        if (one == site)
            found = statistics;
    });
    return found;
}

std::vector<call_site> sites_of(const mp::tracking_resource& tracked)
{
    std::vector<call_site> sites;
    tracked.for_each_site([&](const call_site& site, const resource_statistics&) { sites.push_back(site); });
    return sites;
}

TEST(tracking_resource, counts_allocations_and_bytes)
{
    test::accounting_upstream upstream;
    mp::tracking_resource tracked(&upstream);
    {
        std::pmr::vector<char> first(1000, 'x', &tracked);
        const std::pmr::vector<char> second(234, 'x', &tracked);
        EXPECT_EQ(tracked.bytes_in_use(), 1234u);
        first.clear();
        first.shrink_to_fit();
        EXPECT_EQ(tracked.bytes_in_use(), 234u);
        EXPECT_EQ(tracked.statistics().in_use, 1u);
    }
    const resource_statistics statistics = tracked.statistics();
    EXPECT_EQ(statistics.allocations, 2u);
    EXPECT_EQ(statistics.deallocations, 2u);
    EXPECT_EQ(statistics.failures, 0u);
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_EQ(statistics.peak_in_use, 2u);
    EXPECT_EQ(statistics.bytes_in_use, 0u);
    EXPECT_EQ(statistics.peak_bytes_in_use, 1234u);
}

TEST(tracking_resource, reset_peaks_restarts_them_at_the_current_values)
{
    mp::tracking_resource tracked;
    void* const kept = tracked.allocate(100);
    tracked.deallocate(tracked.allocate(900), 900);
    tracked.reset_peak();
    EXPECT_EQ(tracked.statistics().peak_in_use, 1u);
    EXPECT_EQ(tracked.statistics().peak_bytes_in_use, 100u);
    tracked.deallocate(tracked.allocate(50), 50);
    EXPECT_EQ(tracked.statistics().peak_in_use, 2u);
    EXPECT_EQ(tracked.statistics().peak_bytes_in_use, 150u);
    tracked.deallocate(kept, 100);
}

TEST(tracking_resource, agrees_with_upstream_when_any_call_fails)
{
    for (std::size_t call = 1; call != 40; ++call) {
        test::accounting_upstream upstream;
        mp::tracking_resource tracked(&upstream);
        upstream.fail_at(call);
        EXPECT_THROW(test::use_containers(tracked.for_site()), std::bad_alloc);
        const resource_statistics statistics = tracked.statistics();
        EXPECT_EQ(statistics.failures, 1u);
        EXPECT_EQ(statistics.allocations, call - 1);
        EXPECT_EQ(statistics.deallocations, call - 1);
        EXPECT_EQ(statistics.bytes_in_use, upstream.live_bytes());
    }
}

TEST(tracking_resource, counts_by_call_site)
{
    test::accounting_upstream upstream;
    mp::tracking_resource tracked(&upstream);
    const std::pmr::vector<int> whole(10, &tracked);
    const std::pmr::vector<char> first(100, 'x', tracked.for_site());
    const call_site line_of_first{__FILE__, __LINE__ - 1};
    std::pmr::vector<char> second(20, 'x', tracked.for_site());
    const call_site line_of_second{__FILE__, __LINE__ - 1};
    second.clear();
    second.shrink_to_fit();

    EXPECT_EQ(statistics_of(tracked, line_of_first).bytes_in_use, 100u);
    EXPECT_EQ(statistics_of(tracked, line_of_first).in_use, 1u);
    EXPECT_EQ(statistics_of(tracked, line_of_second).bytes_in_use, 0u);
    EXPECT_EQ(statistics_of(tracked, line_of_second).peak_bytes_in_use, 20u);
    EXPECT_EQ(statistics_of(tracked, line_of_second).deallocations, 1u);
    EXPECT_EQ(tracked.bytes_in_use(), 100 + 10 * sizeof(int));
    EXPECT_EQ(tracked.statistics().allocations, 3u) << "a chunk of a call site counts once in the total";
    EXPECT_EQ(upstream.live_bytes(), tracked.bytes_in_use()) << "the records of call sites do not come from upstream";
}

TEST(tracking_resource, counts_failures_by_call_site)
{
    test::accounting_upstream upstream;
    mp::tracking_resource tracked(&upstream);
    const call_site site{"reader", 1};
    upstream.fail_always();
    EXPECT_THROW((void)tracked.for_site(site)->allocate(8), std::bad_alloc);
    EXPECT_EQ(statistics_of(tracked, site).failures, 1u);
    EXPECT_EQ(statistics_of(tracked, site).allocations, 0u);
    EXPECT_EQ(tracked.statistics().failures, 1u);
}

TEST(tracking_resource, has_one_view_for_each_call_site)
{
    mp::tracking_resource tracked;
    std::array<std::pmr::memory_resource*, 3> of_one_line{};
    for (std::pmr::memory_resource*& view : of_one_line)
        view = tracked.for_site();
    std::pmr::memory_resource* const of_another = tracked.for_site();
    EXPECT_EQ(of_one_line[0], of_one_line[1]);
    EXPECT_EQ(of_one_line[0], of_one_line[2]);
    EXPECT_NE(of_one_line[0], of_another);
    EXPECT_EQ(sites_of(tracked).size(), 2u);
    const std::string text = "table";
    EXPECT_EQ(tracked.for_site({"table", 1}), tracked.for_site({text.c_str(), 1}));
}

TEST(tracking_resource, does_not_compare_views_of_different_call_sites_equal)
{
    mp::tracking_resource tracked;
    mp::tracking_resource other;
    const call_site a{"a", 1};
    const call_site b{"b", 1};
    EXPECT_TRUE(tracked.for_site(a)->is_equal(*tracked.for_site(a)));
    EXPECT_FALSE(tracked.for_site(a)->is_equal(*tracked.for_site(b)));
    EXPECT_FALSE(tracked.for_site(a)->is_equal(tracked));
    EXPECT_FALSE(tracked.is_equal(*tracked.for_site(a)));
    EXPECT_FALSE(tracked.for_site(a)->is_equal(*other.for_site(a)));

    std::pmr::vector<std::pmr::string> from(5, "a text that is too long to fit into the object itself",
                                            tracked.for_site(a));
    std::pmr::vector<std::pmr::string> to(tracked.for_site(b));
    to = std::move(from); // Copies, because the allocators are not equal.
    from.clear();         // NOLINT(bugprone-use-after-move): clear is valid
    from.shrink_to_fit();
    EXPECT_EQ(to.at(4).size(), 53u);
    EXPECT_EQ(statistics_of(tracked, a).bytes_in_use, 0u);
    EXPECT_EQ(statistics_of(tracked, b).bytes_in_use, tracked.bytes_in_use());
}

TEST(tracking_resource, lists_call_sites_by_file_and_line)
{
    mp::tracking_resource tracked;
    for (const call_site& site : {call_site{"b", 2}, call_site{"a", 10}, call_site{"b", 1}, call_site{"a", 9}})
        (void)tracked.for_site(site);
    const std::vector<call_site> expected{{"a", 9}, {"a", 10}, {"b", 1}, {"b", 2}};
    EXPECT_EQ(sites_of(tracked), expected);
}

TEST(tracking_resource, lets_a_visitor_use_it)
{
    mp::tracking_resource tracked;
    (void)tracked.for_site({"a", 1});
    std::size_t visited = 0;
    tracked.for_each_site([&](const call_site& site, const resource_statistics&) {
        ++visited;
        const std::pmr::vector<int> numbers(10, tracked.for_site({"added", 1}));
        EXPECT_STREQ(visited == 1 ? "a" : "added", site.file);
        EXPECT_EQ(tracked.bytes_in_use(), 10 * sizeof(int));
    });
    EXPECT_GE(visited, 1u);
    EXPECT_EQ(sites_of(tracked).size(), 2u);
    EXPECT_THROW(
        tracked.for_each_site([](const call_site&, const resource_statistics&) { throw std::runtime_error("enough"); }),
        std::runtime_error);
    (void)tracked.for_site({"b", 1}); // The lock was released.
}

TEST(tracking_resource, prints_one_line_per_call_site)
{
    mp::tracking_resource tracked;
    const std::pmr::vector<char> kept(300, 'x', tracked.for_site({"reader.cpp", 17}));
    const std::pmr::list<char> others({'a', 'b'}, tracked.for_site({"writer.cpp", 4}));
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    tracked.print(file);
    ASSERT_EQ(std::fseek(file, 0, SEEK_SET), 0);
    std::array<char, 4096> text{};
    (void)std::fread(text.data(), 1, text.size() - 1, file);
    (void)std::fclose(file);
    const std::string printed = text.data();
    EXPECT_EQ(printed.find("memory_pool: tracked: "), 0u) << printed;
    EXPECT_TRUE(contains(printed, "chunks 3 (peak 3), allocations 3, failures 0\n")) << printed;
    EXPECT_TRUE(contains(
        printed, "  reader.cpp:17: 300 bytes in use (peak 300), chunks 1 (peak 1), allocations 1, failures 0\n"))
        << printed;
    EXPECT_TRUE(contains(printed, "  writer.cpp:4: ")) << printed;
    EXPECT_TRUE(contains(printed, "chunks 2 (peak 2), allocations 2, failures 0\n")) << printed;
}

TEST(tracking_resource, counts_exactly_across_threads)
{
    test::shared_accounting_upstream upstream;
    mp::tracking_resource tracked(&upstream);
    constexpr std::size_t threads = 4;
    test::in_threads(threads, [&](std::size_t thread) {
        for (int round = 0; round != 10; ++round) {
            test::use_containers(tracked.for_site({"shared", 1}));
            test::use_containers(tracked.for_site({"own", static_cast<unsigned>(thread)}));
            tracked.for_each_site([](const call_site&, const resource_statistics& statistics) {
                EXPECT_LE(statistics.in_use, statistics.peak_in_use);
            });
        }
    });
    const resource_statistics whole = tracked.statistics();
    EXPECT_EQ(whole.allocations, upstream.calls());
    EXPECT_EQ(whole.deallocations, upstream.calls());
    EXPECT_EQ(whole.bytes_in_use, 0u);
    EXPECT_EQ(sites_of(tracked).size(), threads + 1);
    std::size_t of_sites = 0;
    tracked.for_each_site(
        [&](const call_site&, const resource_statistics& statistics) { of_sites += statistics.allocations; });
    EXPECT_EQ(of_sites, whole.allocations);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

TEST(counting_adaptor, stops_counting_a_block_before_upstream_can_reuse_it)
{
    test::watching_upstream upstream;
    mp::detail::core::counting_adaptor adaptor(&upstream);
    std::vector<std::size_t> counted;
    upstream.before_deallocate = [&] { counted.push_back(adaptor.bytes_in_use()); };
    adaptor.deallocate(adaptor.allocate(100), 100);
    EXPECT_EQ(counted, std::vector<std::size_t>({0}));
}

TEST(counting_adaptor, counts_failures_separately)
{
    test::accounting_upstream upstream;
    mp::detail::core::counting_adaptor adaptor(&upstream);
    upstream.fail_always();
    EXPECT_THROW((void)adaptor.allocate(10), std::bad_alloc);
    EXPECT_EQ(adaptor.statistics().failures, 1u);
    EXPECT_EQ(adaptor.statistics().allocations, 0u);
    EXPECT_EQ(adaptor.statistics().peak_bytes_in_use, 0u);
}
} // namespace
