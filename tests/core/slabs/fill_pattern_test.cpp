// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/fill_pattern.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace core = memory_pool::detail::core;
namespace base = memory_pool::detail::base;

namespace {
constexpr std::size_t block_size = 24;
constexpr std::size_t stride = 48;

class fill_pattern_test : public testing::Test
{
protected:
    void TearDown() override { base::permit_access(block_, sizeof block_); }

    /// A stray write, hidden from sanitizers.
    void write(std::size_t offset, char value)
    {
        base::permit_access(block_, sizeof block_);
        block_[offset] = value;
    }

    alignas(16) char block_[stride] = {};
    const core::fill_pattern checks_{block_size, stride};
};

TEST_F(fill_pattern_test, detects_a_write_to_any_byte_of_a_free_block)
{
    for (std::size_t offset = 0; offset != stride; ++offset) {
        checks_.mark_free(block_);
        EXPECT_TRUE(checks_.is_untouched(block_));
        write(offset, 'x');
        EXPECT_FALSE(checks_.is_untouched(block_)) << offset;
    }
}

TEST_F(fill_pattern_test, detects_a_write_to_any_byte_behind_a_block)
{
    for (std::size_t offset = block_size; offset != stride; ++offset) {
        checks_.mark_in_use(block_);
        EXPECT_TRUE(checks_.canary_is_intact(block_));
        write(offset, 'x');
        EXPECT_FALSE(checks_.canary_is_intact(block_)) << offset;
    }
}

TEST_F(fill_pattern_test, preserves_user_data)
{
    write(0, 'a');
    write(block_size - 1, 'z');
    checks_.mark_in_use(block_);
    base::permit_access(block_, sizeof block_);
    EXPECT_EQ(block_[0], 'a');
    EXPECT_EQ(block_[block_size - 1], 'z');
    EXPECT_TRUE(checks_.canary_is_intact(block_));
}
} // namespace
