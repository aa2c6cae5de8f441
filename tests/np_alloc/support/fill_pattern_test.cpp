// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/fill_pattern.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::byte others{0x11};

/// A block, with others before it and behind.
class fill_pattern : public testing::Test
{
protected:
    fill_pattern() { memory_.fill(others); }

    std::byte* block() { return memory_.data() + 64; }

    /// Returns: whether nothing beside a block of that size was written to.
    bool is_alone(std::size_t bytes) const
    {
        return std::all_of(memory_.begin(), memory_.begin() + 64, [](std::byte each) { return each == others; }) &&
               std::all_of(memory_.begin() + 64 + static_cast<std::ptrdiff_t>(bytes), memory_.end(),
                           [](std::byte each) { return each == others; });
    }

    alignas(64) std::array<std::byte, 1024> memory_;
};

TEST_F(fill_pattern, fill_a_free_block_and_nothing_else)
{
    for (std::size_t bytes = 16; bytes != 800; bytes += 16) {
        memory_.fill(others);
        np::poison(block(), bytes);
        EXPECT_TRUE(std::all_of(block(), block() + bytes, [](std::byte each) {
            return each == std::byte{np::poison_byte};
        })) << bytes;
        EXPECT_TRUE(is_alone(bytes)) << bytes;
    }
}

TEST_F(fill_pattern, tell_of_a_write_to_any_byte_of_a_free_block)
{
    for (std::size_t bytes = 16; bytes != 800; bytes += 16) {
        np::poison(block(), bytes);
        ASSERT_TRUE(np::is_poisoned(block(), bytes)) << bytes;
        for (std::size_t i = 0; i != bytes; ++i) {
            block()[i] ^= std::byte{1};
            ASSERT_FALSE(np::is_poisoned(block(), bytes)) << i << " of " << bytes;
            block()[i] ^= std::byte{1};
        }
    }
}

TEST_F(fill_pattern, may_be_zeros)
{
    const std::uint64_t before = np::the_poison.exchange(0);
    for (std::size_t bytes = 16; bytes != 800; bytes += 16) {
        memory_.fill(others);
        np::poison(block(), bytes);
        EXPECT_TRUE(std::all_of(block(), block() + bytes, [](std::byte each) { return each == std::byte{0}; }))
            << bytes;
        EXPECT_TRUE(is_alone(bytes)) << bytes;
        EXPECT_TRUE(np::is_poisoned(block(), bytes)) << bytes;
        block()[bytes / 3] = std::byte{1};
        EXPECT_FALSE(np::is_poisoned(block(), bytes)) << bytes;
    }
    np::the_poison = before;
}

TEST_F(fill_pattern, tell_of_a_write_to_any_byte_behind_what_was_asked_for)
{
    np::canary drawn;
    drawn.draw();
    for (const bool is_new : {false, true})
        for (std::size_t asked = 0; asked != 80; ++asked) {
            constexpr std::size_t bytes = 80;
            memory_.fill(others);
            (is_new ? drawn.write_to_new(block() + asked, block() + bytes)
                    : drawn.write(block() + asked, block() + bytes));
            EXPECT_TRUE(is_alone(bytes)) << asked;
            for (std::size_t i = 0; i != bytes; ++i) {
                block()[i] ^= std::byte{1};
                EXPECT_EQ(drawn.is_intact(block() + asked, block() + bytes), i < asked) << i << " of " << asked;
                block()[i] ^= std::byte{1};
            }
        }
}

TEST_F(fill_pattern, may_begin_where_no_memory_is_before_if_there_are_none)
{
    const np::canary drawn;
    EXPECT_TRUE(drawn.is_intact(nullptr, nullptr));
}
} // namespace
