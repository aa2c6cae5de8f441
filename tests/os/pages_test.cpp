// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/pages.hpp>

#include <memory_pool/base/arithmetic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace os = memory_pool::detail::os;
namespace base = memory_pool::detail::base;

namespace {
TEST(page_size, is_a_constant_power_of_two)
{
    EXPECT_TRUE(base::is_power_of_two(os::page_size()));
    EXPECT_GE(os::page_size(), 4096u);
    EXPECT_EQ(os::page_size(), os::page_size());
}

TEST(touch_pages, writes_only_within_the_range)
{
    std::vector<unsigned char> memory(5 * os::page_size(), 0xAA);
    os::touch_pages(memory.data() + 100, 3 * os::page_size());
    EXPECT_EQ(memory[99], 0xAA);
    EXPECT_EQ(memory[100], 0);
    EXPECT_EQ(memory[100 + 3 * os::page_size()], 0xAA);
    os::touch_pages(memory.data(), 0);
    EXPECT_EQ(memory[0], 0xAA);
}

#if __has_include(<sys/mman.h>)
TEST(touch_pages, makes_every_page_resident)
{
    const std::size_t page = os::page_size();
    const std::size_t pages = 16;
    void* const memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    (void)madvise(memory, pages * page, MADV_NOHUGEPAGE);
    auto* const first = static_cast<char*>(memory);
    const auto resident = [&] {
        std::vector<unsigned char> state(pages);
        EXPECT_EQ(mincore(memory, pages * page, state.data()), 0);
        std::size_t count = 0;
        for (const unsigned char one : state)
            count += one & 1u;
        return count;
    };
    EXPECT_EQ(resident(), 0u);
    os::touch_pages(first + page - 1, 2); // the last byte of one page and the first of the next
    EXPECT_EQ(resident(), 2u);
    os::touch_pages(first, pages * page);
    EXPECT_EQ(resident(), pages);
    munmap(memory, pages * page);
}
#endif
} // namespace
