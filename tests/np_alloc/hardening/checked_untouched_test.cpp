// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: runs of many GiB that the program does not touch. A page holds the records of a few slices, so
// page faults reveal whether the library reads the records one by one.
#include <memory_pool/np_alloc.h>

#include <support/resident_memory.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
namespace {
constexpr std::size_t gibibyte = std::size_t{1} << 30;
constexpr std::size_t slice_bytes = std::size_t{64} << 10;

TEST(checked_untouched_runs, cause_no_fault_per_slice_of_a_block)
{
    constexpr std::size_t bytes = 2 * gibibyte;
    const std::size_t before = test::page_faults();
    void* const block = np_alloc(bytes);
    ASSERT_NE(block, nullptr);
    np_free(block);
    (void)np_trim();
    EXPECT_LT(test::page_faults() - before, bytes / slice_bytes / 16);
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_untouched_runs, cause_no_fault_per_slice_between_aligned_blocks)
{
    // A freed aligned block merges with the unused addresses before it, which are up to eight times as long as the
    // unused addresses behind it.
    constexpr std::array<std::size_t, 4> alignments{gibibyte / 32, gibibyte / 4, 2 * gibibyte, 16 * gibibyte};
    std::array<void*, alignments.size()> blocks{};
    const std::size_t before = test::page_faults();
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        blocks[i] = np_aligned_alloc(alignments[i], std::size_t{4} << 20);
        ASSERT_NE(blocks[i], nullptr);
    }
    for (void* each : blocks)
        np_free(each);
    (void)np_trim();
    EXPECT_EQ(np_verify(), 1);
    const std::size_t slices_of_blocks = blocks.size() * ((std::size_t{4} << 20) / slice_bytes + 1);
    const std::size_t pages_of_blocks = blocks.size() * ((std::size_t{4} << 20) / 4096);
    EXPECT_LT(test::page_faults() - before, pages_of_blocks + 4 * slices_of_blocks + 2'000);
}
} // namespace
#endif
