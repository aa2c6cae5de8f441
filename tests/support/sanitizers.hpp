// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Detects sanitizers, for tests that do less or something else under a sanitizer.
#pragma once

#include <memory_pool/base/config.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace test {
/// True if a sanitizer makes the program many times slower.
#if MEMORY_POOL_TSAN || MEMORY_POOL_ASAN
inline constexpr bool under_a_sanitizer = true;
#else
inline constexpr bool under_a_sanitizer = false;
#endif

#if MEMORY_POOL_ASAN
/// Call this before deaths that AddressSanitizer reports. Symbolizing takes seconds, and no test reads function names.
inline void expect_reports_without_names()
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("ASAN_OPTIONS", "symbolize=0", 0);
}
#endif
} // namespace test
