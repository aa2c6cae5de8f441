// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/pool_arguments.hpp>

#include <memory_pool/errors.hpp>

#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <stdexcept>
#include <string>

namespace core = memory_pool::detail::core;
using memory_pool::pool_options;

namespace {
constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();
constexpr std::size_t pointer = alignof(void*);
constexpr std::size_t largest = alignof(std::max_align_t);

std::size_t stride_for(std::size_t block_size, const pool_options& options)
{
    return core::checked_stride(block_size, 0, options, std::pmr::new_delete_resource());
}

std::string rejection_of(std::size_t block_size, const pool_options& options)
{
    return test::what_of<std::invalid_argument>([&] { (void)stride_for(block_size, options); });
}

TEST(pool_arguments, align_blocks_naturally_by_default)
{
    EXPECT_EQ(core::alignment_of_blocks(1, 0), pointer) << "no less than a pointer";
    EXPECT_EQ(core::alignment_of_blocks(24, 0), 8U);
    EXPECT_EQ(core::alignment_of_blocks(3 * largest, 0), largest);
    EXPECT_EQ(core::alignment_of_blocks(4096, 0), largest) << "no more than any type needs";
    EXPECT_EQ(core::alignment_of_blocks(48, 8), 8U);
    EXPECT_EQ(core::alignment_of_blocks(48, 2), pointer);
    EXPECT_EQ(core::alignment_of_blocks(1, 256), 256U);
}

TEST(pool_arguments, pack_blocks_as_closely_as_alignment_allows)
{
    EXPECT_EQ(core::stride_of_blocks(1, 0, 0), pointer);
    EXPECT_EQ(core::stride_of_blocks(24, 0, 0), 24U);
    EXPECT_EQ(core::stride_of_blocks(48, 1, 0), 48 + largest) << "bytes behind the block do not change its alignment";
    EXPECT_EQ(core::stride_of_blocks(40, 24, 64), 64U);
    EXPECT_EQ(core::stride_of_blocks(40, 25, 64), 128U);
    EXPECT_EQ(stride_for(40, pool_options{}.with_alignment(32)), 64U);
    EXPECT_EQ(core::checked_stride(40, 16, {}, std::pmr::new_delete_resource()), 56U);
}

TEST(pool_arguments, have_defaults)
{
    EXPECT_STREQ(core::name_in(pool_options{}.with_name(nullptr)), "unnamed");
    EXPECT_STREQ(core::name_in(pool_options{}.with_name("orders")), "orders");
    EXPECT_EQ(core::blocks_in_a_step({}), pool_options::unbounded);
    EXPECT_EQ(core::blocks_in_a_step(pool_options{}.with_growth_step(7)), 7U);
}

TEST(pool_arguments, raise_valid_alignments_only)
{
    EXPECT_EQ(core::with_alignment(32, {}).alignment, 32U);
    EXPECT_EQ(core::with_alignment(32, pool_options{}.with_alignment(16)).alignment, 32U);
    EXPECT_EQ(core::with_alignment(32, pool_options{}.with_alignment(64)).alignment, 64U);
    EXPECT_EQ(core::with_alignment(32, pool_options{}.with_alignment(24)).alignment, 24U);
}

TEST(pool_arguments, name_the_invalid_argument_and_the_pool)
{
    const pool_options orders = pool_options{}.with_name("orders");
    EXPECT_EQ(rejection_of(0, orders), "memory_pool: pool 'orders': block_size is 0; ask for at least 1 byte");
    EXPECT_EQ(rejection_of(8, orders.with_alignment(24)),
              "memory_pool: pool 'orders': alignment is 24, which is not a power of two; use 8, 16, 32, ...");
    EXPECT_TRUE(test::contains(rejection_of(8, orders.with_max_capacity(0)), "'orders': max_capacity is 0"));
    EXPECT_TRUE(test::contains(rejection_of(8, orders.with_max_capacity(3).with_initial_capacity(4)),
                               "'orders': max_capacity is 3, below initial_capacity, which is 4"));
    EXPECT_EQ(stride_for(8, orders.with_max_capacity(4).with_initial_capacity(4)), 8U);
    const std::string no_upstream =
        test::what_of<std::invalid_argument>([&] { (void)core::checked_stride(8, 0, orders, nullptr); });
    EXPECT_TRUE(test::contains(no_upstream, "'orders': upstream is nullptr"));
}

TEST(pool_arguments, reject_sizes_beyond_the_address_space)
{
    EXPECT_EQ(stride_for(core::largest_size, pool_options{}.with_alignment(8)), core::largest_size + 1);
    EXPECT_THROW((void)stride_for(core::largest_size + 1, {}), memory_pool::size_overflow);
    EXPECT_THROW((void)stride_for(max_size, {}), memory_pool::size_overflow);
    EXPECT_THROW((void)stride_for(8, pool_options{}.with_alignment(max_size / 2 + 1)), memory_pool::size_overflow);
    const pool_options in_large_steps = pool_options{}.with_growth_step(core::largest_size / 8 + 1);
    EXPECT_THROW((void)stride_for(8, in_large_steps), memory_pool::size_overflow);
    EXPECT_EQ(stride_for(8, in_large_steps.with_max_capacity(100)), 8U) << "a step ends at the limit";
    EXPECT_EQ(stride_for(8, pool_options{}.with_growth_step(core::largest_size / 8)), 8U);
    EXPECT_TRUE(core::is_addressable(core::largest_size / sizeof(void*)));
    EXPECT_FALSE(core::is_addressable(core::largest_size / sizeof(void*) + 1));
}

TEST(pool_arguments, reject_reservations_beyond_the_limit)
{
    const core::pool_identity identity{"orders", 24};
    core::check_reservation(0, 32, 10, identity);
    core::check_reservation(10, 32, 10, identity);
    EXPECT_EQ(test::what_of<memory_pool::pool_exhausted>([&] { core::check_reservation(11, 32, 10, identity); }),
              memory_pool::pool_exhausted("orders", 10, 24).what());
    EXPECT_THROW(core::check_reservation(max_size, 32, 10, identity), memory_pool::size_overflow);
    EXPECT_THROW(core::check_reservation(core::largest_size / 32 + 1, 32, max_size, identity),
                 memory_pool::size_overflow);
    core::check_reservation(core::largest_size / 32, 32, max_size, identity);
}
} // namespace
