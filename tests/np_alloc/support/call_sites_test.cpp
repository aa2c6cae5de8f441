// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/call_sites.hpp>
#include <memory_pool/np_alloc.h>
#include <np_alloc/engine/engine.hpp>

#include <support/child.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
using line = std::pair<std::string, int>;
using in_use = std::pair<std::size_t, std::size_t>; // blocks, bytes

/// Returns: the current blocks and bytes by call site.
std::map<line, in_use> all_sites()
{
    std::map<line, in_use> all;
    EXPECT_EQ(np_call_site_visit(
                  [](const np_call_site* site, void* argument) {
                      auto& found = *static_cast<std::map<line, in_use>*>(argument);
                      return found.try_emplace({site->file, site->line}, site->blocks, site->bytes).second ? 1 : 0;
                  },
                  &all),
              1)
        << "each call site once";
    for (np::call_site_heap& each : np::registry().heaps().call_site_heaps)
        EXPECT_TRUE(each.sites().is_valid());
    return all;
}

using sites = std::map<line, in_use>;

TEST(np_alloc_at, remembers_the_call_site_while_the_block_is_outstanding)
{
    void* const a = np_alloc_at(64, "orders.c", 42);
    void* const b = np_alloc_at(0, "orders.c", 42);
    void* const c = np_alloc_at(100'000, "orders.c", 43);
    EXPECT_GE(np_usable_size(c), 100'000U);
    EXPECT_EQ(all_sites(), (sites{{{"orders.c", 42}, {2, 64}}, {{"orders.c", 43}, {1, 100'000}}}));
    np_free(a);
    EXPECT_EQ(all_sites(), (sites{{{"orders.c", 42}, {1, 0}}, {{"orders.c", 43}, {1, 100'000}}}));
    np_free(c);
    np_free(b);
    EXPECT_EQ(all_sites(), sites{});
}

TEST(np_alloc_at, keeps_the_call_site_of_a_resized_block)
{
    void* block = np_alloc_at(100, "a.c", 1);
    for (const std::size_t bytes : {112U, 60U, 5000U, 200'000U, 190'000U, 400'000U, 10U}) {
        block = np_realloc(block, bytes);
        ASSERT_EQ(all_sites(), (sites{{{"a.c", 1}, {1, bytes}}})) << bytes;
    }
    np_free(block);
    EXPECT_EQ(all_sites(), sites{});
}

TEST(np_alloc_at, compares_file_names_by_content)
{
    const std::array<std::string, 3> copies{"header.h", "header.h", "header.h"};
    std::vector<void*> blocks;
    for (const std::string& each : copies)
        blocks.push_back(np_alloc_at(10, each.c_str(), 5)); // NOLINT(performance-inefficient-vector-operation)
    EXPECT_EQ(all_sites(), (sites{{{"header.h", 5}, {3, 30}}}));
    for (void* block : blocks)
        np_free(block);
}

TEST(np_alloc_at, does_not_read_a_file_name_without_outstanding_blocks)
{
    auto gone = std::make_unique<std::string>("plugin.c");
    np_free(np_alloc_at(10, gone->c_str(), 1));
    gone.reset();
    void* const block = np_alloc_at(10, "main.c", 1);
    EXPECT_EQ(all_sites(), (sites{{{"main.c", 1}, {1, 10}}}));
    np_free(block);
}

TEST(np_alloc_at, reports_a_null_file_name_as_unknown)
{
    void* const block = np_alloc_at(10, nullptr, 0);
    EXPECT_EQ(all_sites(), (sites{{{"unknown", 0}, {1, 10}}}));
    np_free(block);
}

TEST(np_alloc_at, allocates_even_without_memory_for_call_sites)
{
    np_free(np_alloc_at(10, "a.c", 1)); // creates the slab, so only the tables need memory
    const test::system_calls calls;
    calls.refuse_from(test::system_call::map, 1);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) {
        block = np_alloc_at(10, "a.c", 1);
        ASSERT_NE(block, nullptr);
    }
    EXPECT_LT((all_sites()[{"a.c", 1}].first), blocks.size());
    for (void* block : blocks)
        np_free(block);
    EXPECT_EQ(all_sites(), sites{});
}

TEST(call_sites, name_the_call_site_of_an_outstanding_or_the_last_freed_block)
{
    const std::array<char, 64> blocks{};
    const char* const block = blocks.data();
    np::call_sites known;
    const auto name = [&](const void* address, bool may_be_inside, bool may_be_freed) {
        return std::string(known.site_name(address, may_be_inside, may_be_freed).c_str());
    };
    EXPECT_EQ(name(block, true, true), "");
    ASSERT_TRUE(known.remember(block, 32, {"a.c", 1}));
    EXPECT_EQ(name(block, false, false), "a.c:1");
    EXPECT_EQ(name(block + 31, true, false), "a.c:1");
    EXPECT_EQ(name(block + 31, false, false), "");
    EXPECT_EQ(name(block + 32, true, true), "");
    known.forget(block);
    EXPECT_EQ(name(block, false, true), "a.c:1");
    EXPECT_EQ(name(block, true, false), "");
    ASSERT_TRUE(known.remember(block, 16, {"b.c", 2}));
    EXPECT_EQ(name(block, false, true), "b.c:2");
    known.release();
}

TEST(call_sites, name_the_call_site_at_both_addresses_of_a_moved_block)
{
    const std::array<char, 64> blocks{};
    const char* const from = blocks.data();
    const char* const to = from + 32;
    np::call_sites known;
    ASSERT_TRUE(known.remember(from, 16, {"a.c", 1}));
    known.forget(from);
    ASSERT_TRUE(known.remember(from, 16, {"b.c", 2}));
    known.move(from, to, 32);
    EXPECT_STREQ(known.site_name(from, false, true).c_str(), "b.c:2");
    EXPECT_STREQ(known.site_name(to, false, false).c_str(), "b.c:2");
    known.release();
}

TEST(call_sites, do_not_name_a_stale_call_site_after_a_failed_insertion)
{
    const char block = 0;
    np::call_sites known;
    ASSERT_TRUE(known.remember(&block, 1, {"a.c", 1}));
    known.forget(&block);
    known.release();
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        ASSERT_FALSE(known.remember(&block, 1, {"b.c", 2}));
    }
    EXPECT_STREQ(known.site_name(&block, false, true).c_str(), "");
}

TEST(np_alloc_at, returns_null_without_memory)
{
    const volatile std::size_t too_many = ~std::size_t{0};
    EXPECT_EQ(np_alloc_at(too_many, "a.c", 1), nullptr);
    EXPECT_EQ(all_sites(), sites{});
}

TEST(np_call_site_visit, stops_when_the_visitor_returns_0)
{
    void* const a = np_alloc_at(10, "a.c", 1);
    void* const b = np_alloc_at(10, "b.c", 1);
    int visits = 0;
    EXPECT_EQ(
        np_call_site_visit([](const np_call_site*, void* count) { return ++*static_cast<int*>(count), 0; }, &visits),
        0);
    EXPECT_EQ(visits, 1);
    np_free(a);
    np_free(b);
}

TEST(np_alloc_at, counts_correctly_across_remote_frees)
{
    std::array<std::atomic<void*>, 64> blocks{};
    test::in_threads(4, [&](std::size_t thread) {
        for (std::size_t step = 0; step != 2000; ++step) {
            void* const block = np_alloc_at(10 + step % 100, "threads.c", static_cast<int>(step % 7));
            void* const old = blocks[(step * 31 + thread) % blocks.size()].exchange(block);
            np_free(step % 4 == 0 ? np_realloc(old, 2000) : old);
        }
    });
    std::size_t count = 0;
    for (const auto& [site, statistics] : all_sites())
        count += statistics.first;
    EXPECT_EQ(count, blocks.size());
    for (std::atomic<void*>& each : blocks)
        np_free(each);
    EXPECT_EQ(all_sites(), sites{});
}

#if TESTS_MAY_FORK
TEST(np_alloc_at, works_in_the_child_of_a_fork)
{
    void* const block = np_alloc_at(10, "fork.c", 1);
    test::expect_in_child([block] {
        void* const another = np_alloc_at(20, "fork.c", 1);
        const bool both_are_known = all_sites() == sites{{{"fork.c", 1}, {2, 30}}};
        np_free(block);
        np_free(another);
        return both_are_known && all_sites().empty();
    });
    np_free(block);
}
#endif

TEST(call_sites, detect_damaged_statistics)
{
    np::call_sites damaged;
    const int block = 0;
    for (const std::size_t bytes : {0U, 10U}) {
        ASSERT_TRUE(damaged.remember(&block, bytes, {"a.c", 1}));
        ASSERT_TRUE(damaged.is_valid());
        ASSERT_TRUE(damaged.remember(&block, bytes, {"b.c", 1})) << "as if the block had been freed in between";
        EXPECT_FALSE(damaged.is_valid());
        damaged.release();
    }
}
} // namespace
