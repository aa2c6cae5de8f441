// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: statistics of memory with guards, and purged slabs.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <np_alloc/support/options.hpp>

#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/resident_memory.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;

np_statistics now()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics;
}

TEST(checked_memory, does_not_count_guards)
{
    const test::option_for_now stays(np_option_decay_ms, 60'000);
    (void)np_trim();
    const np_statistics before = now();
    std::vector<void*> blocks(2'000);
    for (void*& each : blocks)
        each = np_alloc(50'000);
    const np_statistics allocated = now();
    const std::size_t in_use = allocated.bytes_in_use - before.bytes_in_use;
    EXPECT_GE(in_use, 2'000U * 50'000U);
    EXPECT_LE(allocated.bytes_of_metadata - before.bytes_of_metadata, in_use / 4);
    EXPECT_LE(allocated.bytes_committed - before.bytes_committed, in_use + in_use / 4);
    std::for_each(blocks.begin(), blocks.end(), np_free);
    const np_statistics freed = now();
    EXPECT_EQ(freed.bytes_in_use, before.bytes_in_use);
    EXPECT_LE(freed.bytes_dirty - before.bytes_dirty, in_use);
    EXPECT_LE(freed.bytes_committed, allocated.bytes_committed);
    (void)np_trim();
    EXPECT_EQ(now().bytes_dirty, 0U);
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_memory, stays_consistent_if_guards_cannot_be_removed)
{
    std::vector<void*> large(60);
    for (void*& each : large)
        each = np_alloc(200'000);
    std::for_each(large.begin(), large.end(), np_free); // The free runs keep their guards.
    std::vector<void*> small;
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::protect, 1);
        for (std::size_t bytes = 16; bytes < 30'000; bytes *= 2)
            for (int i = 0; i != 3; ++i)
                small.push_back(np_alloc(bytes));
    }
    std::for_each(small.begin(), small.end(), np_free);
    EXPECT_EQ(np_verify(), 1);
}

// Purged pages in slabs. The free blocks in these pages hold zeros, and are still verified.

struct purged_slabs : testing::Test
{
    static constexpr std::size_t block_bytes = 1000;

    void SetUp() override
    {
        for (unsigned char*& each : blocks)
            each = static_cast<unsigned char*>(std::memset(np_alloc(block_bytes), 1, block_bytes));
        for (std::size_t i = 0; i != blocks.size(); ++i)
            if (!is_kept(i))
                np_free(blocks[i]);
    }

    void TearDown() override
    {
        for (std::size_t i = 0; i != blocks.size(); ++i)
            if (is_kept(i))
                np_free(blocks[i]);
    }

    static bool is_kept(std::size_t i) { return i % 16 == 0; }

    /// Returns: all blocks that were free, and a few new ones.
    std::vector<void*> take_all() const
    {
        std::vector<void*> all(blocks.size());
        for (void*& each : all)
            each = std::memset(np_alloc(block_bytes), 2, block_bytes);
        return all;
    }

    void use_all_again() const
    {
        const std::vector<void*> all = take_all();
        std::for_each(all.begin(), all.end(), np_free);
    }

    const test::immediate_reuse in_order;
    const test::error_recorder recorder;
    std::vector<unsigned char*> blocks{std::vector<unsigned char*>(8000)};
};

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
TEST_F(purged_slabs, are_not_resident)
{
    const std::size_t before = test::resident_bytes();
    (void)np_trim();
    EXPECT_LT(test::resident_bytes(), before - blocks.size() * block_bytes / 2);
}
#endif

TEST_F(purged_slabs, are_consistent_and_reusable)
{
    (void)np_trim();
    EXPECT_EQ(np_verify(), 1);
    use_all_again();
    EXPECT_EQ(np_verify(), 1);
    EXPECT_EQ(recorder.kinds(), std::vector<error_kind>());
}

TEST_F(purged_slabs, cause_no_reports_for_their_neighbors)
{
    (void)np_trim();
    for (std::size_t i = 0; i != blocks.size(); i += 16)
        np_free(std::exchange(blocks[i], nullptr));
    EXPECT_EQ(recorder.kinds(), std::vector<error_kind>());
}

TEST_F(purged_slabs, report_an_underflow_of_a_neighbor_once)
{
    (void)np_trim();
    blocks[16][-1] ^= 7U;
    np_free(std::exchange(blocks[16], nullptr));
    use_all_again();
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::buffer_underflow));
}

TEST_F(purged_slabs, report_writes_before_and_after_the_purge)
{
    for (std::size_t i = 1; i < blocks.size(); i += 1600)
        blocks[i][500] = 7;
    (void)np_trim();
    for (std::size_t i = 8; i < blocks.size(); i += 1600)
        blocks[i][500] = 7;
    EXPECT_EQ(np_verify(), 0);
    use_all_again();
    EXPECT_EQ(recorder.kinds(), test::kinds(10, error_kind::write_after_free));
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(purged_slabs, are_not_verified_if_poison_is_off)
{
    (void)np::the_options.set(np_option_poison, 0);
    (void)np_trim();
    blocks[1][500] = 7;
    const std::vector<void*> all = take_all();
    (void)np::the_options.set(np_option_poison, 1);
    std::for_each(all.begin(), all.end(), np_free);
    EXPECT_EQ(recorder.kinds(), std::vector<error_kind>());
}

TEST_F(purged_slabs, report_a_double_free)
{
    (void)np_trim();
    np_free(blocks[1]);
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::double_free));
}

TEST_F(purged_slabs, hold_zeros_if_the_system_refuses_to_purge)
{
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::advise, 1);
        (void)np_trim();
    }
    EXPECT_EQ(np_verify(), 1);
    use_all_again();
    EXPECT_EQ(recorder.kinds(), std::vector<error_kind>());
}
} // namespace
