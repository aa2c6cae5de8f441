// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/poisoning.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

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

TEST(poisoning, tracks_the_lifetime_of_a_block)
{
    alignas(8) static char slab[64];
    const int pool = 0;
    base::pool_made(&pool);
    base::forbid_access(slab, sizeof slab);
    EXPECT_EQ(may_be_touched(slab + 16), !tool_watches);
    base::block_allocated(&pool, slab + 16, 12);
    EXPECT_TRUE(may_be_touched(slab + 16));
    EXPECT_TRUE(may_be_touched(slab + 27));
    EXPECT_EQ(may_be_touched(slab + 28), !tool_watches) << "the slack behind the block";
    base::block_given_back(&pool, slab + 16, 12);
    EXPECT_EQ(may_be_touched(slab + 16), !tool_watches);
    base::permit_access(slab, sizeof slab);
    EXPECT_TRUE(may_be_touched(slab + 63));
    base::pool_gone(&pool);
}

TEST(poisoning, can_be_queried_for_any_address)
{
    alignas(8) char bytes[16] = {};
    base::forbid_access(bytes, 8);
    EXPECT_EQ(base::is_access_forbidden(bytes), tool_watches);
    EXPECT_FALSE(base::is_access_forbidden(bytes + 8));
    EXPECT_FALSE(base::is_access_forbidden(nullptr));
    base::permit_access(bytes, 8);
    // An address without shadow memory, outside of the address space of programs.
    EXPECT_EQ(base::is_access_forbidden(reinterpret_cast<const void*>(std::uintptr_t{0xdead'beef'dead'beef})),
              tool_watches);
}

TEST(poisoning, distinguishes_free_and_user_poisoned_arena_blocks)
{
    alignas(8) static char arena[64];
    for (const std::size_t bytes : {1u, 7u, 8u, 24u}) {
        base::pool_made(&arena);
        base::forbid_access(arena, sizeof arena);
        for (int round = 0; round != 2; ++round) {
            base::arena_block_allocated(&arena, arena + 8, bytes);
            base::forbid_access(arena + 8, bytes); // by the program
            EXPECT_TRUE(base::arena_block_given_back(&arena, arena + 8, bytes)) << bytes;
            if (tool_watches) {
                EXPECT_FALSE(base::arena_block_given_back(&arena, arena + 8, bytes)) << bytes;
            }
            EXPECT_EQ(may_be_touched(arena + 8), !tool_watches);
        }
        base::pool_gone(&arena);
        base::permit_access(arena, sizeof arena);
    }
}
} // namespace
