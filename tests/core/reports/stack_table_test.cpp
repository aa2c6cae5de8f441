// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/stack_table.hpp>

#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/system_pages.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// Allows `left` allocations, then fails.
struct limited_pages : core::system_pages
{
    static inline std::size_t left = 0;

    static void* take(std::size_t bytes) noexcept
    {
        if (left == 0)
            return nullptr;
        --left;
        return core::system_pages::take(bytes);
    }
};

/// A call stack without modules.
std::vector<core::code_frame> stack_of(const std::vector<std::uintptr_t>& addresses)
{
    std::vector<core::code_frame> frames;
    frames.reserve(addresses.size());
    for (const std::uintptr_t each : addresses)
        frames.push_back({nullptr, each});
    return frames;
}

class stack_table : public testing::Test
{
protected:
    stack_table() { limited_pages::left = std::numeric_limits<std::size_t>::max(); }

    core::stack_entry* find_or_add(const std::vector<core::code_frame>& frames, std::string_view pool = {})
    {
        return table_.find_or_add({frames.data(), frames.data() + frames.size(), pool});
    }

    core::stack_table<limited_pages> table_;
};

TEST_F(stack_table, stores_each_stack_once)
{
    core::stack_entry* const entry = find_or_add(stack_of({1, 2, 3}));
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->allocated_blocks, 0);
    EXPECT_EQ(entry->allocated_bytes, 0);
    EXPECT_EQ(entry->blocks_in_use, 0);
    EXPECT_EQ(entry->bytes_in_use, 0);
    entry->allocated_bytes = 100;
    EXPECT_NE(find_or_add(stack_of({4})), entry);
    EXPECT_EQ(find_or_add(stack_of({1, 2, 3})), entry);
    EXPECT_EQ(entry->allocated_bytes, 100);
    EXPECT_EQ(table_.count(), 2U);
}

TEST_F(stack_table, distinguishes_stacks_by_frames_modules_and_pools)
{
    std::set<core::stack_entry*> entries;
    for (const std::vector<std::uintptr_t>& each :
         std::vector<std::vector<std::uintptr_t>>{{}, {0}, {1}, {1, 2}, {2, 1}, {1, 2, 2}})
        for (const std::string_view pool : {"", "orders", "order"})
            EXPECT_TRUE(entries.insert(find_or_add(stack_of(each), pool)).second);
    const core::code_module first{{0}, {true}, {nullptr}, 1, 0, 0, 0, {}, {}, 0};
    const core::code_module second{{0}, {true}, {nullptr}, 2, 0, 0, 0, {}, {}, 0};
    for (const core::code_module* const module : {&first, &second})
        EXPECT_TRUE(entries.insert(find_or_add({{module, 1}})).second);
    EXPECT_EQ(table_.count(), 20U);
    EXPECT_EQ(entries.count(nullptr), 0U);
    EXPECT_EQ(entries.count(find_or_add(stack_of({1, 2}), "orders")), 1U);
}

TEST_F(stack_table, copies_frames_and_names)
{
    std::vector<core::code_frame> frames = stack_of({7, 8, 9});
    std::string pool = "a pool";
    const core::stack_entry* const entry = find_or_add(frames, pool);
    frames.assign(3, {nullptr, 1});
    pool = "another";
    ASSERT_EQ(entry->end() - entry->begin(), 3);
    const std::vector<core::code_frame> expected = stack_of({7, 8, 9});
    EXPECT_TRUE(std::equal(entry->begin(), entry->end(), expected.begin()));
    EXPECT_EQ(entry->pool(), "a pool");
}

TEST_F(stack_table, never_moves_an_entry)
{
    std::vector<core::stack_entry*> entries;
    for (std::uintptr_t i = 0; i != 10'000; ++i) {
        entries.push_back(find_or_add(stack_of({i, i % 10, 5}), i % 3 == 0 ? "third" : ""));
        ASSERT_NE(entries.back(), nullptr);
        entries.back()->allocated_blocks = static_cast<double>(i);
    }
    EXPECT_EQ(table_.count(), entries.size());
    for (std::uintptr_t i = 0; i != 10'000; ++i) {
        ASSERT_EQ(find_or_add(stack_of({i, i % 10, 5}), i % 3 == 0 ? "third" : ""), entries[i]);
        ASSERT_EQ(entries[i]->allocated_blocks, static_cast<double>(i));
    }
    std::set<core::stack_entry*> visited;
    table_.for_each([&visited](core::stack_entry& each) { EXPECT_TRUE(visited.insert(&each).second); });
    EXPECT_EQ(visited, std::set<core::stack_entry*>(entries.begin(), entries.end()));
}

TEST_F(stack_table, keeps_its_entries_when_out_of_memory)
{
    limited_pages::left = 0;
    EXPECT_EQ(find_or_add(stack_of({1})), nullptr) << "no memory for slots";
    limited_pages::left = 1;
    EXPECT_EQ(find_or_add(stack_of({1})), nullptr) << "no memory for entries";
    EXPECT_EQ(table_.count(), 0U);
    limited_pages::left = 1;
    std::uintptr_t added = 1;
    core::stack_entry* const first = find_or_add(stack_of({added}));
    ASSERT_NE(first, nullptr);
    while (find_or_add(stack_of({added + 1})) != nullptr)
        ASSERT_LT(++added, 100'000U);
    EXPECT_EQ(table_.count(), added);
    EXPECT_EQ(find_or_add(stack_of({1})), first);
    limited_pages::left = 2;
    EXPECT_NE(find_or_add(stack_of({added + 1})), nullptr);
    EXPECT_EQ(table_.count(), added + 1);
}
} // namespace
