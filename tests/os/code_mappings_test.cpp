// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/code_mappings.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace os = memory_pool::detail::os;

namespace {
TEST(code_mappings, are_read_from_lines_of_the_kernel)
{
    os::code_mapping its{};
    EXPECT_TRUE(os::parse_code_mapping("55d0c2a01000-55d0c2a05000 r-xp 00001000 08:02 131    /usr/bin/a b", its));
    EXPECT_EQ(its.begin, 0x55d0'c2a0'1000U);
    EXPECT_EQ(its.end, 0x55d0'c2a0'5000U);
    EXPECT_EQ(its.file_offset, 0x1000U);
    EXPECT_EQ(its.file, "/usr/bin/a b");
    EXPECT_TRUE(os::parse_code_mapping("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0", its));
    EXPECT_EQ(its.file, "");
}

TEST(code_mappings, are_not_those_of_data_or_of_a_line_that_ends_early)
{
    os::code_mapping its{};
    for (const char* const line : {"1000-2000 rw-p 00001000 08:02 131 /usr/bin/a", "", "1000", "1000-", "1000-2000",
                                   "1000-2000 r-xp", "1000-2000 r-xp 12", "x-y r-xp 0 0:0 0 /a"})
        EXPECT_FALSE(os::parse_code_mapping(line, its)) << line;
}

#if defined(__linux__)
TEST(code_mappings, are_in_order_and_hold_the_code_of_this_program_and_of_libraries)
{
    const auto here = reinterpret_cast<std::uintptr_t>(&os::parse_code_mapping);
    const auto there = reinterpret_cast<std::uintptr_t>(&std::abort);
    std::uint64_t last_end = 0;
    std::string file_of_here;
    std::string file_of_there;
    os::for_each_code_mapping([&](const os::code_mapping& each) {
        EXPECT_GE(each.begin, last_end);
        last_end = each.end;
        if (each.begin <= here && here < each.end)
            file_of_here = each.file;
        if (each.begin <= there && there < each.end)
            file_of_there = each.file;
    });
    EXPECT_FALSE(file_of_here.empty());
    EXPECT_FALSE(file_of_there.empty());
    EXPECT_NE(file_of_here, file_of_there);
}
#endif
} // namespace
