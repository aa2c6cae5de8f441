// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {
// The public interface.
static_assert(std::is_same_v<decltype(np_alloc(std::size_t{1})), void*>);
static_assert(std::is_same_v<decltype(np_alloc(std::size_t{1}, "file", 1)), void*>);
static_assert(std::is_same_v<decltype(np_free(nullptr)), void>);

/// Allocates `count` blocks of `least` to `most` bytes in total, at most `blocks_at_once` at a time, and frees them.
/// Returns: whether all blocks kept their contents.
bool allocates_and_frees(std::size_t least, std::size_t most, std::size_t count)
{
    constexpr std::size_t blocks_at_once = 1000;
    std::mt19937 random(5); // NOLINT: reproducible
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

TEST(np_alloc_drop_in, accepts_a_call_site)
{
    void* const block = np_alloc(100, __FILE__, __LINE__);
    const char file[] = "a name in an array";
    void* const other = np_alloc(100, file, 42);
    EXPECT_NE(block, nullptr);
    EXPECT_NE(other, nullptr);
    np_free(other);
    np_free(block);
}

TEST(np_alloc_drop_in, lists_blocks_in_use_by_call_site)
{
    void* const block = np_alloc(100, "orders.cpp", 42);
    std::ostringstream report;
    EXPECT_EQ(np_leak_report(np_format_text, report), 1U);
    EXPECT_EQ(report.str(), "np_alloc: in use, by call site:\n"
                            "  orders.cpp:42  1 block  100 bytes\n"
                            "  in all  1 block  100 bytes\n");
    np_free(block);
    EXPECT_EQ(np_leak_report(), 0U);
}

// This test must compile with warnings as errors: a program for the original may ignore the results. The blocks are
// never freed, so a separate process allocates them.
TEST(np_alloc_drop_in, does_not_require_its_result_to_be_used)
{
    const auto ignore_blocks = [] {
        np_alloc(8);
        np_alloc(8, __FILE__, __LINE__);
        std::_Exit(np_leak_report() == 1 ? 0 : 1);
    };
    EXPECT_EXIT(ignore_blocks(), ::testing::ExitedWithCode(0), "");
}

TEST(np_alloc_drop_in, ignores_nullptr)
{
    np_free(nullptr);
}

TEST(np_alloc_drop_in, frees_blocks_of_other_threads)
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

TEST(np_alloc_drop_in, allocates_sizes_beyond_32_bits)
{
    const std::uint64_t bytes = (std::uint64_t{1} << 32) + 100;
    auto* const block = static_cast<unsigned char*>(np_alloc(static_cast<std::size_t>(bytes)));
    ASSERT_NE(block, nullptr);
    block[bytes - 1] = 7;
    EXPECT_GE(np_usable_size(block), bytes);
    EXPECT_EQ(block[bytes - 1], 7);
    np_free(block);
}

TEST(np_alloc_drop_in, prints_statistics)
{
    void* const block = np_alloc(100);
    testing::internal::CaptureStderr();
    np_debug_print();
    const std::string printed = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    np_statistics_print();
    EXPECT_EQ(printed, testing::internal::GetCapturedStderr());
    EXPECT_NE(printed, "");
    np_free(block);
}

NP_API int declared_with_np_api();

NP_API int declared_with_np_api()
{
    return 1;
}

TEST(np_alloc_drop_in, lets_programs_declare_functions_with_np_api)
{
    EXPECT_EQ(declared_with_np_api(), 1);
}

TEST(np_alloc_drop_in, names_integers_by_their_size)
{
    static_assert(std::is_same_v<np::byte, unsigned char>);
    static_assert(std::is_same_v<np::int32, std::int32_t> && std::is_same_v<np::int64, std::int64_t>);
    static_assert(std::is_same_v<np::uint32, std::uint32_t> && std::is_same_v<np::uint64, std::uint64_t>);
    np::byte byte = 255;
    EXPECT_EQ(++byte, 0);
}

TEST(np_alloc_drop_in, has_the_containers_of_std)
{
    static_assert(std::is_same_v<np::string, std::string>);
    static_assert(std::is_same_v<np::vector<int>, std::vector<int>>);
    static_assert(std::is_same_v<np::array<int, 3>, std::array<int, 3>>);
}

TEST(np_alloc_drop_in, can_be_used_without_namespace_qualifiers)
{
    using namespace np;
    using namespace std;
    const array<string, 2> words{"one", "two"};
    const vector<uint32> numbers{log2(8U), log2(8), log2(uint64{8}), log2(short{8} + 0L), clz(1U), ctz(8U), popcnt(7U)};
    EXPECT_EQ(words[1], "two");
    EXPECT_EQ(numbers, (vector<uint32>{3, 3, 3, 3, 31, 3, 3}));
    EXPECT_EQ(log2(8.5), std::log2(8.5)); // Floating point still calls std::log2.
    EXPECT_EQ(1_MB, 1024U * 1024U);
}

TEST(np_alloc_drop_in, defines_mb_and_gb_in_bytes)
{
    using namespace np;
    static_assert(std::is_same_v<decltype(1_MB), std::size_t>);
    static_assert(std::is_same_v<decltype(1_GB), std::size_t>);
    static_assert(1_MB == 1'048'576 && 64_MB == 67'108'864);
    static_assert(1_GB == 1'073'741'824 && 8_GB == 8'589'934'592);
    EXPECT_EQ(0_MB, 0U);
}

TEST(np_alloc_drop_in, counts_zeros_from_either_end_of_32_and_64_bits)
{
    for (np::uint32 bit = 0; bit != 32; ++bit) {
        EXPECT_EQ(np::clz(np::uint32{1} << bit), 31 - bit);
        EXPECT_EQ(np::ctz(~np::uint32{0} << bit), bit);
    }
    for (np::uint32 bit = 0; bit != 64; ++bit) {
        EXPECT_EQ(np::clz(np::uint64{1} << bit), 63 - bit);
        EXPECT_EQ(np::ctz(~np::uint64{0} << bit), bit);
    }
    EXPECT_EQ(np::clz(-1), 0U);
    EXPECT_EQ(np::clz(static_cast<unsigned char>(1)), 31U); // Converted to 32 bits.
    EXPECT_EQ(np::ctz(-8LL), 3U);
}

TEST(np_alloc_drop_in, counts_all_bits_of_0_as_zeros)
{
    static_assert(np::clz(np::uint32{0}) == 32 && np::ctz(np::uint32{0}) == 32);
    static_assert(np::clz(np::uint64{0}) == 64 && np::ctz(np::uint64{0}) == 64);
    static_assert(np::clz(0) == 32 && np::ctz(0LL) == 64);
}

TEST(np_alloc_drop_in, counts_set_bits)
{
    static_assert(np::popcnt(0) == 0 && np::popcnt(-1) == 32 && np::popcnt(-1LL) == 64);
    static_assert(np::popcnt(np::uint32{0xF0F0}) == 8 && np::popcnt(np::uint64{0xF0} << 40) == 4);
    static_assert(np::popcnt(static_cast<signed char>(-1)) == 32);
}

template <class Integer>
void expect_logarithms()
{
    EXPECT_EQ(np::log2(Integer{0}), 0U);
    for (np::uint32 bit = 0; bit != std::numeric_limits<Integer>::digits; ++bit) {
        const auto power = static_cast<Integer>(Integer{1} << bit);
        EXPECT_EQ(np::log2(power), bit);
        EXPECT_EQ(np::log2(static_cast<Integer>(power | (power - 1))), bit);
    }
}

TEST(np_alloc_drop_in, rounds_logarithms_down)
{
    expect_logarithms<int>();
    expect_logarithms<unsigned>();
    expect_logarithms<long>();
    expect_logarithms<unsigned long>();
    expect_logarithms<long long>();
    expect_logarithms<unsigned long long>();
    expect_logarithms<unsigned char>();
    static_assert(np::log2(-1) == 31 && np::log2(-1LL) == 63); // The bits are those of the unsigned type.
}

TEST(np_alloc_drop_in, aligns_blocks)
{
    for (std::size_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
            void* const block = np::aligned_alloc(size, alignment);
            ASSERT_NE(block, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
            EXPECT_GE(np_usable_size(block), size);
            np::aligned_free(block);
        }
    }
    np::aligned_free(nullptr);
}

TEST(np_alloc_drop_in, allocates_aligned_blocks_large_enough_for_either_argument_order)
{
    void* const block = np::aligned_alloc(64, 4096); // C11's order of arguments: 4096 bytes aligned to 64
    EXPECT_GE(np_usable_size(block), 4096U);
    np_free(block);
    EXPECT_EQ(np::aligned_alloc(64, 1000), nullptr);
    EXPECT_EQ(errno, EINVAL);
}
} // namespace
