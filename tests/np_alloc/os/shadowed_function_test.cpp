// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/shadowed_function.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace os = memory_pool::detail::os;

// One of the C library's, which gives something else here.
extern "C" long a64l(const char*)
{
    return -1;
}

namespace {
const void* here()
{
    return reinterpret_cast<const void*>(&here);
}

// With a library that is loaded later, it is tests/loader that tries it.
TEST(find_shadowed_function, finds_the_one_behind_that_of_the_program)
{
    const auto found = reinterpret_cast<long (*)(const char*)>(os::find_shadowed_function("a64l", here()));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found("1"), 3) << "the third digit, as POSIX has it";
    EXPECT_EQ(::a64l("1"), -1);
}

TEST(find_shadowed_function, finds_nothing_where_there_is_nothing)
{
    EXPECT_EQ(os::find_shadowed_function("there_is_no_function_of_this_name", here()), nullptr);
    EXPECT_EQ(os::find_shadowed_function("there_is_no_function_of_this_name", nullptr), nullptr);
}

#if defined(__linux__)
TEST(is_defined_elsewhere, tells_of_a_library_that_has_the_function)
{
    const auto none = [](const char*) { return false; };
    const auto all = [](const char*) { return true; };
    EXPECT_TRUE(os::is_defined_elsewhere("a64l", none)) << "the C library";
    EXPECT_FALSE(os::is_defined_elsewhere("a64l", all)) << "libraries that are expected do not count";
    EXPECT_FALSE(os::is_defined_elsewhere("there_is_no_function_of_this_name", none));
    std::vector<std::string> asked;
    EXPECT_FALSE(os::is_defined_elsewhere("a64l", [&](const char* path) {
        asked.emplace_back(path);
        return true;
    }));
    EXPECT_NE(asked.size(), 0U);
    EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(), asked.size()) << "each once";
}
#endif
} // namespace
