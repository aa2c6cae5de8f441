// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/environment.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace os = memory_pool::detail::os;

namespace {
bool has(const std::string& text)
{
    const char* const* end = os::environment();
    while (*end != nullptr)
        ++end;
    return std::find(os::environment(), end, text) != end;
}

TEST(environment, has_each_variable_and_its_value_in_one_text)
{
    ASSERT_NE(os::environment(), nullptr);
#if defined(__unix__)
    ASSERT_EQ(setenv("MEMORY_POOL_TEST", "a value", 1), 0); // NOLINT(concurrency-mt-unsafe): there is one thread
    EXPECT_TRUE(has("MEMORY_POOL_TEST=a value"));
    ASSERT_EQ(unsetenv("MEMORY_POOL_TEST"), 0); // NOLINT(concurrency-mt-unsafe)
#endif
    EXPECT_FALSE(has("MEMORY_POOL_TEST=a value"));
}
} // namespace
