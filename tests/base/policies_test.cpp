// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/policies.hpp>

#include <gtest/gtest.h>

namespace mp = memory_pool;

namespace
{
TEST(policies, build_on_each_other)
{
    EXPECT_FALSE(mp::default_policy::counts);
    EXPECT_FALSE(mp::default_policy::checks);
    EXPECT_TRUE(mp::counting_policy::counts);
    EXPECT_FALSE(mp::counting_policy::checks);
    EXPECT_TRUE(mp::checking_policy::counts);
    EXPECT_TRUE(mp::checking_policy::checks);
}
} // namespace
