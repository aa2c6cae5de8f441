// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/magazine_demand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
struct magazine_demand : testing::Test
{
    np::magazine_demand demand;
    std::array<std::size_t, np::class_count> held{};

    np::magazine_demand::use sample()
    {
        return demand.sample([this](std::size_t size_class) { return held[size_class]; });
    }

    void restart()
    {
        demand.restart([this](std::size_t size_class) { return held[size_class]; });
    }

    /// Samples all classes once, and expects that their swings are not known yet.
    void expect_a_turn_without_swings()
    {
        for (std::size_t i = 0; i != np::class_count; ++i)
            EXPECT_EQ(sample().size_class, np::class_count);
    }

    std::uint32_t swing_of_first_in_a_turn()
    {
        const std::uint32_t swing = sample().swing;
        for (std::size_t i = 1; i != np::class_count; ++i)
            (void)sample();
        return swing;
    }
};

TEST_F(magazine_demand, knows_each_class_after_all_turns)
{
    for (std::uint32_t turn = 1; turn != np::magazine_demand::turns; ++turn)
        expect_a_turn_without_swings();
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        EXPECT_EQ(sample().size_class, size_class);
    expect_a_turn_without_swings();
}

TEST_F(magazine_demand, is_the_distance_from_low_to_high_water_mark)
{
    restart();
    held[0] = 10;
    EXPECT_EQ(swing_of_first_in_a_turn(), 10U);
    for (std::uint32_t turn = 1; turn != np::magazine_demand::turns; ++turn) {
        held[0] = 10 + turn % 3;
        expect_a_turn_without_swings();
    }
    held[0] = 16;
    EXPECT_EQ(swing_of_first_in_a_turn(), 6U);
    for (std::uint32_t turn = 1; turn != np::magazine_demand::turns; ++turn)
        expect_a_turn_without_swings();
    EXPECT_EQ(swing_of_first_in_a_turn(), 0U) << "the new marks begin at the current count";
}

TEST_F(magazine_demand, counts_a_miss_as_use_of_all_room)
{
    restart();
    demand.note_miss(0);
    EXPECT_GE(swing_of_first_in_a_turn(), np::max_room(0));
    restart();
    EXPECT_EQ(swing_of_first_in_a_turn(), 0U);
}

TEST_F(magazine_demand, knows_each_class_one_turn_after_a_restart)
{
    held[0] = 100;
    restart();
    held[0] = 97;
    EXPECT_EQ(swing_of_first_in_a_turn(), 3U);
    expect_a_turn_without_swings();
}
} // namespace
