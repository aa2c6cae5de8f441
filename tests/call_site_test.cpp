// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/call_site.hpp>

#include <support/what.hpp>

#include <gtest/gtest.h>

#include <string>

using memory_pool::call_site;

namespace {
call_site called_from(call_site site = call_site::here())
{
    return site;
}

TEST(call_site, is_the_line_of_the_call)
{
    static_assert(MEMORY_POOL_KNOWS_CALLER == 1, "the compilers that run the tests can tell");
    const call_site here = call_site::here();
    EXPECT_EQ(here.line, static_cast<unsigned>(__LINE__ - 1));
    EXPECT_STREQ(here.file, __FILE__);
}

TEST(call_site, is_the_line_of_the_caller_as_a_default_argument)
{
    const call_site first = called_from();
    const call_site second = called_from();
    EXPECT_EQ(first.line, static_cast<unsigned>(__LINE__ - 2));
    EXPECT_EQ(second.line, first.line + 1);
    EXPECT_TRUE(test::contains(first.file, "call_site_test"));
}

TEST(call_site, compares_file_names_by_content_and_then_lines)
{
    const std::string same_text = "a.cpp"; // Not at the address of the literal.
    EXPECT_EQ((call_site{"a.cpp", 1}), (call_site{same_text.c_str(), 1}));
    EXPECT_NE((call_site{"a.cpp", 1}), (call_site{"a.cpp", 2}));
    EXPECT_NE((call_site{"a.cpp", 1}), (call_site{"b.cpp", 1}));
}

TEST(call_site, is_ordered_by_file_and_line)
{
    EXPECT_LT((call_site{"a.cpp", 9}), (call_site{"b.cpp", 1}));
    EXPECT_LT((call_site{"a.cpp", 1}), (call_site{"a.cpp", 2}));
    EXPECT_FALSE((call_site{"a.cpp", 2}) < (call_site{"a.cpp", 1}));
    EXPECT_FALSE((call_site{"a.cpp", 1}) < (call_site{"a.cpp", 1}));
    EXPECT_FALSE((call_site{"b.cpp", 1}) < (call_site{"a.cpp", 9}));
}
} // namespace
