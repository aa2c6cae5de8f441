// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/quarantine.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
struct checked_quarantine : testing::Test
{
    static constexpr std::size_t small_class = np::sizes::of(100);
    static constexpr std::size_t large_class = np::sizes::of(8192);
    using found_blocks = std::vector<std::pair<std::size_t, const void*>>;

    std::unique_ptr<np::quarantine> waiting = std::make_unique<np::quarantine>();
    std::array<std::array<std::byte, 16>, 64> blocks{};

    void* block(std::size_t number) { return blocks[number].data(); }

    found_blocks all() const
    {
        found_blocks found;
        EXPECT_TRUE(waiting->for_each([&found](std::size_t size_class, const void* each) {
            found.emplace_back(size_class, each);
            return true;
        }));
        return found;
    }
};

TEST_F(checked_quarantine, has_a_queue_up_to_4_kib_and_a_ring_per_larger_class)
{
    EXPECT_TRUE(waiting->is_empty());
    EXPECT_FALSE(np::quarantine::has_ring(np::sizes::of(4096)));
    EXPECT_TRUE(np::quarantine::has_ring(np::sizes::of(4097)));
    EXPECT_TRUE(np::quarantine::has_ring(np::class_count - 1));
}

TEST_F(checked_quarantine, pops_the_oldest_block_and_counts_bytes)
{
    waiting->push(small_class, block(0), true);
    waiting->push(small_class + 1, block(1), false);
    EXPECT_EQ(waiting->bytes(), np::sizes::size(small_class) + np::sizes::size(small_class + 1));
    const np::quarantine::entry first = waiting->pop();
    EXPECT_EQ(first.block, block(0));
    EXPECT_EQ(first.size_class, small_class);
    EXPECT_TRUE(first.is_own);
    const np::quarantine::entry second = waiting->pop();
    EXPECT_EQ(second.block, block(1));
    EXPECT_EQ(second.size_class, small_class + 1);
    EXPECT_FALSE(second.is_own);
    EXPECT_EQ(waiting->bytes(), 0U);
    EXPECT_TRUE(waiting->is_empty());
}

TEST_F(checked_quarantine, is_full_at_capacity_wherever_the_queue_begins)
{
    for (std::size_t begin = 0; begin != 3; ++begin) {
        for (std::size_t i = 0; i != np::quarantine::max_blocks; ++i) {
            EXPECT_FALSE(waiting->is_full());
            waiting->push(small_class, block(i % blocks.size()), true);
        }
        EXPECT_TRUE(waiting->is_full());
        for (std::size_t i = 0; i != np::quarantine::max_blocks; ++i)
            EXPECT_EQ(waiting->pop().block, block(i % blocks.size()));
        waiting->push(small_class, block(0), true);
        EXPECT_EQ(waiting->pop().block, block(0));
    }
}

TEST_F(checked_quarantine, replaces_the_oldest_block_of_a_full_ring)
{
    constexpr std::size_t count = np::quarantine::blocks_in_ring;
    for (std::size_t i = 0; i != count; ++i)
        EXPECT_EQ(waiting->replace(large_class, block(i), i != 0).block, nullptr);
    EXPECT_EQ(waiting->bytes_in_rings(), count * np::sizes::size(large_class));
    EXPECT_EQ(waiting->bytes(), 0U) << "bytes() counts the queue only";
    const np::quarantine::entry oldest = waiting->replace(large_class, block(count), true);
    EXPECT_EQ(oldest.block, block(0));
    EXPECT_FALSE(oldest.is_own);
    EXPECT_TRUE(waiting->replace(large_class, block(count + 1), true).is_own);
    EXPECT_EQ(waiting->replace(large_class + 1, block(count + 2), true).block, nullptr) << "another ring";
    EXPECT_EQ(waiting->bytes_in_rings(), count * np::sizes::size(large_class) + np::sizes::size(large_class + 1));
}

TEST_F(checked_quarantine, pops_all_blocks_oldest_first)
{
    waiting->push(small_class, block(0), true);
    waiting->push(small_class, block(1), false);
    for (std::size_t i = 0; i != np::quarantine::blocks_in_ring + 1; ++i)
        (void)waiting->replace(large_class, block(2 + i), true);
    const found_blocks before = all();
    EXPECT_EQ(before.size(), 2 + np::quarantine::blocks_in_ring);
    found_blocks given;
    waiting->pop_all([&given](std::size_t size_class, const void* each) { given.emplace_back(size_class, each); });
    EXPECT_EQ(given.size(), before.size());
    EXPECT_EQ(given[0], before[0]);
    EXPECT_EQ(given[1], before[1]);
    EXPECT_EQ(given[2].second, block(3)) << "the oldest block of the ring was replaced";
    EXPECT_TRUE(waiting->is_empty());
    EXPECT_TRUE(all().empty());
}

TEST_F(checked_quarantine, is_readable_from_outside)
{
    waiting->push(small_class, block(0), false);
    (void)waiting->replace(large_class, block(1), false);
    std::vector<const void*> seen;
    waiting->for_each_from_outside([&seen](const void* each) { seen.push_back(each); });
    EXPECT_EQ(seen, (std::vector<const void*>{block(0), block(1)}));
    std::vector<std::size_t> classes;
    waiting->for_each_class_from_outside([&classes](std::size_t each) { classes.push_back(each); });
    EXPECT_EQ(classes, (std::vector<std::size_t>{small_class, large_class}));
    EXPECT_FALSE(waiting->for_each([](std::size_t, const void*) { return false; }));
}
} // namespace
