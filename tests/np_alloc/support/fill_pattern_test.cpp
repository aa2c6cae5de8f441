// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/fill_pattern.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

namespace np = memory_pool::np;

namespace {
constexpr std::byte others{0x11};

/// A block between two others.
class fill_pattern : public testing::Test
{
protected:
    fill_pattern() { memory_.fill(others); }

    std::byte* block() { return memory_.data() + 64; }

    /// Returns: whether the memory around a block of that size is untouched.
    bool is_alone(std::size_t bytes) const
    {
        return std::all_of(memory_.begin(), memory_.begin() + 64, [](std::byte each) { return each == others; }) &&
               std::all_of(memory_.begin() + 64 + static_cast<std::ptrdiff_t>(bytes), memory_.end(),
                           [](std::byte each) { return each == others; });
    }

    /// Fills a block as free() does.
    void free_block(std::size_t bytes)
    {
        np::the_canary.write_last(block() + bytes);
        np::poison_block(block(), bytes);
    }

    alignas(64) std::array<std::byte, 10'000> memory_;
};

/// The bytes that programs write most often.
constexpr std::array<std::byte, 4> usual{std::byte{0}, std::byte{1}, std::byte{0xFF}, std::byte{np::poison_byte}};

bool is_filled(std::byte each)
{
    return each == std::byte{np::poison_byte};
}

TEST_F(fill_pattern, fills_a_free_block_except_its_last_word)
{
    for (std::size_t bytes = 32; bytes != 800; bytes += 16) {
        memory_.fill(others);
        np::poison_block(block(), bytes);
        EXPECT_TRUE(std::all_of(block(), block() + bytes - 8, is_filled)) << bytes;
        EXPECT_TRUE(is_alone(bytes - 8)) << bytes;
    }
}

TEST_F(fill_pattern, detects_a_write_to_any_byte_of_a_free_block)
{
    for (const std::size_t bytes : {32U, 48U, 64U, 112U, 128U, 144U, 800U, 8192U}) {
        free_block(bytes);
        ASSERT_TRUE(np::is_poisoned_block(block(), bytes)) << bytes;
        for (std::size_t i = 0; i != bytes; ++i) {
            block()[i] ^= std::byte{1};
            ASSERT_FALSE(np::is_poisoned_block(block(), bytes)) << i << " of " << bytes;
            block()[i] ^= std::byte{1};
        }
    }
}

TEST_F(fill_pattern, detects_words_that_are_neither_filled_nor_zero_nor_a_canary)
{
    constexpr std::size_t bytes = 512;
    std::fill_n(block(), bytes, std::byte{0});
    free_block(112);
    np::poison(block() + 256, bytes - 256);
    EXPECT_EQ(np::first_damage(block(), bytes), nullptr);
    for (std::size_t i = 0; i != bytes; ++i) {
        block()[i] ^= std::byte{1};
        ASSERT_EQ(np::first_damage(block(), bytes), block() + i / 8 * 8) << i;
        block()[i] ^= std::byte{1};
    }
}

TEST_F(fill_pattern, has_a_canary_of_unusual_bytes_and_one_zero)
{
    for (int i = 0; i != 100; ++i) {
        np::canary drawn;
        drawn.draw();
        drawn.write(block(), block() + 24);
        for (std::size_t offset = 0; offset != 24; ++offset) {
            if (offset == 20)
                EXPECT_EQ(block()[offset], std::byte{0});
            else
                EXPECT_EQ(std::count(usual.begin(), usual.end(), block()[offset]), 0) << offset;
        }
        EXPECT_TRUE(drawn.is_last_intact(block() + 24));
    }
}

TEST_F(fill_pattern, can_be_zero)
{
    const std::uint64_t before = np::the_poison.exchange(0);
    for (std::size_t bytes = 32; bytes != 800; bytes += 16) {
        memory_.fill(others);
        free_block(bytes);
        EXPECT_TRUE(std::all_of(block(), block() + bytes - 8, [](std::byte each) { return each == std::byte{0}; }))
            << bytes;
        EXPECT_TRUE(np::is_poisoned_block(block(), bytes)) << bytes;
        block()[bytes / 3] = std::byte{1};
        EXPECT_FALSE(np::is_poisoned_block(block(), bytes)) << bytes;
    }
    np::the_poison = before;
}

TEST_F(fill_pattern, fills_other_memory_to_its_end)
{
    for (std::size_t bytes = 64; bytes != 800; bytes += 16) {
        memory_.fill(others);
        np::poison(block(), bytes);
        EXPECT_TRUE(std::all_of(block(), block() + bytes, is_filled)) << bytes;
        EXPECT_TRUE(is_alone(bytes)) << bytes;
    }
}

TEST_F(fill_pattern, detects_a_write_to_any_byte_behind_the_requested_size)
{
    np::canary drawn;
    drawn.draw();
    for (const bool is_new : {false, true})
        for (std::size_t asked = 0; asked <= 72; ++asked) {
            constexpr std::size_t bytes = 80;
            memory_.fill(others);
            drawn.write_last(block() + bytes);
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

TEST_F(fill_pattern, accepts_an_empty_range)
{
    const np::canary drawn;
    EXPECT_TRUE(drawn.is_intact(nullptr, nullptr));
}
} // namespace
