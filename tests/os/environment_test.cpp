// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/environment.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
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

TEST(environment, lists_variables_with_their_values)
{
    ASSERT_NE(os::environment(), nullptr);
#if defined(__unix__)
    ASSERT_EQ(setenv("MEMORY_POOL_TEST", "a value", 1), 0); // NOLINT(concurrency-mt-unsafe): there is one thread
    EXPECT_TRUE(has("MEMORY_POOL_TEST=a value"));
    ASSERT_EQ(unsetenv("MEMORY_POOL_TEST"), 0); // NOLINT(concurrency-mt-unsafe)
#endif
    EXPECT_FALSE(has("MEMORY_POOL_TEST=a value"));
}

TEST(environment, finds_values_by_name)
{
    const char* const variables[] = {"NAME=a", "NAME_2=b", "EMPTY=", nullptr};
    EXPECT_STREQ(os::value_in(variables, "NAME_2"), "b");
    EXPECT_STREQ(os::value_in(variables, "EMPTY"), "");
    EXPECT_EQ(os::value_in(variables, "NAM"), nullptr);
    EXPECT_EQ(os::value_in(nullptr, "NAME"), nullptr);
}

TEST(environment, parses_numbers_with_units)
{
    EXPECT_EQ(os::number_in("12"), 12U);
    EXPECT_EQ(os::number_in("512K"), 524'288U);
    EXPECT_EQ(os::number_in("1G"), std::size_t{1} << 30U);
    EXPECT_EQ(os::number_in("99999999999999999999999"), ~std::size_t{0});
    for (const char* const none : {"", "K", "12k", "12KB", "-1", "yes"})
        EXPECT_EQ(os::number_in(none), std::nullopt) << none;
}
} // namespace
