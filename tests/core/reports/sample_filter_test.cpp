// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/sample_filter.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace core = memory_pool::detail::core;

namespace {
const void* at(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

struct sample_filter : testing::Test
{
    const std::unique_ptr<core::sample_filter> owner = std::make_unique<core::sample_filter>();
    core::sample_filter& filter = *owner;
};

TEST_F(sample_filter, is_empty_initially)
{
    for (std::uintptr_t address = 0; address != 1'000'000; address += 16)
        EXPECT_FALSE(filter.may_have(at(address)));
}

TEST_F(sample_filter, matches_a_block_until_it_is_removed)
{
    filter.add(at(0x1000));
    EXPECT_TRUE(filter.may_have(at(0x1000)));
    EXPECT_FALSE(filter.may_have(at(0x1040)));
    filter.remove(at(0x1000));
    EXPECT_FALSE(filter.may_have(at(0x1000)));
}

TEST_F(sample_filter, counts_blocks_that_share_a_slot)
{
    constexpr std::uintptr_t period = std::uintptr_t{64} << 18U;
    filter.add(at(0x1000));
    filter.add(at(0x1000 + period));
    filter.remove(at(0x1000));
    EXPECT_TRUE(filter.may_have(at(0x1000 + period)));
    filter.remove(at(0x1000 + period));
    EXPECT_FALSE(filter.may_have(at(0x1000)));
}

TEST_F(sample_filter, saturates_without_losing_blocks)
{
    for (int i = 0; i != 300; ++i)
        filter.add(at(0x1000));
    for (int i = 0; i != 299; ++i)
        filter.remove(at(0x1000));
    EXPECT_TRUE(filter.may_have(at(0x1000)));
}
} // namespace
