// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <np_alloc/support/options.hpp>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>

namespace np = memory_pool::np;

namespace {
TEST(checked_options, have_numbers_and_names)
{
    EXPECT_EQ(np_option_by_name("quarantine_bytes"), np_option_quarantine_bytes);
    EXPECT_EQ(np_option_by_name("random_order"), np_option_random_order);
    EXPECT_EQ(np_option_by_name("poison"), np_option_poison);
    EXPECT_EQ(np_option_by_name("guard_pages"), np_option_guard_pages);
    EXPECT_EQ(np_option_by_name("pairs"), np_option_pairs);
    EXPECT_EQ(np_option_by_name("zero"), np_option_zero);
    EXPECT_EQ(np_option_by_name("realloc_moves"), np_option_realloc_moves);
    EXPECT_EQ(np_option_by_name("verify_at_end"), np_option_verify_at_end);
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    EXPECT_EQ(np_option_set_by_name("quarantine_bytes", "64K"), 0);
    EXPECT_EQ(np_option_get(np_option_quarantine_bytes), std::size_t{64} << 10);
    EXPECT_EQ(np_option_set(static_cast<np_option>(np_option_verify_at_end + 1), 0), EINVAL);
}

TEST(checked_options, have_defaults_and_limits)
{
    EXPECT_EQ(np_option_get(np_option_pairs), 1U);
    EXPECT_EQ(np_option_get(np_option_zero), 0U);
    EXPECT_EQ(np_option_get(np_option_realloc_moves), 0U);
    EXPECT_EQ(np_option_get(np_option_verify_at_end), 1U);
    EXPECT_EQ(np_option_set(np_option_pairs, 2), EINVAL);
    EXPECT_EQ(np_option_set(np_option_realloc_moves, 2), EINVAL);
}

TEST(checked_options, parse_the_words_of_zero)
{
    const auto value_of = [](const char* text) { return np::the_options.value_in(np_option_zero, text); };
    EXPECT_EQ(value_of("free"), std::size_t{NP_ZERO_FREE});
    EXPECT_EQ(value_of("alloc"), std::size_t{NP_ZERO_ALLOC});
    for (const char* const both : {"free,alloc", "alloc,free", "3"})
        EXPECT_EQ(value_of(both), std::size_t{NP_ZERO_FREE | NP_ZERO_ALLOC}) << both;
    EXPECT_EQ(value_of("0"), std::size_t{0});
    for (const char* const none : {"", ",", "free,", ",alloc", "free alloc", "frees", "fre", "free,2", "4", "never"})
        EXPECT_FALSE(value_of(none)) << none;
    EXPECT_EQ(np_option_set_by_name("pairs", "free"), EINVAL);
}
} // namespace
