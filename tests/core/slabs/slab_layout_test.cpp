// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/slab_layout.hpp>

#include <memory_pool/base/arithmetic.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace base = memory_pool::detail::base;
using memory_pool::detail::core::slab_layout;

namespace {
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

void expect_sound(const slab_layout& layout)
{
    SCOPED_TRACE(testing::Message() << "stride " << layout.stride() << " alignment " << layout.alignment());
    EXPECT_TRUE(base::is_power_of_two(layout.slab_alignment()));
    EXPECT_GE(layout.max_blocks(), 1u);
    EXPECT_LE(layout.slab_bytes(layout.max_blocks()), layout.slab_alignment()) << "a block would not find its slab";
    for (const std::size_t blocks : {std::size_t{1}, layout.max_blocks() / 2 + 1, layout.max_blocks()}) {
        EXPECT_EQ(layout.first_block(blocks) % layout.alignment(), 0u);
        EXPECT_GE(layout.first_block(blocks), memory_pool::detail::core::slab_header_bytes + (blocks + 7) / 8);
        EXPECT_EQ(layout.slab_bytes(blocks), layout.first_block(blocks) + blocks * layout.stride());
    }
}

TEST(slab_layout, is_sound_for_every_stride_and_alignment)
{
    for (std::size_t alignment = 8; alignment <= 4096; alignment *= 2)
        for (std::size_t stride = alignment; stride <= 70'000; stride += alignment * (1 + stride / 512))
            for (const std::size_t limit : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, unbounded})
                expect_sound(slab_layout(stride, alignment, limit));
}

TEST(slab_layout, is_sound_for_huge_blocks)
{
    for (std::size_t stride = std::size_t{1} << 20; stride <= std::size_t{1} << 40; stride *= 2)
        for (const std::size_t more : {std::size_t{0}, std::size_t{64}, std::size_t{4096}})
            expect_sound(slab_layout(stride + more, 64, unbounded));
    expect_sound(slab_layout(std::size_t{1} << 30, std::size_t{1} << 30, unbounded));
}

TEST(slab_layout, limits_the_first_slab_by_the_index_type)
{
    for (const std::size_t stride : {8u, 48u, 4096u, 100'000u}) {
        const slab_layout layout(stride, 8, unbounded);
        const std::size_t max_blocks = layout.max_first_blocks();
        EXPECT_LE(layout.slab_bytes(max_blocks), slab_layout::largest_slab_bytes);
        EXPECT_GT(layout.slab_bytes(max_blocks + 2), slab_layout::largest_slab_bytes);
        EXPECT_EQ(layout.index((max_blocks - 1) * stride), max_blocks - 1);
        EXPECT_NE(layout.index((max_blocks - 1) * stride + 1) * stride, (max_blocks - 1) * stride + 1);
    }
    EXPECT_EQ(slab_layout(64, 16, 1000).max_first_blocks(), 1000u);
    EXPECT_EQ(slab_layout(std::size_t{1} << 33, 16, unbounded).max_first_blocks(), 1u);
}

TEST(slab_layout, aligns_the_first_slab_only_for_its_blocks)
{
    EXPECT_EQ(slab_layout(8, 8, unbounded).first_slab_alignment(), alignof(std::max_align_t));
    EXPECT_EQ(slab_layout(4096, 4096, unbounded).first_slab_alignment(), 4096u);
}

TEST(slab_layout, sizes_slabs_by_the_limit)
{
    const slab_layout layout(32, 16, 10);
    EXPECT_EQ(layout.max_blocks(), 10u);
    EXPECT_LE(layout.slab_alignment(), 512u);
}

TEST(slab_layout, sizes_slabs_by_the_growth_step_and_granule)
{
    const slab_layout usual(1000, 8, unbounded);
    const slab_layout in_steps(1000, 8, unbounded, 4);
    EXPECT_EQ(in_steps.slab_alignment(), 4096u); // four blocks and the header
    EXPECT_LT(in_steps.slab_alignment(), usual.slab_alignment());
    EXPECT_EQ(slab_layout(1000, 8, unbounded, 4, memory_pool::detail::core::slab_granule).slab_alignment(),
              memory_pool::detail::core::slab_granule);
}

TEST(slab_layout, indexes_every_block_exactly)
{
    for (std::size_t stride = 8; stride <= 200'000; stride += 8 * (1 + stride / 256)) {
        const slab_layout layout(stride, 8, unbounded);
        for (std::size_t index = 0; index < layout.max_blocks(); index += 1 + index / 64)
            ASSERT_EQ(layout.index(index * stride), index) << "stride " << stride;
    }
    const slab_layout large(48, 16, unbounded);
    for (std::size_t index = 0; index != 1'000'000; ++index)
        ASSERT_EQ(large.index(index * 48), index);
}

TEST(slab_layout, detects_offsets_that_are_not_block_starts)
{
    for (const std::size_t stride : {8u, 24u, 40u, 48u, 1000u, 4096u}) {
        const slab_layout layout(stride, 8, unbounded);
        for (std::size_t offset = 0; offset < layout.slab_alignment(); ++offset)
            ASSERT_EQ(layout.index(offset) * stride == offset, offset % stride == 0) << stride << ' ' << offset;
    }
}

TEST(slab_layout, computes_the_number_of_blocks_that_fit)
{
    for (const std::size_t stride : {8u, 16u, 24u, 200u, 3000u}) {
        const slab_layout layout(stride, 8, unbounded);
        EXPECT_EQ(layout.blocks_within(layout.slab_bytes(1) - 1), 0u);
        for (std::size_t bytes = layout.slab_bytes(1); bytes < 20'000; ++bytes) {
            const std::size_t blocks = layout.blocks_within(bytes);
            ASSERT_LE(layout.slab_bytes(blocks), bytes);
            ASSERT_GT(layout.slab_bytes(blocks + 2), bytes) << "stride " << stride;
        }
    }
}
} // namespace
