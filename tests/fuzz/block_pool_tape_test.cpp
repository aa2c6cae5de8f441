// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/block_pool_tape.hpp>
#include <fuzz/miscounting_pool.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {
TEST(block_pool_tape, agrees_with_the_model_on_random_tapes)
{
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != (test::under_a_sanitizer ? 10 : 50); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_block_pool(tape.data(), tape.size());
    }
}

TEST(block_pool_tape_death, detects_a_faulty_pool)
{
    using faulty_pool = fuzz::miscounting_pool<memory_pool::block_pool>;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::vector<std::uint8_t> tape(400, 0); // allocates only
    tape[2] = 1;                            // from an unlimited pool
    EXPECT_DEATH(fuzz::block_pool_player<faulty_pool>::play(tape.data(), tape.size()), "in_use is wrong");
}
} // namespace
