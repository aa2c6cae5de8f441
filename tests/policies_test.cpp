// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/policy_checks.hpp>

#include <gtest/gtest.h>

namespace mp = memory_pool;

namespace {
TEST(policies, build_on_each_other)
{
    EXPECT_FALSE(mp::default_policy::counts);
    EXPECT_FALSE(mp::default_policy::checks);
    EXPECT_TRUE(mp::counting_policy::counts);
    EXPECT_FALSE(mp::counting_policy::checks);
    EXPECT_TRUE(mp::checking_policy::counts);
    EXPECT_TRUE(mp::checking_policy::checks);
}

struct one_that_only_counts
{
    static constexpr bool counts = true;
};

struct one_of_no_known_family final
{
    enum : bool
    {
        counts = true,
        checks = false,
    };
};

TEST(policies, are_types_with_two_constants)
{
    EXPECT_TRUE(mp::detail::base::is_policy<mp::default_policy>);
    EXPECT_TRUE(mp::detail::base::is_policy<mp::leak_fatal_policy<>>);
    EXPECT_TRUE(mp::detail::base::is_policy<one_of_no_known_family>);
    EXPECT_FALSE(mp::detail::base::is_policy<one_that_only_counts>);
    EXPECT_FALSE(mp::detail::base::is_policy<int>);
    EXPECT_TRUE(mp::detail::base::checked_policy<one_of_no_known_family>::counts);
    EXPECT_FALSE(mp::detail::base::checked_policy<one_of_no_known_family>::checks);
}
} // namespace
