// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/huge_pages.hpp>

#include <support/emulation.hpp>
#include <support/mappings.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace np = memory_pool::np;

namespace {
using use = np::huge_page_use;
using test::system_call;
namespace os = memory_pool::detail::os;

constexpr std::uint32_t part = np::slices_of_huge_page;

/// A region of `parts` committed parts.
struct region_in_parts
{
    using region_type = np::region<std::uintptr_t, np::run_links>;
    region_type region;
    np::huge_pages<region_type> all{region};

    explicit region_in_parts(std::size_t parts)
    {
        EXPECT_TRUE(region.reserve(parts * part * np::slice_bytes));
        EXPECT_TRUE(region.commit(parts * part));
    }
    region_in_parts(const region_in_parts&) = delete;
    region_in_parts& operator=(const region_in_parts&) = delete;
    ~region_in_parts() { region.release(); }
};

struct huge_pages : testing::Test, region_in_parts
{
    huge_pages() : region_in_parts(16) {}

    /// Returns: a letter for the last advice given for each part, in order.
    std::string last_advice(std::size_t parts) const
    {
        std::string text;
        for (std::size_t each = 0; each != parts; ++each)
            text += "-arudp"[static_cast<std::size_t>(region.huge_pages(each))];
        return text;
    }

    static np::run run_in(std::uint32_t first, std::uint32_t length, std::uint32_t clean_begin, std::uint32_t clean_end)
    {
        return {np::slice_at(first), length, true, np::slice_at(clean_begin), np::slice_at(clean_end)};
    }
};

#if defined(__linux__)
/// Returns: whether the mapping that contains `address` has the flag.
bool has_flag(const void* address, const std::string& flag)
{
    return test::flags_of_mapping(address).find(' ' + flag + ' ') != std::string::npos;
}

TEST_F(huge_pages, set_the_flags_of_the_mapping)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "the emulator ignores advice";
    if (os::advise_huge_pages(region.address(np::first_slice), part * np::slice_bytes, false) != os::advice::taken)
        GTEST_SKIP() << "this system has no huge pages";
    all.ask_for(np::slice_at(part), 2 * part);
    all.lose_memory(np::slice_at(part), 1);
    EXPECT_FALSE(has_flag(region.address(np::slice_at(part)), "hg"));
    EXPECT_TRUE(has_flag(region.address(np::slice_at(part)), "nh"));
    EXPECT_TRUE(has_flag(region.address(np::slice_at(2 * part)), "hg"));
    EXPECT_TRUE(has_flag(region.address(np::slice_at(3 * part)) - 1, "hg"));
    EXPECT_FALSE(has_flag(region.address(np::slice_at(3 * part)), "hg"));
}
#endif

TEST_F(huge_pages, are_requested_for_all_parts_of_a_block_in_one_call)
{
    const test::system_calls calls;
    all.ask_for(np::slice_at(part + 5), 2 * part);
    EXPECT_EQ(last_advice(6), "-aaa--");
    EXPECT_EQ(calls.made(system_call::advise_huge_pages), 1U);
    all.ask_for(np::slice_at(part), 3 * part);
    EXPECT_EQ(calls.made(system_call::advise_huge_pages), 1U) << "already requested";
    all.ask_for(np::first_slice, 5 * part);
    EXPECT_EQ(last_advice(6), "aaaaa-");
    EXPECT_EQ(calls.made(system_call::advise_huge_pages), 3U) << "one call on each side";
}

TEST_F(huge_pages, are_not_advised_while_memory_moves)
{
    all.begin_move();
    all.begin_move();
    all.end_move();
    all.ask_for(np::first_slice, part);
    EXPECT_EQ(last_advice(1), "-");
    all.end_move();
    all.ask_for(np::first_slice, part);
    EXPECT_EQ(last_advice(1), "a");
    all.begin_move();
    all.forget_moves();
    all.refuse(np::first_slice, part);
    EXPECT_EQ(last_advice(1), "r");
}

TEST_F(huge_pages, are_requested_for_a_part_that_gets_its_first_memory)
{
    all.enter(run_in(part, 4, part, 3 * part), true);
    EXPECT_EQ(last_advice(4), "-a--");
    all.enter(run_in(2 * part, 4, 2 * part - 1, 3 * part - 1), true);
    EXPECT_EQ(last_advice(4), "-a--") << "the last slice of that part has memory";
    all.enter(run_in(4 * part + 1, 4, 4 * part + 1, 5 * part), true);
    EXPECT_EQ(last_advice(6), "-a----") << "the first slice of that part has memory";
    all.enter(run_in(5 * part - 1, 2, 4 * part, 6 * part), true);
    EXPECT_EQ(last_advice(7), "-a--aa-");
}

TEST_F(huge_pages, count_the_untouched_parts_that_a_run_enters)
{
    using parts = np::huge_pages<region_type>;
    EXPECT_EQ(parts::entered(run_in(part, 4, part, 3 * part)), 1U);
    EXPECT_EQ(parts::entered(run_in(part, 2 * part, 0, 3 * part)), 2U);
    EXPECT_EQ(parts::entered(run_in(2 * part, 4, 2 * part - 1, 3 * part - 1)), 0U) << "the last slice has memory";
    EXPECT_EQ(parts::entered(run_in(4, 4, 4, 4)), 0U);
}

TEST_F(huge_pages, are_refused_in_parts_that_a_run_covers)
{
    all.ask_for(np::first_slice, 4 * part);
    all.refuse(np::slice_at(1), 3 * part);
    EXPECT_EQ(last_advice(4), "arra");
    all.refuse(np::slice_at(1), 4);
    EXPECT_EQ(last_advice(4), "arra");
    EXPECT_FALSE(all.are_asked_for(np::first_slice, part + 1));
    EXPECT_TRUE(all.are_asked_for(np::slice_at(1), part - 1));
}

TEST_F(huge_pages, are_refused_when_a_run_enters_without_requesting_them)
{
    all.ask_for(np::first_slice, 3 * part);
    all.enter(run_in(part, 1, part, 2 * part), false);
    EXPECT_EQ(last_advice(4), "ara-");
    all.enter(run_in(3 * part, 1, 3 * part, 4 * part), false);
    EXPECT_EQ(last_advice(4), "ara-") << "never requested, so no refusal";
    all.enter(run_in(part, 1, part, 2 * part), true);
    EXPECT_EQ(last_advice(4), "aaa-");
}

TEST_F(huge_pages, are_refused_in_a_partly_purged_part)
{
    all.ask_for(np::first_slice, 6 * part);
    all.lose_memory(np::slice_at(part + 3), 3 * part);
    EXPECT_EQ(last_advice(7), "araara-");
    all.lose_memory(np::slice_at(2 * part), 2 * part);
    EXPECT_EQ(last_advice(7), "araara-") << "these parts lost all their memory";
    all.lose_memory(np::slice_at(5 * part + 3), 2);
    EXPECT_EQ(last_advice(7), "araarr-");
    all.lose_memory(np::slice_at(6 * part + 3), 2);
    EXPECT_EQ(last_advice(7), "araarr-");
}

TEST_F(huge_pages, are_alike_where_the_advice_is_equal)
{
    all.ask_for(np::slice_at(2 * part), 4 * part);
    EXPECT_TRUE(all.are_alike(np::first_slice, np::slice_at(6 * part), 2 * part));
    EXPECT_TRUE(all.are_alike(np::slice_at(2 * part), np::slice_at(4 * part), 2 * part));
    EXPECT_FALSE(all.are_alike(np::first_slice, np::slice_at(2 * part), 1)) << "advised and unadvised";
    EXPECT_FALSE(all.are_alike(np::slice_at(2 * part - 1), np::slice_at(3 * part), 2));
    EXPECT_FALSE(all.are_alike(np::slice_at(3 * part), np::slice_at(2 * part - 1), 2));
    EXPECT_FALSE(all.are_alike(np::slice_at(2 * part), np::slice_at(4 * part), 2 * part + 1));
}

TEST_F(huge_pages, count_the_boundaries_between_different_advice)
{
    all.ask_for(np::slice_at(2 * part), 2 * part);
    EXPECT_EQ(all.changes(), 2U);
    all.lose_memory(np::slice_at(2 * part), 1);
    EXPECT_EQ(all.changes(), 3U);
    all.ask_for(np::first_slice, 4 * part);
    EXPECT_EQ(all.changes(), 2U) << "one at each end";
}

TEST_F(huge_pages, are_unknown_after_failed_advice)
{
    {
        const test::system_calls calls;
        calls.refuse_from(system_call::advise_huge_pages, 1);
        all.ask_for(np::first_slice, 2 * part);
        EXPECT_EQ(last_advice(3), "uu-");
    }
    EXPECT_FALSE(all.are_alike(np::first_slice, np::first_slice, part)) << "possibly two mappings";
    all.ask_for(np::first_slice, part);
    all.enter(run_in(part, 1, part, 2 * part), false);
    EXPECT_EQ(last_advice(3), "ar-");
}

TEST_F(huge_pages, purge_the_free_slices_around_a_purged_run)
{
    const np::run run = run_in(part + 8, part, part + 2, 16 * part); // in the second and third part
    all.ask_for(run.first, run.length);
    constexpr np::slice_index end = np::slice_at(4 * part);
    const auto byte = [this](np::slice_index slice) -> std::byte& { return *region.address(slice); };
    const auto is_touched = [&](np::slice_index slice) { return byte(slice) != std::byte{0}; };
    for (np::slice_index slice = np::first_slice; slice != end; ++slice)
        byte(slice) = std::byte{1};
    all.purge_around(run);
    for (np::slice_index slice = np::first_slice; slice != end; ++slice) {
        const bool is_before = slice >= run.clean_begin && slice < run.first;
        const bool is_behind = slice >= run.first + run.length && slice < np::slice_at(3 * part);
        EXPECT_EQ(is_touched(slice), !is_before && !is_behind) << np::position(slice);
    }
}

TEST_F(huge_pages, purge_nothing_around_a_run_without_huge_pages)
{
    *region.address(np::slice_at(part)) = std::byte{1};
    all.purge_around(run_in(part + 8, 1, 0, 16 * part));
    EXPECT_EQ(*region.address(np::slice_at(part)), std::byte{1});
}

TEST_F(huge_pages, are_unknown_in_remapped_memory)
{
    all.ask_for(np::first_slice, 3 * part);
    all.forget(np::slice_at(part), part + 1);
    EXPECT_EQ(last_advice(4), "auu-");
    all.ask_for(np::first_slice, 3 * part);
    EXPECT_EQ(last_advice(4), "aaa-");
    EXPECT_EQ(all.changes(), 2U);
}

// Discarded parts.

TEST_F(huge_pages, lose_their_advice_in_discarded_parts)
{
    all.ask_for(np::first_slice, 5 * part);
    const np::run discarded = all.begin_discard(np::slice_at(part - 1), np::slice_at(3 * part + 1));
    EXPECT_EQ(discarded.first, np::slice_at(part));
    EXPECT_EQ(discarded.length, 2 * part);
    EXPECT_EQ(last_advice(6), "addaa-");
    EXPECT_EQ(all.begin_discard(np::slice_at(part), np::slice_at(3 * part)).length, 0U) << "already discarded";
    EXPECT_EQ(all.begin_discard(np::slice_at(4), np::slice_at(part - 1)).length, 0U) << "not a whole part";
    EXPECT_TRUE(all.commit(np::slice_at(2 * part + 3), 1));
    EXPECT_EQ(last_advice(6), "ad-aa-");
    EXPECT_TRUE(all.commit(np::first_slice, 3 * part));
    EXPECT_EQ(last_advice(6), "a--aa-");
}

TEST_F(huge_pages, become_accessible_again_when_committed)
{
    const np::run discarded = all.begin_discard(np::first_slice, np::slice_at(8 * part));
    ASSERT_TRUE(os::discard_memory(region.address(discarded.first), discarded.length * np::slice_bytes));
    const test::system_calls calls;
    EXPECT_TRUE(all.commit(np::slice_at(9 * part), 7 * part));
    EXPECT_EQ(calls.made(system_call::protect), 0U);
    EXPECT_TRUE(all.commit(np::slice_at(part), 3 * part - 1));
    EXPECT_EQ(calls.made(system_call::protect), 1U);
    EXPECT_EQ(last_advice(9), "d---dddd-");
    *region.address(np::slice_at(part)) = *(region.address(np::slice_at(4 * part)) - 1) = std::byte{1};
}

TEST_F(huge_pages, are_committed_slice_by_slice_if_the_system_refuses_a_whole_part)
{
    const np::run discarded = all.begin_discard(np::first_slice, np::slice_at(4 * part));
    ASSERT_TRUE(os::discard_memory(region.address(discarded.first), discarded.length * np::slice_bytes));
    {
        const test::system_calls calls;
        calls.refuse(system_call::protect, 1);
        EXPECT_TRUE(all.commit(np::slice_at(part + 3), 2));
        calls.refuse_from(system_call::protect, 1);
        EXPECT_FALSE(all.commit(np::slice_at(part + 5), 1));
        EXPECT_FALSE(all.commit(np::slice_at(2 * part), 1));
    }
    EXPECT_EQ(last_advice(5), "dpdd-");
    *region.address(np::slice_at(part + 4)) = std::byte{1};
    all.ask_for(np::slice_at(part), part);
    EXPECT_EQ(last_advice(5), "dpdd-") << "still only partly accessible";
    EXPECT_TRUE(all.commit(np::slice_at(part), 3));
    *region.address(np::slice_at(part + 2)) = std::byte{1};
    EXPECT_FALSE(all.are_alike(np::slice_at(part), np::slice_at(part + 8), 2));
}

TEST(huge_pages_of_a_large_region, limit_the_mappings_that_discarding_splits)
{
    constexpr std::size_t most = np::huge_pages<region_in_parts::region_type>::max_changes_to_discard;
    region_in_parts large(most + 16);
    for (std::size_t each = 0; each < most + 16; each += 2)
        (void)large.all.begin_discard(np::slice_at(each * part), np::slice_at((each + 1) * part));
    EXPECT_GT(large.all.changes(), most - 2);
    EXPECT_LE(large.all.changes(), most);
    EXPECT_NE(large.all.begin_discard(np::first_slice, np::slice_at((most + 16) * part)).length, 0U);
    EXPECT_LE(large.all.changes(), 2U) << "merging mappings is always allowed";
}

TEST(huge_pages_of_a_large_region, limit_the_mappings_that_advice_splits)
{
    constexpr std::size_t most = np::huge_pages<region_in_parts::region_type>::max_changes;
    region_in_parts large(most + 16);
    for (std::size_t each = 0; each < most + 16; each += 2)
        large.all.ask_for(np::slice_at(each * part), part);
    EXPECT_GT(large.all.changes(), most - 2);
    EXPECT_LE(large.all.changes(), most);
    large.all.ask_for(np::first_slice, (most + 16) * part);
    EXPECT_LE(large.all.changes(), 2U) << "merging mappings is always allowed";
}

TEST(huge_pages_of_a_small_region, are_requested_up_to_the_end_of_the_region)
{
    region_in_parts::region_type region;
    ASSERT_TRUE(region.reserve((3 * part + 5) * np::slice_bytes));
    ASSERT_TRUE(region.commit(2 * part + 5));
    region.release_uncommitted();
    np::huge_pages<region_in_parts::region_type> all(region);
    const auto slices = static_cast<std::uint32_t>(region.slices());
    all.ask_for(np::first_slice, slices);
    EXPECT_EQ(region.huge_pages((slices - 1) / part), use::asked_for);
    region.release();
}

#if !MEMORY_POOL_TSAN // ThreadSanitizer leaves no room for a region of this size.
TEST(huge_pages_of_a_growing_region, are_forgotten_where_the_region_shrinks)
{
    np::region<std::uintptr_t, np::run_links> region;
    np::huge_pages<np::region<std::uintptr_t, np::run_links>> all{region};
    ASSERT_TRUE(region.reserve_to_grow(16 * part * np::slice_bytes));
    ASSERT_TRUE(region.commit(4 * part));
    const std::size_t changes = all.changes();
    all.ask_for(np::slice_at(part), 3 * part);
    all.forget_from(np::slice_at(2 * part + 1));
    region.shrink(2 * part + 1);
    ASSERT_TRUE(region.commit(4 * part));
    EXPECT_EQ(region.huge_pages(0), use::untold);
    EXPECT_EQ(region.huge_pages(1), use::asked_for);
    EXPECT_EQ(region.huge_pages(2), use::unknown) << "two mappings";
    EXPECT_EQ(region.huge_pages(3), use::untold);
    all.forget_from(np::slice_at(part));
    region.shrink(part);
    EXPECT_EQ(all.changes(), changes);
    region.release();
}

TEST(huge_pages_of_a_growing_region, leave_foreign_mappings_behind_the_region_alone)
{
    np::region<std::uintptr_t, np::run_links> region;
    np::huge_pages<np::region<std::uintptr_t, np::run_links>> all{region};
    ASSERT_TRUE(region.reserve_to_grow(16 * part * np::slice_bytes));
    ASSERT_TRUE(region.commit(2 * part));
    all.ask_for(np::slice_at(part), part);
    region.shrink(part + 1);
    std::byte* const behind = region.address(np::slice_at(region.committed()));
    ASSERT_TRUE(memory_pool::detail::os::reserve_addresses_at(behind, np::slice_bytes));
    ASSERT_TRUE(memory_pool::detail::os::commit_memory(behind, np::slice_bytes));
    *behind = std::byte{0x5A};
    np::run last{np::slice_at(part), 1, true};
    last.clean_begin = last.first;
    last.clean_end = np::slice_at(region.max_slices());
    all.purge_around(last);
    EXPECT_EQ(*behind, std::byte{0x5A});
    EXPECT_TRUE(memory_pool::detail::os::release_addresses(behind, np::slice_bytes));
    region.release();
}
#endif
} // namespace
