// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/site_list.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>

namespace np = memory_pool::np;

namespace {
/// Returns: the list as text.
std::string text_of(const np::site_list& list)
{
    std::string all;
    for (const np::site_statistics& each : list)
        all += std::string(each.site.file) + ":" + std::to_string(each.site.line) + " " + std::to_string(each.blocks) +
               "/" + std::to_string(each.bytes) + " ";
    return all;
}

TEST(site_list, is_empty_by_default)
{
    np::site_list list;
    list.finish();
    EXPECT_EQ(text_of(list), "");
    EXPECT_EQ(list.all().blocks, 0U);
}

TEST(site_list, adds_up_blocks_and_bytes_per_call_site_and_in_total)
{
    np::site_list list;
    for (const std::size_t bytes : {10U, 20U, 30U})
        list.add({"a.c", 1}, bytes);
    list.add({"a.c", 2}, 100);
    list.finish();
    EXPECT_EQ(text_of(list), "a.c:2 1/100 a.c:1 3/60 ");
    EXPECT_EQ(list.all().blocks, 4U);
    EXPECT_EQ(list.all().bytes, 160U);
}

TEST(site_list, compares_file_names_by_content)
{
    const std::array<std::string, 3> names{"header.h", "other.h", "header.h"};
    np::site_list list;
    for (const std::string& each : names)
        list.add({each.c_str(), 5}, 10);
    list.finish();
    EXPECT_EQ(text_of(list), "header.h:5 2/20 other.h:5 1/10 ");
}

TEST(site_list, copies_the_names_when_finished)
{
    std::string name = "plugin.c";
    np::site_list list;
    list.add({name.c_str(), 1}, 10);
    list.finish();
    name = "unloaded";
    EXPECT_EQ(text_of(list), "plugin.c:1 1/10 ");
}

TEST(site_list, merges_all_blocks_as_unknown_without_memory)
{
    const test::system_calls calls;
    np::site_list list;
    test::system_calls::refuse_from(test::system_call::map, 2);
    for (unsigned line = 1; line <= 100; ++line)
        list.add({"a.c", line}, 10);
    test::system_calls::refuse_nothing();
    list.finish();
    EXPECT_EQ(text_of(list), "unknown:0 100/1000 ");
}
} // namespace
