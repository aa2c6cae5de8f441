// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/call_lines.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#if MEMORY_POOL_OS_HAS_CALL_STACKS
namespace core = memory_pool::detail::core;

namespace {
template <class Calls>
std::vector<std::string> lines_of(const Calls& calls)
{
    std::vector<std::string> lines;
    core::print_calls("called", calls,
                      [&lines](const memory_pool::detail::base::message& line) { lines.emplace_back(line.c_str()); });
    return lines;
}

TEST(print_calls, names_the_module_and_function_if_known)
{
    static const char data = 0;
    const std::array<const void*, 3> calls{reinterpret_cast<const void*>(&std::getenv), &data,
                                           reinterpret_cast<const void*>(16)};
    const std::vector<std::string> lines = lines_of(calls);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0], "  called by:");
    EXPECT_NE(lines[1].find("libc"), std::string::npos);
    EXPECT_EQ(lines[1].substr(lines[1].size() - 9), " (getenv)");
    EXPECT_NE(lines[2].find("+0x"), std::string::npos);
    EXPECT_EQ(lines[2].find('('), std::string::npos);
    EXPECT_EQ(lines[3], "    0x10") << "no module has this address";
}

TEST(print_calls, prints_nothing_without_calls)
{
    EXPECT_TRUE(lines_of(std::vector<const void*>()).empty());
}
} // namespace
#endif
