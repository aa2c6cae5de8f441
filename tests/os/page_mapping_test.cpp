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

TEST(map_pages, gives_whole_pages_of_zeros_that_can_be_written_to)
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

TEST(map_pages, honours_every_alignment)
{
    const test::system_calls calls;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
        const os::page_mapping mapping = os::map_pages(3 * page, alignment, page_kind::normal);
        ASSERT_NE(mapping.memory, nullptr) << alignment;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.memory) % alignment, 0u);
        EXPECT_EQ(mapping.bytes, 3 * page);
        std::memset(mapping.memory, 0xAB, mapping.bytes);
        if (os::platform::mappings_can_be_cut) {
            EXPECT_EQ(calls.mapped(), 3 * page) << "what was mapped for the alignment has gone back";
        }
        EXPECT_TRUE(os::unmap_pages(mapping));
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(map_pages, gives_nothing_that_does_not_fit_into_the_addresses)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t bytes : {most, most - page, most - page + 1, most / 2 + 1, most / 2, most / 2 - page})
        EXPECT_EQ(os::map_pages(bytes, 1, page_kind::normal).memory, nullptr) << bytes;
    EXPECT_EQ(os::map_pages(1, most / 2 + 1, page_kind::normal).memory, nullptr);
    EXPECT_EQ(os::map_pages(most / 2 - page, std::size_t{1} << 40, page_kind::normal).memory, nullptr);
}

TEST(map_pages, knows_all_it_has_when_the_system_refuses_a_call)
{
    // The calls: map, unmap the part before, unmap the part behind. If the mapping happens to be aligned, there is
    // nothing before.
    for (std::size_t refused = 1; refused != 4; ++refused) {
        const test::system_calls calls;
        calls.refuse(test::system_call::any, refused);
        const os::page_mapping mapping = os::map_pages(page, 64 * page, page_kind::normal);
        EXPECT_EQ(mapping.memory == nullptr, refused == 1);
        EXPECT_EQ(mapping.reserved_bytes, calls.mapped());
        calls.refuse_nothing(); // not the call that gives it back, where it happened to be aligned
        if (mapping.memory != nullptr) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.memory) % (64 * page), 0u);
            std::memset(mapping.memory, 0xAB, mapping.bytes);
            EXPECT_TRUE(os::unmap_pages(mapping)) << "all at once";
        }
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(map_pages, gives_reserved_huge_pages_or_none)
{
    const os::page_mapping mapping = os::map_pages(1, 1, page_kind::huge);
    if (mapping.memory == nullptr)
        GTEST_SKIP() << "this system has none to give";
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

TEST(populate_pages, says_that_it_cannot)
{
    const os::page_mapping mapping = os::map_pages(16 * page, 1, page_kind::normal);
    ASSERT_EQ(munmap(static_cast<std::byte*>(mapping.memory) + 8 * page, page), 0); // a hole, which cannot be backed
    if (madvise(mapping.memory, page, 23) != 0)
        GTEST_SKIP() << "this system does not know MADV_POPULATE_WRITE";
    EXPECT_FALSE(os::populate_pages(mapping));
    EXPECT_TRUE(os::unmap_pages(mapping)) << "a hole is no obstacle to that";
}
#endif

} // namespace
