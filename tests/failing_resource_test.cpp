// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace mp = memory_pool;

namespace {
/// Returns: which of the next `count` allocations succeed.
std::vector<bool> successes(mp::failing_resource& failing, std::size_t count)
{
    std::vector<bool> results(count);
    for (std::size_t i = 0; i != count; ++i) {
        try {
            failing.deallocate(failing.allocate(8), 8);
            results[i] = true;
        } catch (const std::bad_alloc&) {
            results[i] = false;
        }
    }
    return results;
}

class failing_resource_test : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
};

TEST_F(failing_resource_test, fails_at_the_specified_call)
{
    mp::failing_resource failing(3, &upstream_);
    EXPECT_EQ(successes(failing, 5), (std::vector<bool>{true, true, false, true, true}));
    failing.fail_at(2);
    EXPECT_EQ(successes(failing, 4), (std::vector<bool>{true, false, true, true})) << "counted from now";
    failing.fail_at(1);
    failing.never_fail();
    EXPECT_EQ(successes(failing, 2), (std::vector<bool>{true, true}));
    EXPECT_EQ(failing.calls(), 11u);
    EXPECT_EQ(failing.failures(), 2u);
    EXPECT_EQ(upstream_.calls(), 9u) << "failures make no upstream call";
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST_F(failing_resource_test, never_fails_at_call_0)
{
    mp::failing_resource failing(0, &upstream_);
    test::use_containers(&failing);
    EXPECT_EQ(failing.failures(), 0u);
    EXPECT_EQ(failing.calls(), upstream_.calls());
}

TEST_F(failing_resource_test, does_not_convert_a_probability_to_a_call_number)
{
    static_assert(!std::is_constructible_v<mp::failing_resource, double>);
    static_assert(!std::is_constructible_v<mp::failing_resource, float, std::pmr::memory_resource*>);
    static_assert(std::is_constructible_v<mp::failing_resource, int>);
}

TEST_F(failing_resource_test, reports_that_the_failure_was_requested)
{
    static_assert(std::is_base_of_v<std::bad_alloc, mp::out_of_memory>);
    mp::failing_resource failing(1, &upstream_);
    EXPECT_EQ(test::what_of<mp::out_of_memory>([&] { (void)failing.allocate(24); }),
              "memory_pool: failing_resource: allocation 1, of 24 bytes, fails on request");
}

TEST_F(failing_resource_test, leaves_a_container_unchanged)
{
    mp::failing_resource failing(3, &upstream_);
    std::pmr::list<int> list({1, 2}, &failing);
    EXPECT_THROW(list.push_back(3), std::bad_alloc);
    EXPECT_EQ(list, (std::pmr::list<int>{1, 2}));
    list.push_back(3);
    EXPECT_EQ(list.back(), 3);
}

TEST_F(failing_resource_test, can_fail_every_call_of_a_program)
{
    mp::failing_resource failing(0, &upstream_);
    test::use_containers(&failing);
    const std::uint64_t calls = failing.calls();
    for (std::uint64_t call = 1; call <= calls; ++call) {
        failing.fail_at(call);
        EXPECT_THROW(test::use_containers(&failing), std::bad_alloc);
    }
    EXPECT_EQ(failing.failures(), calls);
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST_F(failing_resource_test, fails_with_the_specified_probability)
{
    mp::failing_resource failing(mp::failure_chance{0.25, 1}, &upstream_);
    (void)successes(failing, 10'000);
    EXPECT_NEAR(static_cast<double>(failing.failures()), 2500, 200) << "standard deviation 43; the same in every run";
    failing.fail_by_chance({0, 1});
    EXPECT_EQ(successes(failing, 100), std::vector<bool>(100, true));
    failing.fail_by_chance({1, 1});
    EXPECT_EQ(successes(failing, 100), std::vector<bool>(100, false));
}

TEST_F(failing_resource_test, is_reproducible_for_a_seed)
{
    mp::failing_resource failing(mp::failure_chance{0.5, 42}, &upstream_);
    const std::vector<bool> once = successes(failing, 64);
    failing.fail_by_chance({0.5, 42});
    EXPECT_EQ(successes(failing, 64), once);
    failing.fail_by_chance({0.5, 43});
    EXPECT_NE(successes(failing, 64), once);
    // On every platform, the first numbers of SplitMix64 with the seed 0 begin with the bytes e2, 6e, 06, f8 and 1b.
    failing.fail_by_chance({0.5, 0});
    EXPECT_EQ(successes(failing, 5), (std::vector<bool>{true, false, false, true, false}));
}

TEST_F(failing_resource_test, fail_at_and_fail_by_chance_replace_each_other)
{
    mp::failing_resource failing(mp::failure_chance{1, 0}, &upstream_);
    failing.fail_at(2);
    EXPECT_EQ(successes(failing, 3), (std::vector<bool>{true, false, true}));
    failing.fail_at(2);
    failing.fail_by_chance({0, 0});
    EXPECT_EQ(successes(failing, 3), (std::vector<bool>{true, true, true}));
}

TEST_F(failing_resource_test, rejects_an_invalid_probability)
{
    for (const double wrong : {-0.1, 1.1, std::nan("")})
        EXPECT_THROW(const mp::failing_resource failing(mp::failure_chance{wrong, 0}, &upstream_),
                     std::invalid_argument);
    mp::failing_resource failing(2, &upstream_);
    EXPECT_THROW(failing.fail_by_chance({2, 0}), std::invalid_argument);
    EXPECT_EQ(successes(failing, 2), (std::vector<bool>{true, false})) << "it is unchanged";
}

TEST_F(failing_resource_test, fails_in_one_thread_only)
{
    test::shared_accounting_upstream upstream;
    mp::failing_resource failing(1000, &upstream);
    std::atomic<std::size_t> failures{0};
    test::in_threads(4, [&](std::size_t) {
        for (const bool succeeded : successes(failing, 500))
            failures += succeeded ? 0 : 1;
    });
    EXPECT_EQ(failures, 1u);
    EXPECT_EQ(failing.failures(), 1u);
    EXPECT_EQ(failing.calls(), 2000u);
    EXPECT_EQ(upstream.calls(), 1999u);
}
} // namespace
