// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/resource_tape.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mp = memory_pool;

namespace {
TEST(resource_tape, agrees_with_the_model_on_random_tapes)
{
    // A tape that fails is found again by its seed, which the log of the failing run shows.
    for (std::uint32_t seed = 0; seed != 96; ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_resource(tape.data(), tape.size());
    }
}

/// A model with a fault, so that the resource looks wrong: it counts one byte too many for blocks in arenas.
struct faulty_model : fuzz::arena_model<mp::unsynchronized_arena_resource>
{
    static std::size_t bytes_in_use(const mp::unsynchronized_arena_resource& resource, const test::filled_block& block)
    {
        return arena_model::bytes_in_use(resource, block) + 1;
    }
};

TEST(resource_tape_death, notices_that_resource_and_model_disagree)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::vector<std::uint8_t> tape(400, 0); // allocates, and nothing else
    EXPECT_DEATH(
        (fuzz::resource_player<mp::unsynchronized_arena_resource, faulty_model>::play(tape.data(), tape.size())),
        "allocate\n.*bytes_in_use is wrong");
}
} // namespace
