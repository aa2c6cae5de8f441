// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/object_pool_tape.hpp>
#include <fuzz/miscounting_pool.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mp = memory_pool;

namespace {
TEST(object_pool_tape, agrees_with_the_model_on_random_tapes)
{
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != (test::under_a_sanitizer ? 40 : 200); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_object_pool(tape.data(), tape.size());
    }
}

/// Ignores every tenth destroy().
class forgetful_pool : public mp::object_pool<fuzz::owning_item>
{
public:
    using basic_object_pool::basic_object_pool;

    void destroy(fuzz::owning_item* object) noexcept
    {
        if (++calls_ % 10 != 0)
            basic_object_pool::destroy(object);
    }

private:
    std::size_t calls_ = 0;
};

TEST(object_pool_tape_death, detects_a_faulty_pool)
{
    using faulty_pool = fuzz::miscounting_pool<mp::object_pool<fuzz::plain_item>>;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::vector<std::uint8_t> tape(400, 0); // creates only
    EXPECT_DEATH(fuzz::object_pool_player<faulty_pool>::play(tape.data(), tape.size()), "in_use is wrong");
    for (std::size_t i = 100; i + 1 < tape.size(); i += 2)
        tape[i] = 9; // destroys the last object
    EXPECT_DEATH(fuzz::object_pool_player<forgetful_pool>::play(tape.data(), tape.size()), "in_use is wrong");
}
} // namespace
