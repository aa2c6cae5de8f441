// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/bytes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace os = memory_pool::detail::os;

namespace {
constexpr unsigned char value = 0xDF;

/// Returns: the number of changed bytes that `are_all` misses, or `bytes` if it fails without a change.
template <class AreAll>
std::size_t missed(std::size_t offset, std::size_t bytes, AreAll&& are_all)
{
    std::vector<unsigned char> memory(offset + bytes + 64, static_cast<unsigned char>(~value));
    unsigned char* const first = memory.data() + offset;
    std::fill_n(first, bytes, value);
    if (!are_all(first, bytes))
        return bytes;
    std::size_t count = 0;
    for (std::size_t i = 0; i != bytes; ++i) {
        first[i] ^= 0x10;
        count += are_all(first, bytes) ? 1U : 0U;
        first[i] ^= 0x10;
    }
    return count;
}

TEST(are_all, detects_each_different_byte)
{
    for (std::size_t bytes = 8; bytes != 300; ++bytes)
        for (const std::size_t offset : {0U, 1U, 16U})
            EXPECT_EQ(missed(offset, bytes, [](const void* m, std::size_t n) { return os::are_all(m, n, value); }), 0U)
                << bytes;
}

TEST(are_all, detects_each_different_byte_without_wide_vectors)
{
    constexpr std::uint64_t word = 0x0101'0101'0101'0101U * value;
    for (std::size_t bytes = 8; bytes != 300; ++bytes)
        EXPECT_EQ(missed(0, bytes,
                         [](const void* m, std::size_t n) {
                             return os::platform::are_all_by_comparing(static_cast<const std::byte*>(m), n, word);
                         }),
                  0U)
            << bytes;
}

TEST(are_any_of, detects_each_byte_that_matches)
{
    for (std::size_t words = 1; words != 40; ++words) {
        std::vector<std::uint64_t> memory(words);
        for (std::size_t i = 0; i != words; ++i)
            memory[i] = std::array<std::uint64_t, 3>{5, 0, 7}[i % 3];
        const auto are_any = [&] { return os::are_any_of(memory.data(), words * 8, {0, 5, 7}); };
        ASSERT_TRUE(are_any()) << words;
        for (std::size_t bit = 3; bit < words * 64; bit += 8) {
            memory[bit / 64] ^= std::uint64_t{1} << bit % 64;
            ASSERT_FALSE(are_any()) << bit << " of " << words;
            memory[bit / 64] ^= std::uint64_t{1} << bit % 64;
        }
    }
}
} // namespace
