// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <ArenaMR/ArenaMR.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace
{
using arena_mr::UnsynchronizedArenaMR;

class ArenaMR : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
};

// As its users write it.

TEST_F(ArenaMR, serves_containers_over_new_and_delete)
{
    UnsynchronizedArenaMR arena_resource(10, 10'000, std::pmr::new_delete_resource());
    std::pmr::vector<int> v(&arena_resource);
    v.push_back(123);
    EXPECT_EQ(v.front(), 123);
}

TEST_F(ArenaMR, serves_containers_over_another_resource)
{
    std::pmr::monotonic_buffer_resource monotonic_br(150'000);
    UnsynchronizedArenaMR arena_resource(10, 10'000, &monotonic_br);
    std::pmr::vector<int> v(&arena_resource);
    v.push_back(123);
    EXPECT_EQ(v.front(), 123);
}

TEST_F(ArenaMR, tells_its_five_figures)
{
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    EXPECT_EQ(arenas.NumOfArenas(), 10U);
    EXPECT_EQ(arenas.SizePerArena(), 10'000U);
    EXPECT_EQ(arenas.FreeArenaSize(), 10U);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);

    void* const first = arenas.allocate(400);
    void* const second = arenas.allocate(160);
    EXPECT_EQ(arenas.FreeArenaSize(), 9U);
    EXPECT_EQ(arenas.UsedMemory(), 560U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);

    arenas.deallocate(first, 400);
    EXPECT_EQ(arenas.UsedMemory(), 160U);
    EXPECT_EQ(arenas.WastedMemory(), 400U) << "in front of a block in use";

    arenas.deallocate(second, 160);
    EXPECT_EQ(arenas.FreeArenaSize(), 10U);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);
}

TEST_F(ArenaMR, counts_what_is_in_use_in_steps_of_8_in_arenas_and_exactly_beyond)
{
    UnsynchronizedArenaMR arenas(1, 1000, &upstream_);
    void* const small = arenas.allocate(9, 1);
    EXPECT_EQ(arenas.UsedMemory(), 16U);
    void* const large = arenas.allocate(30'001, 1);
    EXPECT_EQ(arenas.UsedMemory(), 16U + 30'001U);
    arenas.deallocate(large, 30'001, 1);
    arenas.deallocate(small, 9, 1);
}

TEST_F(ArenaMR, uses_an_arena_again_when_its_last_block_is_back)
{
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    const std::size_t calls = upstream_.calls();
    for (int round = 0; round != 100; ++round) {
        std::pmr::map<int, std::pmr::string> texts(&arenas);
        for (int i = 0; i != 400; ++i)
            texts.emplace(i, "long enough that it does not fit inside the object itself");
        ASSERT_GT(arenas.UsedMemory(), 400U * 58U);
    }
    EXPECT_EQ(arenas.NumOfArenas(), 10U);
    EXPECT_EQ(upstream_.calls(), calls);
}

TEST_F(ArenaMR, takes_more_arenas_when_all_are_full)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    std::set<void*> blocks;
    for (std::size_t i = 0; i != 1'000; ++i) {
        void* const block = arenas.allocate(100);
        std::memset(block, 'x', 100);
        blocks.insert(block);
    }
    EXPECT_EQ(blocks.size(), 1'000U);
    EXPECT_GE(arenas.NumOfArenas(), 100U);
    for (void* const block : blocks)
        arenas.deallocate(block, 100);
    EXPECT_EQ(arenas.FreeArenaSize(), arenas.NumOfArenas());
}

// What the original gets wrong.

TEST_F(ArenaMR, gives_everything_back_upstream_at_the_end)
{
    {
        UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
        EXPECT_GE(upstream_.live_bytes(), 100'000U);
        for (int i = 0; i != 1'000; ++i)
            (void)arenas.allocate(1'000);
        (void)arenas.allocate(1'000'000);
    }
    EXPECT_EQ(upstream_.live_pieces(), 0U);
    EXPECT_EQ(upstream_.mismatched(), 0U) << "each piece goes back with the size and alignment that it came with";
}

TEST_F(ArenaMR, honours_every_alignment_within_what_it_has)
{
    UnsynchronizedArenaMR arenas(2, 4'096, &upstream_);
    struct request
    {
        void* block;
        std::size_t bytes;
        std::size_t alignment;
    };
    std::vector<request> requests;
    for (std::size_t alignment = 1; alignment <= 16'384; alignment *= 2)
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{24}, std::size_t{3'900}, std::size_t{4'096}}) {
            void* const block = arenas.allocate(bytes, alignment);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
            std::memset(block, static_cast<int>(requests.size()), bytes);
            requests.push_back({block, bytes, alignment});
        }
    for (std::size_t i = 0; i != requests.size(); ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(requests[i].block);
        ASSERT_TRUE(std::all_of(bytes, bytes + requests[i].bytes, [i](unsigned char byte) { return byte == i; }))
            << "another block lies over this one";
    }
    for (const request& each : requests)
        arenas.deallocate(each.block, each.bytes, each.alignment);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), arenas.NumOfArenas());
}

TEST_F(ArenaMR, does_not_grow_with_large_blocks_that_come_and_go)
{
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    const std::size_t bytes_before = upstream_.live_bytes();
    for (int round = 0; round != 100; ++round) {
        void* const large = arenas.allocate(1'000'000);
        ASSERT_EQ(arenas.UsedMemory(), 1'000'000U);
        arenas.deallocate(large, 1'000'000);
    }
    EXPECT_EQ(upstream_.live_bytes(), bytes_before);
    EXPECT_EQ(arenas.NumOfArenas(), 10U);
}

TEST_F(ArenaMR, allocates_nothing_when_blocks_come_back)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    std::vector<void*> blocks(10'000);
    for (void*& block : blocks)
        block = arenas.allocate(64);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(5));
    const std::size_t calls = upstream_.calls();
    const std::size_t arena_count = arenas.NumOfArenas();
    std::pmr::memory_resource* const usual = std::pmr::set_default_resource(std::pmr::null_memory_resource());
    for (void* const block : blocks)
        arenas.deallocate(block, 64);
    std::pmr::set_default_resource(usual);
    EXPECT_EQ(upstream_.calls(), calls);
    EXPECT_EQ(arenas.FreeArenaSize(), arena_count);
}

TEST_F(ArenaMR, gives_a_block_of_its_own_for_zero_bytes)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    void* const one = arenas.allocate(0);
    void* const other = arenas.allocate(0, 1);
    EXPECT_NE(one, nullptr);
    EXPECT_NE(other, nullptr);
    EXPECT_NE(one, other);
    arenas.deallocate(other, 0, 1);
    arenas.deallocate(one, 0);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
}

TEST_F(ArenaMR, takes_blocks_back_from_many_arenas_in_any_order)
{
    // Every tenth of 20,000 blocks stays, so that no arena becomes free on the way; then those come back in any order.
    UnsynchronizedArenaMR arenas(1'000, 1'024, &upstream_);
    std::vector<void*> staying;
    std::vector<void*> leaving;
    for (int i = 0; i != 20'000; ++i)
        (i % 10 == 0 ? staying : leaving).push_back(arenas.allocate(64));
    std::shuffle(leaving.begin(), leaving.end(), std::mt19937(6));
    for (void* const block : leaving)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.UsedMemory(), staying.size() * 64);
    std::shuffle(staying.begin(), staying.end(), std::mt19937(7));
    for (void* const block : staying)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.FreeArenaSize(), arenas.NumOfArenas());
}

// The rest of the interface.

TEST_F(ArenaMR, loses_nothing_when_upstream_fails_at_any_call)
{
    for (std::size_t call = 1; call != 20; ++call) {
        UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
        upstream_.fail_at(call);
        std::set<void*> blocks;
        while (blocks.size() != 2'000) {
            try {
                blocks.insert(arenas.allocate(100));
            } catch (const std::bad_alloc&) {
                blocks.insert(arenas.allocate(100)); // the next call works
            }
        }
        upstream_.never_fail();
        for (void* const block : blocks)
            arenas.deallocate(block, 100);
        EXPECT_EQ(arenas.UsedMemory(), 0U);
    }
    EXPECT_EQ(upstream_.live_pieces(), 0U);
}

TEST_F(ArenaMR, refuses_sizes_that_make_no_sense)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(UnsynchronizedArenaMR(10, 0, &upstream_), std::invalid_argument);
    EXPECT_THROW(UnsynchronizedArenaMR(10, 10'000, nullptr), std::invalid_argument);
    EXPECT_THROW(UnsynchronizedArenaMR(1, most, &upstream_), std::bad_alloc);
    EXPECT_THROW(UnsynchronizedArenaMR(most / 2, 10'000, &upstream_), std::bad_alloc);
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    const volatile std::size_t too_many = most; // The compiler warns of what it can see.
    EXPECT_THROW((void)arenas.allocate(too_many), std::bad_alloc);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
}

TEST_F(ArenaMR, begins_without_arenas_if_asked_for_none)
{
    UnsynchronizedArenaMR arenas(0, 10'000, &upstream_);
    EXPECT_EQ(upstream_.live_bytes(), 0U);
    arenas.deallocate(arenas.allocate(100), 100);
    EXPECT_EQ(arenas.NumOfArenas(), 1U);
}

TEST_F(ArenaMR, is_equal_to_itself_alone_and_not_copied)
{
    UnsynchronizedArenaMR one(1, 1'000, &upstream_);
    UnsynchronizedArenaMR other(1, 1'000, &upstream_);
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
    EXPECT_FALSE(std::is_copy_constructible_v<UnsynchronizedArenaMR>);
    EXPECT_FALSE(std::is_copy_assignable_v<UnsynchronizedArenaMR>);
}
} // namespace
