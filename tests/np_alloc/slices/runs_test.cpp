// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/runs.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace mp = memory_pool;
namespace np = memory_pool::np;

namespace {
constexpr std::size_t region_bytes = std::size_t{64} << 20;
constexpr std::uint32_t region_slices = region_bytes / np::slice_bytes;

/// Runs in a region of 1,024 slices.
struct runs : testing::Test
{
    using region_type = np::region<std::uintptr_t, np::run_links>;
    region_type region;
    np::runs<region_type> all{region};

    runs() { EXPECT_TRUE(region.reserve(region_bytes)); }
    ~runs() override
    {
        EXPECT_TRUE(all.is_valid());
        region.release();
    }

    std::byte* memory(const np::run& of) const { return region.address(of.first); }
    /// Purges the oldest run if a part of it has been free since `before`.
    /// Returns: the number of purged slices.
    std::size_t purge_since(std::uint64_t before) { return purge_since(before, before); }
    std::size_t purge_since(std::uint64_t before, std::uint64_t now)
    {
        const np::run oldest = all.take_dirty_since(before);
        if (oldest.first == np::no_slice)
            return 0;
        EXPECT_TRUE(mp::detail::os::purge_memory(memory(oldest), oldest.length * np::slice_bytes));
        all.put_purged(oldest, false, now);
        return oldest.length;
    }

    bool is_zero(const np::run& of) const
    {
        return std::all_of(memory(of), memory(of) + of.length * np::slice_bytes,
                           [](std::byte each) { return each == std::byte{0}; });
    }
};

/// Five runs: in use, dirty, in use, clean, in use.
struct damaged_runs : runs
{
    np::run in_use = all.take(3);
    np::run dirty = all.take(2);
    np::run between = all.take(1);
    np::run clean = all.take(4);
    np::run last = all.take(1);

    damaged_runs()
    {
        all.put(dirty.first, dirty.length, true, 1);
        all.put(clean.first, clean.length, false, 1);
        EXPECT_TRUE(all.is_valid());
    }

    np::run_links& first_of(const np::run& of) { return region.record(of.first); }
    np::run_links& last_of(const np::run& of) { return region.record(of.first + of.length - 1); }

    /// Checks that is_valid() fails while `value` is replaced by `damaged`.
    template <class Value>
    void expect_damage_with(Value& value, Value damaged)
    {
        const Value before = std::exchange(value, damaged);
        EXPECT_FALSE(all.is_valid());
        value = before;
    }
};

TEST_F(damaged_runs, are_detected_by_wrong_lengths)
{
    expect_damage_with(first_of(in_use).length, std::uint32_t{0});
    expect_damage_with(first_of(last).length, std::uint32_t{1} << 30); // beyond the used slices
    expect_damage_with(last_of(in_use).length, std::uint32_t{2});
}

TEST_F(damaged_runs, are_detected_by_wrong_states)
{
    expect_damage_with(last_of(in_use).state, np::slice_state::free);
    expect_damage_with(first_of(between).state, np::slice_state::untouched);
    expect_damage_with(first_of(between).state, np::slice_state::free); // between two free runs
    expect_damage_with(first_of(last).state, np::slice_state::free);
}

TEST_F(damaged_runs, are_detected_by_wrong_totals)
{
    expect_damage_with(first_of(clean).is_dirty, true);
    expect_damage_with(first_of(dirty).is_dirty, false);
}

TEST_F(damaged_runs, are_detected_while_a_run_is_purged)
{
    const np::run purged = all.take_dirty_since(1);
    ASSERT_EQ(purged.first, dirty.first);
    expect_damage_with(first_of(purged).state, np::slice_state::in_use);
    expect_damage_with(last_of(purged).state, np::slice_state::in_use);
    all.put_purged(purged, false, 1);
}

TEST_F(damaged_runs, are_detected_by_broken_lists)
{
    expect_damage_with(first_of(dirty).next, clean.first);
}

TEST_F(runs, are_taken_in_address_order_and_zeroed)
{
    const np::run a = all.take(1);
    const np::run b = all.take(3);
    EXPECT_EQ(a.first, np::first_slice);
    EXPECT_EQ(b.first, np::slice_at(1));
    EXPECT_EQ(b.length, 3U);
    EXPECT_TRUE(a.is_zeroed);
    EXPECT_TRUE(is_zero(a));
    EXPECT_TRUE(is_zero(b));
    EXPECT_EQ(all.in_use(), 4U);
}

TEST_F(runs, are_reused)
{
    const np::run a = all.take(2);
    (void)all.take(1);
    all.put(a.first, a.length, true, 0);
    const np::run again = all.take(2);
    EXPECT_EQ(again.first, a.first);
    EXPECT_FALSE(again.is_zeroed);
}

TEST_F(runs, merge_with_free_neighbours_on_both_sides)
{
    std::vector<np::run> five;
    for (int i = 0; i != 5; ++i)
        five.push_back(all.take(2));
    all.put(five[1].first, 2, true, 0);
    all.put(five[3].first, 2, true, 0);
    EXPECT_TRUE(all.is_valid());
    all.put(five[2].first, 2, true, 0);
    EXPECT_TRUE(all.is_valid());
    EXPECT_EQ(all.take(6).first, five[1].first);
}

TEST_F(runs, reuse_free_slices_before_untouched_ones)
{
    const np::run a = all.take(10);
    all.put(a.first, a.length, true, 0);
    EXPECT_EQ(all.take(12).first, a.first);
    EXPECT_EQ(all.used(), 12U);
}

/// A free run of 39 slices behind 20 shorter ones in the same free list.
struct hidden_run : runs
{
    np::run hidden;

    void hide(bool is_last)
    {
        hidden = is_last ? np::run{} : all.take(39);
        std::vector<np::run> short_ones(20);
        for (np::run& each : short_ones) {
            (void)all.take(1); // keeps the short runs from merging
            each = all.take(33);
        }
        (void)all.take(1);
        hidden = is_last ? all.take(39) : hidden;
        all.put(hidden.first, hidden.length, false, 0);
        for (const np::run& each : short_ones)
            all.put(each.first, each.length, false, 0);
    }
};

TEST_F(hidden_run, is_taken_only_when_the_region_is_exhausted)
{
    hide(false);
    const std::size_t used = all.used();
    EXPECT_EQ(all.take(39).first, np::slice_at(used));
    (void)all.take(region_slices - static_cast<std::uint32_t>(all.used()));
    EXPECT_EQ(all.take(39).first, hidden.first);
    EXPECT_EQ(all.take(39).first, np::no_slice);
}

TEST_F(hidden_run, is_taken_before_untouched_slices_at_the_end)
{
    hide(true);
    EXPECT_EQ(all.take(39).first, hidden.first);
}

TEST_F(runs, are_aligned_as_requested)
{
    (void)all.take(1);
    for (std::uint32_t alignment = 1; alignment <= 256; alignment *= 2) {
        const np::run aligned = all.take(3, alignment);
        ASSERT_NE(aligned.first, np::no_slice);
        EXPECT_EQ(aligned.length, 3U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory(aligned)) % (alignment * np::slice_bytes), 0U);
        EXPECT_TRUE(all.is_valid());
    }
}

TEST_F(runs, run_out_when_the_region_is_full)
{
    EXPECT_EQ(all.take(region_slices + 1).first, np::no_slice);
    const np::run whole = all.take(region_slices);
    ASSERT_EQ(whole.first, np::first_slice);
    EXPECT_EQ(all.take(1).first, np::no_slice);
    all.put(whole.first, whole.length, true, 0);
    EXPECT_EQ(all.take(region_slices).first, np::first_slice);
}

TEST_F(runs, grow_in_place_into_a_free_neighbour)
{
    const np::run a = all.take(2);
    const np::run b = all.take(4);
    const np::run c = all.take(1);
    EXPECT_EQ(all.extend(a.first, 2, 3).first, np::no_slice);
    all.put(b.first, b.length, true, 0);
    EXPECT_EQ(all.extend(a.first, 2, 5).first, a.first);
    EXPECT_TRUE(all.is_valid());
    EXPECT_EQ(all.extend(a.first, 5, 7).first, np::no_slice) << "only one more slice is free";
    EXPECT_TRUE(all.extend(c.first, 1, 9).is_zeroed) << "grew into untouched slices";
    EXPECT_EQ(all.in_use(), 14U);
}

TEST_F(runs, are_not_in_use_while_purged_or_discarded)
{
    const np::run purged = all.take(40);
    (void)all.take(2);
    all.put(purged.first, purged.length, true, 0);
    const np::run taken = all.take_dirty_since(0);
    EXPECT_EQ(taken.length, 40U);
    EXPECT_EQ(all.in_use(), 2U);
    EXPECT_EQ(all.being_purged(), 40U);
    all.put_purged(taken, false, 5);
    const np::run discarded = all.take_clean_since(5);
    EXPECT_EQ(discarded.length, 40U);
    EXPECT_EQ(all.in_use(), 2U);
    all.put_purged(discarded, false, all.never);
    EXPECT_EQ(all.in_use(), 2U);
    EXPECT_TRUE(all.is_valid());
}

TEST_F(runs, shrink_in_place)
{
    const np::run a = all.take(8);
    all.shorten(a.first, 8, 3, 0);
    EXPECT_EQ(all.in_use(), 3U);
    EXPECT_EQ(all.take(5).first, np::slice_at(3));
}

TEST_F(runs, are_purged_when_old_enough_and_zeroed_then)
{
    const np::run a = all.take(2);
    const np::run b = all.take(2);
    (void)all.take(1);
    std::memset(memory(a), 1, 4 * np::slice_bytes);
    all.put(a.first, 2, true, 100);
    EXPECT_EQ(purge_since(99), 0U);
    EXPECT_EQ(all.dirty(), 2U);
    EXPECT_EQ(purge_since(100), 2U);
    EXPECT_EQ(all.dirty(), 0U);
    const np::run again = all.take(2);
    EXPECT_EQ(again.first, a.first);
    EXPECT_TRUE(again.is_zeroed);
    EXPECT_TRUE(is_zero(again));
    EXPECT_FALSE(is_zero(b));
}

TEST_F(runs, are_dirty_after_merging_with_a_dirty_run)
{
    const np::run a = all.take(2);
    const np::run b = all.take(2);
    (void)all.take(1);
    all.put(a.first, 2, true, 0);
    (void)purge_since(0);
    memory(b)[0] = std::byte{1};
    all.put(b.first, 2, true, 0);
    EXPECT_EQ(all.dirty(), 4U);
    EXPECT_FALSE(all.take(4).is_zeroed);
}

TEST_F(runs, do_not_merge_with_a_much_shorter_dirty_run)
{
    const np::run before = all.take(1);
    const np::run large = all.take(100);
    const np::run after = all.take(1);
    (void)all.take(1);
    all.put(large.first, 100, true, 0);
    (void)purge_since(0);
    all.put(after.first, 1, true, 10);
    all.put(before.first, 1, true, 20);
    EXPECT_EQ(all.dirty(), 2U);
    EXPECT_TRUE(all.is_valid());
    const np::run part = all.take(50);
    EXPECT_TRUE(part.is_zeroed);
    all.put(part.first, 50, false, 30);
    EXPECT_EQ(purge_since(10), 1U);
    EXPECT_EQ(purge_since(20), 1U);
    EXPECT_EQ(all.take(102).first, before.first) << "one run again";
}

TEST_F(runs, have_the_age_of_their_oldest_dirty_part)
{
    const np::run a = all.take(2);
    const np::run b = all.take(2);
    const np::run c = all.take(2);
    (void)all.take(1);
    all.put(a.first, 2, true, 100);
    all.put(c.first, 2, true, 200);
    EXPECT_FALSE(all.has_dirty_since(99));
    all.put(b.first, 2, true, 300);
    EXPECT_TRUE(all.has_dirty_since(100)) << "merged with a";
    const np::run part = all.take(1);
    EXPECT_TRUE(all.has_dirty_since(100)) << "the remainder keeps its age";
    EXPECT_EQ(purge_since(100), 5U);
    all.put(part.first, 1, true, 400);
    EXPECT_FALSE(all.has_dirty_since(399)) << "clean slices have no age";
}

TEST_F(runs, are_purged_in_order_of_age)
{
    std::vector<np::run> three;
    for (int i = 0; i != 3; ++i) {
        three.push_back(all.take(1));
        (void)all.take(1);
    }
    all.put(three[1].first, 1, true, 10);
    all.put(three[2].first, 1, true, 30);
    all.put(three[0].first, 1, true, 5);
    EXPECT_EQ(all.take_dirty_since(100).first, three[0].first);
    EXPECT_EQ(all.take_dirty_since(100).first, three[1].first);
    EXPECT_EQ(all.take_dirty_since(100).first, three[2].first);
    EXPECT_EQ(all.take_dirty_since(100).first, np::no_slice);
    EXPECT_EQ(all.dirty(), 0U);
}

TEST_F(runs, of_2_MiB_and_more_are_discarded_in_the_order_they_became_clean)
{
    constexpr std::uint32_t part = np::slices_of_huge_page;
    const np::run young = all.take(part);
    (void)all.take(1);
    const np::run old = all.take(part - 1);
    const np::run beside_old = all.take(1);
    (void)all.take(1);
    const np::run small = all.take(part - 1);
    (void)all.take(1);
    all.put(old.first, old.length, true, 10);
    all.put(beside_old.first, 1, true, 20);
    all.put(young.first, part, false, 200);
    all.put(small.first, small.length, false, 1);
    EXPECT_FALSE(all.has_clean_since(199)) << "dirty runs are not discarded";
    EXPECT_EQ(purge_since(10, 100), part);
    const np::run first = all.take_clean_since(200);
    EXPECT_EQ(first.first, old.first);
    EXPECT_TRUE(first.is_zeroed);
    EXPECT_EQ(all.being_discarded(), part);
    EXPECT_EQ(all.being_purged(), 0U);
    EXPECT_EQ(all.find_being_purged().first, old.first);
    EXPECT_EQ(all.take_clean_since(200).first, young.first);
    EXPECT_EQ(all.take_clean_since(200).first, np::no_slice) << "too small";
    all.put_purged(first, false, all.never);
    EXPECT_EQ(all.being_discarded(), part);
    EXPECT_FALSE(all.has_clean_since(all.never)) << "already discarded";
    EXPECT_EQ(all.take(part).first, old.first);
}

TEST_F(runs, are_discarded_again_after_merging)
{
    constexpr std::uint32_t part = np::slices_of_huge_page;
    const np::run a = all.take(part);
    const np::run b = all.take(1);
    (void)all.take(1);
    all.put(a.first, part, false, 1);
    all.put_purged(all.take_clean_since(1), false, all.never);
    all.put(b.first, 1, false, 5);
    EXPECT_FALSE(all.has_clean_since(4));
    EXPECT_EQ(all.take_clean_since(5).length, part + 1);
}

TEST_F(runs, report_the_clean_slices_around_a_purged_run)
{
    (void)all.take(1);
    const np::run before = all.take(100);
    const np::run between = all.take(2);
    const np::run behind = all.take(100);
    (void)all.take(1);
    const np::run alone = all.take(2);
    (void)all.take(1);
    const np::run last = all.take(3);
    all.put(before.first, before.length, false, 1);
    all.put(behind.first, behind.length, false, 1);
    all.put(between.first, between.length, true, 1);
    all.put(alone.first, alone.length, true, 2);
    all.put(last.first, last.length, true, 3);
    const auto expect_next = [this](const np::run& expected, np::slice_index clean_begin, np::slice_index clean_end) {
        const np::run purged = all.take_dirty_since(3);
        EXPECT_EQ(purged.first, expected.first);
        EXPECT_EQ(purged.length, expected.length);
        EXPECT_EQ(purged.clean_begin, clean_begin);
        EXPECT_EQ(purged.clean_end, clean_end);
    };
    expect_next(between, before.first, behind.first + behind.length);
    expect_next(alone, alone.first, alone.first + alone.length);
    expect_next(last, last.first, np::slice_at(region_slices));
}

TEST_F(runs, at_the_end_are_forgotten_if_clean)
{
    EXPECT_EQ(all.forget_last_if_clean().first, np::no_slice) << "no runs";
    const np::run first = all.take(3);
    const np::run last = all.take(5);
    EXPECT_EQ(all.forget_last_if_clean().first, np::no_slice) << "in use";
    all.put(last.first, last.length, true, 1);
    EXPECT_EQ(all.forget_last_if_clean().first, np::no_slice) << "dirty";
    EXPECT_EQ(purge_since(1), 5U);
    const np::run forgotten = all.forget_last_if_clean();
    EXPECT_EQ(forgotten.first, last.first);
    EXPECT_EQ(forgotten.length, last.length);
    EXPECT_EQ(all.used(), 3U);
    EXPECT_TRUE(all.is_valid());
    EXPECT_EQ(all.take(2).first, last.first);
    all.put(first.first, first.length, false, 1);
    EXPECT_EQ(all.forget_last_if_clean().first, np::no_slice) << "not the last run";
}

TEST_F(runs, can_be_found_but_not_taken_while_purged)
{
    (void)all.take(2);
    const np::run old = all.take(3);
    (void)all.take(1);
    EXPECT_EQ(all.find_being_purged().first, np::no_slice);
    all.put(old.first, old.length, true, 1);
    const np::run purged = all.take_dirty_since(1);
    EXPECT_EQ(all.find_being_purged().first, old.first);
    EXPECT_EQ(all.find_being_purged().length, old.length);
    EXPECT_TRUE(all.is_valid());
    EXPECT_NE(all.take(3).first, old.first);
    all.put_purged(purged, false, 1);
    EXPECT_EQ(all.find_being_purged().first, np::no_slice);
    EXPECT_EQ(all.take(3).first, old.first);
}

TEST_F(runs, survive_a_failed_commit)
{
    const np::run a = all.take(1);
    {
        const test::system_calls calls;
        for (int k = 1; k <= 6; ++k) {
            calls.refuse_from(test::system_call::protect, 1);
            EXPECT_EQ(all.take(1000).first, np::no_slice);
            EXPECT_TRUE(all.is_valid());
        }
    }
    EXPECT_EQ(all.in_use(), 1U);
    EXPECT_EQ(all.take(1000).first, a.first + 1);
}

/// The lengths of the expected runs, by first slice.
using model = std::map<np::slice_index, std::uint32_t>;

bool overlaps(const model& taken, const np::run& fresh)
{
    const auto after = taken.upper_bound(fresh.first);
    if (after != taken.end() && after->first < fresh.first + fresh.length)
        return true;
    return after != taken.begin() && std::prev(after)->first + std::prev(after)->second > fresh.first;
}

TEST_F(runs, agree_with_a_model_through_random_operations)
{
    std::mt19937 random(11); // NOLINT: reproducible
    model taken;
    std::uint64_t now = 0;
    for (int step = 0; step != 20'000; ++step) {
        ++now;
        const auto pick = [&] {
            return std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
        };
        switch (taken.empty() ? 0 : random() % 8) {
        case 0:
        case 1:
        case 2: {
            const auto length = static_cast<std::uint32_t>(1 + random() % (random() % 4 == 0 ? 100 : 8));
            const np::run fresh = all.take(length, std::uint32_t{1} << (random() % 6));
            if (fresh.first == np::no_slice)
                break;
            ASSERT_EQ(fresh.length, length);
            ASSERT_FALSE(overlaps(taken, fresh));
            if (fresh.is_zeroed) {
                ASSERT_EQ(memory(fresh)[0], std::byte{0});
            }
            memory(fresh)[0] = std::byte{1};
            taken.emplace(fresh.first, length);
            break;
        }
        case 3: {
            const auto grown = pick();
            const auto length = static_cast<std::uint32_t>(grown->second + 1 + random() % 4);
            if (all.extend(grown->first, grown->second, length).first != np::no_slice) {
                const auto after = std::next(grown);
                ASSERT_TRUE(after == taken.end() || after->first >= grown->first + length);
                grown->second = length;
            }
            break;
        }
        case 4: {
            const auto shrunk = pick();
            if (shrunk->second > 1) {
                all.shorten(shrunk->first, shrunk->second, shrunk->second / 2, now);
                shrunk->second /= 2;
            }
            break;
        }
        case 5: (void)purge_since(now - std::min<std::uint64_t>(now, random() % 50)); break;
        default: {
            const auto leaving = pick();
            all.put(leaving->first, leaving->second, true, now);
            taken.erase(leaving);
        }
        }
        std::size_t slices = 0;
        for (const auto& [first, length] : taken)
            slices += length;
        ASSERT_EQ(all.in_use(), slices);
        if (step % 16 == 0) {
            ASSERT_TRUE(all.is_valid());
        }
    }
    for (const auto& [first, length] : taken)
        all.put(first, length, true, now);
    EXPECT_EQ(all.in_use(), 0U);
    EXPECT_EQ(all.take(static_cast<std::uint32_t>(all.used())).first, np::first_slice) << "one run again";
}
} // namespace
