// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/failure_guard.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace base = memory_pool::detail::base;

namespace {
TEST(failure_guard, acts_on_scope_exit_without_success)
{
    int failures = 0;
    {
        const base::failure_guard guard([&] { ++failures; });
    }
    EXPECT_EQ(failures, 1);
    try {
        const base::failure_guard guard([&] { ++failures; });
        throw std::runtime_error("no");
    } catch (const std::runtime_error&) {
        EXPECT_EQ(failures, 2);
    }
}

TEST(failure_guard, does_nothing_after_success)
{
    int failures = 0;
    {
        base::failure_guard guard([&] { ++failures; });
        guard.succeeded();
    }
    EXPECT_EQ(failures, 0);
}
} // namespace
