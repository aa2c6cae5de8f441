// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Changes an option of np_alloc temporarily.
#pragma once

#include <memory_pool/np_alloc.h>

#include <gtest/gtest.h>

#include <cstddef>

namespace test {
/// Sets an option, and restores it on destruction.
class option_for_now
{
public:
    option_for_now(np_option option, std::size_t value) : option_(option), before_(np_option_get(option))
    {
        EXPECT_EQ(np_option_set(option, value), 0);
    }
    option_for_now(const option_for_now&) = delete;
    option_for_now& operator=(const option_for_now&) = delete;
    ~option_for_now() { EXPECT_EQ(np_option_set(option_, before_), 0); }

private:
    np_option option_;
    std::size_t before_;
};
} // namespace test
