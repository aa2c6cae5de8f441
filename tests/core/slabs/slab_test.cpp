// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/slab.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t stride = 32;

class slab_test : public testing::Test
{
protected:
    core::slab& make(std::size_t blocks)
    {
        bytes_ = layout_.slab_bytes(blocks);
        memory_ = std::pmr::new_delete_resource()->allocate(bytes_, layout_.slab_alignment());
        return *::new (memory_) core::slab(this, layout_, blocks);
    }

    void TearDown() override { std::pmr::new_delete_resource()->deallocate(memory_, bytes_, layout_.slab_alignment()); }

    static void set_range(core::slab& slab, std::size_t first, std::size_t count)
    {
        slab.bits().put_range(first, count, [](std::size_t, std::uint64_t) {});
        slab.search_from(first);
    }

    static std::size_t count(const core::block_span& span) { return span.bytes() / stride; }

    const core::slab_layout layout_{stride, 16, core::slab_layout::large_slab_bytes};
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

TEST_F(slab_test, is_found_from_each_of_its_blocks)
{
    core::slab& slab = make(500);
    const core::block_span span = slab.take_span(stride);
    ASSERT_EQ(count(span), 500u);
    for (char* block = span.begin; block != span.end; block += stride)
        ASSERT_EQ(core::slab::of(block, layout_), &slab);
}

TEST_F(slab_test, takes_unused_blocks_as_one_span)
{
    core::slab& slab = make(100);
    EXPECT_TRUE(slab.has_uncarved());
    const core::block_span span = slab.take_span(stride);
    EXPECT_EQ(span.begin, slab.first_block());
    EXPECT_EQ(count(span), 100u);
    EXPECT_FALSE(slab.has_uncarved());
    EXPECT_FALSE(slab.has_set_bits());
    EXPECT_TRUE(slab.take_span(stride).empty());
}

TEST_F(slab_test, carves_a_large_slab_in_steps)
{
    core::slab& slab = make(2000);
    std::size_t blocks = 0;
    while (slab.has_uncarved())
        blocks += count(slab.take_span(stride));
    EXPECT_EQ(blocks, 2000u);
    EXPECT_TRUE(slab.is_consistent());
}

TEST_F(slab_test, takes_full_words_as_a_span_and_others_one_by_one)
{
    core::slab& slab = make(1000);
    (void)slab.take_span(stride);
    set_range(slab, 10, 200); // Words 1 and 2 are full, with 54 blocks before them and 18 after them.
    EXPECT_EQ(slab.count_set_bits(), 200u);
    EXPECT_TRUE(slab.take_span(stride).empty()) << "the first word is not full";

    void* blocks[64];
    ASSERT_EQ(slab.take(blocks, 64, stride), 54u) << "up to the full word";
    EXPECT_EQ(blocks[53], slab.block(10, stride)) << "the lowest address comes last";
    EXPECT_EQ(blocks[0], slab.block(63, stride));

    const core::block_span span = slab.take_span(stride);
    EXPECT_EQ(span.begin, slab.block(64, stride));
    EXPECT_EQ(count(span), 128u);

    EXPECT_EQ(slab.take(blocks, 10, stride), 10u) << "limited by the request";
    EXPECT_EQ(slab.take(blocks, 64, stride), 8u);
    EXPECT_FALSE(slab.has_set_bits());
    EXPECT_TRUE(slab.is_consistent());
}

TEST_F(slab_test, distinguishes_free_blocks)
{
    core::slab& slab = make(130);
    EXPECT_TRUE(slab.is_free(0)) << "never used";
    (void)slab.take_span(stride);
    EXPECT_FALSE(slab.is_free(129));
    set_range(slab, 129, 1);
    EXPECT_TRUE(slab.is_free(129));
    EXPECT_FALSE(slab.is_free(128));
    EXPECT_FALSE(slab.is_wholly_free());
    set_range(slab, 0, 129);
    EXPECT_TRUE(slab.is_wholly_free());
}

TEST_F(slab_test, uncarves_the_last_blocks_unless_one_is_free)
{
    core::slab& slab = make(200);
    (void)slab.take_span(stride);
    EXPECT_FALSE(slab.uncarve(100, 99)) << "not the last blocks";
    EXPECT_TRUE(slab.uncarve(100, 100));
    EXPECT_EQ(slab.carved(), 100u);
    EXPECT_EQ(slab.count_set_bits(), 0u) << "the other blocks stay in use";

    set_range(slab, 69, 1);
    EXPECT_FALSE(slab.uncarve(69, 31)) << "block 69 is free: a double free to report";
    EXPECT_EQ(slab.carved(), 100u);
    EXPECT_TRUE(slab.uncarve(70, 30)) << "in the same word";
    EXPECT_TRUE(slab.is_consistent());
    EXPECT_TRUE(slab.take_span(stride).empty()) << "block 69 is free and comes first";
}

TEST_F(slab_test, finds_the_blocks_in_use)
{
    core::slab& slab = make(200);
    EXPECT_EQ(slab.next_in_use(0), slab.carved()) << "no block in use yet";
    (void)slab.take_span(stride);
    set_range(slab, 0, 200);
    std::set<std::size_t> in_use{0, 5, 63, 64, 130, 199};
    for (const std::size_t index : in_use)
        *slab.word_of(index) &= ~(std::uint64_t{1} << index % 64);
    std::set<std::size_t> seen;
    for (std::size_t i = slab.next_in_use(0); i != slab.carved(); i = slab.next_in_use(i + 1))
        seen.insert(i);
    EXPECT_EQ(seen, in_use);
}

TEST_F(slab_test, take_one_late_prefers_unused_blocks)
{
    core::slab& slab = make(70);
    std::vector<void*> order;
    for (int i = 0; i != 70; ++i)
        order.push_back(slab.take_one_late(stride));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << "unused blocks come first";
    EXPECT_EQ(slab.take_one_late(stride), nullptr);
    set_range(slab, 3, 1);
    set_range(slab, 69, 1);
    EXPECT_EQ(slab.take_one_late(stride), slab.block(3, stride));
    set_range(slab, 3, 1);
    (void)slab.take_one_late(stride);
    EXPECT_EQ(slab.count_set_bits(), 1u);
}

TEST_F(slab_test, take_one_late_cycles_through_all_words)
{
    core::slab& slab = make(192);
    (void)slab.take_span(stride);
    set_range(slab, 0, 1);
    set_range(slab, 64, 1);
    EXPECT_EQ(slab.take_one_late(stride), slab.block(0, stride));
    EXPECT_EQ(slab.take_one_late(stride), slab.block(64, stride));
    set_range(slab, 0, 1);
    set_range(slab, 128, 1);
    EXPECT_EQ(slab.take_one_late(stride), slab.block(128, stride)) << "not block 0, which was just freed";
    EXPECT_EQ(slab.take_one_late(stride), slab.block(0, stride));
}

TEST_F(slab_test, reset_frees_all_blocks)
{
    core::slab& slab = make(100);
    (void)slab.take_span(stride);
    set_range(slab, 7, 20);
    slab.reset();
    EXPECT_TRUE(slab.is_wholly_free());
    EXPECT_EQ(count(slab.take_span(stride)), 100u);
}

TEST_F(slab_test, detects_bits_beyond_the_last_block)
{
    core::slab& slab = make(70);
    (void)slab.take_span(stride);
    EXPECT_TRUE(slab.is_consistent());
    *slab.word_of(69) |= std::uint64_t{1} << 6; // The slab has no block 70.
    EXPECT_FALSE(slab.is_consistent());
    *slab.word_of(69) = 0;
    EXPECT_FALSE(slab.has_set_bits());
}
} // namespace
