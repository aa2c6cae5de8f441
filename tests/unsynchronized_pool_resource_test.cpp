// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pool_resource.hpp>

#include <support/error_recorder.hpp>
#include <support/pool_resource_conformance.hpp>
#include <support/resource_conformance.hpp>

#include <gtest/gtest.h>

namespace mp = memory_pool;

namespace test {
using plain_pools = mp::basic_unsynchronized_pool_resource<mp::default_policy>;
using checking_pools = mp::basic_unsynchronized_pool_resource<mp::checking_policy>;
using unsynchronized_pools = testing::Types<plain_pools, checking_pools>;
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_pools, resource_conformance, unsynchronized_pools, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_pools, pool_resource_conformance, unsynchronized_pools, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_pools, checking_pool_resource_conformance,
                               testing::Types<checking_pools>, );
} // namespace test

namespace {
TEST(unsynchronized_pool_resource, reuses_the_last_freed_block_first)
{
    mp::unsynchronized_pool_resource pools;
    void* const block = pools.allocate(50);
    pools.deallocate(block, 50);
    EXPECT_EQ(pools.allocate(56), block) << "another size of the same class";
}

TEST(unsynchronized_pool_resource, reports_a_large_block_freed_with_another_alignment)
{
    const test::error_recorder recorder;
    test::plain_pools pools;
    void* const large = pools.allocate(100'000, 64);
    pools.deallocate(large, 100'000, 128);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::foreign_pointer});
    pools.deallocate(large, 100'000, 64);
    EXPECT_EQ(recorder.reports().size(), 1U);
}
} // namespace
