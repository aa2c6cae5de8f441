// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/page_heap/run_source.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t region_bytes = std::size_t{256} << 20;
constexpr std::uint64_t any_age = std::numeric_limits<std::uint64_t>::max();

struct run_source : testing::Test
{
    np::run_source all;
    test::first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    ~run_source() override { all.stop(); }

    void start()
    {
        ASSERT_TRUE(all.start(region_bytes));
        all.decay.set_decay_ms(np::run_decay::never_ms);
    }
    np::run take(std::size_t slices) { return all.take_bytes(slices * np::slice_bytes, 1); }
    void fill(const np::run& taken) { std::memset(all.region.address(taken.first), 1, taken.length * np::slice_bytes); }
    bool give(const np::run& taken)
    {
        return all.give(taken.first, true, [&taken] { return taken.length; });
    }
    std::size_t in_use()
    {
        return all.with_runs([](const auto& runs) { return runs.in_use(); });
    }
};

TEST_F(run_source, retries_after_the_system_refused_addresses)
{
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        EXPECT_FALSE(all.start(region_bytes));
    }
    EXPECT_TRUE(all.start(region_bytes));
    const test::system_calls calls;
    EXPECT_TRUE(all.start(region_bytes));
    EXPECT_EQ(calls.made(test::system_call::map), 0U) << "the region exists";
}

TEST_F(run_source, takes_whole_slices_and_marks_them)
{
    start();
    np::run marked;
    const auto mark = [&marked](const np::run& taken) { marked = taken; };
    const np::run taken = all.take_bytes(np::slice_bytes + 1, 4 * np::slice_bytes, mark);
    EXPECT_EQ(taken.length, 2U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.region.address(taken.first)) % (4 * np::slice_bytes), 0U);
    EXPECT_EQ(marked.first, taken.first);
    EXPECT_EQ(all.take_bytes(0, 1).length, 1U);
    marked = {};
    EXPECT_EQ(all.take_bytes(std::numeric_limits<std::size_t>::max(), 1, mark).first, np::no_slice);
    EXPECT_EQ(all.take_bytes(2 * region_bytes, 1, mark).first, np::no_slice);
    EXPECT_EQ(marked.first, np::no_slice) << "no run to mark";
    EXPECT_EQ(in_use(), 3U);
}

TEST_F(run_source, ignores_a_run_without_an_owner)
{
    start();
    const np::run taken = take(3);
    EXPECT_FALSE(all.give(taken.first, true, [] { return 0U; }));
    EXPECT_EQ(in_use(), 3U);
    EXPECT_TRUE(give(taken));
    EXPECT_EQ(in_use(), 0U);
    EXPECT_EQ(all.dirty_slices(), 3U);
}

TEST_F(run_source, purges_all_free_runs_when_trimmed)
{
    start();
    const np::run free = take(4);
    fill(free);
    EXPECT_TRUE(give(free));
    EXPECT_EQ(all.trim(), 4 * np::slice_bytes);
    EXPECT_EQ(all.purged(), 4 * np::slice_bytes);
    EXPECT_EQ(all.dirty_slices(), 0U);
    const np::run again = take(4);
    EXPECT_EQ(again.first, free.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_EQ(*all.region.address(again.first), std::byte{0});
}

TEST_F(run_source, does_not_count_failed_purges)
{
    start();
    const np::run free = take(4);
    fill(free);
    EXPECT_TRUE(give(free));
    const test::system_calls calls;
    calls.refuse_from(test::system_call::advise, 1);
    EXPECT_EQ(all.trim(), 0U);
    EXPECT_EQ(all.purged(), 0U);
    EXPECT_EQ(all.dirty_slices(), 4U);
    EXPECT_FALSE(take(4).is_zeroed);
}

TEST_F(run_source, finishes_a_purge_of_a_lost_thread)
{
    start();
    const np::run free = take(4);
    fill(free);
    EXPECT_TRUE(give(free));
    EXPECT_EQ(all.with_runs([](auto& runs) { return runs.take_dirty_since(any_age).first; }), free.first);
    EXPECT_EQ(take(4).first, free.first + 4) << "the run is not free while it is purged";
    all.finish_purges();
    EXPECT_EQ(all.purged(), 4 * np::slice_bytes);
    EXPECT_EQ(take(4).first, free.first);
}
} // namespace
