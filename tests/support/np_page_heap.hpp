// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A page heap of np_alloc for one test, and queries for tests.
#pragma once

#include <np_alloc/page_heap/page_heap.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace test {
struct page_heap_fixture : testing::Test
{
    memory_pool::np::page_heap all;
    first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    page_heap_fixture() { EXPECT_TRUE(all.source().start(std::size_t{256} << 20)); }
    ~page_heap_fixture() override
    {
        EXPECT_TRUE(all.source().with_runs([](const auto& runs) { return runs.is_valid(); }));
        all.source().stop();
    }

    std::byte* memory(const memory_pool::np::run& of) { return all.region().address(of.first); }
    /// Frees 64 MiB, and then uses one block until the heap purges memory, for at most 5 seconds.
    void use_a_lot()
    {
        constexpr std::size_t mebibyte = std::size_t{1} << 20;
        std::vector<memory_pool::np::run> blocks(64);
        for (memory_pool::np::run& each : blocks)
            each = all.large().take_large(mebibyte, 1);
        for (const memory_pool::np::run& each : blocks)
            all.large().give_large(each.first);
        const std::size_t before = all.source().purged();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (all.source().purged() == before && std::chrono::steady_clock::now() < end)
            all.large().give_large(all.large().take_large(mebibyte, 1).first);
    }

    /// Effects: frees a large block and returns its memory to the system.
    void give_and_purge(const memory_pool::np::run& block)
    {
        all.source().decay.set_decay_ms(0);
        all.large().give_large(block.first);
        EXPECT_EQ(dirty(), 0U);
    }

    /// Returns a large block that is fully resident.
    memory_pool::np::run take_filled(std::size_t bytes)
    {
        const memory_pool::np::run taken = all.large().take_large(bytes, 1);
        std::memset(memory(taken), 1, bytes);
        return taken;
    }

    /// Fills, frees and trims a large block, then returns a block of that size without memory.
    memory_pool::np::run take_after_filled(std::size_t bytes)
    {
        all.large().give_large(take_filled(bytes).first);
        (void)all.source().trim();
        return all.large().take_large(bytes, 1);
    }

    bool is_filled(const memory_pool::np::run& of, std::size_t bytes, unsigned char value)
    {
        return std::all_of(memory(of), memory(of) + bytes,
                           [value](std::byte each) { return each == std::byte{value}; });
    }
    memory_pool::np::huge_page_use huge_pages(memory_pool::np::slice_index slice)
    {
        return all.region().huge_pages(position(slice) / memory_pool::np::slices_of_huge_page);
    }
    memory_pool::np::slice_tag tag(memory_pool::np::slice_index slice) { return all.region().tag(slice).load(); }
    std::size_t dirty()
    {
        return all.source().with_runs([](const auto& runs) { return runs.dirty(); });
    }
    std::size_t in_use()
    {
        return all.source().with_runs([](const auto& runs) { return runs.in_use(); });
    }
};
} // namespace test
