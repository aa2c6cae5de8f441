// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/slice_guard.hpp>

#include <memory_pool/os/address_space.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;

namespace {
TEST(slice_guard, is_absent_by_default)
{
    const np::guarded_part part{};
    for (const np::slice_guard& each : part.guards)
        EXPECT_FALSE(each.is_there());
}

TEST(slice_guard, encodes_all_its_values_in_a_byte)
{
    static_assert(sizeof(np::guarded_part) == 1 + np::slices_of_huge_page);
    for (const os::guarding how : {os::guarding::by_mark, os::guarding::by_mapping})
        for (const bool begins : {false, true})
            for (std::size_t page = 0; page != 16; ++page) {
                const np::slice_guard guard(how, page, begins);
                EXPECT_TRUE(guard.is_there());
                EXPECT_EQ(guard.how(), how);
                EXPECT_EQ(guard.from(), page);
                EXPECT_EQ(guard.begins(), begins);
            }
}
} // namespace
