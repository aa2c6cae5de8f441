// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Moving blocks out of sparse slabs: when a move pays, where blocks go, and how much memory becomes free.
#include <memory_pool/np_alloc.h>

#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {
np_statistics now()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics;
}

/// Numbered blocks, most of which are freed at random.
class sparse_blocks
{
public:
    static constexpr std::size_t block_bytes = 48;
    static constexpr std::size_t count = 100'000;

    template <class Allocate>
    explicit sparse_blocks(Allocate&& allocate)
    {
        for (std::size_t number = 0; number != count; ++number) {
            void* const block = allocate(block_bytes);
            std::memcpy(block, &number, sizeof number);
            blocks_.emplace_back(block, number);
        }
    }
    sparse_blocks(const sparse_blocks&) = delete;
    sparse_blocks& operator=(const sparse_blocks&) = delete;
    ~sparse_blocks()
    {
        for (const auto& [block, number] : blocks_)
            np_free(block);
    }

    /// Effects: frees random blocks until one in `kept` is left.
    void keep_one_in(std::size_t kept)
    {
        std::mt19937 random(1);
        std::shuffle(blocks_.begin(), blocks_.end(), random);
        for (; blocks_.size() != count / kept; blocks_.pop_back())
            np_free(blocks_.back().first);
    }

    /// Effects: moves all blocks for which np_defrag_hint advises a move, in several rounds.
    /// Returns: the number of moves.
    std::size_t defragment()
    {
        std::size_t moved = 0;
        for (int round = 0; round != 10; ++round)
            for (auto& [block, number] : blocks_)
                if (np_defrag_hint(block) != 0)
                    if (void* const to = np_defrag_move(block)) {
                        block = to;
                        ++moved;
                    }
        return moved;
    }

    bool are_intact() const
    {
        return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& each) {
            return std::memcmp(each.first, &each.second, sizeof each.second) == 0 &&
                   np_usable_size(each.first) >= block_bytes;
        });
    }

    std::size_t hinted() const
    {
        return static_cast<std::size_t>(std::count_if(
            blocks_.begin(), blocks_.end(), [](const auto& each) { return np_defrag_hint(each.first) != 0; }));
    }

    void* first() const { return blocks_.front().first; }

private:
    std::vector<std::pair<void*, std::size_t>> blocks_;
};

void expect_to_free_most_slabs(sparse_blocks& blocks)
{
    (void)np_trim(); // Freed blocks may be in transit or cached.
    const np_statistics before = now();
    EXPECT_GT(blocks.defragment(), sparse_blocks::count / 20);
    EXPECT_TRUE(blocks.are_intact());
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(blocks.hinted(), 0U) << "no more moves pay";
    EXPECT_LT(now().bytes_free_in_slabs, before.bytes_free_in_slabs / 10);
    EXPECT_LT(now().slabs, before.slabs / 4);
}

TEST(np_defrag_move, frees_sparse_slabs)
{
    sparse_blocks blocks(np_alloc);
    blocks.keep_one_in(10);
    expect_to_free_most_slabs(blocks);
}

TEST(np_defrag_move, frees_slabs_of_running_and_ended_threads)
{
    test::lasting_thread other;
    std::unique_ptr<sparse_blocks> of_other;
    other.does([&of_other] { of_other = std::make_unique<sparse_blocks>(np_alloc); });
    of_other->keep_one_in(10);
    expect_to_free_most_slabs(*of_other);
    std::unique_ptr<sparse_blocks> of_ended;
    std::thread([&of_ended] { of_ended = std::make_unique<sparse_blocks>(np_alloc); }).join();
    of_ended->keep_one_in(10);
    expect_to_free_most_slabs(*of_ended);
}

TEST(np_defrag_move, keeps_a_block_in_its_heap)
{
    np_heap* const heap = np_heap_create();
    {
        sparse_blocks blocks([heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); });
        blocks.keep_one_in(10);
        expect_to_free_most_slabs(blocks);
        EXPECT_EQ(np_heap_of(blocks.first()), heap);
    }
    np_heap_destroy(heap);
}

TEST(np_defrag_move, keeps_the_call_site_of_a_block)
{
    {
        sparse_blocks blocks([](std::size_t bytes) { return np_alloc_at(bytes, "defrag.c", 7); });
        blocks.keep_one_in(10);
        expect_to_free_most_slabs(blocks);
        std::size_t found = 0;
        (void)np_call_site_visit(
            [](const np_call_site* site, void* count) {
                if (site->line == 7)
                    *static_cast<std::size_t*>(count) = site->bytes;
                return 1;
            },
            &found);
        EXPECT_EQ(found, sparse_blocks::count / 10 * sparse_blocks::block_bytes);
    }
}

TEST(np_defrag_move, works_while_other_threads_use_the_slabs)
{
    std::array<std::array<void*, 5'000>, 4> blocks{};
    test::in_threads(4, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int step = 0; step != 100'000; ++step) {
            void*& block = blocks[thread][random() % blocks[thread].size()];
            if (void* const moved = block != nullptr ? np_defrag_move(block) : nullptr)
                block = moved;
            else if (random() % 4 == 0)
                np_free(std::exchange(block, np_alloc(48)));
            else
                np_free(std::exchange(block, nullptr));
        }
    });
    test::in_threads(4, [&](std::size_t thread) { // Moves blocks of another thread.
        for (void*& block : blocks[(thread + 1) % 4])
            if (void* const moved = block != nullptr ? np_defrag_move(block) : nullptr)
                block = moved;
    });
    for (const auto& of_thread : blocks)
        std::for_each(of_thread.begin(), of_thread.end(), np_free);
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_defrag_hint, is_0_if_a_move_gains_nothing)
{
    sparse_blocks blocks(np_alloc);
    EXPECT_EQ(blocks.hinted(), 0U) << "all slabs but one are full";
    void* const large = np_alloc(1'000'000);
    void* const only_one = np_alloc(20'000);
    const int local = 0;
    for (const void* each :
         {static_cast<const void*>(nullptr), static_cast<const void*>(&local), static_cast<const void*>(large),
          static_cast<const void*>(only_one), static_cast<const void*>(static_cast<const char*>(blocks.first()) + 16)})
        EXPECT_EQ(np_defrag_hint(each), 0) << each;
    EXPECT_EQ(np_defrag_move(nullptr), nullptr);
    EXPECT_EQ(np_defrag_move(large), nullptr);
    EXPECT_EQ(np_defrag_move(only_one), nullptr);
    np_free(only_one);
    np_free(large);
}

TEST(np_defrag_hint, is_0_for_samples)
{
    ASSERT_EQ(np_option_set(np_option_sample_bytes, 16), 0);
    (void)np_trim();
    void* const sample = np_alloc(100);
    ASSERT_EQ(np_option_set(np_option_sample_bytes, 0), 0);
    EXPECT_EQ(np_defrag_hint(sample), 0);
    EXPECT_EQ(np_defrag_move(sample), nullptr);
    np_free(sample);
}

/// Sums over visited slabs.
struct slab_sums
{
    std::size_t slabs = 0;
    std::size_t bytes = 0;
    std::size_t bytes_in_use = 0;
    std::size_t bytes_cached = 0;
};

int add_slab(const np_slab* slab, void* sums)
{
    auto& sum = *static_cast<slab_sums*>(sums);
    ++sum.slabs;
    sum.bytes += slab->bytes;
    sum.bytes_in_use += slab->blocks_in_use * slab->block_bytes;
    sum.bytes_cached += slab->blocks_cached * slab->block_bytes;
    EXPECT_LE(slab->blocks_in_use + slab->blocks_cached, slab->blocks);
    EXPECT_LE(slab->blocks * slab->block_bytes, slab->bytes);
    EXPECT_EQ(np_owns(slab->address), 1);
    return 1;
}

TEST(np_slab_visit, reports_the_occupancy_of_each_slab)
{
    sparse_blocks blocks(np_alloc);
    blocks.keep_one_in(3);
    np_heap* const heap = np_heap_create();
    for (const std::size_t bytes : {100U, 5000U, 500'000U})
        (void)np_heap_alloc(heap, bytes);
    slab_sums all;
    ASSERT_EQ(np_slab_visit(nullptr, add_slab, &all), 1);
    const np_statistics statistics = now();
    EXPECT_EQ(all.bytes_in_use, statistics.bytes_in_use - statistics.bytes_large);
    EXPECT_EQ(all.bytes_cached, statistics.bytes_cached + statistics.bytes_in_transit);
    EXPECT_EQ(all.bytes, statistics.bytes_in_use - statistics.bytes_large + statistics.bytes_cached +
                             statistics.bytes_in_transit + statistics.bytes_free_in_slabs +
                             statistics.bytes_never_carved);
    slab_sums of_heap;
    ASSERT_EQ(np_slab_visit(heap, add_slab, &of_heap), 1);
    EXPECT_EQ(of_heap.slabs, 2U);
    EXPECT_EQ(np_slab_visit(heap, [](const np_slab*, void*) { return 0; }, nullptr), 0);
    np_heap_destroy(heap);
}
} // namespace
