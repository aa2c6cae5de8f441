// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/handle_pool_tape.hpp>
#include <fuzz/miscounting_pool.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mp = memory_pool;

namespace {
TEST(handle_pool_tape, agrees_with_the_model_on_random_tapes)
{
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != (test::under_a_sanitizer ? 40 : 200); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_handle_pool(tape.data(), tape.size());
    }
}

/// Ignores the generation in contains().
class trusting_pool : public mp::handle_pool<fuzz::plain_item>
{
public:
    using handle_pool::handle_pool;

    bool contains(handle sought) const noexcept
    {
        for (auto at = begin(); at != end(); ++at)
            if (at.handle().index == sought.index)
                return true;
        return false;
    }
};

TEST(handle_pool_tape_death, detects_a_faulty_pool)
{
    using faulty_pool = fuzz::miscounting_pool<mp::handle_pool<fuzz::plain_item>>;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::vector<std::uint8_t> tape(400, 0); // creates only
    EXPECT_DEATH(fuzz::handle_pool_player<faulty_pool>::play(tape.data(), tape.size()), "in_use is wrong");
    // Creates 16, destroys 2, creates 16, and uses stale handles.
    tape = {0, 0, 0, 15, 6, 0, 1, 0, 15, 9, 255};
    EXPECT_DEATH(fuzz::handle_pool_player<trusting_pool>::play(tape.data(), tape.size()),
                 "a stale handle refers to an object");
}
} // namespace
