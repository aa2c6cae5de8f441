// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/guarded_sample_rate.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
struct guarded_sample_rate : testing::Test
{
    np::guarded_sample_rate rate;

    /// Returns: how many of 100 samples are admitted at that time.
    std::size_t admitted(std::uint64_t now, std::size_t max_a_second)
    {
        std::size_t count = 0;
        for (int i = 0; i != 100; ++i)
            count += rate.admit(now, max_a_second) ? 1U : 0U;
        return count;
    }
};

TEST_F(guarded_sample_rate, admits_a_tenth_of_the_limit_in_100_ms)
{
    EXPECT_EQ(admitted(5000, 250), 25U);
    EXPECT_EQ(admitted(5099, 250), 0U);
    EXPECT_EQ(admitted(5100, 250), 25U);
    EXPECT_EQ(admitted(9000, 1), 1U) << "at least one";
}

TEST_F(guarded_sample_rate, admits_all_without_a_limit)
{
    EXPECT_EQ(admitted(5000, 0), 100U);
    EXPECT_EQ(rate.skipped(), 0U);
}

TEST_F(guarded_sample_rate, counts_skipped_and_taken_samples)
{
    (void)admitted(5000, 250);
    EXPECT_EQ(rate.skipped(), 75U);
    rate.note_skipped();
    rate.note_taken();
    EXPECT_EQ(rate.skipped(), 76U);
    EXPECT_EQ(rate.taken(), 1U);
}
} // namespace
