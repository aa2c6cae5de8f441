// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/written_records.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace np = memory_pool::np;

namespace {
using slices = std::vector<std::uint32_t>;

std::uint32_t number_of(np::slice_index slice)
{
    return static_cast<std::uint32_t>(np::position(slice));
}

/// The records of 16 GiB.
struct written_records : testing::Test
{
    static constexpr std::uint32_t count = std::uint32_t{1} << 18;
    static constexpr std::uint32_t part = np::written_records::slices_of_part;

    np::written_records noted;

    written_records() { EXPECT_TRUE(noted.start(count)); }
    ~written_records() override { noted.stop(); }

    slices visited(std::uint32_t first, std::uint32_t length) const
    {
        slices all;
        noted.for_each(np::slice_at(first), length, [&all](np::slice_index slice) { all.push_back(number_of(slice)); });
        return all;
    }

    slices taken(std::uint32_t first, std::uint32_t length)
    {
        slices all;
        noted.take_rows(np::slice_at(first), length, [&all](np::slice_index begin, np::slice_index end) {
            for (np::slice_index slice = begin; slice != end; ++slice)
                all.push_back(number_of(slice));
        });
        return all;
    }
};

TEST_F(written_records, are_empty_initially)
{
    EXPECT_EQ(visited(0, count), slices());
}

TEST_F(written_records, are_visited_only_within_the_run)
{
    noted.note(np::slice_at(5 * part + 3));
    noted.note(np::slice_at(200'000));
    EXPECT_EQ(visited(0, count).size(), 2 * part);
    EXPECT_EQ(visited(5 * part + 30, 10), (slices{5 * part + 30, 5 * part + 31}));
    EXPECT_EQ(visited(5 * part - 10, 11), (slices{5 * part}));
    EXPECT_EQ(visited(5 * part + 7, 1), (slices{5 * part + 7})) << "noting a slice notes its whole part";
    EXPECT_EQ(visited(6 * part, 100'000), slices());
    EXPECT_EQ(visited(4 * part, part), slices());
}

TEST_F(written_records, are_forgotten_when_all_slices_of_a_part_are_taken)
{
    noted.note(np::first_slice);
    noted.note(np::slice_at(part));
    noted.note(np::slice_at(count - 1));
    EXPECT_EQ(taken(1, part - 1).size(), part - 1);
    EXPECT_EQ(taken(part, part - 1).size(), part - 1);
    EXPECT_EQ(visited(0, count).size(), 3 * part) << "slices of each part are left";
    EXPECT_EQ(taken(0, count - 1).size(), 3 * part - 1);
    EXPECT_EQ(visited(0, count).size(), part);
    EXPECT_EQ(taken(count - part, part).size(), part);
    EXPECT_EQ(visited(0, count), slices());
}

TEST_F(written_records, cover_the_last_slices_of_a_region)
{
    np::written_records few;
    ASSERT_TRUE(few.start(33));
    few.note(np::slice_at(32));
    slices all;
    few.for_each(np::first_slice, 33, [&all](np::slice_index slice) { all.push_back(number_of(slice)); });
    EXPECT_EQ(all, (slices{32}));
    few.stop();
}
} // namespace
