// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>

namespace {
TEST(checked_options, have_numbers_and_names)
{
    EXPECT_EQ(np_option_by_name("quarantine_bytes"), np_option_quarantine_bytes);
    EXPECT_EQ(np_option_by_name("random_order"), np_option_random_order);
    EXPECT_EQ(np_option_by_name("poison"), np_option_poison);
    EXPECT_EQ(np_option_by_name("guard_pages"), np_option_guard_pages);
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    EXPECT_EQ(np_option_set_by_name("quarantine_bytes", "64K"), 0);
    EXPECT_EQ(np_option_get(np_option_quarantine_bytes), std::size_t{64} << 10);
    EXPECT_EQ(np_option_set(static_cast<np_option>(np_option_guard_pages + 1), 0), EINVAL);
}
} // namespace
