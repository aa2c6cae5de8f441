// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/arena_marks.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace core = memory_pool::core;

namespace
{
constexpr std::size_t arena_size = 2048;
static_assert(core::arena_marks::bytes_for(arena_size) == 2 * arena_size / 8 / 8,
              "two bits for each granule of 8 bytes");
static_assert(core::arena_marks::bytes_for(1024) == 32);

class arena_marks_test : public testing::Test
{
protected:
    arena_marks_test() { marks_.clear(); }

    std::byte* at(std::size_t offset) { return memory_.data() + offset; }

    alignas(8) std::array<std::byte, arena_size> memory_{};
    core::arena_marks marks_{memory_.data(), memory_.data() + 64, arena_size};
};

TEST_F(arena_marks_test, knows_where_blocks_in_use_begin)
{
    marks_.add(at(512), 40);
    marks_.add(at(552), 8);
    for (std::size_t offset = 256; offset != arena_size; ++offset)
        EXPECT_EQ(marks_.is_start(at(offset)), offset == 512 || offset == 552) << offset;
    marks_.remove(at(512), 40);
    EXPECT_FALSE(marks_.is_start(at(512)));
    EXPECT_TRUE(marks_.is_start(at(552)));
}

TEST_F(arena_marks_test, knows_the_extent_of_each)
{
    marks_.add(at(512), 40);
    marks_.add(at(552), 8);
    marks_.add(at(560), 640); // Over several words of bits.
    for (std::size_t extent = 8; extent <= 800; extent += 8) {
        EXPECT_EQ(marks_.has_extent(at(512), extent), extent == 40) << extent;
        EXPECT_EQ(marks_.has_extent(at(552), extent), extent == 8) << extent;
        EXPECT_EQ(marks_.has_extent(at(560), extent), extent == 640) << extent;
    }
}

TEST_F(arena_marks_test, tells_what_lies_in_a_block_from_what_lies_between)
{
    marks_.add(at(512), 40);
    marks_.add(at(600), 640);
    for (std::size_t offset = 513; offset != arena_size; ++offset) {
        if (marks_.is_start(at(offset)))
            continue;
        const bool is_inside = offset < 552 || (offset >= 600 && offset < 1240);
        EXPECT_EQ(marks_.is_inside(at(offset)), is_inside) << offset;
    }
}

TEST_F(arena_marks_test, forgets_all_when_it_is_cleared)
{
    marks_.add(at(512), 40);
    marks_.add(at(2008), 40);
    marks_.clear();
    for (std::size_t offset = 256; offset != arena_size; ++offset)
        EXPECT_FALSE(marks_.is_start(at(offset)) || marks_.is_inside(at(offset))) << offset;
}
} // namespace
