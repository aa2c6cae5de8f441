// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/shadowed_function.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace os = memory_pool::detail::os;

// Shadows a function of the C library, with another result.
extern "C" long a64l(const char*)
{
    return -1;
}

namespace {
const void* here()
{
    return reinterpret_cast<const void*>(&here);
}

// tests/loader covers libraries that are loaded later.
TEST(find_shadowed_function, finds_the_function_that_the_program_shadows)
{
    const auto found = reinterpret_cast<long (*)(const char*)>(os::find_shadowed_function("a64l", here()));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found("1"), 3) << "the third digit according to POSIX";
    EXPECT_EQ(::a64l("1"), -1);
}

TEST(find_shadowed_function, returns_null_for_an_unknown_name)
{
    EXPECT_EQ(os::find_shadowed_function("there_is_no_function_of_this_name", here()), nullptr);
    EXPECT_EQ(os::find_shadowed_function("there_is_no_function_of_this_name", nullptr), nullptr);
}

#if defined(__linux__)
TEST(is_defined_elsewhere, finds_an_unexpected_library_with_the_function)
{
    const auto none = [](const char*) { return false; };
    const auto all = [](const char*) { return true; };
    EXPECT_TRUE(os::is_defined_elsewhere("a64l", none)) << "defined in the C library";
    EXPECT_FALSE(os::is_defined_elsewhere("a64l", all)) << "ignores expected libraries";
    EXPECT_FALSE(os::is_defined_elsewhere("there_is_no_function_of_this_name", none));
    std::vector<std::string> asked;
    EXPECT_FALSE(os::is_defined_elsewhere("a64l", [&](const char* path) {
        asked.emplace_back(path);
        return true;
    }));
    EXPECT_NE(asked.size(), 0U);
    EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(), asked.size()) << "asks about each library once";
}
#endif
} // namespace
