// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/mmap_blocks.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
TEST(mmap_blocks, are_zeroed_and_large_enough)
{
    np::mmap_blocks all;
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{100'000}}) {
        auto* const block = static_cast<unsigned char*>(all.take(bytes, 1));
        ASSERT_NE(block, nullptr);
        EXPECT_GE(all.bytes(block), bytes);
        for (std::size_t i = 0; i != all.bytes(block); ++i)
            ASSERT_EQ(block[i], 0);
        std::memset(block, 1, all.bytes(block));
        all.give(block);
        EXPECT_EQ(all.bytes(block), 0U);
    }
    EXPECT_EQ(all.count(), 0U);
}

TEST(mmap_blocks, are_aligned_as_requested)
{
    np::mmap_blocks all;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 24; alignment *= 2) {
        void* const block = all.take(10, alignment);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
        all.give(block);
    }
}

TEST(mmap_blocks, are_found_only_by_their_beginning)
{
    np::mmap_blocks all;
    EXPECT_EQ(all.bytes(&all), 0U);
    auto* const block = static_cast<std::byte*>(all.take(5000, 1));
    EXPECT_EQ(all.bytes(block), 8192U);
    EXPECT_EQ(all.bytes(block + 1), 0U);
    EXPECT_EQ(all.bytes(block + 4096), 0U);
    all.give(block);
}

TEST(mmap_blocks, are_among_the_ranges_that_may_be_resident)
{
    np::mmap_blocks all;
    void* const block = all.take(5000, 1);
    std::vector<std::pair<void*, std::size_t>> ranges;
    all.for_each_range([&ranges](void* memory, std::size_t bytes) { ranges.emplace_back(memory, bytes); });
    ASSERT_EQ(ranges.size(), 2U) << "the block, and the guarded slots";
    const std::size_t bytes = all.bytes(block);
    EXPECT_GE(bytes, 5000U);
    EXPECT_EQ(ranges[0], std::pair(block, bytes));
    EXPECT_EQ(all.fit(block, 10, 1, np::allocated_by::malloc), block) << "only blocks in slots move";
    EXPECT_EQ(all.bytes(block), bytes);
    all.give(block);
}

TEST(mmap_blocks, are_refused_if_too_large_or_out_of_memory)
{
    np::mmap_blocks all;
    EXPECT_EQ(all.take(~std::size_t{0}, 1), nullptr);
    EXPECT_EQ(all.take(1, std::size_t{1} << 63U), nullptr);
    {
        const test::system_calls calls;
        for (std::size_t call = 1; call <= 2; ++call) { // The call for the table, then the call for the block.
            calls.refuse_nothing();
            calls.refuse_from(test::system_call::map, call);
            EXPECT_EQ(all.take(1, 1), nullptr);
            calls.refuse_nothing();
            calls.refuse_from(test::system_call::protect, 1);
            EXPECT_EQ(all.take(1, 1), nullptr);
        }
    }
    EXPECT_EQ(all.count(), 0U);
    void* const block = all.take(1, 1);
    EXPECT_NE(block, nullptr);
    all.give(block);
}

TEST(mmap_blocks, match_a_model_under_random_operations)
{
    np::mmap_blocks all;
    std::mt19937 random(7); // NOLINT: every run is the same
    std::map<void*, std::size_t> model;
    for (int step = 0; step != 4000; ++step) {
        if (random() % 5 < 3 || model.empty()) {
            const std::size_t bytes = random() % 9000 + 1;
            void* const block = all.take(bytes, 1);
            ASSERT_NE(block, nullptr);
            ASSERT_TRUE(model.emplace(block, bytes).second);
        } else {
            const auto leaving = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
            all.give(leaving->first);
            model.erase(leaving);
        }
        if (step % 100 == 0) {
            for (const auto& [block, bytes] : model)
                ASSERT_GE(all.bytes(block), bytes);
        }
        ASSERT_EQ(all.count(), model.size());
    }
    std::size_t visited = 0;
    all.for_each([&](void* block, std::size_t) { visited += model.count(block); });
    EXPECT_EQ(visited, model.size());
    for (const auto& each : model)
        all.give(each.first);
    EXPECT_EQ(all.count(), 0U);
}
} // namespace
