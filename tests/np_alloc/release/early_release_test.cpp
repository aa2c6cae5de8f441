// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/release/early_release.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::uint64_t decay = 1000;
constexpr std::size_t some = np::early_release::min_reused;

TEST(early_release, pauses_for_ten_decay_times_after_early_reuse)
{
    np::early_release early;
    early.note(some, 5000);
    early.note_reuse(some - 1, 5010, decay);
    EXPECT_TRUE(early.may_be(5010));
    early.note_reuse(1, 5020, decay);
    EXPECT_FALSE(early.may_be(5020 + 10 * decay - 1));
    EXPECT_TRUE(early.may_be(5020 + 10 * decay));
}

TEST(early_release, ignores_reuse_of_less_than_a_quarter)
{
    np::early_release early;
    early.note(40 * some, 5000);
    early.note_reuse(10 * some - 1, 5010, decay);
    EXPECT_TRUE(early.may_be(5010));
    early.note_reuse(1, 5010, decay);
    EXPECT_FALSE(early.may_be(5010));
}

TEST(early_release, ignores_late_reuse_and_restarts_its_count)
{
    np::early_release early;
    early.note(some, 5000);
    early.note_reuse(some, 5000 + decay + 1, decay);
    EXPECT_TRUE(early.may_be(6010));
    early.note(some, 7000);
    early.note_reuse(some / 2, 7010, decay);
    early.note_reuse(some / 2, 9000, decay);
    EXPECT_TRUE(early.may_be(9000));
}

TEST(early_release, can_end_a_pause)
{
    np::early_release early;
    early.note(some, 5000);
    early.note_reuse(some, 5010, decay);
    early.end_pause();
    EXPECT_TRUE(early.may_be(5010));
    early.note_reuse(some, 5010, decay);
    EXPECT_FALSE(early.may_be(5010)) << "released early just now";
}
} // namespace
