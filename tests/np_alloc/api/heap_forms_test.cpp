// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The functions of heaps, except np_heap_alloc, np_heap_realloc and np_heap_free, which heaps_test.cpp tests.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {
using memory_pool::error_kind;

const volatile std::size_t largest = std::numeric_limits<std::size_t>::max(); // Compilers warn of constants.
constexpr std::array<std::size_t, 6> sizes{0, 1, 100, 5000, 40'000, 300'000};
constexpr std::array<std::size_t, 5> alignments{1, 16, 64, 4096, std::size_t{1} << 20};

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

bool holds(const void* block, std::size_t bytes, unsigned char value)
{
    const auto* const begin = static_cast<const unsigned char*>(block);
    return std::all_of(begin, begin + bytes, [value](unsigned char each) { return each == value; });
}

struct np_heap_forms : testing::Test
{
    np_heap* heap = np_heap_create();

    np_heap_forms() { EXPECT_NE(heap, nullptr); }
    ~np_heap_forms() override
    {
        np_heap_destroy(heap);
        EXPECT_EQ(np_verify(), 1);
    }
};

np_heap_statistics statistics_of(np_heap* heap)
{
    np_heap_statistics statistics;
    EXPECT_EQ(np_heap_get_statistics(heap, &statistics), 0);
    return statistics;
}

TEST_F(np_heap_forms, align_blocks)
{
    for (const std::size_t alignment : alignments)
        for (const std::size_t bytes : sizes) {
            void* const block = np_heap_aligned_alloc(heap, alignment, bytes);
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_aligned(block, alignment)) << alignment << ' ' << bytes;
            EXPECT_EQ(np_usable_size(block), np_aligned_good_size(alignment, bytes));
            EXPECT_EQ(np_heap_of(block), heap);
            std::memset(block, 0xFF, bytes);
            np_heap_free_aligned_sized(heap, block, alignment, bytes);
            void* const zeros = np_heap_aligned_calloc(heap, alignment, bytes, 1);
            ASSERT_NE(zeros, nullptr);
            EXPECT_TRUE(is_aligned(zeros, alignment));
            EXPECT_TRUE(holds(zeros, bytes, 0)) << alignment << ' ' << bytes;
            np_heap_free(heap, zeros);
        }
    EXPECT_EQ(statistics_of(heap).blocks_in_use, 0U);
}

TEST_F(np_heap_forms, zero_reused_memory)
{
    for (const std::size_t bytes : sizes) {
        void* const dirty = np_heap_alloc(heap, bytes);
        std::memset(dirty, 0xFF, bytes);
        np_heap_free_sized(heap, dirty, bytes);
        void* const zeros = np_heap_zalloc(heap, bytes);
        ASSERT_NE(zeros, nullptr);
        EXPECT_TRUE(holds(zeros, bytes, 0)) << bytes;
    }
}

TEST_F(np_heap_forms, keep_resized_blocks_aligned_and_in_the_heap)
{
    for (const std::size_t alignment : alignments)
        for (const std::size_t bytes : sizes)
            for (const std::size_t wanted : sizes) {
                void* block = std::memset(np_heap_alloc(heap, bytes), 0x5A, bytes);
                block = np_heap_aligned_realloc(heap, block, alignment, wanted);
                ASSERT_NE(block, nullptr);
                EXPECT_TRUE(is_aligned(block, alignment));
                EXPECT_TRUE(holds(block, std::min(bytes, wanted), 0x5A));
                EXPECT_EQ(np_heap_of(block), heap);
                block = np_aligned_realloc(block, alignment, bytes);
                EXPECT_EQ(np_heap_of(block), heap) << "np_aligned_realloc keeps the heap, too";
                np_heap_free(heap, block);
            }
    EXPECT_EQ(np_heap_of(np_heap_aligned_realloc(heap, nullptr, 64, 10)), heap);
    EXPECT_EQ(np_heap_of(np_heap_reallocarray(heap, nullptr, 5, 2)), heap);
}

TEST_F(np_heap_forms, copy_strings)
{
    char* const whole = np_heap_strdup(heap, "orders");
    char* const part = np_heap_strndup(heap, "orders", 3);
    EXPECT_STREQ(whole, "orders");
    EXPECT_STREQ(part, "ord");
    EXPECT_EQ(np_heap_of(whole), heap);
    EXPECT_EQ(np_heap_of(part), heap);
}

TEST_F(np_heap_forms, reject_invalid_alignments_and_impossible_sizes)
{
    void* const block = np_heap_alloc(heap, 10);
    const auto expect = [](int number, const void* result) {
        EXPECT_EQ(result, nullptr);
        EXPECT_EQ(errno, number);
        errno = 0;
    };
    for (const std::size_t none : {0U, 3U, 24U}) {
        errno = 0;
        expect(EINVAL, np_heap_aligned_alloc(heap, none, 10));
        expect(EINVAL, np_heap_aligned_calloc(heap, none, 10, 1));
        expect(EINVAL, np_heap_aligned_realloc(heap, block, none, 10));
    }
    expect(ENOMEM, np_heap_zalloc(heap, largest));
    expect(ENOMEM, np_heap_aligned_alloc(heap, 64, largest));
    expect(ENOMEM, np_heap_aligned_calloc(heap, 64, largest / 2, 4));
    expect(ENOMEM, np_heap_aligned_realloc(heap, block, 64, largest));
    expect(ENOMEM, np_heap_reallocarray(heap, block, largest / 2, 4));
    EXPECT_EQ(np_heap_of(block), heap);
}

TEST_F(np_heap_forms, report_invalid_heaps_and_foreign_blocks)
{
    np_heap* const destroyed = np_heap_create();
    np_heap_destroy(destroyed);
    void* const other = np_alloc(100);
    const test::error_recorder recorder;
    std::size_t expected = 0;
    for (np_heap* const none : {destroyed, static_cast<np_heap*>(nullptr)}) {
        errno = 0;
        EXPECT_EQ(np_heap_zalloc(none, 10), nullptr);
        EXPECT_EQ(errno, EINVAL);
        EXPECT_EQ(np_heap_aligned_alloc(none, 64, 10), nullptr);
        EXPECT_EQ(np_heap_aligned_calloc(none, 64, 10, 1), nullptr);
        EXPECT_EQ(np_heap_aligned_realloc(none, other, 64, 10), nullptr);
        EXPECT_EQ(np_heap_reallocarray(none, other, 10, 1), nullptr);
        EXPECT_EQ(np_heap_strdup(none, "text"), nullptr);
        EXPECT_EQ(np_heap_strndup(none, "text", 1), nullptr);
        np_heap_free_sized(none, other, 100);
        np_heap_free_aligned_sized(none, other, 64, 100);
        np_heap_statistics statistics;
        std::memset(&statistics, 0xFF, sizeof statistics);
        EXPECT_EQ(np_heap_get_statistics(none, &statistics), EINVAL);
        EXPECT_TRUE(holds(&statistics, sizeof statistics, 0));
        np_heap_clear(none);
        expected += 11;
        EXPECT_EQ(recorder.kinds(), test::kinds(expected, error_kind::foreign_pointer));
    }
    errno = 0;
    EXPECT_EQ(np_heap_aligned_realloc(heap, other, 64, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    np_heap_free_sized(heap, other, 100);
    EXPECT_EQ(recorder.kinds(), test::kinds(expected + 2, error_kind::foreign_pointer));
    np_free(other);
    EXPECT_EQ(recorder.kinds().size(), expected + 2) << "the block was still in use";
}

TEST_F(np_heap_forms, find_the_heap_of_a_block)
{
    np_heap* const second = np_heap_create();
    for (const std::size_t bytes : sizes) {
        EXPECT_EQ(np_heap_of(np_heap_alloc(heap, bytes)), heap);
        EXPECT_EQ(np_heap_of(np_heap_alloc(second, bytes)), second);
        void* const of_none = np_alloc(bytes);
        void* const traced = np_alloc_at(bytes, "a.c", 1);
        EXPECT_EQ(np_heap_of(of_none), nullptr);
        EXPECT_EQ(np_heap_of(traced), nullptr);
        np_free(of_none);
        np_free(traced);
    }
    np_heap_destroy(second);
    EXPECT_EQ(np_heap_of(nullptr), nullptr);
    auto* const large = static_cast<std::byte*>(np_heap_alloc(heap, 100'000));
    int local = 0;
    const test::error_recorder recorder;
    EXPECT_EQ(np_heap_of(large + 16), nullptr);
    EXPECT_EQ(np_heap_of(&local), nullptr);
    np_heap_free(heap, large);
    EXPECT_EQ(np_heap_of(large), nullptr);
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{error_kind::misaligned_pointer, error_kind::foreign_pointer, error_kind::double_free}));
}

TEST_F(np_heap_forms, clear_a_heap_for_further_use)
{
    for (int round = 0; round != 3; ++round) {
        std::vector<void*> blocks;
        for (int i = 0; i != 200; ++i)
            for (const std::size_t bytes : sizes)
                blocks.push_back(np_heap_alloc(heap, bytes)); // NOLINT(performance-inefficient-vector-operation)
        ASSERT_TRUE(std::none_of(blocks.begin(), blocks.end(), [](const void* each) { return each == nullptr; }));
        EXPECT_EQ(statistics_of(heap).blocks_in_use, blocks.size());
        errno = 7;
        np_heap_clear(heap);
        EXPECT_EQ(errno, 7);
        EXPECT_TRUE(std::none_of(blocks.begin(), blocks.end(), np_owns));
        const np_heap_statistics empty = statistics_of(heap);
        EXPECT_TRUE(holds(&empty, sizeof empty, 0));
        EXPECT_EQ(np_verify(), 1);
    }
}

TEST_F(np_heap_forms, clear_a_heap_handed_over_by_another_thread)
{
    test::in_a_thread([this] { EXPECT_NE(np_heap_alloc(heap, 100), nullptr); });
    test::in_a_thread([this] { np_heap_clear(heap); });
    EXPECT_EQ(statistics_of(heap).blocks_in_use, 0U);
    EXPECT_NE(np_heap_alloc(heap, 100), nullptr);
}

TEST_F(np_heap_forms, count_blocks_and_bytes)
{
    np_heap* const other = np_heap_create();
    ASSERT_NE(np_heap_alloc(other, 300'000), nullptr);
    for (int i = 0; i != 10; ++i)
        ASSERT_NE(np_heap_alloc(heap, 100), nullptr);
    void* const large = np_heap_alloc(heap, 300'000);
    const np_heap_statistics both = statistics_of(heap);
    EXPECT_EQ(both.blocks_in_use, 11U);
    EXPECT_EQ(both.large_blocks, 1U);
    EXPECT_EQ(both.slabs, 1U);
    EXPECT_EQ(both.bytes_large, test::counted_bytes(300'000));
    EXPECT_EQ(both.bytes_in_use, 10 * test::counted_bytes(100) + test::counted_bytes(300'000));
    EXPECT_EQ(both.bytes_reserved, both.bytes_large + 65'536);
    np_heap_free(heap, large);
    const np_heap_statistics small = statistics_of(heap);
    EXPECT_EQ(small.large_blocks, 0U);
    EXPECT_EQ(small.bytes_in_use, 10 * test::counted_bytes(100));
    np_heap_destroy(other);
}

TEST_F(np_heap_forms, fill_a_smaller_or_larger_statistics_struct)
{
    ASSERT_NE(np_heap_alloc(heap, 100), nullptr);
    struct newer
    {
        np_heap_statistics known;
        std::size_t unknown;
        std::size_t behind;
    } larger{};
    larger.unknown = larger.behind = 7;
    EXPECT_EQ(np_heap_get_statistics_sized(heap, &larger.known, offsetof(newer, behind)), 0);
    EXPECT_EQ(larger.known.slabs, 1U);
    EXPECT_EQ(larger.unknown, 0U);
    EXPECT_EQ(larger.behind, 7U);
    np_heap_statistics older{};
    older.bytes_in_use = 7;
    EXPECT_EQ(np_heap_get_statistics_sized(heap, &older, offsetof(np_heap_statistics, bytes_in_use)), 0);
    EXPECT_EQ(older.blocks_in_use, 1U);
    EXPECT_EQ(older.bytes_in_use, 7U);
}
} // namespace
