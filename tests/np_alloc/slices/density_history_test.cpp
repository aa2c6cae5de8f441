// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/density_history.hpp>

#include <gtest/gtest.h>

namespace np = memory_pool::np;

namespace {
constexpr bool dense = true;
constexpr bool sparse = false;

struct density_history : testing::Test
{
    np::density_history history;

    /// Returns: the number of successive blocks that are granted huge pages, at most 100.
    int granted()
    {
        int count = 0;
        while (count != 100 && history.take_grant())
            ++count;
        return count;
    }

    /// Returns: the number of blocks before the next probe.
    int skipped()
    {
        int count = 0;
        while (!history.take_probe(false))
            ++count;
        return count;
    }
};

TEST_F(density_history, grants_nothing_to_the_first_block)
{
    EXPECT_TRUE(history.is_unknown());
    EXPECT_EQ(granted(), 0);
    EXPECT_FALSE(history.is_unknown());
    EXPECT_FALSE(history.is_dense());
    EXPECT_FALSE(history.is_sparse());
    EXPECT_TRUE(history.take_probe(false));
}

TEST_F(density_history, grants_more_after_each_dense_probe)
{
    history.note(dense);
    EXPECT_TRUE(history.is_dense());
    EXPECT_EQ(granted(), 8);
    EXPECT_EQ(skipped(), 0);
    history.note(dense);
    EXPECT_EQ(granted(), 16);
    history.note(dense);
    EXPECT_EQ(granted(), 32);
    history.note(dense);
    EXPECT_EQ(granted(), 32) << "upper bound";
}

TEST_F(density_history, grants_nothing_after_a_sparse_probe_until_three_in_a_row_are_dense)
{
    for (int i = 0; i != 5; ++i)
        history.note(dense);
    history.note(sparse);
    EXPECT_TRUE(history.is_sparse());
    EXPECT_EQ(granted(), 0) << "earlier grants expire";
    history.note(dense);
    history.note(dense);
    EXPECT_EQ(granted(), 0);
    history.note(sparse);
    history.note(dense);
    history.note(dense);
    EXPECT_EQ(granted(), 0);
    history.note(dense);
    EXPECT_EQ(granted(), 8);
}

TEST_F(density_history, probes_less_often_after_each_sparse_probe)
{
    for (const int expected : {0, 1, 3, 7, 15, 31, 31}) {
        history.note(sparse);
        EXPECT_EQ(skipped(), expected);
    }
    history.note(dense);
    history.note(sparse);
    EXPECT_EQ(skipped(), 0);
}

TEST_F(density_history, waits_64_blocks_for_an_outstanding_probe)
{
    int waited = 0;
    while (!history.take_probe(true))
        ++waited;
    EXPECT_EQ(waited, 64);
    EXPECT_FALSE(history.take_probe(true)) << "each probe restarts the wait";
}

TEST_F(density_history, inherits_two_grants_from_a_dense_size)
{
    np::density_history other;
    history.inherit(other);
    EXPECT_FALSE(history.take_grant());
    other.note(dense);
    while (other.take_grant()) {
    }
    history.inherit(other);
    EXPECT_EQ(granted(), 2);
    EXPECT_TRUE(history.take_probe(false));
    other.note(sparse);
    history.inherit(other);
    EXPECT_EQ(granted(), 0);
}
} // namespace
