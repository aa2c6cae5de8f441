// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/slice_record.hpp>

#include <np_alloc/slices/size_classes.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t slab_bytes = 64 * 1024;

/// Rows of free pages, by the number of the first page, and of the one behind the last.
using rows = std::vector<std::pair<std::size_t, std::size_t>>;

/// A slab of blocks of one size, of which some are outstanding.
class slab_test : public testing::Test
{
protected:
    void make(std::size_t block_bytes)
    {
        slab_.start(np::first_slice, memory_.data(), np::sizes::of(block_bytes));
        ASSERT_EQ(slab_.block_bytes, block_bytes);
        for (std::uint32_t number = 0; number != slab_.capacity; ++number)
            all_.push_back(number);
    }

    /// Has all blocks be outstanding but those.
    void keep_free(const std::vector<std::uint32_t>& numbers)
    {
        std::vector<void*> outstanding(slab_.capacity);
        ASSERT_EQ(slab_.take(outstanding.data(), slab_.capacity), slab_.capacity);
        for (const std::uint32_t number : numbers) {
            void* const block = memory_.data() + std::size_t{number} * slab_.block_bytes;
            (void)slab_.put(np::facts[slab_.size_class], &block, 1, [](auto&&...) { FAIL(); });
        }
    }

    std::size_t page_of(const std::byte* address) const
    {
        return static_cast<std::size_t>(address - memory_.data()) / page;
    }

    rows free_pages() const
    {
        rows found;
        slab_.for_each_row_of_free_pages(page, slab_bytes, [&](const std::byte* from, const std::byte* end) {
            found.emplace_back(page_of(from), page_of(end));
        });
        return found;
    }

    std::vector<std::byte> memory_{slab_bytes};
    np::slice_record slab_{};
    std::vector<std::uint32_t> all_;
};

TEST_F(slab_test, has_no_free_pages_if_all_blocks_are_outstanding)
{
    make(1024);
    keep_free({});
    EXPECT_EQ(free_pages(), rows());
}

TEST_F(slab_test, has_free_pages_alone_if_all_blocks_are_free)
{
    make(1024);
    EXPECT_EQ(free_pages(), (rows{{0, 16}}));
}

TEST_F(slab_test, has_a_free_page_where_each_block_on_it_is_free)
{
    make(1024);
    keep_free({0, 1, 2, 3, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18, 19, 60, 61, 62, 63});
    EXPECT_EQ(free_pages(), (rows{{0, 1}, {3, 5}, {15, 16}}));
}

TEST_F(slab_test, has_no_free_page_where_a_block_reaches_into_it_that_is_outstanding)
{
    make(5120);
    all_.erase(all_.begin() + 1); // bytes 5120 to 10240: a part of pages 1 and 2
    keep_free(all_);
    EXPECT_EQ(free_pages(), (rows{{0, 1}, {3, 16}})) << "with what is behind the last block";
}
} // namespace
