// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/arena.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
static_assert(core::arena_extent(0) == 8, "a block of 0 bytes has an address of its own");
static_assert(core::arena_extent(1) == 8);
static_assert(core::arena_extent(8) == 8);
static_assert(core::arena_extent(9) == 16);

TEST(arena, fits_a_cache_line)
{
    EXPECT_EQ(sizeof(core::arena), memory_pool::cache_line_size);
}

TEST(arena, counts_bytes_between_floor_and_cursor)
{
    std::array<std::byte, 100> memory{};
    core::arena arena;
    arena.reset(memory.data());
    EXPECT_EQ(arena.bytes_in_use(), 0u);
    arena.cursor += 48;
    arena.floor += 16;
    EXPECT_EQ(arena.bytes_in_use(), 32u);
}

TEST(arena, no_arena_is_empty)
{
    EXPECT_EQ(core::no_arena.cursor, nullptr);
    EXPECT_EQ(core::no_arena.bytes_in_use(), 0u);
}

TEST(distance_to_multiple, reaches_the_next_aligned_address)
{
    alignas(64) const std::array<std::byte, 128> memory{};
    for (std::size_t offset = 0; offset != 64; ++offset)
        for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
            const std::size_t distance = core::distance_to_multiple(memory.data() + offset, alignment);
            EXPECT_LT(distance, alignment);
            EXPECT_EQ((offset + distance) % alignment, 0u);
        }
}
} // namespace
