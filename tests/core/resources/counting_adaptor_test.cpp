// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/counting_adaptor.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <vector>

namespace core = memory_pool::core;

namespace
{
TEST(counting_adaptor, counts_no_byte_that_upstream_may_hand_out_again)
{
    test::watching_upstream upstream;
    core::counting_adaptor adaptor(&upstream);
    std::vector<std::size_t> counted;
    upstream.when_given_back = [&] { counted.push_back(adaptor.bytes_in_use()); };
    adaptor.deallocate(adaptor.allocate(100), 100);
    EXPECT_EQ(counted, std::vector<std::size_t>({0}));
}

TEST(counting_adaptor, counts_what_fails_apart)
{
    test::accounting_upstream upstream;
    core::counting_adaptor adaptor(&upstream);
    upstream.fail_always();
    EXPECT_THROW((void)adaptor.allocate(10), std::bad_alloc);
    EXPECT_EQ(adaptor.statistics().failed, 1u);
    EXPECT_EQ(adaptor.statistics().allocations, 0u);
    EXPECT_EQ(adaptor.statistics().peak_bytes_in_use, 0u);
}
} // namespace
