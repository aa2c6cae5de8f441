// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: what it says about its memory is what it has.
#include <memory_pool/np_alloc.h>

#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace {
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
    const np_statistics with_them = now();
    const std::size_t in_use = with_them.bytes_in_use - before.bytes_in_use;
    EXPECT_GE(in_use, 2'000U * 50'000U);
    EXPECT_LE(with_them.bytes_of_metadata - before.bytes_of_metadata, in_use / 4);
    EXPECT_LE(with_them.bytes_committed - before.bytes_committed, in_use + in_use / 4);
    std::for_each(blocks.begin(), blocks.end(), np_free);
    const np_statistics freed = now();
    EXPECT_EQ(freed.bytes_in_use, before.bytes_in_use);
    EXPECT_LE(freed.bytes_dirty - before.bytes_dirty, in_use);
    EXPECT_LE(freed.bytes_committed, with_them.bytes_committed);
    (void)np_trim();
    EXPECT_EQ(now().bytes_dirty, 0U);
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_memory, is_refused_where_guards_of_free_runs_cannot_be_removed)
{
    std::vector<void*> large(60);
    for (void*& each : large)
        each = np_alloc(200'000);
    std::for_each(large.begin(), large.end(), np_free); // Their runs keep guards.
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
} // namespace
