// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The forms of allocation that malloc does not have.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>

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
constexpr std::array<std::size_t, 4> no_alignments{0, 3, 24, 4097};

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

bool holds(const void* block, std::size_t bytes, unsigned char value)
{
    const auto* const begin = static_cast<const unsigned char*>(block);
    return std::all_of(begin, begin + bytes, [value](unsigned char each) { return each == value; });
}

/// Leaves free memory for a block of that size, with bytes that are not zero.
void leave_dirt(std::size_t alignment, std::size_t bytes)
{
    std::array<void*, 4> blocks{};
    for (void*& block : blocks)
        block = std::memset(np_aligned_alloc(alignment, bytes), 0xFF, bytes);
    std::for_each(blocks.begin(), blocks.end(), np_free);
}

TEST(np_version, matches_the_header)
{
    EXPECT_EQ(np_version(), NP_ALLOC_VERSION);
}

TEST(np_zalloc, zeroes_reused_memory)
{
    for (const std::size_t bytes : sizes) {
        leave_dirt(16, bytes);
        void* const block = np_zalloc(bytes);
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(holds(block, bytes, 0)) << bytes;
        np_free_sized(block, bytes);
    }
    errno = 0;
    EXPECT_EQ(np_zalloc(largest), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(np_aligned_calloc, returns_aligned_zeroed_blocks)
{
    for (const std::size_t alignment : alignments)
        for (const std::size_t bytes : sizes) {
            leave_dirt(alignment, bytes);
            void* const block = np_aligned_calloc(alignment, 1, bytes);
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_aligned(block, alignment));
            EXPECT_TRUE(holds(block, bytes, 0)) << bytes << ' ' << alignment;
            EXPECT_GE(np_usable_size(block), bytes);
            np_free_aligned_sized(block, alignment, bytes);
        }
}

TEST(np_aligned_calloc, rejects_invalid_alignments_and_impossible_sizes)
{
    for (const std::size_t none : no_alignments) {
        errno = 0;
        EXPECT_EQ(np_aligned_calloc(none, 1, 10), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    errno = 0;
    EXPECT_EQ(np_aligned_calloc(64, largest / 2, 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np_aligned_calloc((largest >> 1) + 1, 1, 1), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(np_aligned_realloc, keeps_the_contents_and_aligns_the_block)
{
    for (const std::size_t before : {std::size_t{1}, std::size_t{16}, std::size_t{4096}})
        for (const std::size_t alignment : alignments)
            for (const std::size_t bytes : sizes)
                for (const std::size_t wanted : sizes) {
                    void* block = std::memset(np_aligned_alloc(before, bytes), 0x5A, bytes);
                    block = np_aligned_realloc(block, alignment, wanted);
                    ASSERT_NE(block, nullptr);
                    ASSERT_TRUE(is_aligned(block, alignment)) << alignment;
                    ASSERT_TRUE(holds(block, std::min(bytes, wanted), 0x5A)) << bytes << ' ' << wanted;
                    ASSERT_GE(np_usable_size(block), wanted);
                    np_free_aligned_sized(block, alignment, wanted);
                }
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_aligned_realloc, moves_a_misaligned_block_that_has_room)
{
    constexpr std::size_t alignment = std::size_t{1} << 22;
    void* const first = np_alloc(100'000);
    void* const second = np_alloc(100'000);
    const bool is_first_aligned = is_aligned(first, alignment); // Then the adjacent block is not aligned.
    void* const block = is_first_aligned ? second : first;
    np_free(is_first_aligned ? first : second);
    std::memset(block, 7, 100'000);
    void* const moved = np_aligned_realloc(block, alignment, 100'000);
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(is_aligned(moved, alignment));
    EXPECT_TRUE(holds(moved, 100'000, 7));
    np_free(moved);
}

TEST(np_aligned_realloc, allocates_for_NULL_and_keeps_the_block_on_failure)
{
    void* const block = np_aligned_realloc(nullptr, 256, 100);
    ASSERT_TRUE(block != nullptr && is_aligned(block, 256));
    std::memset(block, 7, 100);
    for (const std::size_t none : no_alignments) {
        errno = 0;
        EXPECT_EQ(np_aligned_realloc(block, none, 200), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    errno = 0;
    EXPECT_EQ(np_aligned_realloc(block, 256, largest / 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np_aligned_realloc(block, (largest >> 1) + 1, 10), nullptr) << "the old block is not aligned to that";
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_TRUE(holds(block, 100, 7));
    np_free(block);
}

TEST(np_realloc, returns_an_empty_block_for_0_bytes)
{
    for (const std::size_t bytes : sizes) {
        void* const old = np_alloc(bytes);
        void* const empty = np_realloc(old, 0);
        ASSERT_NE(empty, nullptr) << bytes;
        void* const other = np_alloc(0);
        EXPECT_NE(empty, other);
        EXPECT_EQ(np_usable_size(empty), np_good_size(0));
        np_free(other);
        np_free_sized(empty, 0);
    }
    void* const from_null = np_realloc(nullptr, 0);
    EXPECT_NE(from_null, nullptr);
    np_free(from_null);
}

TEST(np_expand, grows_a_block_in_place_or_leaves_it_unchanged)
{
    for (const std::size_t bytes : sizes) {
        void* const block = std::memset(np_alloc(bytes), 7, bytes);
        const std::size_t room = np_usable_size(block);
        EXPECT_EQ(np_expand(block, 0), block);
        EXPECT_EQ(np_expand(block, room), block);
        EXPECT_EQ(np_usable_size(block), room) << "np_expand never shrinks a block";
        errno = 0;
        EXPECT_EQ(np_expand(block, largest / 2), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        for (std::size_t wanted = room; wanted < 2 * room + 100; wanted += room / 3 + 16) {
            void* const expanded = np_expand(block, wanted);
            if (expanded == nullptr)
                break;
            EXPECT_EQ(expanded, block);
            EXPECT_GE(np_usable_size(expanded), wanted);
            std::memset(expanded, 7, wanted);
        }
        EXPECT_TRUE(holds(block, bytes, 7));
        np_free(block);
    }
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_expand, grows_a_large_block_into_free_memory_behind_it)
{
    (void)np_trim();
    void* const block = np_alloc(1'000'000);
    void* const expanded = np_expand(block, 1'200'000);
    ASSERT_EQ(expanded, block);
    EXPECT_GE(np_usable_size(expanded), 1'200'000U);
    std::memset(expanded, 7, 1'200'000);
    np_free_sized(expanded, 1'200'000);
}

TEST(np_expand, reports_invalid_pointers)
{
    auto* const block = static_cast<std::byte*>(np_alloc(100'000));
    int local = 0;
    const test::error_recorder recorder;
    errno = 0;
    EXPECT_EQ(np_expand(nullptr, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(recorder.reports().size(), 0U);
    errno = 0;
    EXPECT_EQ(np_expand(block + 16, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(np_expand(&local, 10), nullptr);
    np_free(block);
    EXPECT_EQ(np_expand(block, 10), nullptr);
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{error_kind::misaligned_pointer, error_kind::foreign_pointer, error_kind::double_free}));
}

TEST(np_expand, updates_the_bytes_of_the_call_site)
{
    void* const block = np_alloc_at(1'000'000, "expand.c", 1);
    ASSERT_EQ(np_expand(block, 1'200'000), block);
    std::size_t bytes = 0;
    (void)np_call_site_visit(
        [](const np_call_site* site, void* found) {
            if (std::string("expand.c") == site->file)
                *static_cast<std::size_t*>(found) = site->bytes;
            return 1;
        },
        &bytes);
    EXPECT_EQ(bytes, 1'200'000U);
    np_free(block);
}

TEST(np_strdup, copies_strings)
{
    for (const std::size_t length : sizes) {
        const std::string text(length, 'x');
        char* const whole = np_strdup(text.c_str());
        EXPECT_EQ(whole, text);
        EXPECT_GE(np_usable_size(whole), length + 1);
        np_free_sized(whole, length + 1);
        for (const std::size_t limit : {std::size_t{0}, length / 2, length, length + 1, std::size_t{largest}}) {
            char* const part = np_strndup(text.c_str(), limit);
            EXPECT_EQ(part, text.substr(0, limit));
            np_free_sized(part, std::min(length, limit) + 1);
        }
    }
    const std::array<char, 3> without_end{'a', 'b', 'c'};
    char* const copy = np_strndup(without_end.data(), without_end.size());
    EXPECT_STREQ(copy, "abc");
    np_free(copy);
}

TEST(np_aligned_good_size, equals_the_usable_size_of_the_block)
{
    for (const std::size_t alignment : alignments)
        for (const std::size_t bytes : sizes) {
            void* const block = np_aligned_alloc(alignment, bytes);
            EXPECT_EQ(np_usable_size(block), np_aligned_good_size(alignment, bytes)) << alignment << ' ' << bytes;
            np_free(block);
        }
    for (const std::size_t none : no_alignments) {
        errno = 0;
        EXPECT_EQ(np_aligned_good_size(none, 10), 0U);
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST(np_owns, does_not_imply_that_a_block_is_in_use)
{
    void* const small = np_alloc(100);
    void* const neighbour = np_alloc(100);
    void* const large = np_alloc(300'000);
    const test::option_for_now never(np_option_decay_ms, NP_DECAY_NEVER);
    np_free(small);
    np_free(large);
    EXPECT_EQ(np_owns(small), 1) << "its slab has another block in use";
    EXPECT_EQ(np_owns(large), 0);
    np_free(neighbour);
}
} // namespace
