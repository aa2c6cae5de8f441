// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/depot.hpp>
#include "support/upstreams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t room = 6;
constexpr std::size_t home = 3; ///< The shard for tests that do not depend on shards.

class depot_test : public testing::Test
{
protected:
    /// Takes all magazines.
    std::vector<core::depot_magazine*> take_all()
    {
        std::vector<core::depot_magazine*> all;
        while (core::depot_magazine* const magazine = depot_.pop_full(home))
            all.push_back(magazine);
        while (core::depot_magazine* const magazine = depot_.pop_empty(home))
            all.push_back(magazine);
        return all;
    }

    test::accounting_upstream upstream_;
    core::depot depot_{room, &upstream_};
};

TEST_F(depot_test, is_empty_and_reserves_nothing_initially)
{
    EXPECT_EQ(depot_.room(), room);
    EXPECT_EQ(depot_.pop_full(home), nullptr);
    EXPECT_EQ(depot_.pop_empty(home), nullptr);
    EXPECT_EQ(depot_.full_count(), 0u);
    EXPECT_EQ(depot_.bytes_reserved(), 0u);
    EXPECT_EQ(upstream_.calls(), 0u);
}

TEST_F(depot_test, provides_at_least_the_requested_magazines)
{
    for (const std::size_t count : {1u, 4u, 5u, 13u, 100u}) {
        depot_.provide(count);
        const auto all = take_all();
        EXPECT_GE(all.size(), count);
        EXPECT_LE(all.size(), 2 * count + 4) << "but not many more";
        for (core::depot_magazine* const magazine : all)
            depot_.push_empty(home, magazine);
    }
}

TEST_F(depot_test, does_not_allocate_when_enough_magazines_exist)
{
    depot_.provide(10);
    const std::size_t calls = upstream_.calls();
    depot_.provide(10);
    depot_.provide(0);
    EXPECT_EQ(upstream_.calls(), calls);
}

TEST_F(depot_test, counts_bytes_reserved)
{
    depot_.provide(50);
    EXPECT_EQ(depot_.bytes_reserved(), upstream_.live_bytes());
    depot_.provide(500);
    EXPECT_EQ(depot_.bytes_reserved(), upstream_.live_bytes());
}

TEST_F(depot_test, provides_disjoint_magazines)
{
    depot_.provide(100);
    const auto all = take_all();
    std::set<std::uint32_t> numbers;
    std::map<void**, std::size_t> numbers_by_array;
    for (core::depot_magazine* const magazine : all) {
        EXPECT_LT(magazine->number, all.size());
        EXPECT_TRUE(numbers.insert(magazine->number).second) << "the same number twice";
        numbers_by_array.emplace(magazine->pointers(), numbers.size());
        std::fill_n(magazine->pointers(), room, magazine);
    }
    for (core::depot_magazine* const magazine : all)
        EXPECT_EQ(std::count(magazine->pointers(), magazine->pointers() + room, magazine),
                  static_cast<std::ptrdiff_t>(room));
}

TEST_F(depot_test, separates_full_and_empty_magazines)
{
    depot_.provide(4);
    core::depot_magazine* const first = depot_.pop_empty(home);
    core::depot_magazine* const second = depot_.pop_empty(home);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
    first->pointers()[room - 1] = &upstream_;
    depot_.push_full(home, first);
    EXPECT_EQ(depot_.full_count(), 1u);
    depot_.push_empty(home, second);
    EXPECT_EQ(depot_.pop_empty(home), second) << "a used magazine comes before unused ones";
    EXPECT_EQ(depot_.pop_full(home), first);
    EXPECT_EQ(first->pointers()[room - 1], &upstream_) << "unchanged";
    EXPECT_EQ(depot_.pop_full(home), nullptr);
    EXPECT_EQ(depot_.full_count(), 0u);
}

TEST_F(depot_test, pops_full_magazines_in_lifo_order)
{
    depot_.provide(4);
    const auto all = take_all();
    for (core::depot_magazine* const magazine : all)
        depot_.push_full(home, magazine);
    EXPECT_EQ(depot_.full_count(), all.size());
    for (std::size_t i = all.size(); i-- != 0;)
        EXPECT_EQ(depot_.pop_full(home), all[i]);
}

TEST_F(depot_test, searches_the_home_shard_first)
{
    depot_.provide(4);
    core::depot_magazine* const mine = depot_.pop_empty(home);
    core::depot_magazine* const other = depot_.pop_empty(home);
    for (const std::size_t elsewhere : {home - 1, home + 1, home + core::depot::shard_count - 1}) {
        depot_.push_full(home, mine);
        depot_.push_full(elsewhere, other);
        EXPECT_EQ(depot_.full_count(), 2u);
        EXPECT_EQ(depot_.pop_full(home), mine);
        EXPECT_EQ(depot_.pop_full(home), other) << "then shard " << elsewhere;
        EXPECT_EQ(depot_.pop_full(home), nullptr);
    }
}

TEST_F(depot_test, pops_magazines_of_any_shard)
{
    depot_.provide(2 * core::depot::shard_count);
    const auto all = take_all();
    for (core::depot_magazine* const magazine : all)
        magazine->number % 2 == 0 ? depot_.push_full(magazine->number, magazine)
                                  : depot_.push_empty(magazine->number, magazine);
    const auto again = take_all();
    EXPECT_EQ(std::set(again.begin(), again.end()), std::set(all.begin(), all.end()));
    EXPECT_EQ(again.size(), all.size());
}

TEST_F(depot_test, finds_magazines_of_every_group_by_number)
{
    depot_.provide(1000); // several groups
    const auto all = take_all();
    std::vector<core::depot_magazine*> shuffled = all;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
    for (core::depot_magazine* const magazine : shuffled)
        depot_.push_full(home, magazine);
    for (std::size_t i = shuffled.size(); i-- != 0;)
        ASSERT_EQ(depot_.pop_full(home), shuffled[i]);
}

TEST_F(depot_test, keeps_its_magazines_when_upstream_fails)
{
    depot_.provide(4);
    const std::size_t bytes = depot_.bytes_reserved();
    upstream_.fail_at(1);
    EXPECT_THROW(depot_.provide(1000), std::bad_alloc);
    EXPECT_EQ(depot_.bytes_reserved(), bytes);
    EXPECT_GE(take_all().size(), 4u);
    depot_.provide(1000);
    EXPECT_GE(take_all().size(), 900u);
}

TEST_F(depot_test, shrink_frees_groups_not_needed)
{
    depot_.provide(4);
    const std::size_t bytes_of_4 = depot_.bytes_reserved();
    depot_.provide(10);
    const std::size_t bytes_of_10 = depot_.bytes_reserved();
    depot_.provide(1'000);
    depot_.push_full(home, take_all().back()); // of the last group
    depot_.shrink(10);
    EXPECT_EQ(depot_.bytes_reserved(), bytes_of_10);
    EXPECT_EQ(upstream_.live_bytes(), bytes_of_10);
    EXPECT_EQ(depot_.full_count(), 0u);
    const auto all = take_all();
    EXPECT_GE(all.size(), 10u);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
    for (core::depot_magazine* const magazine : all)
        std::fill_n(magazine->pointers(), room, magazine);
    depot_.shrink(3);
    EXPECT_EQ(depot_.bytes_reserved(), bytes_of_4);
    EXPECT_GE(take_all().size(), 3u);
    depot_.provide(1'000);
    EXPECT_GE(take_all().size(), 990u);
}

TEST_F(depot_test, shrink_frees_a_first_group_less_than_half_needed)
{
    depot_.provide(1'000);
    const std::size_t bytes = depot_.bytes_reserved();
    depot_.shrink(500);
    EXPECT_EQ(depot_.bytes_reserved(), bytes);
    depot_.shrink(499);
    EXPECT_EQ(depot_.bytes_reserved(), 0u);
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    EXPECT_EQ(depot_.pop_empty(home), nullptr);
    depot_.provide(499);
    EXPECT_LT(depot_.bytes_reserved(), bytes);
    EXPECT_GE(take_all().size(), 499u);
}

TEST_F(depot_test, frees_all_memory_on_destruction)
{
    {
        core::depot other(room, &upstream_);
        other.provide(100);
        EXPECT_NE(other.pop_empty(home), nullptr);
        EXPECT_GT(upstream_.live_bytes(), 0u);
    }
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    EXPECT_EQ(upstream_.mismatched(), 0u);
}

// Each thread pops a full or an empty magazine, writes to it and pushes it to a shard. One thread provides more.
TEST_F(depot_test, gives_each_magazine_to_one_thread_at_a_time)
{
    constexpr std::size_t max_magazines = 200;
    std::vector<std::atomic<unsigned>> owners(4 * max_magazines);
    std::atomic<int> shared{0};
    std::atomic<int> torn{0};
    depot_.provide(4);

    const auto work = [&](unsigned me, auto&& every_time) {
        std::mt19937 random(me);
        for (int i = 0; i != 20'000; ++i) {
            every_time(i);
            const bool wants_full = random() % 2 == 0;
            core::depot_magazine* const magazine = wants_full ? depot_.pop_full(me / 2) : depot_.pop_empty(me / 2);
            if (magazine == nullptr)
                continue;
            if (owners[magazine->number].fetch_add(1, std::memory_order_relaxed) != 0)
                ++shared;
            void** const pointers = magazine->pointers();
            if (wants_full && std::count(pointers, pointers + room, pointers[0]) != static_cast<std::ptrdiff_t>(room))
                ++torn;
            std::fill_n(pointers, room, &owners[random() % owners.size()]);
            owners[magazine->number].fetch_sub(1, std::memory_order_relaxed);
            random() % 2 == 0 ? depot_.push_full(me / 2, magazine)
                              : depot_.push_empty(me / 2, magazine); // two threads share a shard
        }
    };
    std::vector<std::thread> threads;
    for (unsigned me = 1; me != 4; ++me)
        threads.emplace_back([&work, me] { work(me, [](int) {}); });
    work(0, [this](int i) { depot_.provide(static_cast<std::size_t>(i) / 100); }); // up to `max_magazines`
    for (auto& thread : threads)
        thread.join();

    EXPECT_EQ(shared, 0);
    EXPECT_EQ(torn, 0) << "a thread missed a write of another thread";
    const std::size_t full = depot_.full_count();
    std::size_t popped_full = 0;
    std::set<core::depot_magazine*> all;
    std::size_t popped = 0;
    while (core::depot_magazine* const magazine = depot_.pop_full(home)) {
        ASSERT_LE(++popped_full, full) << "more than full_count()";
        all.insert(magazine);
    }
    EXPECT_EQ(popped_full, full);
    while (core::depot_magazine* const magazine = depot_.pop_empty(home)) {
        ASSERT_LE(++popped, owners.size()) << "more than were provided";
        all.insert(magazine);
    }
    EXPECT_EQ(all.size(), popped + full) << "a magazine twice";
    std::uint32_t highest = 0;
    for (const core::depot_magazine* const magazine : all)
        highest = std::max(highest, magazine->number);
    EXPECT_EQ(all.size(), highest + std::size_t{1}) << "a magazine is lost";
    EXPECT_GE(all.size(), max_magazines - 1);
}
} // namespace
