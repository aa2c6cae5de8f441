// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>
#include <memory_pool/report.hpp>
#include <np_alloc/slices/size_classes.hpp>

#include <support/child.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {
using test::lasting_thread;
using test::option_for_now;

enum state : std::uint8_t
{
    never_carved,
    is_free,
    is_cached,
    is_in_use,
};

/// A printed slab.
struct printed_slab
{
    std::string heap;
    std::string owner;
    std::uintptr_t address;
    std::size_t bytes;
    std::size_t block_bytes;
    std::vector<state> states;

    std::size_t count(state counted) const
    {
        return static_cast<std::size_t>(std::count(states.begin(), states.end(), counted));
    }
    bool has(const void* block) const { return reinterpret_cast<std::uintptr_t>(block) - address < bytes; }
    state state_of(const void* block) const
    {
        return states.at((reinterpret_cast<std::uintptr_t>(block) - address) / block_bytes);
    }
};

std::vector<state> decoded(const std::string& text, std::size_t blocks)
{
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    EXPECT_EQ(text.size(), ((blocks + 3) / 4 + 2) / 3 * 4);
    std::vector<state> states;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i != text.size(); ++i) {
        bits = bits << 6U | (text[i] == '=' ? 0U : static_cast<std::uint32_t>(digits.find(text[i])));
        if (i % 4 != 3)
            continue;
        for (const unsigned byte : {16U, 8U, 0U})
            for (const unsigned block : {0U, 2U, 4U, 6U})
                states.push_back(static_cast<state>(bits >> byte >> block & 3U));
        bits = 0;
    }
    EXPECT_GE(states.size(), blocks);
    for (std::size_t i = blocks; i < states.size(); ++i)
        EXPECT_EQ(states[i], never_carved) << "the padding behind the last block is zero";
    states.resize(blocks);
    return states;
}

/// Slabs by address.
using printed_slabs = std::map<std::uintptr_t, printed_slab>;

void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

/// Removes `begin`, the text behind it, and `end` from the start of `line`. Returns: the text.
std::string take(std::string& line, const std::string& begin, const std::string& end)
{
    const std::size_t length = line.find(end, begin.size());
    if (line.compare(0, begin.size(), begin) != 0 || length == std::string::npos) {
        ADD_FAILURE() << "expected " << begin << " and " << end << " in " << line.substr(0, 200);
        return "0";
    }
    const std::string taken = line.substr(begin.size(), length - begin.size());
    line.erase(0, length + end.size());
    return taken;
}

/// Returns: the text without quotes; empty for null.
std::string unquoted(const std::string& text)
{
    return text == "null" ? "" : text.substr(1, text.size() - 2);
}

printed_slab parsed_slab(std::string line)
{
    printed_slab slab{};
    slab.heap = unquoted(take(line, "  {\"heap\": ", ", "));
    slab.owner = unquoted(take(line, "\"owner\": ", ", "));
    slab.address = std::stoull(take(line, "\"address\": \"0x", "\", "), nullptr, 16);
    slab.bytes = std::stoul(take(line, "\"bytes\": ", ", "));
    slab.block_bytes = std::stoul(take(line, "\"block_bytes\": ", ", "));
    const std::size_t blocks = std::stoul(take(line, "\"blocks\": ", ", "));
    slab.states = decoded(take(line, "\"states\": \"", "\"}"), blocks);
    EXPECT_TRUE(line.empty() || line == ",") << line;
    return slab;
}

printed_slabs parsed(const std::string& text)
{
    EXPECT_EQ(text.front(), '[');
    EXPECT_EQ(text.substr(text.size() - 2), "]\n");
    printed_slabs all;
    std::istringstream lines(text.substr(1, text.size() - 3));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty())
            continue;
        printed_slab slab = parsed_slab(line);
        EXPECT_LE(slab.block_bytes * slab.states.size(), slab.bytes);
        EXPECT_TRUE(all.empty() || all.rbegin()->first + all.rbegin()->second.bytes <= slab.address)
            << "slabs are ordered by address";
        all.emplace(slab.address, std::move(slab));
    }
    return all;
}

printed_slabs slabs_now()
{
    std::string text;
    np_slabs_print(&append, &text);
    return parsed(text);
}

/// Returns: the slab of the block.
const printed_slab& slab_of(const printed_slabs& all, const void* block)
{
    static const printed_slab none{};
    const auto behind = all.upper_bound(reinterpret_cast<std::uintptr_t>(block));
    if (behind == all.begin() || !std::prev(behind)->second.has(block)) {
        ADD_FAILURE() << "no slab has " << block;
        return none;
    }
    return std::prev(behind)->second;
}

std::string address_of(const void* address)
{
    std::ostringstream text;
    text << address;
    return text.str();
}

TEST(np_slabs_print, prints_the_state_of_each_block)
{
    const test::immediate_reuse in_order;
    np_heap* const heap = np_heap_create();
    const std::size_t block_bytes = test::counted_bytes(200);
    std::array<void*, 5> blocks{};
    for (void*& each : blocks)
        each = np_heap_alloc(heap, 200);
    np_free(blocks[1]);
    const printed_slabs all = slabs_now();
    const printed_slab& slab = slab_of(all, blocks[0]);
    EXPECT_EQ(slab.heap, address_of(heap));
    EXPECT_EQ(slab.owner, "program");
    EXPECT_EQ(slab.block_bytes, block_bytes);
    EXPECT_EQ(slab.state_of(blocks[0]), is_in_use);
    EXPECT_EQ(slab.state_of(blocks[1]), is_free);
    for (const std::size_t i : {2U, 3U, 4U})
        EXPECT_EQ(slab.state_of(blocks[i]), is_in_use);
    EXPECT_EQ(slab.count(is_in_use), 4U);
    EXPECT_EQ(slab.count(is_free), 1U);
    EXPECT_EQ(slab.count(never_carved), slab.states.size() - 5);
    np_heap_destroy(heap);
    EXPECT_EQ(slabs_now().count(slab.address), 0U) << "the slab was freed with its heap";
}

TEST(np_slabs_print, prints_which_blocks_a_thread_caches)
{
    lasting_thread owner;
    std::array<void*, 3> blocks{};
    owner.does([&blocks] {
        for (void*& each : blocks)
            each = np_alloc(3000);
        np_free(blocks[1]);
    });
    const printed_slabs all = slabs_now();
    const printed_slab& slab = slab_of(all, blocks[0]);
    EXPECT_EQ(slab.owner, "thread");
    EXPECT_EQ(slab.state_of(blocks[0]), is_in_use);
    EXPECT_EQ(slab_of(all, blocks[1]).state_of(blocks[1]), is_cached) << "in a magazine, or in quarantine";
    EXPECT_EQ(slab_of(all, blocks[2]).state_of(blocks[2]), is_in_use);
    owner.does([&blocks] {
        np_free(blocks[0]);
        np_free(blocks[2]);
    });
}

TEST(np_slabs_print, prints_parked_heaps)
{
    void* block = nullptr;
    test::in_a_thread([&block] { block = np_alloc(5000); });
    const printed_slabs all = slabs_now();
    EXPECT_EQ(slab_of(all, block).owner, "parked");
    EXPECT_EQ(slab_of(all, block).state_of(block), is_in_use);
    np_free(block);
}

TEST(np_slabs_print, prints_a_large_block_as_a_slab_of_one_block)
{
    void* const block = np_alloc(1'000'000);
    const printed_slabs all = slabs_now();
    const printed_slab& slab = slab_of(all, block);
    EXPECT_EQ(slab.owner, "");
    EXPECT_EQ(slab.heap, "");
    EXPECT_EQ(slab.block_bytes, slab.bytes);
    EXPECT_GE(slab.bytes, 1'000'000U);
    EXPECT_EQ(slab.states, std::vector<state>{is_in_use});
    np_free(block);
    EXPECT_EQ(slabs_now().count(reinterpret_cast<std::uintptr_t>(block)), 0U);
}

TEST(np_slabs_print, agrees_with_np_slab_visit)
{
    lasting_thread other;
    const auto use_some = [](std::vector<void*>& kept) {
        for (const std::size_t bytes : test::sizes_of_all_kinds)
            for (int i = 0; i != 100; ++i)
                if (void* const block = np_alloc(bytes); i % 3 == 0)
                    np_free(block);
                else
                    kept.push_back(block);
    };
    std::vector<void*> mine;
    std::vector<void*> of_other;
    use_some(mine);
    other.does([&] { use_some(of_other); });
    struct visited_slabs
    {
        printed_slabs left = slabs_now();
        std::size_t visited = 0;
    } all;
    ASSERT_EQ(np_slab_visit(
                  nullptr,
                  [](const np_slab* slab, void* argument) {
                      auto& [left, visited] = *static_cast<visited_slabs*>(argument);
                      const auto found = left.find(reinterpret_cast<std::uintptr_t>(slab->address));
                      if (found == left.end())
                          return 0;
                      const printed_slab& printed = found->second;
                      EXPECT_EQ(printed.bytes, slab->bytes);
                      EXPECT_EQ(printed.block_bytes, slab->block_bytes);
                      EXPECT_EQ(printed.states.size(), slab->blocks);
                      EXPECT_EQ(printed.count(is_in_use), slab->blocks_in_use);
                      EXPECT_EQ(printed.count(is_cached), slab->blocks_cached);
                      left.erase(found);
                      ++visited;
                      return 1;
                  },
                  &all),
              1)
        << "each visited slab was printed";
    EXPECT_GE(all.visited, 10U);
    std::size_t large_bytes = 0;
    for (const auto& [address, slab] : all.left) {
        EXPECT_EQ(slab.owner, "") << "np_slab_visit skips large blocks only";
        large_bytes += slab.bytes;
    }
    np_statistics statistics;
    np_get_statistics(&statistics);
    EXPECT_EQ(large_bytes, statistics.bytes_large);
    other.does([&of_other] {
        for (void* const each : of_other)
            np_free(each);
    });
    for (void* const each : mine)
        np_free(each);
}

TEST(np_slabs_print, calls_the_callback_without_a_lock)
{
    np_heap* const heap = np_heap_create();
    EXPECT_NE(np_heap_alloc(heap, 100), nullptr);
    np_slabs_print(
        [](const char*, std::size_t, void* used) {
            for (const std::size_t bytes : test::sizes_of_all_kinds) {
                np_free(np_heap_alloc(static_cast<np_heap*>(used), bytes));
                np_free(np_alloc(bytes));
            }
            np_heap_destroy(np_heap_create());
        },
        heap);
    np_heap_destroy(heap);
}

TEST(np_slabs_print, is_correct_while_other_threads_allocate)
{
    constexpr int prints = 20;
    np_heap* const lasting = np_heap_create();
    void* const fixed = np_heap_alloc(lasting, 100);
    std::atomic<bool> ends{false};
    test::in_threads(4, [&](std::size_t number) {
        if (number == 0) {
            for (int i = 0; i != prints; ++i) {
                const printed_slabs all = slabs_now(); // Checks the format, too.
                EXPECT_EQ(slab_of(all, fixed).state_of(fixed), is_in_use);
            }
            ends = true;
            return;
        }
        while (!ends.load()) {
            np_heap* const heap = np_heap_create();
            std::vector<void*> blocks;
            for (const std::size_t bytes : test::sizes_of_all_kinds)
                for (int i = 0; i != 50; ++i) {
                    blocks.push_back(np_alloc(bytes));
                    EXPECT_NE(np_heap_alloc(heap, bytes), nullptr);
                }
            for (void* const each : blocks)
                np_free(each);
            test::in_a_thread([] { np_free(np_alloc(100)); });
            np_heap_destroy(heap);
        }
    });
    np_heap_destroy(lasting);
}

#if TESTS_MAY_FORK
TEST(np_slabs_print, prints_unknown_owners_in_the_child_of_a_fork)
{
    lasting_thread other;
    void* block = nullptr;
    other.does([&block] { block = np_alloc(6000); });
    test::expect_in_child([block] {
        const printed_slabs all = slabs_now();
        return slab_of(all, block).owner == "unknown" && slab_of(all, block).state_of(block) == is_in_use;
    });
    other.does([block] { np_free(block); });
}
#endif

TEST(write_report, includes_slabs_only_on_request)
{
    void* const block = np_alloc(100);
    const auto report = [] {
        std::ostringstream text;
        memory_pool::write_report(text, memory_pool::report_format::json);
        return text.str();
    };
    EXPECT_EQ(report().find("\"slabs\": ["), std::string::npos);
    const option_for_now with_slabs(np_option_report_slabs, 1);
    const std::string text = report();
    const std::size_t begin = text.find(", \"slabs\": [");
    ASSERT_NE(begin, std::string::npos);
    const std::string slabs = text.substr(begin + 11, text.rfind('}') - begin - 11);
    EXPECT_EQ(slab_of(parsed(slabs), block).state_of(block), is_in_use);
    std::ostringstream table;
    memory_pool::write_report(table, memory_pool::report_format::text);
    EXPECT_EQ(table.str().find("states"), std::string::npos);
    np_free(block);
}
} // namespace
