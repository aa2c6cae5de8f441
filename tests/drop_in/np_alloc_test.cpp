// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>
#include <type_traits>
#include <vector>

namespace
{
// The interface, as its users know it.
static_assert(std::is_same_v<decltype(np_alloc(std::size_t{1})), void*>);
static_assert(std::is_same_v<decltype(np_alloc(std::size_t{1}, "file", 1)), void*>);
static_assert(std::is_same_v<decltype(np_free(nullptr)), void>);

/// Allocates blocks of `least` to `most` bytes, at most `blocks_at_once`, frees them all, and goes on until there were `count`.
/// Returns: whether each had what was written to it until it was freed.
bool allocates_and_frees(std::size_t least, std::size_t most, std::size_t count)
{
    constexpr std::size_t blocks_at_once = 1000;
    std::mt19937 random(5); // NOLINT: the same in each run
    std::vector<unsigned char*> blocks;
    blocks.reserve(blocks_at_once);
    bool is_right = true;
    for (std::size_t i = 0; i != count; ++i) {
        const std::size_t bytes = least + random() % (most - least + 1);
        blocks.push_back(static_cast<unsigned char*>(np_alloc(bytes)));
        std::memset(blocks.back(), static_cast<int>(blocks.size() % 251), bytes);
        if (blocks.size() != blocks_at_once && i + 1 != count)
            continue;
        for (std::size_t number = 0; number != blocks.size(); ++number) {
            is_right =
                is_right && blocks[number][0] == (number + 1) % 251 && blocks[number][least - 1] == blocks[number][0];
            np_free(blocks[number]);
        }
        blocks.clear();
    }
    return is_right;
}

TEST(np_alloc_drop_in, serves_small_and_big_blocks_to_one_thread_and_to_many)
{
    EXPECT_TRUE(allocates_and_frees(50, 300, 10'000));
    EXPECT_TRUE(allocates_and_frees(5000, 7500, 5000));
    std::vector<std::thread> threads;
    for (int i = 0; i != 10; ++i)
        threads.emplace_back([] { EXPECT_TRUE(allocates_and_frees(50, 7100, 3000)); });
    for (std::thread& thread : threads)
        thread.join();
}

TEST(np_alloc_drop_in, may_be_told_the_line_that_asks)
{
    void* const block = np_alloc(100, __FILE__, __LINE__);
    const char file[] = "a name in an array";
    void* const other = np_alloc(100, file, 42);
    EXPECT_NE(block, nullptr);
    EXPECT_NE(other, nullptr);
    np_free(other);
    np_free(block);
}

TEST(np_alloc_drop_in, lists_what_is_in_use_by_the_line_that_has_asked)
{
    void* const block = np_alloc(100, "orders.cpp", 42);
    std::ostringstream report;
    EXPECT_EQ(np_report_leaks(report), 1U);
    EXPECT_EQ(report.str(), "np_alloc: in use, by the line that has asked:\n"
                            "  orders.cpp:42  1 block  100 bytes\n"
                            "  in all  1 block  100 bytes\n");
    np_free(block);
    EXPECT_EQ(np_report_leaks(), 0U);
}

TEST(np_alloc_drop_in, ignores_nullptr)
{
    np_free(nullptr);
}

TEST(np_alloc_drop_in, frees_in_one_thread_what_another_has_allocated)
{
    for (int round = 0; round != 5; ++round) {
        std::vector<void*> blocks;
        std::thread([&] {
            for (std::size_t bytes = 1; bytes < 8000; bytes += 3)
                blocks.push_back(np_alloc(bytes));
        }).join();
        std::thread([&] {
            for (void* block : blocks)
                np_free(block);
        }).join();
    }
}

TEST(np_alloc_drop_in, gives_as_much_as_was_asked_for_beyond_32_bits)
{
    const std::uint64_t bytes = (std::uint64_t{1} << 32) + 100;
    auto* const block = static_cast<unsigned char*>(np_alloc(static_cast<std::size_t>(bytes)));
    ASSERT_NE(block, nullptr);
    block[bytes - 1] = 7;
    EXPECT_GE(np_usable_size(block), bytes);
    EXPECT_EQ(block[bytes - 1], 7);
    np_free(block);
}
} // namespace
