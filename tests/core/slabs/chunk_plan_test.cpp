// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/chunk_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t stride = 64;
constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

/// A listener that only reports whether adding blocks is expensive.
class idle_listener final : public core::slab_listener
{
public:
    explicit idle_listener(bool expensive) noexcept : slab_listener(nullptr, expensive) {}
    void add_blocks(core::slab&, std::size_t, std::size_t) override {}
    void leave(core::slab&, std::size_t) noexcept override {}
    void survivor_returned(void*) noexcept override {}
};

class chunk_plan_test : public testing::Test
{
protected:
    core::chunk_plan plan(std::size_t limit = any_number) const { return {layout_, options_, limit}; }
    core::chunk_plan plan_of_listener() const { return {layout_of_listener_, options_, any_number}; }

    core::slab_layout layout_{stride, 16, any_number};
    core::slab_layout layout_of_listener_{stride, 16, any_number, any_number, core::slab_granule};
    core::slab_store_options options_{false, true, false};
};

TEST_F(chunk_plan_test, starts_with_4_kib_and_then_doubles_up_to_1_mib)
{
    EXPECT_EQ(plan().blocks_to_add(1, 0), layout_.blocks_within(4096));
    EXPECT_EQ(plan().blocks_to_add(1, 1000), 1000u);
    EXPECT_EQ(plan().blocks_to_add(1, 1'000'000), (std::size_t{1} << 20) / stride);
    EXPECT_EQ(plan().blocks_to_add(5000, 1000), 5000u) << "the request";
    EXPECT_EQ(plan(1100).blocks_to_add(5000, 1000), 100u) << "up to the limit";
}

TEST_F(chunk_plan_test, adds_exactly_the_requested_blocks_with_a_growth_step)
{
    options_.growth_step = 7;
    EXPECT_EQ(plan().blocks_to_add(7, 0), 7u);
    EXPECT_EQ(plan().blocks_to_add(7, 1000), 7u);
}

TEST_F(chunk_plan_test, does_not_round_up_when_blocks_are_expensive)
{
    idle_listener expensive(true);
    idle_listener cheap(false);
    options_.listener = &expensive;
    EXPECT_EQ(plan().blocks_to_add(1, 0), 1u);
    options_.listener = &cheap;
    EXPECT_EQ(plan().blocks_to_add(1, 0), layout_.blocks_within(4096));
}

TEST_F(chunk_plan_test, quadruples_pools_below_16_kib_and_doubles_larger_ones)
{
    const std::size_t in_16_kib = 16 * 1024 / layout_.stride();
    EXPECT_EQ(plan().blocks_to_add(1, 200), 600u);
    EXPECT_EQ(plan().blocks_to_add(1, in_16_kib - 1), 3 * (in_16_kib - 1));
    EXPECT_EQ(plan().blocks_to_add(1, in_16_kib), in_16_kib);
    EXPECT_EQ(plan().blocks_to_add(5000, 200), 5000u) << "the request, if larger";
}

TEST_F(chunk_plan_test, doubles_pools_whose_blocks_are_expensive)
{
    idle_listener listener(true);
    options_.listener = &listener;
    EXPECT_EQ(plan_of_listener().blocks_to_add(1, 200), 200u);
}

TEST_F(chunk_plan_test, first_chunk_is_one_slab_and_a_magazine)
{
    const core::chunk_shape shape = plan().next(100'000, 0, true);
    EXPECT_EQ(shape.slabs, 1u);
    EXPECT_EQ(shape.room_each, 100'000u);
    EXPECT_EQ(shape.alignment, layout_.first_slab_alignment());
    EXPECT_EQ(shape.bytes, layout_.slab_bytes(100'000) + plan().suitable_magazine_room(100'000) * sizeof(void*));
    options_.has_room_for_magazine = false;
    EXPECT_EQ(plan().next(100'000, 0, true).bytes, layout_.slab_bytes(100'000));
}

TEST_F(chunk_plan_test, shrinks_the_first_magazine_when_upstream_is_short)
{
    constexpr bool is_short = true;
    for (const std::size_t blocks : {1u, 16u, 100u, 5000u}) {
        const core::chunk_shape shape = plan().next(blocks, 0, true, is_short);
        const std::size_t pointers = core::magazine::min_room(blocks, stride, 0);
        EXPECT_EQ(shape.bytes, layout_.slab_bytes(blocks) + pointers * sizeof(void*));
        EXPECT_LE(pointers, std::max<std::size_t>(blocks / 8, 16));
        EXPECT_GE(pointers, 1u);
    }
}

TEST_F(chunk_plan_test, limits_alignment_to_twice_the_chunk_size)
{
    const std::size_t in_half_a_slab = layout_.blocks_within(layout_.slab_alignment() / 2);
    const core::chunk_shape small = plan().next(in_half_a_slab, 1000, false);
    EXPECT_TRUE(plan().is_unaligned(small));
    EXPECT_EQ(small.alignment, layout_.first_slab_alignment());
    const core::chunk_shape large = plan().next(in_half_a_slab + 1, 1000, false);
    EXPECT_FALSE(plan().is_unaligned(large));
    EXPECT_EQ(large.alignment, layout_.slab_alignment());

    idle_listener listener(false);
    options_.listener = &listener;
    EXPECT_FALSE(plan_of_listener().is_unaligned(plan_of_listener().next(1, 1000, false))) << "objects find their slab";
}

TEST_F(chunk_plan_test, further_chunks_have_as_many_slabs_as_needed)
{
    const std::size_t in_a_slab = layout_.max_blocks();
    const core::chunk_shape one = plan().next(in_a_slab / 2, 1000, false);
    EXPECT_EQ(one.slabs, 1u);
    EXPECT_EQ(one.room_each, in_a_slab / 2);
    EXPECT_EQ(one.bytes, layout_.slab_bytes(in_a_slab / 2));
    const core::chunk_shape three = plan().next(3 * in_a_slab + 1, 1000, false);
    EXPECT_EQ(three.slabs, 3u);
    EXPECT_EQ(three.room_each, in_a_slab);
    EXPECT_EQ(three.alignment, layout_.slab_alignment());
    EXPECT_EQ(three.bytes, 2 * layout_.slab_alignment() + layout_.slab_bytes(in_a_slab));
    EXPECT_LE(plan().next(any_number, 1000, false).bytes, std::size_t{4} << 20) << "at most 4 MiB";
}

TEST_F(chunk_plan_test, reserves_room_for_further_steps_with_a_listener)
{
    idle_listener listener(false);
    options_.listener = &listener;
    options_.growth_step = 10;
    EXPECT_EQ(plan_of_listener().next(10, 0, true).room_each, 10u);
    EXPECT_EQ(plan_of_listener().next(10, 0, true).alignment, core::slab_granule) << "for the first slab as well";
    EXPECT_EQ(plan_of_listener().next(10, 40, false).room_each, 40u) << "the present number of blocks";
}
} // namespace
