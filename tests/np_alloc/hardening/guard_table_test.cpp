// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/guard_table.hpp>
#include <np_alloc/slices/slice_index.hpp>

#include <memory_pool/os/address_space.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;

namespace {
TEST(guard_table, has_no_guards_to_begin_with)
{
    np::guard_table guards;
    ASSERT_TRUE(guards.start(1000));
    for (std::size_t slice = 0; slice != 1000; ++slice)
        EXPECT_FALSE(guards[np::slice_at(slice)].is_there());
    guards.stop();
}

TEST(guard_table, has_a_byte_for_each_slice_that_says_all_of_its_guard)
{
    static_assert(sizeof(np::slice_guard) == 1);
    np::guard_table guards;
    ASSERT_TRUE(guards.start(1000));
    for (const os::guarding how : {os::guarding::by_mark, os::guarding::by_mapping})
        for (const bool begins : {false, true})
            for (std::size_t page = 0; page != 16; ++page) {
                guards[np::slice_at(17)] = {how, page, begins};
                const np::slice_guard its = guards[np::slice_at(17)];
                EXPECT_TRUE(its.is_there());
                EXPECT_EQ(its.how(), how);
                EXPECT_EQ(its.from(), page);
                EXPECT_EQ(its.begins(), begins);
            }
    EXPECT_FALSE(guards[np::slice_at(16)].is_there());
    EXPECT_FALSE(guards[np::slice_at(18)].is_there());
    guards.stop();
}
} // namespace
