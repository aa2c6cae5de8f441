// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/free_addresses.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::uint64_t chances[] = {0, 1, 0x1234'5678'9ABC'DEF0U, std::numeric_limits<std::uint64_t>::max()};

/// An address space of `bits` bits, with a mapping at `mapped_at` 32nds of it.
np::free_addresses space(unsigned bits, unsigned mapped_at)
{
    const std::uintptr_t end = std::uintptr_t{1} << bits;
    return {end, end / 32 * mapped_at};
}

TEST(free_addresses, are_far_from_the_program_and_below_its_mappings)
{
    for (const unsigned bits : {38U, 39U, 42U, 47U, 48U})
        for (const unsigned mapped_at : {31U, 16U, 11U}) {
            const np::free_addresses all = space(bits, mapped_at);
            const std::size_t bytes = all.max_bytes() + all.max_bytes() / 4;
            for (const std::uint64_t chance : chances) {
                const std::uintptr_t begin = all.pick(bytes, huge_page, chance);
                EXPECT_EQ(begin % huge_page, 0U);
                EXPECT_GE(begin, all.end / 8) << bits << ' ' << mapped_at;
                EXPECT_LE(begin + bytes, all.end / 2);
                EXPECT_LE(begin + bytes, all.mapped);
            }
        }
}

TEST(free_addresses, are_random)
{
    const np::free_addresses all = space(47, 31);
    EXPECT_NE(all.pick(huge_page, huge_page, chances[1]), all.pick(huge_page, huge_page, chances[2]));
}

TEST(free_addresses, fail_if_the_request_exceeds_the_address_space)
{
    const np::free_addresses all = space(39, 31);
    EXPECT_EQ(all.pick(all.end / 2, huge_page, 1), 0U);
    EXPECT_EQ(np::free_addresses{}.pick(huge_page, huge_page, 1), 0U) << "unknown address space";
}

TEST(free_addresses, are_below_the_mappings_of_this_process)
{
    const np::free_addresses all = np::free_addresses::find();
    const std::byte on_the_stack{};
    EXPECT_LT(reinterpret_cast<std::uintptr_t>(&on_the_stack), all.end);
    EXPECT_LT(all.mapped, all.end);
    EXPECT_GE(all.max_bytes(), std::size_t{1} << 32);
}
} // namespace
