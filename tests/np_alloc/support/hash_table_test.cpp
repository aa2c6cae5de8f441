// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/hash_table.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>

namespace np = memory_pool::np;

namespace {
/// Entries have five high hash values, so they collide and wrap around the end of the table.
struct entry
{
    std::uint64_t key;
    int value;

    bool is_there() const { return key != 0; }
    std::uint64_t hash() const { return ~(key % 5); }
    bool is(const entry& other) const { return key == other.key; }
};

struct hash_table : testing::Test
{
    np::hash_table<entry> table;

    ~hash_table() override { table.release(); }

    void add(std::uint64_t key, int value)
    {
        ASSERT_TRUE(table.has_room());
        EXPECT_EQ(table.add({key, value}).value, value);
    }
};

TEST_F(hash_table, is_empty_by_default)
{
    EXPECT_EQ(table.count(), 0U);
    EXPECT_EQ(table.find({1, 0}), nullptr);
    EXPECT_TRUE(table.is_valid());
}

TEST_F(hash_table, agrees_with_a_map_through_random_operations)
{
    std::map<std::uint64_t, int> model;
    std::mt19937 random(4); // NOLINT: reproducible
    for (int step = 0; step != 5000; ++step) {
        const std::uint64_t key = 1 + random() % 150;
        entry* const found = table.find({key, 0});
        ASSERT_EQ(found != nullptr, model.count(key) != 0);
        if (found == nullptr) {
            add(key, step);
            model[key] = step;
        } else {
            ASSERT_EQ(found->value, model[key]);
            table.remove(found);
            model.erase(key);
        }
        ASSERT_EQ(table.count(), model.size());
        ASSERT_TRUE(table.is_valid());
    }
    std::map<std::uint64_t, int> visited;
    EXPECT_TRUE(table.for_each([&](const entry& each) { return visited.emplace(each.key, each.value).second; }));
    EXPECT_EQ(visited, model);
}

TEST_F(hash_table, stops_visiting_when_the_visitor_returns_false)
{
    add(1, 0);
    add(2, 0);
    int visits = 0;
    EXPECT_FALSE(table.for_each([&](const entry&) { return ++visits, false; }));
    EXPECT_EQ(visits, 1);
}

TEST_F(hash_table, returns_pages_when_few_slots_are_used)
{
    EXPECT_EQ(table.bytes(), 0U);
    constexpr std::uint64_t count = 3000;
    for (std::uint64_t key = 1; key <= count; ++key)
        add(key, 0);
    const std::size_t most = table.bytes();
    EXPECT_GE(most, count * sizeof(entry));
    for (std::uint64_t key = count; key != 0; --key) {
        table.remove(table.find({key, 0}));
        ASSERT_LE(table.bytes(), key * 8 * sizeof(entry) + 4096);
    }
    EXPECT_LE(table.bytes(), 4096U);
    EXPECT_TRUE(table.is_valid());
}

TEST_F(hash_table, keeps_its_pages_if_shrinking_fails)
{
    for (std::uint64_t key = 1; key <= 500; ++key)
        add(key, 0);
    const std::size_t bytes = table.bytes();
    const test::system_calls calls;
    test::system_calls::refuse_from(test::system_call::map, 1);
    for (std::uint64_t key = 1; key < 500; ++key)
        table.remove(table.find({key, 0}));
    EXPECT_EQ(table.bytes(), bytes);
    EXPECT_NE(table.find({500, 0}), nullptr);
    EXPECT_TRUE(table.is_valid());
    test::system_calls::refuse_nothing();
}

TEST_F(hash_table, keeps_its_entries_if_growing_fails)
{
    const test::system_calls calls;
    for (const test::system_call kind : {test::system_call::map, test::system_call::protect}) {
        calls.refuse_from(kind, 1);
        while (table.has_room())
            add(table.count() + 1, 0);
        const std::size_t count = table.count();
        for (std::uint64_t key = 1; key <= count; ++key)
            EXPECT_NE(table.find({key, 0}), nullptr);
        calls.refuse_nothing();
        EXPECT_TRUE(table.has_room());
        add(count + 1, 0);
        EXPECT_TRUE(table.is_valid());
    }
}

TEST_F(hash_table, is_invalid_with_an_entry_in_the_wrong_slot)
{
    add(5, 0);
    add(10, 0);
    table.find({5, 0})->key = 7;
    EXPECT_FALSE(table.is_valid());
}

TEST_F(hash_table, is_invalid_with_a_duplicate_entry)
{
    add(5, 0);
    add(5, 0);
    EXPECT_FALSE(table.is_valid());
}

TEST_F(hash_table, is_invalid_if_overfull)
{
    add(1, 0);
    for (std::uint64_t key = 2; key != 60; ++key) {
        EXPECT_TRUE(key > 49 || table.is_valid());
        (void)table.add({key, 0}); // without has_room()
    }
    EXPECT_FALSE(table.is_valid());
}

TEST_F(hash_table, removes_matching_entries_and_keeps_the_others)
{
    for (std::uint64_t key = 1; key != 1000; ++key)
        add(key, static_cast<int>(key));
    table.remove_if([](const entry& each) { return each.value % 7 != 0; });
    EXPECT_EQ(table.count(), 142U);
    for (std::uint64_t key = 1; key != 1000; ++key)
        EXPECT_EQ(table.find({key, 0}) != nullptr, key % 7 == 0) << key;
    EXPECT_TRUE(table.is_valid());
}

TEST_F(hash_table, returns_most_pages_when_most_entries_are_removed_at_once)
{
    const auto remove_all_but_one = [this] { table.remove_if([](const entry& each) { return each.key != 5; }); };
    add(5, 1);
    const std::size_t bytes = table.bytes();
    for (std::uint64_t key = 6; key != 10'000; ++key)
        add(key, 1);
    ASSERT_GT(table.bytes(), 16 * bytes);
    remove_all_but_one();
    EXPECT_EQ(table.bytes(), bytes);
    EXPECT_NE(table.find({5, 0}), nullptr);
    EXPECT_TRUE(table.is_valid());
}
} // namespace
