// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <ArenaMR/ArenaMR.hpp>

#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>
#include <support/sanitizers.hpp>
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

namespace {
using arena_mr::UnsynchronizedArenaMR;

class ArenaMR : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
};

// In the style of user code.

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

TEST_F(ArenaMR, supports_elements_with_hostile_operators)
{
#ifdef _LIBCPP_VERSION
    GTEST_SKIP() << "std::pmr::polymorphic_allocator of this library uses the operators of objects";
#endif
    UnsynchronizedArenaMR arenas(2, 1000, &upstream_);
    std::pmr::vector<test::hostile<test::aborting_operators>> values(&arenas);
    for (int i = 0; i != 100; ++i)
        values.emplace_back(i);
    EXPECT_EQ(values[99].value, 99);
}

// Statistics.

TEST_F(ArenaMR, has_one_arena_active_from_the_start)
{
    const UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    EXPECT_EQ(arenas.NumOfArenas(), 10U);
    EXPECT_EQ(arenas.SizePerArena(), 10'000U);
    EXPECT_EQ(arenas.FreeArenaSize(), 9U);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);
}

TEST_F(ArenaMR, counts_bytes_of_an_arena_as_used_until_its_last_block_is_freed)
{
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    void* const first = arenas.allocate(400);
    void* const second = arenas.allocate(160);
    EXPECT_EQ(arenas.UsedMemory(), 560U);

    arenas.deallocate(second, 160);
    EXPECT_EQ(arenas.UsedMemory(), 560U) << "the cursor does not move back";
    void* const third = arenas.allocate(40);
    EXPECT_EQ(arenas.UsedMemory(), 600U);
    arenas.deallocate(first, 400);
    EXPECT_EQ(arenas.UsedMemory(), 600U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 9U);

    arenas.deallocate(third, 40);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 9U) << "it is still the active arena";
}

TEST_F(ArenaMR, counts_used_bytes_including_alignment_gaps)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    (void)arenas.allocate(9, 1);
    EXPECT_EQ(arenas.UsedMemory(), 9U);
    (void)arenas.allocate(3, 1);
    EXPECT_EQ(arenas.UsedMemory(), 12U);
    (void)arenas.allocate(8, 8);
    EXPECT_EQ(arenas.UsedMemory(), 24U);
}

TEST_F(ArenaMR, counts_the_unused_end_of_full_arenas_as_wasted)
{
    UnsynchronizedArenaMR arenas(3, 1'000, &upstream_);
    void* const first = arenas.allocate(600);
    void* const second = arenas.allocate(700);
    EXPECT_EQ(arenas.WastedMemory(), 400U);
    EXPECT_EQ(arenas.UsedMemory(), 1'300U);
    EXPECT_EQ(arenas.FreeArenaSize(), 1U);
    void* const third = arenas.allocate(800);
    EXPECT_EQ(arenas.WastedMemory(), 400U + 300U);
    EXPECT_EQ(arenas.FreeArenaSize(), 0U);

    arenas.deallocate(first, 600);
    EXPECT_EQ(arenas.WastedMemory(), 300U);
    EXPECT_EQ(arenas.UsedMemory(), 1'500U);
    EXPECT_EQ(arenas.FreeArenaSize(), 1U);
    arenas.deallocate(third, 800);
    arenas.deallocate(second, 700);
    EXPECT_EQ(arenas.WastedMemory(), 0U);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 2U);
}

TEST_F(ArenaMR, fits_a_block_of_the_arena_size_into_an_arena)
{
    for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{1'001}, std::size_t{4'096}}) {
        UnsynchronizedArenaMR arenas(3, size, &upstream_);
        const std::size_t calls = upstream_.calls();
        std::vector<void*> blocks;
        for (std::size_t i = 0; i != 3; ++i) {
            blocks.push_back(arenas.allocate(size));
            std::memset(blocks.back(), static_cast<int>(i), size);
            EXPECT_EQ(arenas.UsedMemory(), (i + 1) * size);
            EXPECT_EQ(arenas.FreeArenaSize(), 2 - i);
        }
        EXPECT_EQ(arenas.WastedMemory(), 0U);
        EXPECT_EQ(upstream_.calls(), calls);
        for (void* const block : blocks)
            arenas.deallocate(block, size);
        EXPECT_EQ(arenas.UsedMemory(), 0U);
        EXPECT_EQ(arenas.FreeArenaSize(), 2U);
    }
}

TEST_F(ArenaMR, keeps_the_values_of_its_constructor)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    for (std::size_t i = 0; i != 1'000; ++i)
        (void)arenas.allocate(100);
    (void)arenas.allocate(30'000);
    EXPECT_EQ(arenas.NumOfArenas(), 2U);
    EXPECT_EQ(arenas.SizePerArena(), 1'000U);
}

TEST_F(ArenaMR, counts_added_arenas_from_their_first_use)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != 100; ++i) {
        blocks.push_back(arenas.allocate(1'000));
        ASSERT_EQ(arenas.FreeArenaSize(), i == 0 ? 1U : 0U) << "after " << i + 1 << " blocks";
    }
    for (std::size_t i = 0; i != 99; ++i) {
        arenas.deallocate(blocks[i], 1'000);
        ASSERT_EQ(arenas.FreeArenaSize(), i + 1);
    }
    arenas.deallocate(blocks.back(), 1'000);
    EXPECT_EQ(arenas.FreeArenaSize(), 99U) << "one is active";
}

TEST_F(ArenaMR, counts_an_oversized_block_as_used_while_it_is_in_use)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    void* const small = arenas.allocate(600);
    void* const oversized = arenas.allocate(1'001);
    EXPECT_EQ(arenas.UsedMemory(), 600U + 1'001U);
    EXPECT_EQ(arenas.WastedMemory(), 0U) << "the active arena stays active";
    EXPECT_EQ(arenas.FreeArenaSize(), 1U);
    arenas.deallocate(oversized, 1'001);
    EXPECT_EQ(arenas.UsedMemory(), 600U);
    EXPECT_EQ(arenas.FreeArenaSize(), 1U);
    arenas.deallocate(small, 600);
}

// Upstream allocations.

TEST_F(ArenaMR, allocates_little_more_than_its_arenas_from_upstream)
{
    for (const std::size_t size : {std::size_t{1'000}, std::size_t{10'000}, std::size_t{100'000}}) {
        const UnsynchronizedArenaMR arenas(10, size, &upstream_);
        EXPECT_GE(upstream_.live_bytes(), 10 * size);
        EXPECT_LE(upstream_.live_bytes(), 10 * (size + 64) + 128);
    }
}

TEST_F(ArenaMR, fits_into_a_buffer_without_fallback)
{
    std::vector<std::byte> bytes(150'000);
    std::pmr::monotonic_buffer_resource buffer(bytes.data(), bytes.size(), std::pmr::null_memory_resource());
    UnsynchronizedArenaMR arenas(10, 10'000, &buffer);
    for (int round = 0; round != 20; ++round) {
        std::pmr::map<int, std::pmr::string> texts(&arenas);
        for (int i = 0; i != 500; ++i)
            texts.emplace(i, "long enough that it does not fit inside the object itself");
        std::pmr::vector<int> numbers(1'000, round, &arenas);
        ASSERT_EQ(texts.size(), 500U);
        ASSERT_EQ(numbers.back(), round);
    }
    for (int i = 0; i != 10; ++i)
        (void)arenas.allocate(10'000);
    EXPECT_EQ(arenas.FreeArenaSize(), 0U);
    for (int i = 0; i != 4; ++i)
        (void)arenas.allocate(10'000); // Further arenas have no more than 50'000 bytes.
    EXPECT_EQ(arenas.UsedMemory(), 140'000U);
    EXPECT_THROW((void)arenas.allocate(10'000), std::bad_alloc);
}

TEST_F(ArenaMR, falls_back_to_small_chunks_if_upstream_has_no_large_ones)
{
    upstream_.allow_chunks_of_at_most(30'000);
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    std::set<void*> blocks;
    for (int i = 0; i != 30; ++i)
        blocks.insert(arenas.allocate(10'000));
    EXPECT_EQ(blocks.size(), 30U);
    for (void* const block : blocks)
        arenas.deallocate(block, 10'000);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 29U);
}

TEST_F(ArenaMR, frees_all_chunks_if_upstream_fails_in_the_constructor)
{
    upstream_.allow_chunks_of_at_most(
        15'000); // One arena at a time: a call for the arena and one for its directory entry.
    std::size_t failures = 0;
    for (std::size_t call = 1; call != 30; ++call) {
        upstream_.fail_at(call);
        try {
            const UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
        } catch (const std::bad_alloc&) {
            ++failures;
        }
        EXPECT_EQ(upstream_.live_chunks(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }
    EXPECT_EQ(failures, 20U);
}

// Reuse of arenas.

TEST_F(ArenaMR, reuses_an_arena_when_its_last_block_is_freed)
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

TEST_F(ArenaMR, adds_arenas_when_all_are_full)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    std::set<void*> blocks;
    for (std::size_t i = 0; i != 1'000; ++i) {
        void* const block = arenas.allocate(100);
        std::memset(block, 'x', 100);
        blocks.insert(block);
    }
    EXPECT_EQ(blocks.size(), 1'000U);
    EXPECT_GE(upstream_.live_bytes(), 100'000U);
    EXPECT_LE(upstream_.live_bytes(), 125'000U);
    for (void* const block : blocks)
        arenas.deallocate(block, 100);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_GE(arenas.FreeArenaSize(), 99U);
}

TEST_F(ArenaMR, finds_the_arena_of_every_block)
{
    // Sizes on both sides of powers of two; 70,000 arenas, in one chunk and in many.
    std::mt19937 random(8);
    for (const std::size_t size : {17U, 31U, 32U, 33U, 1'000U, 4'095U, 4'096U, 4'097U, 10'000U})
        for (const std::size_t number_of_arenas : {std::size_t{0}, 700'000 / size}) {
            UnsynchronizedArenaMR arenas(number_of_arenas, size, &upstream_);
            std::vector<void*> blocks(700'000 / size);
            for (void*& block : blocks)
                block = arenas.allocate(size, 1);
            ASSERT_EQ(arenas.UsedMemory(), blocks.size() * size);
            std::shuffle(blocks.begin(), blocks.end(), random);
            for (std::size_t i = 0; i != blocks.size(); ++i) {
                arenas.deallocate(blocks[i], size, 1);
                ASSERT_EQ(arenas.UsedMemory(), (blocks.size() - i - 1) * size) << "arenas of " << size << " bytes";
            }
        }
}

// Defects of the original.

TEST_F(ArenaMR, frees_all_memory_to_upstream_in_its_destructor)
{
    {
        UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
        EXPECT_GE(upstream_.live_bytes(), 100'000U);
        for (int i = 0; i != 1'000; ++i)
            (void)arenas.allocate(1'000);
        (void)arenas.allocate(1'000'000);
    }
    EXPECT_EQ(upstream_.live_chunks(), 0U);
    EXPECT_EQ(upstream_.mismatched(), 0U) << "each chunk is freed with the size and alignment of its allocation";
}

TEST_F(ArenaMR, honours_every_alignment_that_fits_into_an_arena)
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
            << "blocks overlap";
    }
    for (const request& each : requests)
        arenas.deallocate(each.block, each.bytes, each.alignment);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_EQ(arenas.WastedMemory(), 0U);
}

TEST_F(ArenaMR, finds_the_arena_of_a_block_at_the_end_of_large_arenas)
{
    constexpr std::size_t mib = std::size_t{1} << 20;
    UnsynchronizedArenaMR arenas(50, mib + 16, &upstream_);
    std::vector<void*> first;
    std::vector<void*> last;
    for (int i = 0; i != 50; ++i) {
        first.push_back(arenas.allocate(mib));
        last.push_back(arenas.allocate(16));
    }
    ASSERT_EQ(arenas.UsedMemory(), 50 * (mib + 16));
    for (void* const block : last)
        arenas.deallocate(block, 16);
    EXPECT_EQ(arenas.FreeArenaSize(), 0U) << "each arena has a block in use";
    for (void* const block : first)
        arenas.deallocate(block, mib);
    EXPECT_EQ(arenas.FreeArenaSize(), 49U);
}

TEST_F(ArenaMR, does_not_grow_when_oversized_blocks_are_allocated_and_freed)
{
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    const std::size_t bytes_before = upstream_.live_bytes();
    for (int round = 0; round != 100; ++round) {
        void* const large = arenas.allocate(1'000'000);
        ASSERT_EQ(arenas.UsedMemory(), 1'000'000U);
        arenas.deallocate(large, 1'000'000);
    }
    EXPECT_EQ(upstream_.live_bytes(), bytes_before);
    EXPECT_EQ(arenas.FreeArenaSize(), 9U);
}

TEST_F(ArenaMR, allocates_nothing_when_blocks_are_freed)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    std::vector<void*> blocks(10'000);
    for (void*& block : blocks)
        block = arenas.allocate(64);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(5));
    const std::size_t calls = upstream_.calls();
    std::pmr::memory_resource* const usual = std::pmr::set_default_resource(std::pmr::null_memory_resource());
    for (void* const block : blocks)
        arenas.deallocate(block, 64);
    std::pmr::set_default_resource(usual);
    EXPECT_EQ(upstream_.calls(), calls);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
}

TEST_F(ArenaMR, allocates_a_distinct_block_for_zero_bytes)
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

TEST_F(ArenaMR, frees_blocks_of_many_arenas_in_any_order)
{
    // Keeps every tenth of 20,000 blocks, so that no arena becomes free. Then frees the kept blocks in random order.
    UnsynchronizedArenaMR arenas(1'000, 1'024, &upstream_);
    std::vector<void*> staying;
    std::vector<void*> leaving;
    for (int i = 0; i != 20'000; ++i)
        (i % 10 == 0 ? staying : leaving).push_back(arenas.allocate(64));
    const std::size_t used = arenas.UsedMemory();
    std::shuffle(leaving.begin(), leaving.end(), std::mt19937(6));
    for (void* const block : leaving)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.UsedMemory(), used) << "each arena has blocks in use";
    std::shuffle(staying.begin(), staying.end(), std::mt19937(7));
    for (void* const block : staying)
        arenas.deallocate(block, 64);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
    EXPECT_GE(arenas.FreeArenaSize(), 1'249U) << "of 16 blocks each, and one is active";
}

TEST_F(ArenaMR, frees_oversized_blocks_in_any_order)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    const std::size_t bytes_before = upstream_.live_bytes();
    std::vector<void*> blocks(1'000);
    for (void*& block : blocks)
        block = arenas.allocate(1'001);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(9));
    const std::size_t calls = upstream_.calls();
    for (void* const block : blocks)
        arenas.deallocate(block, 1'001);
    EXPECT_EQ(upstream_.calls(), calls) << "nothing is allocated";
    EXPECT_EQ(upstream_.live_bytes(), bytes_before);
    EXPECT_EQ(upstream_.mismatched(), 0U);
}

#if !MEMORY_POOL_ASAN // libstdc++ declares the argument nonnull, so UndefinedBehaviorSanitizer stops there.
TEST_F(ArenaMR, ignores_freeing_nullptr)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    const test::error_recorder recorder;
    void* volatile nothing = nullptr; // volatile avoids a compile-time warning.
    arenas.deallocate(nothing, 100);
    EXPECT_TRUE(recorder.reports().empty());
}
#endif

#if MEMORY_POOL_ASAN
TEST_F(ArenaMR, reports_a_block_that_address_sanitizer_has_poisoned)
{
    for (const std::size_t bytes : {8u, 20u, 64u}) {
        UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
        const test::error_recorder recorder;
        (void)arenas.allocate(bytes, 8);
        void* const block = arenas.allocate(bytes, 8);
        for (int i = 0; i != 3; ++i)
            arenas.deallocate(block, bytes, 8);
        EXPECT_EQ(recorder.kinds(), test::kinds(2, memory_pool::error_kind::double_free)) << bytes;
        EXPECT_EQ(recorder.reports().back().address, block);
    }
}
#endif

TEST_F(ArenaMR, frees_blocks_that_the_program_has_poisoned)
{
    UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
    const test::error_recorder recorder;
    for (int round = 0; round != 3; ++round)
        for (const std::size_t bytes : {0u, 3u, 8u, 64u}) {
            void* const first = arenas.allocate(bytes, 1);
            void* const second = arenas.allocate(bytes, 1);
            memory_pool::detail::base::forbid_access(first, bytes);
            arenas.deallocate(first, bytes, 1);
            arenas.deallocate(second, bytes, 1);
            EXPECT_EQ(arenas.UsedMemory(), 0u);
        }
    EXPECT_TRUE(recorder.reports().empty());
}

TEST_F(ArenaMR, reports_a_free_of_a_block_that_is_not_in_use)
{
    UnsynchronizedArenaMR arenas(2, 1'000, &upstream_);
    UnsynchronizedArenaMR others(2, 1'000, &upstream_);
    void* const block = arenas.allocate(40);
    auto* const oversized = static_cast<std::byte*>(arenas.allocate(2'000));
    const test::error_recorder recorder;
    others.deallocate(block, 40);
    others.deallocate(oversized, 2'000);
    arenas.deallocate(oversized + 64, 2'000);
    arenas.deallocate(block, 40);
    arenas.deallocate(block, 40);
    using memory_pool::error_kind;
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::foreign_pointer, error_kind::foreign_pointer,
                                             error_kind::misaligned_pointer, error_kind::double_free}));
    EXPECT_EQ(recorder.reports().back().pool_name, "UnsynchronizedArenaMR");
    EXPECT_EQ(arenas.UsedMemory(), 2'000U) << "invalid frees are ignored";
    EXPECT_EQ(others.UsedMemory(), 0U);
}

// Other functions.

TEST_F(ArenaMR, stays_consistent_when_any_upstream_call_fails)
{
    for (std::size_t call = 1; call != 20; ++call)
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{1'100}}) {
            UnsynchronizedArenaMR arenas(1, 1'000, &upstream_);
            upstream_.fail_at(call);
            std::set<void*> blocks;
            while (blocks.size() != 2'000) {
                const std::size_t used = arenas.UsedMemory();
                const std::size_t wasted = arenas.WastedMemory();
                try {
                    blocks.insert(arenas.allocate(bytes));
                } catch (const std::bad_alloc&) {
                    EXPECT_EQ(arenas.UsedMemory(), used);
                    EXPECT_EQ(arenas.WastedMemory(), wasted);
                    blocks.insert(arenas.allocate(bytes)); // The next call succeeds.
                }
            }
            upstream_.never_fail();
            for (void* const block : blocks)
                arenas.deallocate(block, bytes);
            EXPECT_EQ(arenas.UsedMemory(), 0U);
        }
    EXPECT_EQ(upstream_.live_chunks(), 0U);
}

TEST_F(ArenaMR, rejects_invalid_sizes)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(UnsynchronizedArenaMR(10, 0, &upstream_), std::invalid_argument);
    EXPECT_THROW(UnsynchronizedArenaMR(10, 10'000, nullptr), std::invalid_argument);
    EXPECT_THROW(UnsynchronizedArenaMR(1, most, &upstream_), std::bad_alloc);
    EXPECT_THROW(UnsynchronizedArenaMR(most / 2, 10'000, &upstream_), std::bad_alloc);
    UnsynchronizedArenaMR arenas(10, 10'000, &upstream_);
    const volatile std::size_t too_many = most; // volatile avoids a compile-time warning.
    EXPECT_THROW((void)arenas.allocate(too_many), std::bad_alloc);
    EXPECT_THROW((void)arenas.allocate(1, too_many / 2 + 1), std::bad_alloc);
    EXPECT_EQ(arenas.UsedMemory(), 0U);
}

TEST_F(ArenaMR, begins_without_arenas_on_request)
{
    UnsynchronizedArenaMR arenas(0, 10'000, &upstream_);
    EXPECT_EQ(upstream_.live_bytes(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 0U);
    arenas.deallocate(arenas.allocate(100), 100);
    EXPECT_EQ(arenas.NumOfArenas(), 0U);
    EXPECT_EQ(arenas.FreeArenaSize(), 0U) << "the only arena is active";
}

TEST_F(ArenaMR, compares_equal_to_itself_only_and_is_not_copyable)
{
    UnsynchronizedArenaMR one(1, 1'000, &upstream_);
    UnsynchronizedArenaMR other(1, 1'000, &upstream_);
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
    EXPECT_FALSE(std::is_copy_constructible_v<UnsynchronizedArenaMR>);
    EXPECT_FALSE(std::is_copy_assignable_v<UnsynchronizedArenaMR>);
}

#if MEMORY_POOL_ASAN
TEST(ArenaMR_address_sanitizer, detects_a_use_of_free_memory)
{
    test::expect_reports_without_names();
    const auto use_after_free = [] {
        UnsynchronizedArenaMR arenas(2, 1'000);
        (void)arenas.allocate(40);
        auto* const block = static_cast<volatile char*>(arenas.allocate(40));
        arenas.deallocate(const_cast<char*>(block), 40);
        block[3] = 'x';
    };
    const auto use_of_a_gap = [] {
        UnsynchronizedArenaMR arenas(2, 1'000);
        auto* const first = static_cast<volatile char*>(arenas.allocate(1, 1));
        void* const second = arenas.allocate(2, 1);
        arenas.deallocate(const_cast<char*>(first), 1, 1);
        arenas.deallocate(second, 2, 1);
        first[0] = 'x';
    };
    const auto overflow = [] {
        UnsynchronizedArenaMR arenas(2, 1'000);
        void* volatile block = arenas.allocate(1'000); // volatile hides the size, or UBSan stops first.
        static_cast<volatile char*>(block)[1'000] = 'x';
    };
    EXPECT_DEATH(use_after_free(), "use-after-poison");
    EXPECT_DEATH(use_of_a_gap(), "use-after-poison");
    EXPECT_DEATH(overflow(), "use-after-poison");
}
#endif
} // namespace
