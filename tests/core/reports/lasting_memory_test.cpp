// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/lasting_memory.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
struct counted_pages
{
    static inline std::size_t left = 0;
    static inline std::vector<std::unique_ptr<std::uint64_t[]>> taken;

    static void* take(std::size_t bytes)
    {
        if (left == 0)
            return nullptr;
        --left;
        taken.push_back(std::make_unique<std::uint64_t[]>(bytes / sizeof(std::uint64_t)));
        return taken.back().get();
    }
};

TEST(lasting_memory, allocates_entries_contiguously)
{
    counted_pages::left = 1;
    core::lasting_memory<counted_pages> memory;
    std::byte* const first = memory.peek(5'000);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(memory.peek(10), first) << "peek does not take the entry";
    memory.take(13);
    EXPECT_EQ(memory.peek(8), first + 16) << "aligned";
    memory.take(8);
    EXPECT_EQ(memory.peek(64 * 1024 - 24), first + 24);
    memory.take(64 * 1024 - 24);
    EXPECT_EQ(memory.peek(1), nullptr) << "no more pages";
    counted_pages::left = 1;
    EXPECT_NE(memory.peek(1), nullptr);
}
} // namespace
