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
constexpr std::uint64_t expensive = 2'000 * small;
constexpr std::size_t first_back_off = np::fault_costs::min_back_off;

struct fault_costs : testing::Test
{
    np::fault_costs costs;

    fault_costs() { costs.note_small(small); }

    /// Huge faults count as expensive after three expensive ones in a row.
    void note_expensive()
    {
        for (int i = 0; i != 3; ++i)
            costs.note_huge(expensive);
    }

    /// Returns: the number of parts that are refused huge pages before the next part is admitted.
    std::size_t refused()
    {
        std::size_t count = 0;
        while (!costs.admit(1))
            ++count;
        return count;
    }
};

TEST_F(fault_costs, admit_huge_pages_until_three_expensive_faults_in_a_row)
{
    EXPECT_TRUE(costs.admit(1'000));
    costs.note_huge(cheap);
    EXPECT_TRUE(costs.admit(1'000));
    EXPECT_FALSE(costs.may_be_expensive());
    for (int i = 0; i != 2; ++i) {
        costs.note_huge(expensive);
        EXPECT_TRUE(costs.may_be_expensive()) << "the thread may have been preempted";
        EXPECT_FALSE(costs.huge_faults_expensive());
    }
    EXPECT_TRUE(costs.admit(1'000));
    costs.note_huge(expensive);
    EXPECT_TRUE(costs.huge_faults_expensive());
    EXPECT_FALSE(costs.may_be_expensive());
    EXPECT_FALSE(costs.admit(1));
}

TEST_F(fault_costs, double_the_back_off_after_each_expensive_try)
{
    note_expensive();
    EXPECT_EQ(refused(), first_back_off);
    for (std::size_t expected = 2 * first_back_off; expected <= np::fault_costs::max_back_off; expected *= 2) {
        costs.note_huge(expensive);
        EXPECT_EQ(refused(), expected);
    }
    costs.note_huge(expensive);
    EXPECT_EQ(refused(), np::fault_costs::max_back_off) << "upper bound";
}

TEST_F(fault_costs, reset_the_back_off_after_a_cheap_fault)
{
    note_expensive();
    EXPECT_EQ(refused(), first_back_off);
    costs.note_huge(cheap);
    EXPECT_EQ(refused(), 0U);
    note_expensive();
    EXPECT_EQ(refused(), first_back_off);
}

TEST_F(fault_costs, count_each_part_of_a_large_block)
{
    note_expensive();
    EXPECT_FALSE(costs.admit(first_back_off - 1));
    EXPECT_FALSE(costs.admit(100)) << "larger than the rest of the back-off";
    EXPECT_TRUE(costs.admit(1));
}

TEST_F(fault_costs, tolerate_two_expensive_faults_in_a_row)
{
    for (int i = 0; i != 10; ++i) {
        costs.note_huge(expensive);
        costs.note_huge(expensive);
        costs.note_huge(cheap);
        EXPECT_EQ(refused(), 0U) << i;
    }
}

TEST_F(fault_costs, use_the_minimum_of_a_few_small_faults)
{
    costs.note_small(100 * small);
    note_expensive();
    EXPECT_TRUE(costs.huge_faults_expensive());
    EXPECT_TRUE(costs.wants_small());
    costs.note_small(0);
    EXPECT_TRUE(costs.wants_small()) << "0 is no measurement";
    costs.note_small(small);
    costs.note_small(small);
    EXPECT_FALSE(costs.wants_small());
}

TEST(fault_costs_without_small_faults, assume_the_small_faults_of_a_virtual_machine)
{
    np::fault_costs costs;
    costs.note_small(0);
    costs.note_huge(300'000);
    EXPECT_FALSE(costs.may_be_expensive());
    costs.note_huge(5'000'000);
    EXPECT_TRUE(costs.may_be_expensive());
}
} // namespace
