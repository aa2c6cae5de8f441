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
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != 96; ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_resource(tape.data(), tape.size());
    }
}

/// A faulty model: it counts one byte too many per block.
struct faulty_model : fuzz::arena_model<mp::unsynchronized_arena_resource>
{
    static std::size_t bytes_in_use(const mp::unsynchronized_arena_resource& resource, const test::filled_block& block)
    {
        return arena_model::bytes_in_use(resource, block) + 1;
    }
};

TEST(resource_tape_death, detects_a_wrong_resource)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::vector<std::uint8_t> tape(400, 0); // allocates only
    EXPECT_DEATH(
        (fuzz::resource_player<mp::unsynchronized_arena_resource, faulty_model>::play(tape.data(), tape.size())),
        "allocate\n.*bytes_in_use is wrong");
}
} // namespace
