// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every arena resource in addition to resource_conformance.hpp, single-threaded. Instantiate it for a
/// resource type with INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/error_recorder.hpp>
#include <support/filled_blocks.hpp>
#include <support/known_to_be_free.hpp>
#include <support/overflows.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {
using memory_pool::arena_options;

inline arena_options with_arenas_of(std::size_t arena_size)
{
    arena_options options;
    options.arena_size = arena_size;
    return options;
}

inline arena_options named_arenas(const char* name)
{
    arena_options options;
    options.name = name;
    return options;
}

template <class Resource>
class arena_resource_conformance : public testing::Test
{
protected:
    /// Bytes that a checking policy adds after each block.
    static constexpr std::size_t behind =
        Resource::policy::checks ? memory_pool::detail::core::fill_pattern::canary_bytes : std::size_t{0};

    /// Returns the bytes that a block occupies in an arena. `bytes` is a multiple of 8.
    static constexpr std::size_t extent(std::size_t bytes) { return bytes + behind; }

    accounting_upstream upstream_;
    Resource small_arenas_{with_arenas_of(1024), &upstream_};
};

TYPED_TEST_SUITE_P(arena_resource_conformance);

TYPED_TEST_P(arena_resource_conformance, allocates_blocks_consecutively)
{
    auto& arenas = this->small_arenas_;
    auto* const first = static_cast<std::byte*>(arenas.allocate(40));
    auto* const second = static_cast<std::byte*>(arenas.allocate(1, 1));
    EXPECT_EQ(second, first + this->extent(40));
    EXPECT_EQ(arenas.allocate(8, 8), second + this->extent(8)) << "one byte occupies a granule, too";
}

TYPED_TEST_P(arena_resource_conformance, undoes_the_last_allocation)
{
    auto& arenas = this->small_arenas_;
    void* const below = arenas.allocate(40, 8);
    for (const std::size_t bytes : {8u, 200u, 0u, 72u}) {
        void* const last = arenas.allocate(bytes, 8);
        arenas.deallocate(last, bytes, 8);
        EXPECT_EQ(arenas.allocate(bytes, 8), last);
        arenas.deallocate(last, bytes, 8);
        EXPECT_EQ(arenas.bytes_in_use(), this->extent(40));
    }
    EXPECT_EQ(arenas.bytes_wasted(), 0u);
    arenas.deallocate(below, 40, 8);
    EXPECT_EQ(arenas.allocate(16), below) << "the arena starts from its beginning";
}

TYPED_TEST_P(arena_resource_conformance, reuses_the_place_of_temporary_strings)
{
    auto& arenas = this->small_arenas_;
    (void)arenas.allocate(100); // Keeps the arena from rewinding each time.
    const char* place = nullptr;
    for (std::size_t length = 100; length != 300; ++length) {
        const std::pmr::string text(length, 'x', &arenas);
        EXPECT_TRUE(place == nullptr || place == text.data());
        place = text.data();
    }
    EXPECT_EQ(arenas.arena_count(), 1u);
    EXPECT_EQ(arenas.bytes_wasted(), 0u);
}

TYPED_TEST_P(arena_resource_conformance, reuses_the_place_of_a_growing_vector)
{
    auto& arenas = this->small_arenas_;
    const int* place = nullptr;
    for (int round = 0; round != 100; ++round) {
        std::pmr::vector<int> numbers(&arenas);
        for (int i = 0; i != 60; ++i)
            numbers.push_back(i);
        EXPECT_TRUE(place == nullptr || place == numbers.data());
        place = numbers.data();
    }
    EXPECT_EQ(arenas.arena_count(), 1u);
}

TYPED_TEST_P(arena_resource_conformance, reuses_an_arena_when_its_last_block_is_freed)
{
    auto& arenas = this->small_arenas_;
    const std::size_t whole = arenas.largest_block();
    std::vector<void*> in_first;
    for (std::size_t i = 0; i != 4; ++i)
        in_first.push_back(arenas.allocate(whole / 4 - 64));
    void* const in_second = arenas.allocate(whole);
    EXPECT_EQ(arenas.arena_count(), 2u);
    EXPECT_EQ(arenas.free_arenas(), 0u);
    for (const std::size_t i : {1u, 3u, 0u, 2u})
        arenas.deallocate(in_first[i], whole / 4 - 64);
    EXPECT_EQ(arenas.free_arenas(), 1u);
    EXPECT_EQ(arenas.allocate(whole), in_first[0]);
    EXPECT_EQ(arenas.arena_count(), 2u);
    arenas.deallocate(in_second, whole);
    arenas.deallocate(in_first[0], whole);
    EXPECT_EQ(arenas.free_arenas(), 2u);
    EXPECT_TRUE(arenas.verify());
}

TYPED_TEST_P(arena_resource_conformance, counts_wasted_bytes_exactly)
{
    auto& arenas = this->small_arenas_;
    // The test aligns a block to 64. With checks, each block takes 16 more bytes.
    const std::size_t gap = TypeParam::policy::checks ? 16 : 48; // From 2 * 120 or 2 * 104 to a multiple of 64.
    const std::size_t each = this->extent(104);
    void* const a = arenas.allocate(104, 8);
    void* const b = arenas.allocate(104, 8);
    EXPECT_EQ(arenas.bytes_in_use(), 2 * each);
    EXPECT_EQ(arenas.bytes_wasted(), 0u);
    arenas.deallocate(a, 104, 8);
    EXPECT_EQ(arenas.bytes_in_use(), each);
    EXPECT_EQ(arenas.bytes_wasted(), each);
    void* const c = arenas.allocate(8, 64);
    EXPECT_EQ(arenas.bytes_in_use(), each + this->extent(8));
    EXPECT_EQ(arenas.bytes_wasted(), each + gap);
    arenas.deallocate(b, 104, 8);
    EXPECT_EQ(arenas.bytes_wasted(), 2 * each + gap);
    arenas.deallocate(c, 8, 64);
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
    EXPECT_EQ(arenas.bytes_wasted(), 0u);
    EXPECT_EQ(arenas.free_arenas(), 1u);
}

TYPED_TEST_P(arena_resource_conformance, counts_the_rest_of_a_previous_arena_as_wasted)
{
    auto& arenas = this->small_arenas_;
    const std::size_t whole = arenas.largest_block();
    void* const first = arenas.allocate(whole - 200);
    EXPECT_EQ(arenas.bytes_wasted(), 0u) << "a small block still fits in";
    void* const second = arenas.allocate(400);
    EXPECT_EQ(arenas.bytes_wasted(), 200u);
    arenas.deallocate(first, whole - 200);
    EXPECT_EQ(arenas.bytes_wasted(), 0u);
    EXPECT_EQ(arenas.bytes_in_use(), this->extent(400));
    arenas.deallocate(second, 400);
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
}

TYPED_TEST_P(arena_resource_conformance, doubles_its_arenas)
{
    auto& arenas = this->small_arenas_;
    const std::size_t whole = arenas.largest_block();
    for (const std::size_t expected_count : {1u, 2u, 4u, 4u, 8u}) {
        (void)arenas.allocate(whole);
        EXPECT_EQ(arenas.arena_count(), expected_count);
    }
    EXPECT_EQ(arenas.free_arenas(), 3u);
    EXPECT_EQ(this->upstream_.live_bytes(), arenas.bytes_reserved());
}

TYPED_TEST_P(arena_resource_conformance, allocates_up_to_max_arenas)
{
    for (const std::size_t limit : {1u, 2u, 3u, 50u}) {
        arena_options options = with_arenas_of(1024);
        options.max_arenas = limit;
        options.name = "frames";
        TypeParam arenas(options, &this->upstream_);
        EXPECT_EQ(arenas.max_arenas(), limit);
        const std::size_t whole = arenas.largest_block();
        for (int round = 0; round != 3; ++round) {
            std::vector<filled_block> blocks;
            for (std::size_t i = 0; i != limit; ++i)
                blocks.push_back(allocate_filled(arenas, whole));
            const std::string what = what_of<memory_pool::pool_exhausted>([&] { (void)arenas.allocate(1, 1); });
            EXPECT_EQ(what, "memory_pool: arenas 'frames' are exhausted: max_arenas allows " + std::to_string(limit) +
                                " of 1024 bytes");
            EXPECT_EQ(arenas.arena_count(), limit);
            EXPECT_EQ(arenas.bytes_in_use(), limit * this->extent(whole));
            give_back(arenas, allocate_filled(arenas, whole + 1)); // max_arenas does not apply to large blocks.
            EXPECT_TRUE(give_back_all(arenas, blocks));
            EXPECT_TRUE(arenas.verify());
        }
    }
}

TYPED_TEST_P(arena_resource_conformance, rounds_the_size_of_arenas_up_to_a_power_of_two)
{
    const auto size_for = [](std::size_t asked) { return TypeParam(with_arenas_of(asked)).arena_size(); };
    EXPECT_EQ(size_for(1), 1024u);
    EXPECT_EQ(size_for(1024), 1024u);
    EXPECT_EQ(size_for(1025), 2048u);
    EXPECT_EQ(size_for(100'000), 131'072u);
    EXPECT_EQ(TypeParam().arena_size(), 65'536u);
}

TYPED_TEST_P(arena_resource_conformance, serves_blocks_up_to_the_largest_from_arenas)
{
    auto& arenas = this->small_arenas_;
    for (std::size_t bytes = arenas.largest_block() - 10; bytes <= arenas.largest_block() + 10; ++bytes) {
        for (const std::size_t alignment : {1u, 64u, 128u, 512u, 1024u}) {
            const filled_block block = allocate_filled(arenas, bytes, alignment);
            EXPECT_TRUE(block.is_aligned());
            EXPECT_TRUE(arenas.owns(block.address));
            EXPECT_TRUE(give_back(arenas, block));
        }
    }
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
    EXPECT_TRUE(arenas.verify());
}

TYPED_TEST_P(arena_resource_conformance, works_with_arenas_of_every_size)
{
    for (std::size_t size = 1024; size <= std::size_t{1} << 22; size *= 2) {
        TypeParam arenas(with_arenas_of(size), &this->upstream_);
        std::vector<filled_block> blocks;
        for (std::size_t bytes = 1; bytes <= size; bytes *= 3)
            for (std::size_t alignment = 1; alignment <= size; alignment *= 16)
                blocks.push_back(allocate_filled(arenas, bytes, alignment));
        EXPECT_TRUE(arenas.verify());
        EXPECT_TRUE(give_back_all(arenas, blocks));
        EXPECT_EQ(arenas.free_arenas(), arenas.arena_count());
    }
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(arena_resource_conformance, allocates_arena_count_at_construction)
{
    for (const bool prefault : {false, true}) {
        arena_options options;
        options.arena_count = 20;
        options.max_arenas = 20;
        options.prefault = prefault;
        TypeParam arenas(options, &this->upstream_);
        EXPECT_EQ(arenas.arena_count(), 20u);
        EXPECT_EQ(arenas.free_arenas(), 20u);
        EXPECT_EQ(arenas.bytes_reserved(), 20u * 65'536);
        EXPECT_EQ(this->upstream_.live_bytes(), arenas.bytes_reserved());
        std::vector<filled_block> blocks;
        for (int i = 0; i != 20; ++i)
            blocks.push_back(allocate_filled(arenas, arenas.largest_block()));
        EXPECT_THROW((void)arenas.allocate(8), memory_pool::pool_exhausted);
        EXPECT_TRUE(give_back_all(arenas, blocks));
    }
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(arena_resource_conformance, frees_its_memory_when_construction_fails)
{
    arena_options options = with_arenas_of(std::size_t{1} << 20); // one chunk per arena
    options.arena_count = 5;
    this->upstream_.fail_at(4);
    EXPECT_THROW(TypeParam(options, &this->upstream_), std::bad_alloc);
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(arena_resource_conformance, falls_back_to_a_single_arena)
{
    auto& arenas = this->small_arenas_;
    const std::size_t whole = arenas.largest_block();
    for (int i = 0; i != 8; ++i)
        (void)arenas.allocate(whole);
    ASSERT_EQ(arenas.free_arenas(), 0u);
    this->upstream_.fail_at(1);
    (void)arenas.allocate(whole);
    EXPECT_EQ(arenas.arena_count(), 9u);
    this->upstream_.fail_always();
    EXPECT_THROW((void)arenas.allocate(whole), std::bad_alloc);
    EXPECT_TRUE(arenas.verify());
}

TYPED_TEST_P(arena_resource_conformance, reserves_the_requested_arenas)
{
    arena_options options = with_arenas_of(1024);
    options.max_arenas = 5000;
    TypeParam arenas(options, &this->upstream_);
    arenas.reserve(3000);
    EXPECT_EQ(arenas.arena_count(), 3000u);
    arenas.reserve(10);
    EXPECT_EQ(arenas.arena_count(), 3000u);
    EXPECT_THROW(arenas.reserve(5001), memory_pool::pool_exhausted);
    EXPECT_THROW(arenas.reserve(std::numeric_limits<std::size_t>::max()), memory_pool::size_overflow);
    EXPECT_THROW(this->small_arenas_.reserve(std::numeric_limits<std::size_t>::max() / 512),
                 memory_pool::size_overflow);
    EXPECT_EQ(arenas.arena_count(), 3000u);
    this->upstream_.fail_always();
    for (int i = 0; i != 2990; ++i)
        (void)arenas.allocate(arenas.largest_block());
    EXPECT_EQ(arenas.free_arenas(), 10u);
}

TYPED_TEST_P(arena_resource_conformance, rejects_invalid_options)
{
    const auto rejection = [](const arena_options& options) {
        return what_of<std::invalid_argument>([&] { TypeParam arenas(options); });
    };
    arena_options options = named_arenas("frames");
    options.arena_size = 0;
    EXPECT_EQ(rejection(options), "memory_pool: arenas 'frames': arena_size is 0; ask for as many bytes as many blocks "
                                  "need together");
    options = named_arenas("frames");
    options.max_arenas = 0;
    EXPECT_EQ(rejection(options),
              "memory_pool: arenas 'frames': max_arenas is 0; allow at least 1 arena, or leave it at "
              "arena_options::unbounded");
    options.max_arenas = 3;
    options.arena_count = 4;
    EXPECT_EQ(rejection(options), "memory_pool: arenas 'frames': max_arenas is 3, below arena_count, which is 4; raise "
                                  "one or lower the other");
    options = arena_options{};
    options.arena_size = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(TypeParam arenas(options), memory_pool::size_overflow);
    options = arena_options{};
    options.arena_count = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(TypeParam arenas(options), memory_pool::size_overflow);
}

TYPED_TEST_P(arena_resource_conformance, never_calls_upstream_in_deallocate)
{
    auto& arenas = this->small_arenas_;
    std::vector<filled_block> blocks;
    for (std::size_t i = 0; i != 500; ++i)
        blocks.push_back(allocate_filled(arenas, i * 7 % 1500));
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
    const std::size_t calls = this->upstream_.calls();
    this->upstream_.fail_always();
    EXPECT_TRUE(give_back_all(arenas, blocks));
    EXPECT_EQ(this->upstream_.calls(), calls);
    EXPECT_EQ(arenas.free_arenas(), arenas.arena_count());
}

TYPED_TEST_P(arena_resource_conformance, finds_the_arena_of_a_block_among_thousands)
{
    for (const std::size_t count : {10u, 10'000u}) {
        TypeParam arenas(with_arenas_of(1024), &this->upstream_);
        std::vector<filled_block> blocks;
        blocks.reserve(count);
        for (std::size_t i = 0; i != count; ++i)
            blocks.push_back(allocate_filled(arenas, arenas.largest_block() - i % 300));
        EXPECT_GE(arenas.arena_count(), count);
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937(9));
        const std::size_t free_before = arenas.free_arenas();
        EXPECT_TRUE(give_back_all(arenas, blocks));
        EXPECT_EQ(arenas.free_arenas(), free_before + count) << "each block was freed in its arena";
        EXPECT_TRUE(arenas.verify());
        arenas.trim();
        EXPECT_EQ(arenas.arena_count(), 0u);
    }
}

TYPED_TEST_P(arena_resource_conformance, trims_only_wholly_free_chunks)
{
    auto& arenas = this->small_arenas_;
    std::vector<filled_block> blocks;
    for (int i = 0; i != 8; ++i) // Chunks of 1, 1, 2 and 4 arenas.
        blocks.push_back(allocate_filled(arenas, arenas.largest_block()));
    for (const std::size_t i : {0u, 2u, 4u, 5u, 6u, 7u})
        EXPECT_TRUE(give_back(arenas, blocks[i]));
    EXPECT_EQ(arenas.trim(), 5u * 1024) << "the first and the last chunk";
    EXPECT_EQ(arenas.arena_count(), 3u);
    EXPECT_EQ(arenas.free_arenas(), 1u);
    EXPECT_TRUE(arenas.verify());
    (void)arenas.allocate(arenas.largest_block());
    EXPECT_EQ(arenas.arena_count(), 3u) << "the free arena is used first";
    EXPECT_TRUE(give_back(arenas, blocks[1]));
    EXPECT_TRUE(give_back(arenas, blocks[3]));
}

TYPED_TEST_P(arena_resource_conformance, keeps_its_arenas_in_clear)
{
    auto& arenas = this->small_arenas_;
    for (int round = 0; round != 3; ++round) {
        for (std::size_t i = 0; i != 100; ++i)
            (void)allocate_filled(arenas, i * 30); // Some blocks are large.
        const std::size_t count = arenas.arena_count();
        arenas.clear();
        EXPECT_EQ(arenas.bytes_in_use(), 0u);
        EXPECT_EQ(arenas.bytes_wasted(), 0u);
        EXPECT_EQ(arenas.arena_count(), count);
        EXPECT_EQ(arenas.free_arenas(), count);
        EXPECT_EQ(arenas.bytes_reserved(), this->upstream_.live_bytes());
        EXPECT_TRUE(arenas.verify());
        std::set<void*> places;
        const std::size_t calls = this->upstream_.calls();
        for (std::size_t i = 0; i != count; ++i)
            EXPECT_TRUE(places.insert(allocate_filled(arenas, arenas.largest_block()).address).second);
        EXPECT_EQ(this->upstream_.calls(), calls);
        arenas.clear();
    }
}

TYPED_TEST_P(arena_resource_conformance, owns_addresses_in_arenas_and_large_blocks)
{
    auto& arenas = this->small_arenas_;
    TypeParam others(with_arenas_of(1024));
    const int local = 0;
    EXPECT_FALSE(arenas.owns(nullptr));
    auto* const block = static_cast<std::byte*>(arenas.allocate(40));
    EXPECT_TRUE(arenas.owns(block) && arenas.owns(block + 39));
    EXPECT_FALSE(arenas.owns(&local));
    EXPECT_FALSE(arenas.owns(others.allocate(40)));
    auto* const large = static_cast<std::byte*>(arenas.allocate(5000));
    auto* const larger = static_cast<std::byte*>(arenas.allocate(6000, 4096));
    EXPECT_TRUE(arenas.owns(large) && arenas.owns(large + 4999) && arenas.owns(larger) && arenas.owns(larger + 5999));
    EXPECT_FALSE(others.owns(large));
    EXPECT_FALSE(arenas.owns(large + 5100)) << "behind the block";
    arenas.deallocate(large, 5000);
    EXPECT_FALSE(arenas.owns(large));
    arenas.release();
    EXPECT_FALSE(arenas.owns(block) || arenas.owns(larger));
}

TYPED_TEST_P(arena_resource_conformance, good_size_is_the_usable_size)
{
    auto& arenas = this->small_arenas_;
    EXPECT_EQ(arenas.good_size(1), 8u);
    EXPECT_EQ(arenas.good_size(40, 64), 40u);
    EXPECT_EQ(arenas.good_size(5001), 5001u) << "a large block";
    for (std::size_t bytes = 0; bytes <= 2000; ++bytes) {
        const std::size_t good = arenas.good_size(bytes);
        ASSERT_GE(good, bytes);
        ASSERT_EQ(arenas.good_size(good), good);
        EXPECT_TRUE(give_back(arenas, allocate_filled(arenas, good)));
    }
}

TYPED_TEST_P(arena_resource_conformance, serves_a_monotonic_resource_with_many_releases)
{
    auto& arenas = this->small_arenas_;
    std::pmr::monotonic_buffer_resource monotonic(&arenas);
    for (int round = 0; round != 10; ++round) {
        {
            std::pmr::vector<std::pmr::string> lines(&monotonic);
            for (std::size_t i = 0; i != 60; ++i)
                lines.emplace_back(i, 'x');
            EXPECT_EQ(lines.back(), std::pmr::string(59, 'x'));
        }
        EXPECT_GT(arenas.bytes_in_use(), 0u);
        monotonic.release();
        EXPECT_EQ(arenas.bytes_in_use(), 0u);
        EXPECT_TRUE(arenas.verify());
    }
}

TYPED_TEST_P(arena_resource_conformance, can_be_nested_with_other_resources)
{
    TypeParam outer(with_arenas_of(std::size_t{1} << 18), &this->upstream_);
    {
        memory_pool::basic_unsynchronized_pool_resource<typename TypeParam::policy> pools(&outer);
        TypeParam inner(with_arenas_of(4096), &pools);
        std::vector<filled_block> blocks;
        for (std::size_t i = 0; i != 2000; ++i)
            blocks.push_back(allocate_filled(inner, i * 11 % 600, std::size_t{1} << i % 8));
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937(2));
        EXPECT_TRUE(give_back_all(inner, {blocks.begin() + 1000, blocks.end()}));
        inner.trim();
        pools.trim();
        outer.trim();
        EXPECT_TRUE(inner.verify() && pools.verify() && outer.verify());
        EXPECT_TRUE(give_back_all(inner, {blocks.begin(), blocks.begin() + 1000}));
        EXPECT_EQ(inner.bytes_in_use(), 0u);
    }
    EXPECT_EQ(outer.bytes_in_use(), 0u);
    EXPECT_TRUE(outer.verify());
}

TYPED_TEST_P(arena_resource_conformance, reports_a_block_of_another_arena_resource)
{
    const error_recorder recorder;
    TypeParam arenas(named_arenas("mine"), &this->upstream_);
    TypeParam others(named_arenas("theirs"), &this->upstream_);
    const filled_block mine = allocate_filled(arenas, 40);
    const filled_block theirs = allocate_filled(others, 40);
    arenas.deallocate(theirs.address, 40);
    ASSERT_EQ(recorder.kinds(), kinds{memory_pool::error_kind::foreign_pointer});
    EXPECT_EQ(recorder.reports()[0].address, theirs.address);
    EXPECT_EQ(recorder.reports()[0].pool_name, "mine");
    EXPECT_EQ(arenas.bytes_in_use(), this->extent(40));
    EXPECT_EQ(others.bytes_in_use(), this->extent(40));
    EXPECT_TRUE(give_back(arenas, mine));
    EXPECT_TRUE(give_back(others, theirs));
    EXPECT_EQ(recorder.kinds().size(), 1u);
    EXPECT_TRUE(arenas.verify() && others.verify());
}

TYPED_TEST_P(arena_resource_conformance, reports_a_double_free_that_checks_or_asan_detect)
{
    if (!TypeParam::policy::checks && MEMORY_POOL_ASAN == 0)
        GTEST_SKIP() << "not detected, or only later";
    expect_double_frees_found<TypeParam>();
}

TYPED_TEST_P(arena_resource_conformance, accepts_a_block_poisoned_by_the_program)
{
    expect_poisoned_blocks_taken_back<TypeParam>();
}

REGISTER_TYPED_TEST_SUITE_P(arena_resource_conformance, allocates_blocks_consecutively, undoes_the_last_allocation,
                            reuses_the_place_of_temporary_strings, reuses_the_place_of_a_growing_vector,
                            reuses_an_arena_when_its_last_block_is_freed, counts_wasted_bytes_exactly,
                            counts_the_rest_of_a_previous_arena_as_wasted, doubles_its_arenas,
                            allocates_up_to_max_arenas, rounds_the_size_of_arenas_up_to_a_power_of_two,
                            serves_blocks_up_to_the_largest_from_arenas, works_with_arenas_of_every_size,
                            allocates_arena_count_at_construction, frees_its_memory_when_construction_fails,
                            falls_back_to_a_single_arena, reserves_the_requested_arenas, rejects_invalid_options,
                            never_calls_upstream_in_deallocate, finds_the_arena_of_a_block_among_thousands,
                            trims_only_wholly_free_chunks, keeps_its_arenas_in_clear,
                            owns_addresses_in_arenas_and_large_blocks, good_size_is_the_usable_size,
                            serves_a_monotonic_resource_with_many_releases, can_be_nested_with_other_resources,
                            reports_a_block_of_another_arena_resource, reports_a_double_free_that_checks_or_asan_detect,
                            accepts_a_block_poisoned_by_the_program);

// Misuse, with a policy that checks.

template <class Resource>
class checking_arena_conformance : public testing::Test
{
protected:
    /// Expects one report of this kind and address, and that the resource is still valid and usable.
    void expect_report(memory_pool::error_kind kind, const void* address)
    {
        ASSERT_EQ(recorder_.kinds(), kinds{kind});
        EXPECT_EQ(recorder_.reports()[0].address, address);
        EXPECT_EQ(recorder_.reports()[0].pool_name, "frames");
        EXPECT_TRUE(arenas_.verify());
        EXPECT_TRUE(give_back(arenas_, allocate_filled(arenas_, 40)));
        EXPECT_EQ(recorder_.kinds().size(), 1u);
    }

    /// Writes to memory that the program must not touch, hidden from sanitizers.
    static void write(unsigned char* address)
    {
        memory_pool::detail::base::permit_access(address, 1);
        *address = 'x';
    }

    error_recorder recorder_;
    Resource arenas_{named_arenas("frames")};
    filled_block below_ = allocate_filled(arenas_, 100);
    filled_block block_ = allocate_filled(arenas_, 100);
    filled_block above_ = allocate_filled(arenas_, 100);
};

TYPED_TEST_SUITE_P(checking_arena_conformance);

TYPED_TEST_P(checking_arena_conformance, rejects_an_alignment_that_is_no_power_of_two)
{
    for (const std::size_t alignment : {0u, 3u, 24u, 100'000u})
        for (const std::size_t bytes : {0u, 100u, 100'000u})
            EXPECT_THROW((void)this->arenas_.allocate(bytes, alignment), std::invalid_argument)
                << bytes << "@" << alignment;
}

TYPED_TEST_P(checking_arena_conformance, reports_a_double_free)
{
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
    this->arenas_.deallocate(this->block_.address, 100);
    this->expect_report(memory_pool::error_kind::double_free, this->block_.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_double_free_of_the_last_block)
{
    EXPECT_TRUE(give_back(this->arenas_, this->above_));
    this->arenas_.deallocate(this->above_.address, 100);
    this->expect_report(memory_pool::error_kind::double_free, this->above_.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_double_free_in_an_empty_arena)
{
    for (const filled_block& block : {this->below_, this->block_, this->above_})
        EXPECT_TRUE(give_back(this->arenas_, block));
    this->arenas_.deallocate(this->block_.address, 100);
    this->expect_report(memory_pool::error_kind::double_free, this->block_.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_foreign_pointer)
{
    int local = 0;
    void* const volatile address = &local; // volatile: avoids a compiler warning.
    this->arenas_.deallocate(address, sizeof local);
    this->expect_report(memory_pool::error_kind::foreign_pointer, &local);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_pointer_into_the_header_of_an_arena)
{
    auto* const header = reinterpret_cast<unsigned char*>(reinterpret_cast<std::uintptr_t>(this->below_.address) &
                                                          ~std::uintptr_t{65'535});
    this->arenas_.deallocate(header, 8);
    this->expect_report(memory_pool::error_kind::foreign_pointer, header);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_pointer_into_a_block)
{
    this->arenas_.deallocate(this->block_.address + 16, 84);
    this->expect_report(memory_pool::error_kind::misaligned_pointer, this->block_.address + 16);
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
}

TYPED_TEST_P(checking_arena_conformance, reports_too_small_a_size)
{
    this->arenas_.deallocate(this->block_.address, 50);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
}

TYPED_TEST_P(checking_arena_conformance, reports_too_large_a_size)
{
    this->arenas_.deallocate(this->block_.address, 200);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_slightly_wrong_size_or_alignment)
{
    for (const std::size_t bytes : {97u, 99u, 101u, 104u})
        this->arenas_.deallocate(this->block_.address, bytes);
    for (const std::size_t alignment : {1u, 8u, 32u})
        this->arenas_.deallocate(this->block_.address, 100, alignment);
    EXPECT_EQ(this->recorder_.kinds(), kinds(7, memory_pool::error_kind::size_mismatch));
    EXPECT_TRUE(
        contains(this->recorder_.reports()[0].text,
                 "block of 100 bytes aligned to 16, given back as one of 97 bytes aligned to 16, pool 'frames'"));
    EXPECT_TRUE(contains(this->recorder_.reports()[6].text, "given back as one of 100 bytes aligned to 32"));
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_size_larger_than_an_arena)
{
    this->arenas_.deallocate(this->block_.address, 100'000);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->arenas_, this->block_));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_large_block_freed_with_another_size)
{
    const filled_block large = allocate_filled(this->arenas_, 100'000);
    this->arenas_.deallocate(large.address, 300'000);
    this->expect_report(memory_pool::error_kind::size_mismatch, large.address);
    EXPECT_TRUE(give_back(this->arenas_, large));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_large_block_freed_as_a_small_one)
{
    const filled_block large = allocate_filled(this->arenas_, 100'000);
    this->arenas_.deallocate(large.address, 100);
    this->expect_report(memory_pool::error_kind::size_mismatch, large.address);
    EXPECT_TRUE(give_back(this->arenas_, large));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_double_free_of_a_large_block)
{
    const filled_block large = allocate_filled(this->arenas_, 100'000);
    EXPECT_TRUE(give_back(this->arenas_, large));
    this->arenas_.deallocate(large.address, 100'000);
    this->expect_report(memory_pool::error_kind::foreign_pointer, large.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_a_write_just_behind_a_block)
{
    this->write(this->block_.address + 100);
    this->arenas_.deallocate(this->block_.address, 100);
    this->expect_report(memory_pool::error_kind::buffer_overflow, this->block_.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_each_write_past_the_end_of_a_block_once)
{
    const filled_block large = allocate_filled(this->arenas_, 100'000);
    for (const filled_block& block : {this->block_, large}) {
        write_behind(block.address, block.bytes);
        for (int i = 0; i != 2; ++i)
            this->arenas_.deallocate(block.address, block.bytes);
    }
    EXPECT_EQ(this->recorder_.kinds(), kinds(2, memory_pool::error_kind::buffer_overflow));
    EXPECT_TRUE(give_back(this->arenas_, this->below_) && give_back(this->arenas_, this->above_));
    EXPECT_EQ(this->arenas_.bytes_in_use(), 0u) << "the second call freed the blocks";
}

TYPED_TEST_P(checking_arena_conformance, reports_a_write_after_free_at_reuse)
{
    EXPECT_TRUE(give_back(this->arenas_, this->above_));
    this->write(this->above_.address + 50);
    const filled_block next = allocate_filled(this->arenas_, 100);
    EXPECT_EQ(next.address, this->above_.address);
    this->expect_report(memory_pool::error_kind::write_after_free, next.address);
    EXPECT_TRUE(give_back(this->arenas_, next));
}

TYPED_TEST_P(checking_arena_conformance, reports_a_write_after_clear_at_reuse)
{
    this->arenas_.clear();
    this->write(this->below_.address + 50);
    const filled_block next = allocate_filled(this->arenas_, 100);
    EXPECT_EQ(next.address, this->below_.address);
    this->expect_report(memory_pool::error_kind::write_after_free, next.address);
}

TYPED_TEST_P(checking_arena_conformance, reports_nothing_for_correct_use)
{
    std::mt19937 random(4);
    std::vector<filled_block> blocks;
    for (int round = 0; round != 3000; ++round) {
        blocks.push_back(allocate_filled(this->arenas_, random() % 300, std::size_t{1} << random() % 8));
        std::swap(blocks[random() % blocks.size()], blocks.back());
        if (blocks.size() > 50) {
            EXPECT_TRUE(give_back(this->arenas_, blocks.back()));
            blocks.pop_back();
        }
        if (round % 500 == 499)
            this->arenas_.trim();
    }
    EXPECT_TRUE(give_back_all(this->arenas_, blocks));
    EXPECT_EQ(this->recorder_.kinds(), kinds{});
}

TYPED_TEST_P(checking_arena_conformance, ends_the_program_with_a_message_by_default)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [](auto&& how) {
        memory_pool::set_error_handler(nullptr);
        TypeParam arenas(named_arenas("frames"));
        how(arenas, allocate_filled(arenas, 100));
    };
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block& block) {
                     arenas.deallocate(block.address, 100);
                     arenas.deallocate(block.address, 100);
                 }),
                 "double free: address 0x[0-9a-f]+, block size 100 bytes, pool 'frames'\n  remedy: give each block");
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block&) {
                     int local = 0;
                     void* const volatile address = &local;
                     arenas.deallocate(address, sizeof local);
                 }),
                 "foreign pointer: .*pool 'frames'");
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block& block) { arenas.deallocate(block.address + 8, 100); }),
                 "misaligned pointer: .*pool 'frames'");
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block& block) { arenas.deallocate(block.address, 10); }),
                 "size mismatch: .*pool 'frames'");
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block& block) {
                     TestFixture::write(block.address + 100);
                     arenas.deallocate(block.address, 100);
                 }),
                 "overflow: .*pool 'frames'");
    EXPECT_DEATH(misuse([](auto& arenas, const filled_block& block) {
                     arenas.deallocate(block.address, 100);
                     TestFixture::write(block.address);
                     (void)arenas.allocate(100);
                 }),
                 "write after free: .*pool 'frames'");
}

REGISTER_TYPED_TEST_SUITE_P(checking_arena_conformance, rejects_an_alignment_that_is_no_power_of_two,
                            reports_a_double_free, reports_a_double_free_of_the_last_block,
                            reports_a_double_free_in_an_empty_arena, reports_a_foreign_pointer,
                            reports_a_pointer_into_the_header_of_an_arena, reports_a_pointer_into_a_block,
                            reports_too_small_a_size, reports_too_large_a_size,
                            reports_a_slightly_wrong_size_or_alignment, reports_a_size_larger_than_an_arena,
                            reports_a_large_block_freed_with_another_size, reports_a_large_block_freed_as_a_small_one,
                            reports_a_double_free_of_a_large_block, reports_a_write_just_behind_a_block,
                            reports_each_write_past_the_end_of_a_block_once, reports_a_write_after_free_at_reuse,
                            reports_a_write_after_clear_at_reuse, reports_nothing_for_correct_use,
                            ends_the_program_with_a_message_by_default);
} // namespace test
