// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/slab_counts.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t of_class = 3;

/// Three slabs of one class; two of them have free blocks.
struct slab_counts : testing::Test
{
    np::slab_counts counts;
    std::array<np::slice_record, 3> slabs{};
    std::array<std::byte, np::slice_bytes> memory{};
    const std::uint32_t capacity = np::slab_capacity(of_class);

    slab_counts()
    {
        for (np::slice_record& each : slabs) {
            each.start(np::first_slice, memory.data(), of_class);
            counts.add(of_class);
        }
        slabs[0].free_count = 0;
        counts.add_listed(of_class, np::block_count{2});
    }

    std::uint32_t set_free(std::uint32_t second, std::uint32_t third)
    {
        slabs[1].free_count = second;
        slabs[2].free_count = third;
        return 3 * capacity - second - third;
    }
};

TEST_F(slab_counts, compare_a_slab_with_the_mean_of_slabs_with_free_blocks)
{
    const std::uint32_t outstanding = set_free(capacity - 10, 20);
    EXPECT_TRUE(counts.is_sparse(slabs[1], outstanding));
    EXPECT_FALSE(counts.is_dense(slabs[1], outstanding));
    EXPECT_TRUE(counts.is_dense(slabs[2], outstanding));
    EXPECT_FALSE(counts.is_sparse(slabs[2], outstanding));
    const std::uint32_t alike = set_free(capacity / 2, capacity / 2);
    EXPECT_TRUE(counts.is_sparse(slabs[1], alike) && counts.is_dense(slabs[1], alike));
}

TEST_F(slab_counts, know_whether_other_slabs_have_room_for_a_slabs_blocks)
{
    EXPECT_TRUE(counts.has_room_elsewhere(slabs[1], set_free(capacity - 10, 10)));
    EXPECT_FALSE(counts.has_room_elsewhere(slabs[1], set_free(capacity - 10, 9)));
    counts.add_listed(of_class, -np::block_count{1});
    EXPECT_FALSE(counts.has_room_elsewhere(slabs[1], set_free(capacity, 0))) << "the only slab with free blocks";
}

TEST_F(slab_counts, count_carved_bytes_until_a_slab_is_removed)
{
    EXPECT_EQ(counts.bytes(of_class), 3 * np::slice_bytes);
    slabs[1].carved_end = slabs[1].begin + 5 * slabs[1].block_bytes;
    counts.add_carved(of_class, slabs[1].carved_bytes());
    EXPECT_EQ(counts.carved_bytes(of_class), 5 * np::sizes::size(of_class));
    counts.remove(slabs[1]);
    EXPECT_EQ(counts.carved_bytes(of_class), 0U);
    EXPECT_EQ(counts.bytes(of_class), 2 * np::slice_bytes);
}
} // namespace
