// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/block_span.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
TEST(block_span, is_empty_initially)
{
    core::block_span span;
    void* block = &span;
    EXPECT_TRUE(span.empty());
    EXPECT_FALSE(span.pop_front(block, 8));
    EXPECT_EQ(block, &span) << "a failed pop leaves the result unchanged";
}

TEST(block_span, pops_blocks_in_address_order)
{
    char memory[24];
    core::block_span span{memory, memory + 24};
    EXPECT_EQ(span.bytes(), 24u);
    for (std::size_t i = 0; i != 3; ++i) {
        void* block = nullptr;
        ASSERT_TRUE(span.pop_front(block, 8));
        EXPECT_EQ(block, memory + i * 8);
    }
    EXPECT_TRUE(span.empty());
}
} // namespace
