// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/fault_costs.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::uint64_t small = 1'000;
constexpr std::uint64_t cheap = 100 * small;
constexpr std::uint64_t dear = 2'000 * small;
constexpr std::size_t first_back_off = np::fault_costs::least_back_off;

struct fault_costs : testing::Test
{
    np::fault_costs costs;

    fault_costs() { costs.note_small(small); }

    /// Huge pages are taken for dear when three in a row were.
    void note_dear()
    {
        for (int i = 0; i != 3; ++i)
            costs.note_huge(dear);
    }

    /// Returns: how many parts go without huge pages until the next try.
    std::size_t refused()
    {
        std::size_t count = 0;
        while (!costs.admit(1))
            ++count;
        return count;
    }
};

TEST_F(fault_costs, admit_huge_pages_until_three_in_a_row_were_dear)
{
    EXPECT_TRUE(costs.admit(1'000));
    costs.note_huge(cheap);
    EXPECT_TRUE(costs.admit(1'000));
    EXPECT_FALSE(costs.may_be_dear());
    for (int i = 0; i != 2; ++i) {
        costs.note_huge(dear);
        EXPECT_TRUE(costs.may_be_dear()) << "something else may have run meanwhile";
        EXPECT_FALSE(costs.are_huge_dear());
    }
    EXPECT_TRUE(costs.admit(1'000));
    costs.note_huge(dear);
    EXPECT_TRUE(costs.are_huge_dear());
    EXPECT_FALSE(costs.may_be_dear());
    EXPECT_FALSE(costs.admit(1));
}

TEST_F(fault_costs, refuse_huge_pages_for_twice_as_long_each_time_that_the_next_one_is_dear_too)
{
    note_dear();
    EXPECT_EQ(refused(), first_back_off);
    for (std::size_t expected = 2 * first_back_off; expected <= np::fault_costs::most_back_off; expected *= 2) {
        costs.note_huge(dear);
        EXPECT_EQ(refused(), expected);
    }
    costs.note_huge(dear);
    EXPECT_EQ(refused(), np::fault_costs::most_back_off) << "and no longer";
}

TEST_F(fault_costs, forget_dear_ones_when_one_is_cheap)
{
    note_dear();
    EXPECT_EQ(refused(), first_back_off);
    costs.note_huge(cheap);
    EXPECT_EQ(refused(), 0U);
    note_dear();
    EXPECT_EQ(refused(), first_back_off);
}

TEST_F(fault_costs, count_large_blocks_by_their_parts)
{
    note_dear();
    EXPECT_FALSE(costs.admit(first_back_off - 1));
    EXPECT_FALSE(costs.admit(100)) << "which is tried again only when it is over";
    EXPECT_TRUE(costs.admit(1));
}

TEST_F(fault_costs, put_up_with_two_that_took_long_by_chance)
{
    for (int i = 0; i != 10; ++i) {
        costs.note_huge(dear);
        costs.note_huge(dear);
        costs.note_huge(cheap);
        EXPECT_EQ(refused(), 0U) << i;
    }
}

TEST_F(fault_costs, take_the_least_of_the_small_ones_and_measure_few)
{
    costs.note_small(100 * small);
    note_dear();
    EXPECT_TRUE(costs.are_huge_dear());
    EXPECT_TRUE(costs.wants_small());
    costs.note_small(0);
    EXPECT_TRUE(costs.wants_small()) << "the clock did not tell";
    costs.note_small(small);
    costs.note_small(small);
    EXPECT_FALSE(costs.wants_small());
}

TEST(fault_costs_without_small_ones, are_those_of_a_virtual_machine)
{
    np::fault_costs costs;
    costs.note_small(0);
    costs.note_huge(300'000);
    EXPECT_FALSE(costs.may_be_dear());
    costs.note_huge(5'000'000);
    EXPECT_TRUE(costs.may_be_dear());
}
} // namespace
