// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: the contents of free memory and new blocks (NP_ZERO), and realloc that always moves
// (NP_REALLOC_MOVES).
#include <memory_pool/np_alloc.h>

#include <np_alloc/support/options.hpp>

#include <support/error_recorder.hpp>
#include <support/np_samples.hpp>
#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;

constexpr std::array<std::size_t, 13> sizes_of_all_kinds{1,    15,     16,      17,      40,        48,       129,
                                                         1000, 30'000, 100'001, 262'144, 1'048'576, 9'000'000};

unsigned char* some_block(std::size_t bytes)
{
    return static_cast<unsigned char*>(np_alloc(bytes));
}

bool are_zero(const unsigned char* from, const unsigned char* end)
{
    return std::all_of(from, end, [](unsigned char each) { return each == 0; });
}

/// Sets NP_ZERO during its lifetime, as the environment would.
struct zero_for_now
{
    explicit zero_for_now(std::size_t value) { (void)np::the_options.set(np_option_zero, value); }
    zero_for_now(const zero_for_now&) = delete;
    zero_for_now& operator=(const zero_for_now&) = delete;
    ~zero_for_now() { (void)np::the_options.set(np_option_zero, 0); }
};

/// Allocates, fills and frees blocks of that size.
void use_blocks(std::size_t bytes)
{
    std::array<unsigned char*, 8> blocks{};
    for (unsigned char*& each : blocks)
        each = static_cast<unsigned char*>(std::memset(np_alloc(bytes), 0x41, bytes));
    for (unsigned char* each : blocks)
        np_free(each);
}

/// Returns: whether the blocks from each function are zero.
bool are_new_blocks_zero()
{
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    np_heap* const heap = np_heap_create();
    bool is_right = true;
    for (const std::size_t bytes : sizes_of_all_kinds)
        for (int times = 0; times != 3; ++times) {
            use_blocks(bytes);
            for (void* const each : {np_alloc(bytes), np_aligned_alloc(64, bytes), np_calloc(1, bytes),
                                     np_heap_alloc(heap, bytes), np_alloc_at(bytes, "a.c", 1)}) {
                auto* const block = static_cast<unsigned char*>(each);
                is_right = is_right && are_zero(block, block + bytes);
                np_free(std::memset(block, 0x41, bytes));
            }
        }
    np_heap_destroy(heap);
    return is_right && np_verify() == 1;
}

TEST(checked_contents, of_new_blocks_are_zero_with_zero_alloc)
{
    const test::error_recorder recorder;
    const zero_for_now alloc(NP_ZERO_ALLOC);
    EXPECT_TRUE(are_new_blocks_zero());
    EXPECT_TRUE(recorder.reports().empty());
}

TEST(checked_contents, of_new_samples_are_zero_with_zero_alloc)
{
    const zero_for_now alloc(NP_ZERO_ALLOC);
    for (int times = 0; times != 600; ++times) {
        auto* const block = static_cast<unsigned char*>(test::sample(60));
        EXPECT_TRUE(are_zero(block, block + 60));
        np_free(std::memset(block, 0x41, 60));
    }
}

TEST(checked_contents, of_bytes_added_by_realloc_are_zero_with_zero_alloc)
{
    const test::error_recorder recorder;
    const zero_for_now alloc(NP_ZERO_ALLOC);
    for (const std::size_t bytes : sizes_of_all_kinds)
        for (const std::size_t more : {bytes + 1, bytes + bytes / 8 + 7, 2 * bytes, 5 * bytes}) {
            use_blocks(more);
            unsigned char* block = some_block(bytes);
            std::memset(block, 0x41, bytes);
            if (np_expand(block, bytes + bytes / 4) != nullptr) {
                EXPECT_TRUE(are_zero(block + bytes, block + bytes + bytes / 4)) << bytes;
                block = static_cast<unsigned char*>(np_realloc(block, bytes));
            }
            block = static_cast<unsigned char*>(np_realloc(block, more));
            EXPECT_TRUE(are_zero(block + bytes, block + more)) << bytes << " to " << more;
            EXPECT_EQ(block[bytes - 1], 0x41);
            std::memset(block, 0x41, more);
            block = static_cast<unsigned char*>(np_realloc(block, bytes + (more - bytes) / 2));
            block = static_cast<unsigned char*>(np_realloc(block, more));
            EXPECT_TRUE(are_zero(block + bytes + (more - bytes) / 2, block + more)) << "bytes that it had before";
            np_free(block);
        }
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_contents, of_new_blocks_are_zero_despite_a_write_after_free)
{
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    const test::option_for_now in_order(np_option_random_order, 0);
    const test::error_recorder recorder;
    const zero_for_now alloc(NP_ZERO_ALLOC);
    for (const std::size_t bytes : {40U, 1000U, 9000U}) {
        unsigned char* const block = some_block(bytes);
        np_free(block);
        std::memset(block, 0x41, bytes);
        ASSERT_EQ(some_block(bytes), block);
        EXPECT_TRUE(are_zero(block, block + bytes));
        np_free(block);
    }
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{error_kind::write_after_free, error_kind::write_after_free, error_kind::write_after_free}));
}

/// Runs in a child process, because the pattern cannot change after the first allocation.
void zero_free_memory()
{
    const test::error_recorder recorder;
    bool is_right = np_option_set_by_name("zero", "free,alloc") == 0;
    is_right = is_right && are_new_blocks_zero() && recorder.reports().empty();
    (void)np_option_set(np_option_quarantine_bytes, 0);
    (void)np_option_set(np_option_random_order, 0);
    (void)np_option_set(np_option_decay_ms, NP_DECAY_NEVER); // Purged memory is not verified.
    for (const std::size_t bytes : {16U, 40U, 1000U, 9000U, 100'001U, 1'048'576U}) {
        auto* const block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), 0x41, bytes));
        void* const next = np_alloc(bytes); // Keeps the slab, or the run, in use.
        np_free(block);
        is_right = is_right && are_zero(block, block + bytes);
        block[bytes / 2] = 1;
        is_right = is_right && np_verify() == 0;
        np_free(next);
        const std::size_t reports_before = recorder.reports().size();
        std::vector<void*> later;
        while (recorder.reports().size() == reports_before && later.size() != 1000)
            later.push_back(np_alloc(bytes));
        is_right = is_right && recorder.kinds().back() == error_kind::write_after_free;
        for (void* each : later)
            np_free(each);
        is_right = is_right && np_verify() == 1;
    }
    is_right = is_right && recorder.reports().size() == 6;
    is_right = is_right && np_option_set(np_option_zero, 0) == EBUSY && np_option_get(np_option_zero) == 3;
    std::exit(is_right ? 0 : 1); // NOLINT(concurrency-mt-unsafe): there is one thread
}

TEST(checked_contents_death_test, of_free_memory_are_zero_and_verified_with_zero_free)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(zero_free_memory(), testing::ExitedWithCode(0), "");
}

// NP_REALLOC_MOVES.

struct realloc_moves : testing::Test
{
    test::error_recorder recorder;

    ~realloc_moves() override { EXPECT_EQ(np_verify(), 1); }
};

TEST_F(realloc_moves, moves_every_block)
{
    const test::option_for_now moves(np_option_realloc_moves, 1);
    np_heap* const heap = np_heap_create();
    std::size_t reports = 0;
    for (const std::size_t bytes : sizes_of_all_kinds)
        for (const std::size_t new_bytes : {bytes, bytes + 1, 2 * bytes, bytes - bytes / 4}) {
            for (void* const each : {np_alloc(bytes), np_aligned_alloc(64, bytes), np_heap_alloc(heap, bytes)}) {
                std::memset(each, 0x41, bytes);
                auto* const moved = static_cast<unsigned char*>(np_realloc(each, new_bytes));
                ASSERT_NE(moved, nullptr);
                ASSERT_NE(moved, each) << bytes << " to " << new_bytes;
                EXPECT_EQ(np_usable_size(moved), new_bytes);
                EXPECT_TRUE(std::all_of(moved, moved + std::min(bytes, new_bytes),
                                        [](unsigned char byte) { return byte == 0x41; }));
                np_free(each);
                ASSERT_EQ(recorder.reports().size(), ++reports) << bytes << " to " << new_bytes;
                EXPECT_EQ(recorder.kinds().back(), error_kind::double_free);
                np_free(moved);
            }
        }
    np_heap_destroy(heap);
}

TEST_F(realloc_moves, is_off_by_default)
{
    for (const std::size_t bytes : {48U, 1000U, 100'001U}) {
        void* const block = np_alloc(bytes);
        EXPECT_EQ(np_realloc(block, bytes), block);
        np_free(block);
    }
}

TEST_F(realloc_moves, does_not_affect_np_expand)
{
    const test::option_for_now moves(np_option_realloc_moves, 1);
    void* const block = np_alloc(1000);
    EXPECT_EQ(np_expand(block, 990), block);
    np_free(block);
}
} // namespace
