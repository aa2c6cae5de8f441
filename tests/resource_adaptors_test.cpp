// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Each adaptor, and any chain of two, meets the requirements of a memory resource.
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory_resource>
#include <stdexcept>

namespace mp = memory_pool;

namespace test {
// Each adaptor in the form that the conformance suite requires.
struct tracking
{
    explicit tracking(std::pmr::memory_resource* upstream) : adaptor(upstream) {}
    std::pmr::memory_resource& resource() { return adaptor; }
    mp::tracking_resource adaptor;
};

struct tracking_of_a_site
{
    explicit tracking_of_a_site(std::pmr::memory_resource* upstream) : adaptor(upstream) {}
    std::pmr::memory_resource& resource() { return *adaptor.for_site(); }
    mp::tracking_resource adaptor;
};

struct limiting
{
    explicit limiting(std::pmr::memory_resource* upstream) : adaptor(std::size_t{1} << 20, upstream) {}
    std::pmr::memory_resource& resource() { return adaptor; }
    mp::limit_resource adaptor;
};

struct failing
{
    explicit failing(std::pmr::memory_resource* upstream) : adaptor(mp::failure_chance{}, upstream) {}
    std::pmr::memory_resource& resource() { return adaptor; }
    mp::failing_resource adaptor;
};

struct synchronizing
{
    explicit synchronizing(std::pmr::memory_resource* upstream) : adaptor(upstream) {}
    std::pmr::memory_resource& resource() { return adaptor; }
    mp::synchronized_resource adaptor;
};

/// `Front` with `Back` as its upstream.
template <class Front, class Back>
struct chain
{
    explicit chain(std::pmr::memory_resource* upstream) : back(upstream), front(&back.resource()) {}
    std::pmr::memory_resource& resource() { return front.resource(); }
    Back back;
    Front front;
};

using every_adaptor = testing::Types<tracking, tracking_of_a_site, limiting, failing, synchronizing>;
INSTANTIATE_TYPED_TEST_SUITE_P(every_adaptor, adaptor_conformance, every_adaptor, );

using every_pair = testing::Types<
    chain<tracking, tracking>, chain<tracking, limiting>, chain<tracking, failing>, chain<tracking, synchronizing>,
    chain<tracking, tracking_of_a_site>, chain<limiting, tracking>, chain<limiting, limiting>, chain<limiting, failing>,
    chain<limiting, synchronizing>, chain<limiting, tracking_of_a_site>, chain<failing, tracking>,
    chain<failing, limiting>, chain<failing, failing>, chain<failing, synchronizing>,
    chain<failing, tracking_of_a_site>, chain<synchronizing, tracking>, chain<synchronizing, limiting>,
    chain<synchronizing, failing>, chain<synchronizing, synchronizing>, chain<synchronizing, tracking_of_a_site>,
    chain<tracking_of_a_site, tracking>, chain<tracking_of_a_site, limiting>, chain<tracking_of_a_site, failing>,
    chain<tracking_of_a_site, synchronizing>, chain<tracking_of_a_site, tracking_of_a_site>>;
INSTANTIATE_TYPED_TEST_SUITE_P(every_pair, adaptor_conformance, every_pair, );
} // namespace test

namespace {
TEST(resource_adaptors, use_the_default_resource_by_default)
{
    test::accounting_upstream upstream;
    std::pmr::memory_resource* const before = std::pmr::set_default_resource(&upstream);
    const mp::tracking_resource tracked;
    const mp::limit_resource limited(100);
    const mp::failing_resource failing(1);
    const mp::synchronized_resource synchronized;
    std::pmr::set_default_resource(before);
    EXPECT_EQ(tracked.upstream_resource(), &upstream);
    EXPECT_EQ(limited.upstream_resource(), &upstream);
    EXPECT_EQ(failing.upstream_resource(), &upstream);
    EXPECT_EQ(synchronized.upstream_resource(), &upstream);
}

TEST(resource_adaptors, require_an_upstream)
{
    EXPECT_TRUE(test::contains(
        test::what_of<std::invalid_argument>([] { const mp::tracking_resource tracked(nullptr); }), "nullptr"));
    EXPECT_THROW(const mp::limit_resource limited(100, nullptr), std::invalid_argument);
    EXPECT_THROW(const mp::failing_resource failing(1, nullptr), std::invalid_argument);
    EXPECT_THROW(const mp::synchronized_resource synchronized(nullptr), std::invalid_argument);
}

TEST(resource_adaptors, count_equally_above_and_below_an_adaptor_that_fails)
{
    test::accounting_upstream upstream;
    mp::tracking_resource behind(&upstream);
    mp::failing_resource failing(mp::failure_chance{0.1, 42}, &behind);
    mp::tracking_resource before(&failing);
    for (int round = 0; round != 50; ++round) {
        try {
            test::use_containers(&before);
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(before.bytes_in_use(), 0u);
        }
    }
    EXPECT_EQ(before.statistics().allocations, behind.statistics().allocations);
    EXPECT_EQ(before.statistics().failures, failing.failures());
    EXPECT_GT(failing.failures(), 30u) << "a round has more than a hundred allocations";
    EXPECT_EQ(behind.statistics().failures, 0u);
    EXPECT_EQ(upstream.live_chunks(), 0u);
}

TEST(resource_adaptors, work_together_across_threads)
{
    test::accounting_upstream upstream; // Not thread-safe.
    mp::synchronized_resource synchronized(&upstream);
    mp::failing_resource failing(mp::failure_chance{0.001, 7}, &synchronized);
    mp::limit_resource limited(10'000'000, &failing);
    mp::tracking_resource tracked(&limited);
    test::in_threads(4, [&](std::size_t) {
        for (int round = 0; round != 20; ++round) {
            try {
                test::use_containers(tracked.for_site());
            } catch (const std::bad_alloc&) {
                continue;
            }
        }
    });
    EXPECT_EQ(tracked.bytes_in_use(), 0u);
    EXPECT_EQ(limited.bytes_in_use(), 0u);
    EXPECT_EQ(tracked.statistics().failures, failing.failures());
    EXPECT_EQ(tracked.statistics().allocations + failing.failures(), failing.calls());
    EXPECT_EQ(upstream.live_chunks(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
}
} // namespace
