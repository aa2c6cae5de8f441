// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/slice_guard.hpp>

#include <memory_pool/os/address_space.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;

namespace {
TEST(slice_guard, is_not_there_to_begin_with)
{
    const np::guarded_part part{};
    for (const np::slice_guard& each : part.guards)
        EXPECT_FALSE(each.is_there());
}

TEST(slice_guard, is_a_byte_that_says_all_of_it)
{
    static_assert(sizeof(np::guarded_part) == 1 + np::slices_of_huge_page);
    for (const os::guarding how : {os::guarding::by_mark, os::guarding::by_mapping})
        for (const bool begins : {false, true})
            for (std::size_t page = 0; page != 16; ++page) {
                const np::slice_guard its(how, page, begins);
                EXPECT_TRUE(its.is_there());
                EXPECT_EQ(its.how(), how);
                EXPECT_EQ(its.from(), page);
                EXPECT_EQ(its.begins(), begins);
            }
}
} // namespace
