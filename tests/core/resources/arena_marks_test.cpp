// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/arena_marks.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t arena_size = 2048;
constexpr std::size_t first = 64 + core::arena_marks::bytes_for(arena_size); // offset of the bytes after the marks
using request = memory_pool::detail::base::block_request;
static_assert(core::arena_marks::bytes_for(arena_size) == arena_size / 8, "a byte for each granule of 8 bytes");

class arena_marks_test : public testing::Test
{
protected:
    arena_marks_test() { marks_.clear(); }

    std::byte* at(std::size_t offset) { return memory_.data() + offset; }

    alignas(8) std::array<std::byte, arena_size> memory_{};
    core::arena_marks marks_{memory_.data(), memory_.data() + 64, arena_size};
};

TEST_F(arena_marks_test, tracks_the_starts_of_blocks_in_use)
{
    marks_.add(at(512), {20, 8}, 40);
    marks_.add(at(552), {0, 8}, 16);
    for (std::size_t offset = first; offset != arena_size; ++offset)
        EXPECT_EQ(marks_.is_start(at(offset)), offset == 512 || offset == 552) << offset;
    marks_.remove(at(512));
    EXPECT_FALSE(marks_.is_start(at(512)));
    EXPECT_TRUE(marks_.is_start(at(552)));
}

TEST_F(arena_marks_test, stores_the_request_of_each_block)
{
    constexpr std::size_t behind = 16;
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 40}) {
        for (std::size_t bytes = 0; bytes != 100; ++bytes) {
            const std::size_t extent = core::arena_extent(bytes) + behind;
            marks_.add(at(512), {bytes, alignment}, extent);
            marks_.add(at(512 + extent), {1, 1}, 24);
            EXPECT_EQ(marks_.request_of(at(512)), (request{bytes, alignment})) << bytes << " " << alignment;
            marks_.remove(at(512));
            EXPECT_EQ(marks_.request_of(at(512 + extent)), (request{1, 1}));
            marks_.remove(at(512 + extent));
        }
    }
}

TEST_F(arena_marks_test, distinguishes_blocks_from_gaps)
{
    marks_.add(at(512), {24, 8}, 40);
    marks_.add(at(600), {620, 8}, 640);
    for (std::size_t offset = 513; offset != arena_size; ++offset) {
        if (marks_.is_start(at(offset)))
            continue;
        const bool is_inside = offset < 552 || (offset >= 600 && offset < 1240);
        EXPECT_EQ(marks_.is_inside(at(offset)), is_inside) << offset;
    }
}

TEST_F(arena_marks_test, clear_removes_all_marks)
{
    marks_.add(at(512), {24, 8}, 40);
    marks_.add(at(2008), {24, 8}, 40);
    marks_.clear();
    for (std::size_t offset = first; offset != arena_size; ++offset)
        EXPECT_FALSE(marks_.is_start(at(offset)) || marks_.is_inside(at(offset))) << offset;
}
} // namespace
