// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/block_classes.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
/// Returns the block size of the class for `bytes`.
constexpr std::size_t rounded(std::size_t bytes)
{
    return core::block_sizes::size(core::block_sizes::of(bytes));
}

static_assert(rounded(0) == 8 && rounded(1) == 8 && rounded(8) == 8 && rounded(9) == 16);
static_assert(rounded(57) == 64 && rounded(65) == 80 && rounded(81) == 96 && rounded(113) == 128);
static_assert(rounded(129) == 160 && rounded(257) == 320);
static_assert(rounded((std::size_t{1} << 20) - 1) == std::size_t{1} << 20);

TEST(block_classes, waste_at_most_a_fifth)
{
    for (std::size_t bytes = 41; bytes <= core::block_sizes::largest; ++bytes) {
        ASSERT_GE(rounded(bytes), bytes);
        ASSERT_LE((rounded(bytes) - bytes) * 5, rounded(bytes)) << bytes;
    }
}

TEST(block_classes, satisfy_size_and_alignment_of_any_request)
{
    for (std::size_t alignment = 1; alignment <= core::largest_class_alignment; alignment *= 2) {
        for (std::size_t bytes = 0; bytes <= 20'000; ++bytes) {
            const std::size_t needed = core::bytes_in_class(bytes, alignment);
            const std::size_t number = core::block_sizes::of(needed);
            ASSERT_GE(core::block_sizes::size(number), bytes);
            ASSERT_GE(core::block_class_alignment(number), alignment) << bytes << " aligned to " << alignment;
        }
    }
}

TEST(block_classes, exclude_oversized_and_overaligned_requests)
{
    EXPECT_GT(core::bytes_in_class(core::block_sizes::largest + 1, 8), core::block_sizes::largest);
    EXPECT_GT(core::bytes_in_class(core::block_sizes::largest + 1, 4096), core::block_sizes::largest);
    EXPECT_GT(core::bytes_in_class(~std::size_t{0}, 16), core::block_sizes::largest);
    EXPECT_GT(core::bytes_in_class(8, 8192), core::block_sizes::largest);
}
} // namespace
