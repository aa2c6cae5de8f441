// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/region.hpp>

#include <np_alloc/slices/reservation_cost.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t mib = std::size_t{1} << 20;

struct record
{
    std::uint64_t words[8];
};

struct region : testing::Test
{
    np::region<std::uintptr_t, record> all;

    ~region() override { all.release(); }
};

TEST_F(region, has_no_slices_before_it_is_reserved)
{
    EXPECT_EQ(all.slices(), 0U);
    EXPECT_FALSE(all.commit(1));
    int anything = 0;
    EXPECT_GT(all.slices_before(&anything), 0U);
    alignas(16) static std::byte some_block[16];
    for (const void* const block : {static_cast<const void*>(nullptr), static_cast<const void*>(some_block)})
        EXPECT_GT(all.granule_index(block), ~std::uintptr_t{0} >> 8) << "outside of every region";
}

TEST_F(region, is_aligned_to_a_slice)
{
    ASSERT_TRUE(all.reserve(64 * mib));
    EXPECT_EQ(all.slices(), 64 * mib / np::slice_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.base()) % np::slice_bytes, 0U);
    EXPECT_EQ(all.slice_of(all.base()), np::first_slice);
    EXPECT_EQ(all.slice_of(all.base() + np::slice_bytes - 1), np::first_slice);
    EXPECT_EQ(all.slice_of(all.address(np::slice_at(5))), np::slice_at(5));
    EXPECT_GE(all.slices_before(all.base() - 1), all.slices());
    EXPECT_GE(all.slices_before(nullptr), all.slices());
}

TEST_F(region, makes_committed_slices_and_their_tables_accessible)
{
    ASSERT_TRUE(all.reserve(64 * mib));
    for (std::size_t count : {1U, 3U, 100U, 1024U}) {
        ASSERT_TRUE(all.commit(count));
        ASSERT_GE(all.committed(), count);
        for (std::size_t slice = 0; slice != all.committed(); ++slice) {
            *all.address(np::slice_at(slice)) = std::byte{1};
            *(all.address(np::slice_at(slice + 1)) - 1) = std::byte{1};
            all.tag(np::slice_at(slice)) = slice;
            all.record(np::slice_at(slice)).words[7] = slice;
        }
    }
    for (std::size_t slice = 0; slice != all.slices(); ++slice)
        ASSERT_EQ(all.tag(np::slice_at(slice)), slice);
    EXPECT_FALSE(all.commit(all.slices() + 1));
}

TEST_F(region, commits_ahead_in_growing_but_limited_steps)
{
    constexpr std::size_t slices_of_mib = mib / np::slice_bytes;
    ASSERT_TRUE(all.reserve(512 * mib));
    std::size_t steps = 0;
    for (std::size_t count = 1; count <= 256 * slices_of_mib; ++count) {
        const std::size_t before = all.committed();
        ASSERT_TRUE(all.commit(count));
        steps += all.committed() != before ? 1U : 0U;
        ASSERT_LE(all.committed(), 2 * count + 6 * slices_of_mib);
    }
    EXPECT_LE(steps, 9U);
}

TEST_F(region, reserves_less_if_the_address_space_is_too_small)
{
    if (np::reserving_is_expensive())
        GTEST_SKIP() << "takes minutes under this emulator";
    const std::size_t more_than_there_are = std::size_t{1} << 56;
    ASSERT_TRUE(all.reserve(more_than_there_are));
    EXPECT_LT(all.slices() * np::slice_bytes, more_than_there_are);
    EXPECT_GE(all.slices() * np::slice_bytes, mib << 10);
}

TEST_F(region, releases_uncommitted_addresses_for_good)
{
    ASSERT_TRUE(all.reserve(64 * mib));
    ASSERT_TRUE(all.commit(10));
    const std::size_t kept = all.committed();
    ASSERT_LT(kept, all.slices());
    all.release_uncommitted();
    EXPECT_EQ(all.slices(), kept);
    EXPECT_FALSE(all.commit(kept + 1));
    for (std::size_t slice = 0; slice != kept; ++slice) {
        *(all.address(np::slice_at(slice + 1)) - 1) = std::byte{1};
        all.tag(np::slice_at(slice)) = slice;
        all.record(np::slice_at(slice)).words[7] = slice;
    }
    all.release_uncommitted();
    EXPECT_EQ(all.slices(), kept) << "nothing is left to release";
}

TEST_F(region, reserves_all_or_nothing)
{
    const test::system_calls calls;
    for (std::size_t call = 1; call <= 2; ++call) {
        calls.refuse_from(test::system_call::map, call);
        EXPECT_FALSE(all.reserve(64 * mib)) << call;
        EXPECT_EQ(all.slices(), 0U);
    }
    calls.refuse_nothing();
    EXPECT_TRUE(all.reserve(64 * mib));
}

TEST_F(region, is_unchanged_by_a_failed_commit)
{
    ASSERT_TRUE(all.reserve(64 * mib));
    ASSERT_TRUE(all.commit(1));
    const std::size_t before = all.committed();
    const std::size_t beyond_a_page_of_each_table = 600;
    for (std::size_t call = 1; call <= 3; ++call) {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::protect, call);
        EXPECT_FALSE(all.commit(beyond_a_page_of_each_table)) << call;
        EXPECT_EQ(all.committed(), before);
    }
    EXPECT_TRUE(all.commit(beyond_a_page_of_each_table));
    *all.address(np::slice_at(beyond_a_page_of_each_table - 1)) = std::byte{1};
}

#if defined(__linux__)
/// Returns: whether core dumps contain the mapping of `address`.
bool is_dumped(const void* address)
{
    std::ifstream file("/proc/self/smaps");
    bool is_there = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        if (words >> std::hex >> begin >> dash >> end && dash == '-')
            is_there = reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
        else if (is_there && line.compare(0, 8, "VmFlags:") == 0)
            return line.find(" dd") == std::string::npos;
    }
    ADD_FAILURE() << address << " is not mapped";
    return false;
}

TEST_F(region, includes_committed_slices_and_their_tables_in_core_dumps)
{
    const std::size_t slices = 1024 * mib / np::slice_bytes;
    ASSERT_TRUE(all.reserve(1024 * mib));
    const std::byte* const begin = all.base();
    EXPECT_FALSE(is_dumped(begin));
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, slices}) {
        ASSERT_TRUE(all.commit(count));
        const np::slice_index last = np::slice_at(all.committed() - 1);
        EXPECT_TRUE(is_dumped(begin));
        EXPECT_TRUE(is_dumped(all.address(last) + np::slice_bytes - 1));
        EXPECT_TRUE(is_dumped(&all.tag(last)));
        EXPECT_TRUE(is_dumped(&all.record(last)));
        EXPECT_TRUE(is_dumped(&all.huge_pages(all.committed() / np::slices_of_huge_page - 1)));
        EXPECT_TRUE(count == slices || !is_dumped(all.address(last) + np::slice_bytes));
    }
}

TEST_F(region, advises_core_dumps_with_few_system_calls)
{
    const test::system_calls calls;
    ASSERT_TRUE(all.reserve(4096 * mib));
    for (std::size_t count = 1; count <= 1024 * mib / np::slice_bytes; ++count)
        ASSERT_TRUE(all.commit(count));
    EXPECT_LE(calls.made(test::system_call::advise_dumps), 1 + calls.made(test::system_call::protect) / 2 + 3);
    EXPECT_TRUE(is_dumped(all.address(np::slice_at(all.committed() - 1)))) << "the last slice of the mapping";
    EXPECT_EQ(memory_pool::detail::os::are_one_mapping(all.base(), all.committed() * np::slice_bytes), true);
}
#endif

struct growing_region : region
{
    void SetUp() override
    {
#if MEMORY_POOL_TSAN
        GTEST_SKIP() << "ThreadSanitizer leaves too few addresses";
#endif
    }
};

TEST_F(growing_region, reserves_little_more_than_it_commits)
{
    const test::system_calls calls;
    ASSERT_TRUE(all.reserve_to_grow(std::size_t{1} << 40));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.base()) % np::huge_page_bytes, 0U);
    EXPECT_LE(all.slices() * np::slice_bytes, mib);
    EXPECT_GE(all.max_slices() * np::slice_bytes, mib << 10);
    for (std::size_t count = 1; count <= 1024; ++count) {
        ASSERT_TRUE(all.commit(count));
        ASSERT_GE(all.committed(), count);
        ASSERT_LE(all.slices(), count + count / 16 + 7) << "at most a sixteenth more";
        *(all.address(np::slice_at(count)) - 1) = std::byte{1};
        all.tag(np::slice_at(count - 1)) = count;
        all.record(np::slice_at(count - 1)).words[7] = count;
        all.huge_pages((count - 1) / np::slices_of_huge_page) = np::huge_page_use::refused;
    }
    for (std::size_t count = 1; count <= 1024; ++count) {
        ASSERT_EQ(*(all.address(np::slice_at(count)) - 1), std::byte{1});
        ASSERT_EQ(all.tag(np::slice_at(count - 1)), count);
        ASSERT_EQ(all.record(np::slice_at(count - 1)).words[7], count);
    }
    EXPECT_FALSE(all.commit(all.max_slices() + 1));
}

TEST_F(growing_region, does_not_overlap_another_region)
{
    ASSERT_TRUE(all.reserve_to_grow(64 * mib));
    np::region<std::uintptr_t, record> other;
    ASSERT_TRUE(other.reserve_to_grow(64 * mib));
    EXPECT_NE(all.base(), other.base());
    other.release();
    EXPECT_EQ(other.slices(), 0U);
    EXPECT_EQ(other.max_slices(), 0U);
}

TEST_F(growing_region, does_not_grow_over_a_foreign_mapping)
{
    ASSERT_TRUE(all.reserve_to_grow(64 * mib));
    ASSERT_TRUE(all.commit(10));
    const std::size_t before = all.committed();
    std::byte* const behind = all.address(np::slice_at(all.slices())) + np::slice_bytes;
    ASSERT_TRUE(memory_pool::detail::os::reserve_addresses_at(behind, np::slice_bytes));
    EXPECT_FALSE(all.commit(before + 2));
    EXPECT_EQ(all.committed(), before);
    EXPECT_TRUE(all.commit(before + 1)) << "up to the foreign mapping";
    EXPECT_FALSE(all.commit(before + 2));
    ASSERT_TRUE(memory_pool::detail::os::release_addresses(behind, np::slice_bytes));
    EXPECT_TRUE(all.commit(before + 2)) << "the foreign mapping is gone";
}

TEST_F(growing_region, releases_its_addresses)
{
    const test::system_calls calls;
    ASSERT_TRUE(all.reserve_to_grow(64 * mib));
    ASSERT_TRUE(all.commit(100));
    std::byte* const base = all.base();
    all.release_uncommitted();
    EXPECT_EQ(all.max_slices(), all.committed());
    EXPECT_FALSE(all.commit(all.committed() + 1));
    all.release();
    ASSERT_TRUE(memory_pool::detail::os::reserve_addresses_at(base, 100 * np::slice_bytes)) << "released addresses";
    EXPECT_TRUE(memory_pool::detail::os::release_addresses(base, 100 * np::slice_bytes));
}

TEST_F(growing_region, is_unchanged_by_a_failed_growth)
{
    const std::size_t beyond_a_page_of_each_table = 600;
    for (const test::system_call kind : {test::system_call::map, test::system_call::protect}) {
        all.release();
        ASSERT_TRUE(all.reserve_to_grow(256 * mib));
        ASSERT_TRUE(all.commit(1));
        const std::size_t before = all.committed();
        for (std::size_t call = 1; call <= 3; ++call) {
            const test::system_calls calls;
            calls.refuse_from(kind, call);
            EXPECT_FALSE(all.commit(beyond_a_page_of_each_table)) << call;
            EXPECT_EQ(all.committed(), before);
        }
        EXPECT_TRUE(all.commit(beyond_a_page_of_each_table));
        *all.address(np::slice_at(beyond_a_page_of_each_table - 1)) = std::byte{1};
        all.record(np::slice_at(beyond_a_page_of_each_table - 1)).words[0] = 1;
    }
}

TEST_F(growing_region, reserves_all_or_nothing)
{
    const test::system_calls calls;
    for (std::size_t call = 1; call <= 5; ++call) {
        calls.refuse_from(test::system_call::map, call);
        EXPECT_FALSE(all.reserve_to_grow(64 * mib)) << call;
        EXPECT_EQ(all.slices(), 0U);
    }
    calls.refuse_nothing();
    EXPECT_TRUE(all.reserve_to_grow(64 * mib));
}

TEST_F(growing_region, releases_addresses_when_it_shrinks_and_grows_again)
{
    ASSERT_TRUE(all.reserve_to_grow(256 * mib));
    ASSERT_TRUE(all.commit(600));
    *all.address(np::slice_at(99)) = *all.address(np::slice_at(599)) = std::byte{1};
    all.tag(np::slice_at(599)) = 7;
    all.shrink(100);
    EXPECT_EQ(all.committed(), 100U);
    EXPECT_EQ(all.slices(), 100U);
    EXPECT_GE(all.peak_committed(), 600U) << "addresses that once belonged to the region";
    EXPECT_EQ(all.tag(np::slice_at(599)), 7U) << "tables keep their contents";
    ASSERT_TRUE(memory_pool::detail::os::reserve_addresses_at(all.address(np::slice_at(110)), np::slice_bytes))
        << "released addresses";
    EXPECT_FALSE(all.commit(600));
    EXPECT_EQ(all.committed(), 100U);
    ASSERT_TRUE(memory_pool::detail::os::release_addresses(all.address(np::slice_at(110)), np::slice_bytes));
    ASSERT_TRUE(all.commit(2000));
    EXPECT_EQ(*all.address(np::slice_at(99)), std::byte{1});
    EXPECT_EQ(*all.address(np::slice_at(599)), std::byte{0});
    EXPECT_EQ(all.tag(np::slice_at(599)), 7U);
    all.tag(np::slice_at(1999)) = all.record(np::slice_at(1999)).words[7] = 7;
    all.shrink(0);
    EXPECT_TRUE(all.commit(1)) << "grows from zero slices";
}

TEST_F(growing_region, keeps_addresses_that_it_cannot_unmap)
{
    const test::system_calls calls;
    ASSERT_TRUE(all.reserve_to_grow(256 * mib));
    ASSERT_TRUE(all.commit(600));
    *all.address(np::slice_at(599)) = std::byte{1};
    calls.refuse_from(test::system_call::unmap, 1);
    all.shrink(100);
    EXPECT_EQ(all.committed(), 100U);
    ASSERT_TRUE(all.commit(2000));
    EXPECT_EQ(*all.address(np::slice_at(599)), std::byte{0});
    calls.refuse_nothing();
}
} // namespace
