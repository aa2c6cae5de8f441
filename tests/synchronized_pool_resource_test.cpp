// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pool_resource.hpp>

#include <support/child.hpp>
#include <support/filled_blocks.hpp>
#include <support/pool_resource_conformance.hpp>
#include <support/resource_conformance.hpp>
#include <support/shared_resource_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace mp = memory_pool;

namespace test {
using plain_pools = mp::basic_synchronized_pool_resource<mp::default_policy>;
using checking_pools = mp::basic_synchronized_pool_resource<mp::checking_policy>;
using synchronized_pools = testing::Types<plain_pools, checking_pools>;
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_pools, resource_conformance, synchronized_pools, );
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_pools, pool_resource_conformance, synchronized_pools, );
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_pools, shared_resource_conformance, synchronized_pools, );
#if TESTS_MAY_FORK
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_pools, forked_resource_conformance, synchronized_pools, );
#endif
INSTANTIATE_TYPED_TEST_SUITE_P(synchronized_pools, checking_pool_resource_conformance,
                               testing::Types<checking_pools>, );
} // namespace test

namespace {
TEST(synchronized_pool_resource, creates_each_pool_once_for_concurrent_first_uses)
{
    test::accounting_upstream upstream;
    for (int round = 0; round != 20; ++round) {
        mp::synchronized_pool_resource pools(&upstream);
        test::in_threads(4, [&](std::size_t) {
            for (std::size_t bytes = 8; bytes <= 4096; bytes *= 2)
                EXPECT_TRUE(give_back(pools, test::allocate_filled(pools, bytes)));
        });
        EXPECT_EQ(pools.bytes_in_use(), 0u);
        EXPECT_EQ(pools.bytes_reserved(), upstream.live_bytes()) << "no pool was created and then lost";
        EXPECT_TRUE(pools.verify());
    }
    EXPECT_EQ(upstream.live_chunks(), 0u);
}
} // namespace
