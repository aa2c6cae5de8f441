// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every pool of blocks, for any policy and threading. Instantiate it for a pool type with
/// INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace test {
using memory_pool::pool_options;

template <class Pool>
class block_pool_conformance : public testing::Test
{
protected:
    static std::vector<void*> allocate(Pool& pool, std::size_t count)
    {
        std::vector<void*> blocks(count);
        for (void*& block : blocks)
            block = pool.allocate();
        return blocks;
    }

    static void deallocate(Pool& pool, const std::vector<void*>& blocks)
    {
        for (void* const block : blocks)
            pool.deallocate(block);
    }

    static bool are_different(std::vector<void*> blocks)
    {
        std::sort(blocks.begin(), blocks.end());
        return std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end();
    }

    static bool is_aligned(const void* block, std::size_t alignment)
    {
        return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
    }

    accounting_upstream upstream_;
};

TYPED_TEST_SUITE_P(block_pool_conformance);

TYPED_TEST_P(block_pool_conformance, allocates_disjoint_blocks_that_keep_their_contents)
{
    for (const std::size_t size : {1u, 7u, 8u, 24u, 100u, 1000u, 5000u}) {
        TypeParam pool(size, {}, &this->upstream_);
        EXPECT_EQ(pool.block_size(), size);
        std::vector<void*> blocks = this->allocate(pool, 1000);
        for (std::size_t i = 0; i != blocks.size(); ++i)
            std::memset(blocks[i], static_cast<int>(i % 251), size);
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            const auto* const bytes = static_cast<const unsigned char*>(blocks[i]);
            ASSERT_TRUE(std::all_of(bytes, bytes + size, [i](unsigned char byte) { return byte == i % 251; }));
        }
        EXPECT_TRUE(pool.verify());
        this->deallocate(pool, blocks);
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.verify());
    }
}

TYPED_TEST_P(block_pool_conformance, supports_every_alignment)
{
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        pool_options options;
        options.alignment = alignment;
        for (const std::size_t size : {std::size_t{1}, std::size_t{40}, alignment, 2 * alignment}) {
            TypeParam pool(size, options, &this->upstream_);
            EXPECT_GE(pool.alignment(), alignment);
            for (void* const block : this->allocate(pool, 20))
                ASSERT_TRUE(this->is_aligned(block, alignment)) << size << " bytes aligned to " << alignment;
        }
    }
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(block_pool_conformance, aligns_blocks_naturally_by_default)
{
    constexpr std::size_t max_align = alignof(std::max_align_t);
    const std::pair<std::size_t, std::size_t> natural[] = {{1, 8},          {8, 8},          {12, 8},
                                                           {16, max_align}, {24, 8},         {40, 8},
                                                           {48, max_align}, {64, max_align}, {4096, max_align}};
    for (const auto& [size, alignment] : natural) {
        pool_options options;
        options.initial_capacity = 10; // adjacent blocks
        TypeParam pool(size, options, &this->upstream_);
        EXPECT_EQ(pool.alignment(), alignment) << size;
        options.alignment = 16;
        TypeParam strict(size, options, &this->upstream_);
        EXPECT_EQ(strict.alignment(), 16u) << size;
        std::vector<void*> blocks = this->allocate(pool, 10);
        std::sort(blocks.begin(), blocks.end());
        const std::size_t stride =
            static_cast<std::size_t>(static_cast<char*>(blocks[9]) - static_cast<char*>(blocks[0])) / 9;
        if (!TypeParam::policy::checks) {
            EXPECT_EQ(stride, (size + alignment - 1) / alignment * alignment) << size;
        }
    }
}

TYPED_TEST_P(block_pool_conformance, allocates_blocks_larger_than_a_usual_slab)
{
    for (const std::size_t size : {std::size_t{70'000}, std::size_t{1} << 20, std::size_t{5} << 20}) {
        TypeParam pool(size, {}, &this->upstream_);
        const std::vector<void*> blocks = this->allocate(pool, 3);
        for (void* const block : blocks)
            static_cast<char*>(block)[size - 1] = 'x';
        this->deallocate(pool, blocks);
        EXPECT_TRUE(pool.verify());
    }
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(block_pool_conformance, allocates_exactly_max_capacity)
{
    for (const std::size_t limit : {1u, 2u, 63u, 64u, 65u, 1000u, 5000u}) {
        TypeParam pool(48, bounded_to(limit), &this->upstream_);
        EXPECT_TRUE(pool.is_bounded());
        EXPECT_EQ(pool.max_capacity(), limit);
        for (int round = 0; round != 3; ++round) {
            EXPECT_EQ(pool.available(), limit);
            std::vector<void*> blocks = this->allocate(pool, limit);
            EXPECT_EQ(pool.available(), 0u);
            EXPECT_EQ(pool.capacity(), limit);
            EXPECT_EQ(pool.try_allocate(), nullptr);
            EXPECT_THROW((void)pool.allocate(), memory_pool::pool_exhausted);
            EXPECT_EQ(pool.in_use(), limit);
            std::shuffle(blocks.begin(), blocks.end(), std::mt19937(limit));
            this->deallocate(pool, blocks);
            EXPECT_TRUE(pool.verify());
        }
    }
}

TYPED_TEST_P(block_pool_conformance, ignores_nullptr)
{
    TypeParam pool(32, {}, &this->upstream_);
    pool.deallocate(nullptr);
    const std::vector<void*> blocks = this->allocate(pool, 1000);
    for (void* const block : blocks) { // in order, so that every free path sees a nullptr
        pool.deallocate(nullptr);
        pool.deallocate(block);
    }
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
    void* const nulls[] = {nullptr, nullptr};
    pool.deallocate_bulk(nulls, 2);
    EXPECT_NE(pool.allocate(), nullptr);
    EXPECT_EQ(pool.in_use(), 1u);
}

TYPED_TEST_P(block_pool_conformance, loses_no_block_in_any_order_of_frees)
{
    TypeParam pool(32, {}, &this->upstream_);
    std::mt19937 random(7);
    for (const std::size_t count : {10u, 500u, 20'000u}) {
        for (int order = 0; order != 4; ++order) {
            std::vector<void*> blocks = this->allocate(pool, count);
            EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count);
            if (order == 1)
                std::reverse(blocks.begin(), blocks.end());
            if (order == 2)
                std::shuffle(blocks.begin(), blocks.end(), random);
            if (order == 3)
                std::sort(blocks.begin(), blocks.end());
            this->deallocate(pool, blocks);
            ASSERT_TRUE(pool.verify()) << count << " blocks, order " << order;
            ASSERT_EQ(pool.in_use(), 0u);
        }
    }
    EXPECT_LT(pool.capacity(), 50'000u) << "reuses freed blocks";
}

TYPED_TEST_P(block_pool_conformance, moves_blocks_in_bulk)
{
    TypeParam pool(48, bounded_to(100), &this->upstream_);
    std::vector<void*> blocks(101, nullptr);
    EXPECT_THROW((void)pool.allocate_bulk(blocks.data(), 101), memory_pool::pool_exhausted);
    EXPECT_EQ(pool.in_use(), 0u) << "all or nothing";
    EXPECT_EQ(pool.try_allocate_bulk(blocks.data(), 101), 100u) << "as many as available";
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.begin() + 100).size(), 100u);
    pool.deallocate_bulk(blocks.data(), 40);
    EXPECT_EQ(pool.in_use(), 60u);
    EXPECT_EQ(pool.allocate_bulk(blocks.data(), 40), 40u);
    EXPECT_EQ(pool.allocate_bulk(blocks.data(), 0), 0u);
    pool.deallocate_bulk(blocks.data(), 100);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, loses_no_block_in_any_mix_of_bulk_and_single_calls)
{
    TypeParam pool(24, bounded_to(3000), &this->upstream_);
    std::mt19937 random(1); // NOLINT(cert-msc51-cpp): a fixed seed for reproducibility
    std::vector<void*> in_use;
    std::vector<void*> some;
    for (int i = 0; i != 3000; ++i) {
        some.assign(random() % (i % 10 == 0 ? 1000 : 100), nullptr);
        switch (random() % 4) {
        case 0: some.resize(pool.try_allocate_bulk(some.data(), some.size())); break;
        case 1:
            if (some.size() > pool.max_capacity() - in_use.size()) {
                EXPECT_THROW((void)pool.allocate_bulk(some.data(), some.size()), memory_pool::pool_exhausted);
                some.clear();
            } else {
                EXPECT_EQ(pool.allocate_bulk(some.data(), some.size()), some.size());
            }
            break;
        case 2:
            some.clear();
            while (!in_use.empty() && random() % 8 != 0) {
                pool.deallocate(in_use.back());
                in_use.pop_back();
            }
            break;
        default:
            std::shuffle(in_use.begin(), in_use.end(), random);
            some.resize(std::min(some.size(), in_use.size()));
            std::copy_n(in_use.end() - static_cast<std::ptrdiff_t>(some.size()), some.size(), some.begin());
            in_use.resize(in_use.size() - some.size());
            some.insert(some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2), nullptr);
            pool.deallocate_bulk(some.data(), some.size());
            some.clear();
        }
        in_use.insert(in_use.end(), some.begin(), some.end());
        ASSERT_EQ(pool.in_use(), in_use.size());
    }
    EXPECT_TRUE(this->are_different(in_use));
    EXPECT_TRUE(pool.verify());
    this->deallocate(pool, in_use);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, reserves_the_requested_capacity)
{
    pool_options options;
    options.initial_capacity = 1000;
    options.max_capacity = 20'000;
    TypeParam pool(32, options, &this->upstream_);
    EXPECT_GE(pool.capacity(), 1000u);
    pool.reserve(20'000);
    EXPECT_EQ(pool.capacity(), 20'000u);
    EXPECT_THROW(pool.reserve(20'001), memory_pool::pool_exhausted);
    EXPECT_THROW(pool.reserve(std::numeric_limits<std::size_t>::max()), memory_pool::size_overflow);
    const std::size_t calls = this->upstream_.calls();
    pool.reserve(5);
    const std::vector<void*> blocks = this->allocate(pool, 20'000);
    EXPECT_LE(this->upstream_.calls(), calls + 1) << "upstream allocates a thread cache at most";
    this->deallocate(pool, blocks);
}

TYPED_TEST_P(block_pool_conformance, trims_all_free_slabs)
{
    TypeParam pool(64, {}, &this->upstream_);
    const std::vector<void*> blocks = this->allocate(pool, 10'000);
    const std::size_t before = pool.bytes_reserved();
    EXPECT_EQ(before, this->upstream_.live_bytes());
    EXPECT_EQ(pool.slab_count() > 1, true);
    this->deallocate(pool, std::vector<void*>(blocks.begin() + 1, blocks.end()));
    const std::size_t trimmed = pool.trim();
    EXPECT_GT(trimmed, before / 2);
    EXPECT_EQ(pool.bytes_reserved(), before - trimmed);
    EXPECT_EQ(this->upstream_.live_bytes(), before - trimmed);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_EQ(pool.slab_count(), 1u);
    EXPECT_TRUE(pool.owns(blocks[0]));
    EXPECT_TRUE(pool.verify());
    pool.deallocate(blocks[0]);
    pool.trim();
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.slab_count(), 0u);
    EXPECT_EQ(this->upstream_.live_bytes(), pool.bytes_reserved());
    EXPECT_EQ(pool.trim(), 0u);
    pool.deallocate(pool.allocate());
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, clear_keeps_and_release_frees_the_slabs)
{
    TypeParam pool(24, {}, &this->upstream_);
    (void)this->allocate(pool, 5000);
    const std::size_t capacity = pool.capacity();
    pool.clear();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.capacity(), capacity) << "clear keeps the slabs";
    EXPECT_TRUE(pool.verify());
    const std::vector<void*> again = this->allocate(pool, capacity);
    EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), capacity);
    pool.release();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.slab_count(), 0u);
    EXPECT_EQ(this->upstream_.live_bytes(), pool.bytes_reserved());
    EXPECT_TRUE(pool.verify());
    (void)this->allocate(pool, 10);
    EXPECT_EQ(pool.in_use(), 10u);
}

TYPED_TEST_P(block_pool_conformance, frees_all_memory_on_destruction)
{
    {
        TypeParam pool(24, {}, &this->upstream_);
        const std::vector<void*> blocks = this->allocate(pool, 5000);
        this->deallocate(pool, std::vector<void*>(blocks.begin(), blocks.begin() + 2000));
        EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    }
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    EXPECT_EQ(this->upstream_.mismatched(), 0u);
}

TYPED_TEST_P(block_pool_conformance, owns_its_blocks_and_nothing_else)
{
    TypeParam pool(40, {}, &this->upstream_);
    TypeParam other(40, {}, &this->upstream_);
    const std::vector<void*> blocks = this->allocate(pool, 1000);
    for (void* const block : blocks)
        ASSERT_TRUE(pool.owns(block));
    EXPECT_FALSE(pool.owns(static_cast<char*>(blocks[0]) + 8)) << "inside a block";
    EXPECT_FALSE(pool.owns(nullptr));
    EXPECT_FALSE(pool.owns(&pool));
    EXPECT_FALSE(pool.owns(reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max())));
    EXPECT_FALSE(pool.owns(other.allocate()));
    pool.deallocate(blocks[0]);
    EXPECT_TRUE(pool.owns(blocks[0])) << "the pool owns free blocks, too";
}

TYPED_TEST_P(block_pool_conformance, visits_every_block_in_use)
{
    TypeParam pool(32, {}, &this->upstream_);
    pool.for_each([](void*) { FAIL() << "nothing is in use"; });
    std::vector<void*> blocks = this->allocate(pool, 1000);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
    this->deallocate(pool, std::vector<void*>(blocks.begin() + 1000, blocks.end()));
    blocks.resize(1000);
    std::vector<void*> visited;
    pool.for_each([&](void* block) { visited.push_back(block); });
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(visited, blocks);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, allows_changes_during_for_each)
{
    TypeParam pool(32, {}, &this->upstream_);
    const std::vector<void*> blocks = this->allocate(pool, 2000);
    std::set<void*> freed;
    std::size_t visited = 0;
    pool.for_each([&](void* block) {
        ++visited;
        EXPECT_EQ(freed.count(block), 0u) << "visited after its free";
        pool.deallocate(block);
        freed.insert(block);
        void* const later = blocks[(visited * 7) % blocks.size()];
        if (freed.insert(later).second)
            pool.deallocate(later);
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(freed.size(), 2000u);
    EXPECT_TRUE(pool.verify());

    (void)this->allocate(pool, 100);
    std::size_t made = 0;
    pool.for_each([&](void*) {
        if (made++ < 5000)
            (void)pool.allocate(); // grows during the walk
    });
    EXPECT_TRUE(pool.verify());
    EXPECT_GT(pool.in_use(), 100u);
}

TYPED_TEST_P(block_pool_conformance, survives_a_throwing_visitor)
{
    TypeParam pool(32, {}, &this->upstream_);
    (void)this->allocate(pool, 100);
    EXPECT_THROW(pool.for_each([](void*) { throw std::runtime_error("enough"); }), std::runtime_error);
    EXPECT_EQ(pool.in_use(), 100u);
    EXPECT_TRUE(pool.verify());
    this->deallocate(pool, this->allocate(pool, 1000));
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, loses_no_block_when_upstream_fails_at_any_call)
{
    bool has_failed = true;
    for (std::size_t call = 1; has_failed; ++call) {
        has_failed = false;
        TypeParam pool(32, {}, &this->upstream_);
        this->upstream_.fail_from(call);
        std::vector<void*> blocks;
        while (blocks.size() != 20'000) {
            try {
                blocks.push_back(pool.allocate());
            } catch (const std::bad_alloc&) {
                has_failed = true;
                ASSERT_TRUE(pool.verify());
                ASSERT_EQ(pool.in_use(), blocks.size());
                this->upstream_.never_fail();
                blocks.push_back(pool.allocate()); // the next call works
            }
        }
        this->upstream_.never_fail();
        EXPECT_TRUE(this->are_different(blocks));
        EXPECT_EQ(pool.bytes_reserved(), this->upstream_.live_bytes());
        this->deallocate(pool, blocks);
        EXPECT_TRUE(pool.verify());
    }
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
}

TYPED_TEST_P(block_pool_conformance, reserve_and_trim_survive_upstream_failures_at_any_call)
{
    bool has_failed = true;
    for (std::size_t call = 1; has_failed; ++call) {
        has_failed = false;
        TypeParam pool(32, {}, &this->upstream_);
        const std::vector<void*> blocks = this->allocate(pool, 50);
        this->upstream_.fail_from(call);
        try {
            pool.reserve(30'000);
        } catch (const std::bad_alloc&) {
            has_failed = true;
            this->upstream_.never_fail();
            pool.reserve(30'000);
        }
        ASSERT_GE(pool.capacity(), 30'000u);
        ASSERT_TRUE(pool.verify());
        pool.trim();
        ASSERT_EQ(pool.in_use(), 50u);
        ASSERT_EQ(pool.bytes_reserved(), this->upstream_.live_bytes());
        this->deallocate(pool, blocks);
        ASSERT_TRUE(pool.verify());
        this->upstream_.never_fail();
    }
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
}

TYPED_TEST_P(block_pool_conformance, try_allocate_does_not_throw)
{
    TypeParam pool(32, {}, &this->upstream_);
    static_assert(noexcept(pool.try_allocate()) && noexcept(pool.deallocate(nullptr)) && noexcept(pool.trim()));
    this->upstream_.fail_always();
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), std::bad_alloc);
    EXPECT_TRUE(pool.verify());
    this->upstream_.never_fail();
    void* const first = pool.try_allocate();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_TRUE(pool.verify());
    pool.deallocate(first);
    ASSERT_NE(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_TRUE(pool.verify()) << "marks and counts cached blocks like other blocks";
}

TYPED_TEST_P(block_pool_conformance, rejects_invalid_options)
{
    const auto text_for = [&](std::size_t block_size, const pool_options& options) {
        return what_of<std::invalid_argument>([&] { TypeParam pool(block_size, options, &this->upstream_); });
    };
    EXPECT_TRUE(contains(text_for(0, {}), "block_size is 0"));
    for (const std::size_t alignment : {3u, 24u, 100u}) {
        pool_options options;
        options.alignment = alignment;
        options.name = "orders";
        const std::string text = text_for(32, options);
        EXPECT_TRUE(contains(text, "alignment is " + std::to_string(alignment))) << text;
        EXPECT_TRUE(contains(text, "'orders'")) << text;
    }
    EXPECT_TRUE(contains(text_for(32, bounded_to(0)), "max_capacity is 0"));
    pool_options options = bounded_to(10);
    options.initial_capacity = 11;
    EXPECT_TRUE(contains(text_for(32, options), "max_capacity is 10, below initial_capacity, which is 11"));
    EXPECT_THROW(TypeParam(32, {}, nullptr), std::invalid_argument);
    EXPECT_EQ(this->upstream_.calls(), 0u);
}

TYPED_TEST_P(block_pool_conformance, always_has_a_name)
{
    pool_options options;
    EXPECT_STREQ(TypeParam(32, options).name(), "unnamed");
    options.name = nullptr;
    EXPECT_STREQ(TypeParam(32, options).name(), "unnamed");
    options.name = "orders";
    EXPECT_STREQ(TypeParam(32, options).name(), "orders");
}

TYPED_TEST_P(block_pool_conformance, rejects_unaddressable_sizes)
{
    constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();
    for (const std::size_t size : {max_size, max_size - 15, max_size / 2 + 1, max_size / 2})
        EXPECT_THROW(TypeParam(size, {}, &this->upstream_), memory_pool::size_overflow) << size;
    pool_options options;
    options.initial_capacity = max_size / 32 + 1;
    const std::string text = what_of<std::bad_array_new_length>([&] { TypeParam pool(32, options, &this->upstream_); });
    EXPECT_TRUE(contains(text, std::to_string(options.initial_capacity))) << text;
    options.initial_capacity = std::size_t{1} << 50; // fits into std::size_t, but not into the address space
    EXPECT_THROW(TypeParam(32, options, &this->upstream_), memory_pool::size_overflow);
    options.initial_capacity = 0;
    options.alignment = std::size_t{1} << 63;
    EXPECT_THROW(TypeParam(32, options, &this->upstream_), memory_pool::size_overflow);
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
}

TYPED_TEST_P(block_pool_conformance, allocates_nothing_from_upstream_at_construction)
{
    TypeParam pool(32, {}, &this->upstream_);
    EXPECT_EQ(this->upstream_.calls(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_EQ(pool.slab_count(), 0u);
    EXPECT_EQ(pool.bytes_reserved(), 0u);
    EXPECT_FALSE(pool.is_bounded());
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST_P(block_pool_conformance, can_be_constructed_with_an_upstream_only)
{
    TypeParam pool(32, &this->upstream_);
    EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    EXPECT_EQ(pool.block_size(), 32u);
    EXPECT_FALSE(pool.is_bounded());
    accounting_upstream* const none = nullptr;
    EXPECT_THROW(TypeParam(32, none), std::invalid_argument);
    EXPECT_FALSE((std::is_constructible_v<TypeParam, accounting_upstream*>)) << "the block size is missing";
    EXPECT_FALSE((std::is_convertible_v<accounting_upstream*, TypeParam>));
}

TYPED_TEST_P(block_pool_conformance, calls_upstream_equally_often_for_any_initial_capacity)
{
    std::set<std::size_t> calls;
    for (const std::size_t capacity : {100u, 10'000u, 1'000'000u}) {
        const std::size_t before = this->upstream_.calls();
        pool_options options;
        options.initial_capacity = capacity;
        TypeParam pool(32, options, &this->upstream_);
        EXPECT_GE(pool.capacity(), capacity);
        calls.insert(this->upstream_.calls() - before);
    }
    EXPECT_EQ(calls.size(), 1u);
}

// AddressSanitizer detects free blocks with every policy.

TYPED_TEST_P(block_pool_conformance, reports_a_double_free_immediately)
{
    if (!TypeParam::policy::checks && MEMORY_POOL_ASAN == 0)
        GTEST_SKIP() << "detected later, if at all";
    for (const std::size_t size : {1u, 7u, 8u, 24u, 100u, 5000u}) {
        const error_recorder recorder;
        TypeParam pool(size, {}, &this->upstream_);
        TypeParam other(size, {}, &this->upstream_);
        const std::vector<void*> blocks = this->allocate(pool, 200);
        this->deallocate(pool, blocks);
        this->deallocate(pool, blocks);
        EXPECT_EQ(recorder.kinds(), kinds(200, memory_pool::error_kind::double_free)) << size;
        EXPECT_EQ(recorder.reports().back().address, blocks.back());
        other.deallocate(blocks[0]);
        EXPECT_EQ(recorder.kinds().back(), memory_pool::error_kind::foreign_pointer) << size;
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_EQ(other.in_use(), 0u);
        EXPECT_TRUE(pool.verify() && other.verify());
        std::vector<void*> again = this->allocate(pool, 200);
        EXPECT_TRUE(this->are_different(again));
        again.insert(again.end(), again.begin(), again.end());
        pool.deallocate_bulk(again.data(), again.size());
        EXPECT_EQ(recorder.reports().size(), 200u + 1 + 200);
        EXPECT_TRUE(pool.verify());
    }
}

TYPED_TEST_P(block_pool_conformance, accepts_a_block_poisoned_by_the_program)
{
    const error_recorder recorder;
    TypeParam pool(64, {}, &this->upstream_);
    std::vector<void*> blocks = this->allocate(pool, 200);
    for (int round = 0; round != 2; ++round) {
        for (void* const block : blocks)
            memory_pool::detail::base::forbid_access(block, 64);
        this->deallocate(pool, blocks);
        EXPECT_EQ(pool.in_use(), 0u);
        blocks = this->allocate(pool, 200);
        EXPECT_TRUE(this->are_different(blocks));
    }
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_TRUE(pool.verify());
}

REGISTER_TYPED_TEST_SUITE_P(block_pool_conformance, allocates_disjoint_blocks_that_keep_their_contents,
                            supports_every_alignment, aligns_blocks_naturally_by_default,
                            allocates_blocks_larger_than_a_usual_slab, allocates_exactly_max_capacity, ignores_nullptr,
                            loses_no_block_in_any_order_of_frees, moves_blocks_in_bulk,
                            loses_no_block_in_any_mix_of_bulk_and_single_calls, reserves_the_requested_capacity,
                            trims_all_free_slabs, clear_keeps_and_release_frees_the_slabs,
                            frees_all_memory_on_destruction, owns_its_blocks_and_nothing_else,
                            visits_every_block_in_use, allows_changes_during_for_each, survives_a_throwing_visitor,
                            loses_no_block_when_upstream_fails_at_any_call,
                            reserve_and_trim_survive_upstream_failures_at_any_call, try_allocate_does_not_throw,
                            rejects_invalid_options, always_has_a_name, rejects_unaddressable_sizes,
                            allocates_nothing_from_upstream_at_construction, can_be_constructed_with_an_upstream_only,
                            calls_upstream_equally_often_for_any_initial_capacity, reports_a_double_free_immediately,
                            accepts_a_block_poisoned_by_the_program);
} // namespace test
