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

/// Rows of free pages: the number of the first page, and that of the page behind the last one.
using rows = std::vector<std::pair<std::size_t, std::size_t>>;

/// A slab of blocks of one size, some of them outstanding.
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

    /// Makes all blocks outstanding except the given blocks.
    void keep_free(const std::vector<std::uint32_t>& numbers)
    {
        std::vector<void*> outstanding(slab_.capacity);
        ASSERT_EQ(slab_.take(outstanding.data(), slab_.capacity), slab_.capacity);
        for (const std::uint32_t number : numbers) {
            void* const block = memory_.data() + std::size_t{number} * slab_.block_bytes;
            (void)slab_.put(np::class_info[slab_.size_class], &block, 1, [](auto&&...) { FAIL(); });
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

TEST_F(slab_test, has_only_free_pages_if_all_blocks_are_free)
{
    make(1024);
    EXPECT_EQ(free_pages(), (rows{{0, 16}}));
}

TEST_F(slab_test, has_a_free_page_where_all_blocks_on_it_are_free)
{
    make(1024);
    keep_free({0, 1, 2, 3, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18, 19, 60, 61, 62, 63});
    EXPECT_EQ(free_pages(), (rows{{0, 1}, {3, 5}, {15, 16}}));
}

TEST_F(slab_test, has_no_free_page_where_an_outstanding_block_overlaps)
{
    make(5120);
    all_.erase(all_.begin() + 1); // bytes 5120 to 10240: a part of pages 1 and 2
    keep_free(all_);
    EXPECT_EQ(free_pages(), (rows{{0, 1}, {3, 16}})) << "including the tail behind the last block";
}
/// Puts batches of blocks. put() returns the number of accepted blocks; `refused_` has the refused blocks.
class put_in_order : public slab_test
{
protected:
    std::uint32_t put(const std::vector<void*>& blocks)
    {
        refused_.clear();
        const auto refuse = [this](memory_pool::error_kind kind, void* block) { refused_.emplace_back(kind, block); };
        const auto result = slab_.put(np::class_info[slab_.size_class], blocks.data(), blocks.size(), refuse);
        EXPECT_EQ(result.seen, blocks.size());
        EXPECT_TRUE(slab_.is_valid());
        return result.taken_back;
    }

    void* block(std::size_t number) { return memory_.data() + number * slab_.block_bytes; }

    std::vector<void*> row(std::size_t from, std::size_t end)
    {
        std::vector<void*> blocks;
        for (; from != end; ++from)
            blocks.push_back(block(from));
        return blocks;
    }

    std::vector<std::pair<memory_pool::error_kind, void*>> refused_;
};

TEST_F(put_in_order, accepts_rows_of_any_length_from_any_block)
{
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{64}, std::size_t{1008}, std::size_t{8192}}) {
        make(bytes);
        for (std::size_t from = 0; from < slab_.capacity; from += 1 + slab_.capacity / 50)
            for (std::size_t end = from + 1; end <= slab_.capacity; end += 1 + slab_.capacity / 40) {
                all_.clear();
                make(bytes);
                keep_free({});
                EXPECT_EQ(put(row(from, end)), end - from);
                EXPECT_EQ(slab_.free_count, end - from);
                EXPECT_EQ(slab_.is_outstanding(from), false);
                EXPECT_EQ(slab_.is_outstanding(end - 1), false);
                if (end != slab_.capacity) {
                    EXPECT_TRUE(slab_.is_outstanding(end));
                }
            }
        EXPECT_TRUE(refused_.empty());
    }
}

TEST_F(put_in_order, refuses_only_the_free_block_in_a_row)
{
    make(64);
    keep_free({40});
    EXPECT_EQ(put(row(30, 50)), 19U);
    EXPECT_EQ(refused_, (decltype(refused_){{memory_pool::error_kind::double_free, block(40)}}));
}

TEST_F(put_in_order, refuses_a_block_that_is_in_the_row_twice)
{
    make(64);
    keep_free({});
    std::vector<void*> blocks = row(3, 20);
    blocks.insert(blocks.begin() + 5, block(7));
    EXPECT_EQ(put(blocks), 17U);
    EXPECT_EQ(refused_, (decltype(refused_){{memory_pool::error_kind::double_free, block(7)}}));
}

TEST_F(put_in_order, refuses_an_address_behind_the_last_block)
{
    make(1008); // 65 blocks and a tail of 16 bytes
    keep_free({});
    EXPECT_EQ(put(row(60, slab_.capacity + 1)), slab_.capacity - 60);
    EXPECT_EQ(refused_, (decltype(refused_){{memory_pool::error_kind::misaligned_pointer, block(slab_.capacity)}}));
}
} // namespace
