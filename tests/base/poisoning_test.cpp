// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/poisoning.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace base = memory_pool::detail::base;

namespace {
bool may_be_touched([[maybe_unused]] const void* address)
{
#if MEMORY_POOL_ASAN
    return __asan_address_is_poisoned(address) == 0;
#else
    return true;
#endif
}

constexpr bool tool_watches = MEMORY_POOL_ASAN != 0;

TEST(poisoning, follows_a_block_through_its_life)
{
    alignas(8) static char slab[64];
    const int pool = 0;
    base::pool_made(&pool);
    base::forbid_access(slab, sizeof slab);
    EXPECT_EQ(may_be_touched(slab + 16), !tool_watches);
    base::block_handed_out(&pool, slab + 16, 12);
    EXPECT_TRUE(may_be_touched(slab + 16));
    EXPECT_TRUE(may_be_touched(slab + 27));
    EXPECT_EQ(may_be_touched(slab + 28), !tool_watches) << "the slack behind the block";
    base::block_given_back(&pool, slab + 16, 12);
    EXPECT_EQ(may_be_touched(slab + 16), !tool_watches);
    base::permit_access(slab, sizeof slab);
    EXPECT_TRUE(may_be_touched(slab + 63));
    base::pool_gone(&pool);
}
} // namespace
