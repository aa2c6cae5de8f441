// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every resource for std::pmr, for any policy, threading, and placement. Instantiate it for a resource
/// type with INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <memory_pool/errors.hpp>

#include <support/filled_blocks.hpp>
#include <support/sanitizers.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace test {
/// Larger than the largest block of an arena, or of a pool, with the default options.
inline constexpr std::size_t large_size = 100'000;

template <class Resource>
class resource_conformance : public testing::Test
{
protected:
    /// Expects that the statistics of the resource are consistent, and agree with upstream.
    void expect_in_order(const Resource& resource) const
    {
        EXPECT_TRUE(resource.verify());
        EXPECT_EQ(resource.bytes_reserved(), upstream_.live_bytes());
        EXPECT_LE(resource.bytes_in_use(), resource.bytes_reserved());
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    void expect_empty(const Resource& resource) const
    {
        expect_in_order(resource);
        EXPECT_EQ(resource.bytes_in_use(), 0u);
    }

    /// Allocates small and large blocks, some with strict alignments.
    static std::vector<filled_block> some_of_each_kind(Resource& resource)
    {
        std::vector<filled_block> blocks;
        for (const std::size_t bytes : {1u, 40u, 900u, 4096u, 20'000u, 100'000u, 3'000'000u})
            for (const std::size_t alignment : {1u, 16u, 64u, 4096u})
                blocks.push_back(allocate_filled(resource, bytes, alignment));
        return blocks;
    }

    accounting_upstream upstream_;
};

TYPED_TEST_SUITE_P(resource_conformance);

TYPED_TEST_P(resource_conformance, cannot_be_copied_or_moved)
{
    EXPECT_FALSE(std::is_copy_constructible_v<TypeParam>);
    EXPECT_FALSE(std::is_move_constructible_v<TypeParam>);
    EXPECT_FALSE(std::is_copy_assignable_v<TypeParam>);
    EXPECT_FALSE(std::is_move_assignable_v<TypeParam>);
    EXPECT_TRUE((std::is_base_of_v<std::pmr::memory_resource, TypeParam>));
}

TYPED_TEST_P(resource_conformance, uses_the_default_resource_as_default_upstream)
{
    const TypeParam resource;
    EXPECT_EQ(resource.upstream_resource(), std::pmr::get_default_resource());
    const TypeParam over_another(&this->upstream_);
    EXPECT_EQ(over_another.upstream_resource(), &this->upstream_);
}

TYPED_TEST_P(resource_conformance, rejects_nullptr_as_upstream)
{
    const std::string what =
        what_of<std::invalid_argument>([] { TypeParam resource(static_cast<std::pmr::memory_resource*>(nullptr)); });
    EXPECT_TRUE(contains(what, "upstream is nullptr")) << what;
    EXPECT_TRUE(contains(what, "leave it out for std::pmr::get_default_resource()")) << what;
}

TYPED_TEST_P(resource_conformance, allocates_disjoint_blocks_of_every_size)
{
    std::vector<std::size_t> sizes(300);
    for (std::size_t bytes = 0; bytes != sizes.size(); ++bytes)
        sizes[bytes] = bytes;
    for (std::size_t power = 512; power <= std::size_t{1} << 17; power *= 2)
        sizes.insert(sizes.end(), {power - 1, power, power + 1});
    TypeParam resource(&this->upstream_);
    for (int round = 0; round != 3; ++round) {
        std::vector<filled_block> blocks;
        blocks.reserve(sizes.size());
        for (const std::size_t bytes : sizes)
            blocks.push_back(allocate_filled(resource, bytes));
        EXPECT_TRUE(std::all_of(blocks.begin(), blocks.end(), [](const auto& block) { return block.is_aligned(); }));
        this->expect_in_order(resource);
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937(static_cast<unsigned>(round)));
        EXPECT_TRUE(give_back_all(resource, blocks));
        this->expect_empty(resource);
    }
}

TYPED_TEST_P(resource_conformance, supports_every_alignment)
{
    TypeParam resource(&this->upstream_);
    std::vector<filled_block> blocks;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{40}, alignment / 2, alignment}) {
            blocks.push_back(allocate_filled(resource, bytes, alignment));
            ASSERT_TRUE(blocks.back().is_aligned()) << bytes << " bytes aligned to " << alignment;
        }
    }
    this->expect_in_order(resource);
    EXPECT_TRUE(give_back_all(resource, blocks));
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, allocates_distinct_blocks_of_zero_bytes)
{
    TypeParam resource(&this->upstream_);
    std::set<void*> addresses{nullptr};
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
        for (int i = 0; i != 10; ++i)
            EXPECT_TRUE(addresses.insert(resource.allocate(0, alignment)).second);
}

TYPED_TEST_P(resource_conformance, ignores_nullptr)
{
    TypeParam resource(&this->upstream_);
    for (int round = 0; round != 2; ++round) { // before and after the first allocation
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{40}, large_size})
            resource.deallocate(nullptr, bytes);
        resource.deallocate(nullptr, 8, std::size_t{1} << 20);
        EXPECT_EQ(resource.bytes_in_use(), 0u);
        give_back(resource, allocate_filled(resource, 40));
    }
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, is_equal_only_to_itself)
{
    const TypeParam resource(&this->upstream_);
    const TypeParam other(&this->upstream_);
    EXPECT_TRUE(resource.is_equal(resource));
    EXPECT_FALSE(resource.is_equal(other));
    EXPECT_FALSE(resource.is_equal(this->upstream_));
}

TYPED_TEST_P(resource_conformance, forwards_oversized_blocks_to_upstream)
{
    TypeParam resource(&this->upstream_);
    const filled_block small = allocate_filled(resource, 8);
    const std::size_t bytes_before = this->upstream_.live_bytes();
    const std::size_t in_use_before = resource.bytes_in_use();
    for (const std::size_t bytes : {large_size, std::size_t{5'000'000}}) {
        for (const std::size_t alignment : {1u, 16u, 1u << 16}) {
            const filled_block large = allocate_filled(resource, bytes, alignment);
            EXPECT_TRUE(large.is_aligned());
            EXPECT_EQ(resource.bytes_in_use(), in_use_before + bytes);
            EXPECT_GE(this->upstream_.live_bytes(), bytes_before + bytes);
            this->expect_in_order(resource);
            EXPECT_TRUE(give_back(resource, large));
            EXPECT_EQ(this->upstream_.live_bytes(), bytes_before);
        }
    }
    EXPECT_TRUE(give_back(resource, small));
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, accepts_frees_of_oversized_blocks_in_any_order)
{
    TypeParam resource(&this->upstream_);
    std::vector<filled_block> blocks;
    for (std::size_t i = 0; i != 20; ++i)
        blocks.push_back(allocate_filled(resource, large_size + i));
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(5));
    for (const filled_block& block : blocks) {
        EXPECT_TRUE(give_back(resource, block));
        this->expect_in_order(resource);
    }
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, release_frees_all_memory_and_keeps_it_usable)
{
    TypeParam resource(&this->upstream_);
    for (int round = 0; round != 3; ++round) {
        (void)this->some_of_each_kind(resource);
        resource.release();
        EXPECT_EQ(this->upstream_.live_bytes(), 0u);
        this->expect_empty(resource);
        EXPECT_TRUE(give_back_all(resource, this->some_of_each_kind(resource)));
    }
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, trim_returns_the_bytes_that_it_frees)
{
    TypeParam resource(&this->upstream_);
    EXPECT_EQ(resource.trim(), 0u);
    const filled_block kept = allocate_filled(resource, 24);
    std::vector<filled_block> blocks;
    for (std::size_t i = 0; i != 3000; ++i)
        blocks.push_back(allocate_filled(resource, 400));
    EXPECT_TRUE(give_back_all(resource, blocks));
    const std::size_t before = this->upstream_.live_bytes();
    const std::size_t trimmed = resource.trim();
    EXPECT_EQ(trimmed, before - this->upstream_.live_bytes());
    EXPECT_GE(trimmed, 3000u * 400 / 2);
    this->expect_in_order(resource);
    EXPECT_TRUE(kept.is_intact());
    EXPECT_TRUE(give_back_all(resource, this->some_of_each_kind(resource)));
    EXPECT_TRUE(give_back(resource, kept));
    this->expect_empty(resource);
}

TYPED_TEST_P(resource_conformance, destructor_frees_blocks_in_use)
{
    {
        TypeParam resource(&this->upstream_);
        (void)this->some_of_each_kind(resource);
        EXPECT_GT(this->upstream_.live_chunks(), 1u);
    }
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    EXPECT_EQ(this->upstream_.mismatched(), 0u);
}

TYPED_TEST_P(resource_conformance, is_unchanged_when_upstream_fails_at_any_call)
{
    for (std::size_t failing_call = 1;; ++failing_call) {
        accounting_upstream upstream;
        {
            TypeParam resource(&upstream);
            std::vector<filled_block> blocks;
            upstream.fail_from(failing_call);
            const auto allocate = [&](std::size_t bytes, std::size_t alignment) {
                const std::size_t before = resource.bytes_in_use();
                try {
                    blocks.push_back(allocate_filled(resource, bytes, alignment));
                } catch (const std::bad_alloc&) {
                    EXPECT_EQ(resource.bytes_in_use(), before);
                    EXPECT_EQ(resource.bytes_reserved(), upstream.live_bytes());
                    EXPECT_TRUE(resource.verify());
                    upstream.never_fail();
                    blocks.push_back(allocate_filled(resource, bytes, alignment)); // The second attempt succeeds.
                }
            };
            for (const std::size_t bytes : {8u, 3000u, 50'000u, 100'000u})
                for (const std::size_t alignment : {8u, 4096u, 65'536u})
                    for (int i = 0; i != 3; ++i)
                        allocate(bytes, alignment);
            EXPECT_TRUE(give_back_all(resource, blocks));
            EXPECT_EQ(resource.bytes_in_use(), 0u);
            EXPECT_TRUE(resource.verify());
        }
        EXPECT_EQ(upstream.live_chunks(), 0u);
        EXPECT_EQ(upstream.mismatched(), 0u);
        if (upstream.calls() < failing_call)
            return;
    }
}

TYPED_TEST_P(resource_conformance, rejects_unaddressable_sizes)
{
    TypeParam resource(&this->upstream_);
    const filled_block block = allocate_filled(resource, 40);
    const std::size_t in_use = resource.bytes_in_use();
    const std::size_t calls = this->upstream_.calls();
    constexpr std::size_t max = std::numeric_limits<std::size_t>::max();
    constexpr auto half = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    for (const std::size_t bytes : {max, max - 1, max - 7, max - 8, max - 40, max - 63, max - 64, max - 4096,
                                    max - 100'000, half + 2, half + 1, half}) {
        EXPECT_THROW((void)resource.allocate(bytes), memory_pool::size_overflow) << bytes;
        EXPECT_THROW((void)resource.allocate(bytes, 1), memory_pool::size_overflow) << bytes;
        EXPECT_THROW((void)resource.allocate(bytes, 4096), memory_pool::size_overflow) << bytes;
    }
    EXPECT_THROW((void)resource.allocate(8, half + 1), memory_pool::size_overflow);
    EXPECT_EQ(this->upstream_.calls(), calls) << "no call of upstream";
    EXPECT_EQ(resource.bytes_in_use(), in_use);
    EXPECT_TRUE(give_back(resource, block));
    this->expect_empty(resource);
}

/// A program with many strings, to compare the containers of std with the containers of std::pmr.
template <class Text, class Map, class Table, class List, class Vector, class Deque>
std::string result_of_a_program(Map words, Table lengths, List lines, Vector numbers, Deque queue)
{
    std::mt19937 random(11);
    List others(lines.get_allocator());
    for (unsigned i = 0; i != 1500; ++i) {
        const std::string letters(1 + random() % 40, static_cast<char>('a' + random() % 26));
        words[Text(letters.data(), letters.size(), words.get_allocator())] += "seen;";
        lengths[static_cast<int>(letters.size())] += i;
        numbers.push_back(static_cast<unsigned>(random() % 1000));
        (i % 2 == 0 ? lines : others).emplace_back(letters.data(), letters.size());
        queue.push_back(i);
        if (i % 3 == 0) {
            queue.pop_front();
            words.erase(words.begin());
        }
        if (i % 100 == 99)
            lines.splice(i % 200 == 99 ? lines.begin() : lines.end(), others);
        if (i % 500 == 499)
            numbers.shrink_to_fit();
    }
    lines.sort();
    std::string result;
    for (const auto& [word, seen] : words)
        result.append(word.data(), word.size()).append(seen.data(), seen.size());
    for (const auto& [length, sum] : std::map<int, unsigned>(lengths.begin(), lengths.end()))
        result += std::to_string(length) + ':' + std::to_string(sum);
    for (const auto& line : lines)
        result.append(line.data(), line.size());
    for (const unsigned number : numbers)
        result += std::to_string(number);
    for (const unsigned number : queue)
        result += std::to_string(number);
    return result;
}

TYPED_TEST_P(resource_conformance, serves_containers_like_the_global_heap)
{
    const std::string expected =
        result_of_a_program<std::string>(std::map<std::string, std::string>(), std::unordered_map<int, unsigned>(),
                                         std::list<std::string>(), std::vector<unsigned>(), std::deque<unsigned>());
    TypeParam resource(&this->upstream_);
    for (int round = 0; round != 2; ++round) {
        EXPECT_EQ(result_of_a_program<std::pmr::string>(
                      std::pmr::map<std::pmr::string, std::pmr::string>(&resource),
                      std::pmr::unordered_map<int, unsigned>(&resource), std::pmr::list<std::pmr::string>(&resource),
                      std::pmr::vector<unsigned>(&resource), std::pmr::deque<unsigned>(&resource)),
                  expected);
        this->expect_empty(resource);
    }
}

TYPED_TEST_P(resource_conformance, reuses_freed_memory_indefinitely)
{
    constexpr bool is_fast = !under_a_sanitizer && !TypeParam::policy::checks;
    constexpr std::size_t rounds = is_fast ? 1'000'000 : 30'000;
    TypeParam resource(&this->upstream_);
    std::vector<filled_block> blocks;
    for (std::size_t i = 0; i != 64; ++i)
        blocks.push_back(allocate_filled(resource, i));
    std::size_t max_at_first = 0;
    for (std::size_t round = 0; round != rounds; ++round) {
        filled_block& oldest = blocks[round % blocks.size()];
        ASSERT_TRUE(give_back(resource, oldest));
        oldest = allocate_filled(resource, round * 37 % 499, std::size_t{1} << round % 7);
        if (round < 10'000)
            max_at_first = std::max(max_at_first, this->upstream_.live_bytes());
    }
    EXPECT_LE(this->upstream_.live_bytes(), max_at_first);
    EXPECT_TRUE(give_back_all(resource, blocks));
    this->expect_empty(resource);
}

REGISTER_TYPED_TEST_SUITE_P(resource_conformance, cannot_be_copied_or_moved,
                            uses_the_default_resource_as_default_upstream, rejects_nullptr_as_upstream,
                            allocates_disjoint_blocks_of_every_size, supports_every_alignment,
                            allocates_distinct_blocks_of_zero_bytes, ignores_nullptr, is_equal_only_to_itself,
                            forwards_oversized_blocks_to_upstream, accepts_frees_of_oversized_blocks_in_any_order,
                            release_frees_all_memory_and_keeps_it_usable, trim_returns_the_bytes_that_it_frees,
                            destructor_frees_blocks_in_use, is_unchanged_when_upstream_fails_at_any_call,
                            rejects_unaddressable_sizes, serves_containers_like_the_global_heap,
                            reuses_freed_memory_indefinitely);
} // namespace test
