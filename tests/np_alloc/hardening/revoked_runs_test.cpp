// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/revoked_runs.hpp>

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <support/emulation.hpp>
#include <support/memory_limit.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;
using np::revoked_runs;

namespace {
/// Pages whose bytes all hold the page's number, counted from 1.
struct revoked_runs_test : testing::Test
{
    static constexpr std::size_t pages = 2 * revoked_runs::max_count + 10;

    const std::size_t page_bytes = os::page_size();
    std::byte* const memory = static_cast<std::byte*>(os::reserve_addresses(pages * page_bytes));
    revoked_runs places;

    void SetUp() override
    {
        ASSERT_TRUE(os::commit_memory(memory, pages * page_bytes));
        for (std::size_t number = 0; number != pages; ++number)
            std::memset(page(number), static_cast<int>(number + 1), page_bytes);
    }

    ~revoked_runs_test() override
    {
        const test::system_calls again;
        EXPECT_EQ(take(0, pages), os::moving::done);
        EXPECT_EQ(places.count(), 0U);
        (void)os::release_addresses(memory, pages * page_bytes);
    }

    std::byte* page(std::size_t number) const { return memory + number * page_bytes; }

    bool put(std::size_t from, std::size_t to, np::kept_memory where = np::kept_memory::in_backing_copy)
    {
        np::guarded_block freed;
        freed.begin = page(from);
        freed.bytes = (to - from) * page_bytes - 1;
        return places.put(page(from), (to - from) * page_bytes, where, freed);
    }

    os::moving take(std::size_t from, std::size_t to) { return places.take(page(from), page(to)); }

    bool is_revoked(std::size_t number) const { return places.find(page(number)) != nullptr; }

    void expect_revoked(std::size_t from, std::size_t to) const
    {
        for (std::size_t number = 0; number != pages; ++number)
            EXPECT_EQ(is_revoked(number), from <= number && number < to) << number;
    }

    /// Returns: whether these pages have their initial contents.
    bool are_as_they_were(std::size_t from, std::size_t to) const
    {
        for (std::size_t number = from; number != to; ++number)
            if (std::count(page(number), page(number + 1), static_cast<std::byte>(number + 1)) !=
                static_cast<std::ptrdiff_t>(page_bytes))
                return false;
        return true;
    }

    bool are_zeros(std::size_t from, std::size_t to) const
    {
        return std::count(page(from), page(to), std::byte{0}) == page(to) - page(from);
    }
};

// Other systems cannot move memory, so runs with memory stay accessible.
#if defined(__linux__)
TEST_F(revoked_runs_test, know_the_freed_block)
{
    ASSERT_TRUE(put(2, 5));
    expect_revoked(2, 5);
    EXPECT_EQ(places.find(page(5) - 1)->begin, page(2));
    EXPECT_EQ(places.find(page(5) - 1)->bytes, 3 * page_bytes - 1);
    EXPECT_TRUE(places.overlap(page(0), page(3)));
    EXPECT_TRUE(places.overlap(page(4), page(9)));
    EXPECT_FALSE(places.overlap(page(0), page(2)));
    EXPECT_FALSE(places.overlap(page(5), page(9)));
}

TEST_F(revoked_runs_test, keep_their_contents)
{
    ASSERT_TRUE(put(2, 5));
    EXPECT_EQ(take(2, 5), os::moving::done);
    EXPECT_TRUE(are_as_they_were(0, pages));
    EXPECT_EQ(places.count(), 0U);
    std::memset(page(2), 7, 3 * page_bytes);
    EXPECT_TRUE(put(2, 5)) << "the second time";
}

TEST_F(revoked_runs_test, are_taken_together_if_adjacent)
{
    ASSERT_TRUE(put(2, 5) && put(5, 6) && put(8, 9));
    EXPECT_EQ(take(0, 10), os::moving::done);
    EXPECT_TRUE(are_as_they_were(0, pages));
}

TEST_F(revoked_runs_test, stay_revoked_outside_the_taken_part)
{
    ASSERT_TRUE(put(2, 8));
    EXPECT_EQ(take(0, 3), os::moving::done);
    expect_revoked(3, 8);
    EXPECT_EQ(take(7, 9), os::moving::done);
    expect_revoked(3, 7);
    EXPECT_EQ(take(4, 5), os::moving::done);
    EXPECT_TRUE(is_revoked(3) && !is_revoked(4) && is_revoked(5));
    EXPECT_EQ(places.find(page(5))->begin, page(2)) << "the beginning of the freed block";
    EXPECT_EQ(places.count(), 2U);
    EXPECT_EQ(take(3, 7), os::moving::done);
    EXPECT_TRUE(are_as_they_were(0, pages));
}

TEST_F(revoked_runs_test, are_limited_in_number)
{
    for (std::size_t i = 0; i != revoked_runs::max_count; ++i)
        ASSERT_TRUE(put(2 * i, 2 * i + 1));
    EXPECT_FALSE(put(pages - 2, pages - 1));
    EXPECT_TRUE(are_as_they_were(pages - 2, pages - 1));
    EXPECT_EQ(take(0, 1), os::moving::done);
    EXPECT_TRUE(put(pages - 2, pages - 1));
}

TEST_F(revoked_runs_test, are_taken_to_their_end_without_an_entry_for_the_rest)
{
    ASSERT_TRUE(put(pages - 5, pages));
    for (std::size_t i = 1; i != revoked_runs::max_count; ++i)
        ASSERT_TRUE(put(2 * i, 2 * i + 1));
    EXPECT_EQ(take(pages - 3, pages - 2), os::moving::done);
    EXPECT_TRUE(is_revoked(pages - 4));
    EXPECT_FALSE(is_revoked(pages - 1));
    EXPECT_TRUE(are_as_they_were(pages - 3, pages));
}

TEST_F(revoked_runs_test, are_zero_after_their_memory_was_released)
{
    ASSERT_TRUE(put(2, 5) && put(7, 8));
    std::size_t bytes = 0;
    places.forget_memory(page(0), page(5), [&bytes](void* kept, std::size_t released) {
        (void)os::release_addresses(kept, released);
        bytes += released;
    });
    EXPECT_EQ(bytes, 3 * page_bytes);
    EXPECT_TRUE(is_revoked(2));
    EXPECT_EQ(take(0, pages), os::moving::done);
    EXPECT_TRUE(are_zeros(2, 5));
    EXPECT_TRUE(are_as_they_were(7, 8));
}

TEST_F(revoked_runs_test, are_refused_if_memory_cannot_be_moved)
{
    for (const test::system_call kind : {test::system_call::map, test::system_call::protect, test::system_call::move}) {
        const test::system_calls calls;
        calls.refuse_from(kind, 1);
        EXPECT_FALSE(put(2, 5));
        EXPECT_TRUE(are_as_they_were(2, 5));
        EXPECT_EQ(places.count(), 0U);
    }
}

TEST_F(revoked_runs_test, keep_their_contents_without_guards)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::guard, 1);
    ASSERT_TRUE(put(2, 5));
    std::memset(page(2), 0, 3 * page_bytes);
    EXPECT_EQ(take(2, 5), os::moving::done);
    EXPECT_TRUE(are_as_they_were(2, 5)) << "writes to a revoked run are lost";
}

TEST_F(revoked_runs_test, are_zero_if_memory_cannot_be_moved_back)
{
    ASSERT_TRUE(put(2, 5));
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    EXPECT_EQ(take(2, 5), os::moving::done);
    EXPECT_TRUE(are_zeros(2, 5));
}

TEST_F(revoked_runs_test, lose_their_contents_if_they_cannot_be_made_accessible)
{
    ASSERT_TRUE(put(2, 5));
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::protect, 1);
        EXPECT_EQ(take(0, pages), os::moving::refused);
        expect_revoked(2, 5);
    }
    EXPECT_EQ(take(0, pages), os::moving::done);
    EXPECT_TRUE(are_zeros(2, 5)) << "take() released their memory, as the system may be short of it";
}

#if TESTS_MAY_LIMIT_MEMORY
TEST_F(revoked_runs_test, are_zero_if_restored_at_the_memory_limit)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "the emulator ignores memory limits";
    ASSERT_TRUE(put(2, 5));
    {
        const test::memory_limit none(0);
        EXPECT_FALSE(put(7, 9));
        ASSERT_EQ(take(0, pages), os::moving::done);
    }
    EXPECT_TRUE(are_zeros(2, 5));
    EXPECT_TRUE(are_as_they_were(7, 9));
}
#endif

TEST_F(revoked_runs_test, are_lost_if_another_mapping_takes_their_addresses)
{
    ASSERT_TRUE(put(2, 3));
    const test::system_calls calls;
    calls.refuse_from(test::system_call::move, 1);
    calls.map_refused_destinations(77);
    EXPECT_EQ(take(2, 3), os::moving::lost);
    EXPECT_EQ(*page(2), std::byte{77});
    EXPECT_EQ(places.count(), 0U);
}
#endif

TEST_F(revoked_runs_test, can_be_without_memory)
{
    (void)os::purge_memory(page(2), 3 * page_bytes);
    ASSERT_TRUE(put(2, 5, np::kept_memory::nowhere));
    expect_revoked(2, 5);
    EXPECT_EQ(take(2, 4), os::moving::done);
    EXPECT_TRUE(are_zeros(2, 4));
    expect_revoked(4, 5);
}

TEST_F(revoked_runs_test, stay_revoked_if_they_cannot_be_made_accessible)
{
    (void)os::purge_memory(page(2), 3 * page_bytes);
    ASSERT_TRUE(put(2, 5, np::kept_memory::nowhere));
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::protect, 1);
        EXPECT_EQ(take(0, pages), os::moving::refused);
        expect_revoked(2, 5);
    }
    EXPECT_EQ(take(0, pages), os::moving::done);
    EXPECT_TRUE(are_zeros(2, 5));
}
} // namespace
