// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/recycling_pool.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace mp = memory_pool;

namespace {
TEST(policies, can_be_nested)
{
    EXPECT_FALSE(mp::default_policy::counts);
    EXPECT_FALSE(mp::default_policy::checks);
    EXPECT_TRUE(mp::counting_policy::counts);
    EXPECT_FALSE(mp::counting_policy::checks);
    EXPECT_TRUE(mp::checking_policy::counts);
    EXPECT_TRUE(mp::checking_policy::checks);
}

struct incomplete_policy
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
    EXPECT_FALSE(mp::detail::base::is_policy<incomplete_policy>);
    EXPECT_FALSE(mp::detail::base::is_policy<int>);
    EXPECT_TRUE(mp::detail::base::checked_policy<one_of_no_known_family>::counts);
    EXPECT_FALSE(mp::detail::base::checked_policy<one_of_no_known_family>::checks);
}

template <class Pool>
struct counting_pools : testing::Test
{
};

struct item : mp::pooled<item>
{
};

using counting = mp::counting_policy;
using all_counting_pools =
    testing::Types<mp::object_pool<int, counting>, mp::concurrent_object_pool<int, counting>,
                   mp::handle_pool<int, counting>, mp::concurrent_handle_pool<int, counting>,
                   mp::intrusive_pool<item, counting>, mp::recycling_pool<item, counting>,
                   mp::shared_pool<int, counting>, mp::unsynchronized_shared_pool<int, mp::checking_policy>,
                   mp::recycling_shared_pool<int, counting>, mp::basic_block_pool<counting>,
                   mp::basic_concurrent_block_pool<counting>>;
TYPED_TEST_SUITE(counting_pools, all_counting_pools, );

/// Allocates and frees a block or an object.
template <class Pool>
auto use(Pool& pool, int) -> decltype((void)pool.make())
{
    (void)pool.make();
}
template <class Pool>
auto use(Pool& pool, int) -> decltype((void)pool.destroy(pool.create()))
{
    pool.destroy(pool.create());
}
template <class Pool>
auto use(Pool& pool, long) -> std::enable_if_t<std::is_void_v<decltype(pool.deallocate(pool.allocate()))>>
{
    pool.deallocate(pool.allocate());
}
template <class Pool>
void use(Pool& pool, ...)
{
    (void)pool.allocate();
}

TYPED_TEST(counting_pools, restart_the_peak_at_the_blocks_in_use)
{
    auto pool = [] {
        if constexpr (std::is_default_constructible_v<TypeParam>)
            return TypeParam();
        else
            return TypeParam(32);
    }();
    use(pool, 0);
    EXPECT_EQ(pool.statistics().peak_in_use, 1u);
    pool.reset_peak();
    EXPECT_EQ(pool.statistics().peak_in_use, 0u);
    EXPECT_EQ(pool.statistics().allocations, 1u);
    use(pool, 0);
    EXPECT_EQ(pool.statistics().peak_in_use, 1u);
}
} // namespace
