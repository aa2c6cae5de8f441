// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/block_row.hpp>

#include <gtest/gtest.h>

namespace core = memory_pool::detail::core;

namespace {
TEST(block_row, is_empty_initially)
{
    const core::block_row row;
    EXPECT_TRUE(row.empty());
    EXPECT_TRUE(row.span().empty());
    EXPECT_EQ(row.next, nullptr) << "deallocate relies on it";
}

TEST(block_row, grows_upwards)
{
    char memory[64];
    core::block_row row{memory, memory + 8, 8};
    EXPECT_FALSE(row.empty());
    EXPECT_EQ(row.next, memory + 8);
    row.extend();
    EXPECT_EQ(row.span().begin, memory);
    EXPECT_EQ(row.span().end, memory + 16);
}

TEST(block_row, grows_downwards)
{
    char memory[64];
    core::block_row row{memory + 32, memory + 24, -8};
    EXPECT_FALSE(row.empty());
    EXPECT_EQ(row.next, memory + 24);
    row.extend();
    EXPECT_EQ(row.span().begin, memory + 24);
    EXPECT_EQ(row.span().end, memory + 40);
}
} // namespace
