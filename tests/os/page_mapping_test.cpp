// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/page_mapping.hpp>

#include <memory_pool/os/huge_pages.hpp>
#include <memory_pool/os/pages.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace os = memory_pool::detail::os;
using os::page_kind;

namespace {
const std::size_t page = os::page_size();

TEST(map_pages, maps_whole_zeroed_writable_pages)
{
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page - 1, page, page + 1, 100 * page}) {
        const os::page_mapping mapping = os::map_pages(bytes, 1, page_kind::normal);
        ASSERT_NE(mapping.memory, nullptr);
        EXPECT_EQ(mapping.bytes % page, 0u);
        EXPECT_GE(mapping.bytes, std::max<std::size_t>(bytes, 1));
        EXPECT_LT(mapping.bytes, bytes + page + 1);
        EXPECT_EQ(mapping.reserved, mapping.memory);
        EXPECT_EQ(mapping.reserved_bytes, mapping.bytes);
        auto* const first = static_cast<unsigned char*>(mapping.memory);
        EXPECT_TRUE(std::all_of(first, first + mapping.bytes, [](unsigned char byte) { return byte == 0; }));
        std::memset(mapping.memory, 0xAB, mapping.bytes);
        EXPECT_TRUE(os::unmap_pages(mapping));
    }
}

TEST(map_pages, supports_every_alignment)
{
    const test::system_calls calls;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
        const os::page_mapping mapping = os::map_pages(3 * page, alignment, page_kind::normal);
        ASSERT_NE(mapping.memory, nullptr) << alignment;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.memory) % alignment, 0u);
        EXPECT_EQ(mapping.bytes, 3 * page);
        std::memset(mapping.memory, 0xAB, mapping.bytes);
        if (os::platform::mappings_can_be_cut) {
            EXPECT_EQ(calls.mapped(), 3 * page) << "bytes mapped for the alignment are unmapped";
        }
        EXPECT_TRUE(os::unmap_pages(mapping));
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(map_pages, fails_for_unaddressable_sizes)
{
    constexpr std::size_t max = std::numeric_limits<std::size_t>::max();
    for (const std::size_t bytes : {max, max - page, max - page + 1, max / 2 + 1, max / 2, max / 2 - page})
        EXPECT_EQ(os::map_pages(bytes, 1, page_kind::normal).memory, nullptr) << bytes;
    EXPECT_EQ(os::map_pages(1, max / 2 + 1, page_kind::normal).memory, nullptr);
    EXPECT_EQ(os::map_pages(max / 2 - page, std::size_t{1} << 40, page_kind::normal).memory, nullptr);
}

TEST(map_pages, tracks_all_memory_when_a_system_call_fails)
{
    // The calls: map, unmap the part before the pages, unmap the part behind them. If the mapping happens to be
    // aligned, there is no part before the pages.
    for (std::size_t refused = 1; refused != 4; ++refused) {
        const test::system_calls calls;
        calls.refuse(test::system_call::any, refused);
        const os::page_mapping mapping = os::map_pages(page, 64 * page, page_kind::normal);
        EXPECT_EQ(mapping.memory == nullptr, refused == 1);
        EXPECT_EQ(mapping.reserved_bytes, calls.mapped());
        calls.refuse_nothing(); // If the mapping was aligned, the refusal may still be pending.
        if (mapping.memory != nullptr) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.memory) % (64 * page), 0u);
            std::memset(mapping.memory, 0xAB, mapping.bytes);
            EXPECT_TRUE(os::unmap_pages(mapping)) << "one call unmaps everything";
        }
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(map_pages, maps_huge_pages_or_fails)
{
    const os::page_mapping mapping = os::map_pages(1, 1, page_kind::huge);
    if (mapping.memory == nullptr)
        GTEST_SKIP() << "no huge page available";
    EXPECT_EQ(mapping.bytes, os::huge_page_size());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.memory) % os::huge_page_size(), 0u);
    std::memset(mapping.memory, 0xAB, mapping.bytes);
    EXPECT_TRUE(os::unmap_pages(mapping));
}

#if defined(__linux__)
std::size_t resident_pages(const os::page_mapping& mapping)
{
    std::vector<unsigned char> state(mapping.bytes / page);
    EXPECT_EQ(mincore(mapping.memory, mapping.bytes, state.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(state.begin(), state.end(), [](unsigned char one) { return (one & 1u) != 0; }));
}

TEST(populate_pages, makes_every_page_resident)
{
    const os::page_mapping mapping = os::map_pages(16 * page, 1, page_kind::normal);
    EXPECT_EQ(resident_pages(mapping), 0u);
    EXPECT_TRUE(os::populate_pages(mapping));
    EXPECT_EQ(resident_pages(mapping), 16u);
    EXPECT_TRUE(os::unmap_pages(mapping));
}

TEST(populate_pages, reports_failure)
{
    const os::page_mapping mapping = os::map_pages(16 * page, 1, page_kind::normal);
    ASSERT_EQ(munmap(static_cast<std::byte*>(mapping.memory) + 8 * page, page), 0); // a hole, which cannot be backed
    if (madvise(mapping.memory, page, 23) != 0)
        GTEST_SKIP() << "this system does not know MADV_POPULATE_WRITE";
    EXPECT_FALSE(os::populate_pages(mapping));
    EXPECT_TRUE(os::unmap_pages(mapping)) << "despite the hole";
}
#endif

} // namespace
