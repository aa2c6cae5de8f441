// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/bitmap.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace base = memory_pool::detail::base;

namespace {
constexpr std::size_t bits = 200;
using words = std::array<std::uint64_t, base::words_for(bits)>;

TEST(bitmap, rounds_up_to_words_of_64_bits)
{
    EXPECT_EQ(base::words_for(0), 0u);
    EXPECT_EQ(base::words_for(1), 1u);
    EXPECT_EQ(base::words_for(64), 1u);
    EXPECT_EQ(base::words_for(65), 2u);
}

TEST(bitmap, sets_and_clears_one_bit)
{
    for (std::size_t index = 0; index != bits; ++index) {
        words map{};
        base::set_bit(map.data(), index);
        for (std::size_t other = 0; other != bits; ++other)
            EXPECT_EQ(base::find_bit<true>(map.data(), other, other + 1) == other, other == index);
        base::clear_bit(map.data(), index);
        EXPECT_EQ(map, words{});
    }
}

TEST(bitmap, finds_the_first_set_and_the_first_clear_bit)
{
    for (std::size_t index = 0; index != bits; ++index) {
        words map{};
        base::set_bit(map.data(), index);
        words inverse = map;
        for (std::uint64_t& word : inverse)
            word = ~word;
        for (const std::size_t from : {std::size_t{0}, index, index + 1}) {
            const std::size_t expected = from <= index ? index : bits;
            EXPECT_EQ(base::find_bit<true>(map.data(), from, bits), expected);
            EXPECT_EQ(base::find_bit<false>(inverse.data(), from, bits), expected);
        }
        EXPECT_EQ(base::find_bit<true>(map.data(), 0, index), index);
    }
}

TEST(bitmap, finds_nothing_past_the_end)
{
    const words map{~std::uint64_t{0}};
    EXPECT_EQ(base::find_bit<true>(map.data(), 64, 64), 64u);
    EXPECT_EQ(base::find_bit<true>(map.data(), 70, 64), 64u);
}
} // namespace
