// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/thread_counts.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
class thread_counts_test : public testing::Test
{
protected:
    thread_counts_test() : mine_(caches_.unused(&upstream_)) { caches_.take_unused(); }
    ~thread_counts_test() override { caches_.free_all(&upstream_); }

    void allocate(std::size_t blocks, core::thread_cache* by)
    {
        for (std::size_t i = 0; i != blocks; ++i)
            counts_.add_allocation(by);
    }

    void deallocate(std::size_t blocks, core::thread_cache* by)
    {
        for (std::size_t i = 0; i != blocks; ++i)
            counts_.add_deallocation(by);
    }

    void expect(std::size_t allocations, std::size_t deallocations, std::size_t peak) const
    {
        const memory_pool::pool_statistics all = counts_.sum(caches_);
        EXPECT_EQ(all.allocations, allocations);
        EXPECT_EQ(all.deallocations, deallocations);
        EXPECT_EQ(all.peak_in_use, peak);
    }

    test::accounting_upstream upstream_;
    core::thread_caches<> caches_;
    core::thread_cache& mine_;
    core::thread_counts counts_;
};

TEST_F(thread_counts_test, sums_counts_with_and_without_a_cache)
{
    allocate(3, &mine_);
    allocate(4, nullptr);
    deallocate(5, nullptr);
    allocate(1, &mine_);
    counts_.add_failure(&mine_);
    counts_.add_failure(nullptr);
    expect(8, 5, 7);
    EXPECT_EQ(counts_.sum(caches_).failures, 2u);
}

TEST_F(thread_counts_test, keeps_the_counts_of_exited_threads)
{
    allocate(3, &mine_);
    caches_.put(mine_);
    expect(3, 0, 3);
}

TEST_F(thread_counts_test, refuse_corrects_the_count_of_rejected_blocks)
{
    allocate(2, &mine_);
    deallocate(3, &mine_); // One block is foreign.
    counts_.refuse(1);
    expect(2, 2, 2);
    allocate(2, &mine_);
    deallocate(1, &mine_); // A double free.
    counts_.refuse(1);
    expect(4, 2, 2);
}

TEST_F(thread_counts_test, peak_is_never_negative_before_misuse_is_detected)
{
    deallocate(1, &mine_);
    allocate(1, &mine_);
    expect(1, 1, 0);
}

TEST_F(thread_counts_test, end_all_counts_blocks_in_use_as_freed)
{
    allocate(3, &mine_);
    deallocate(1, &mine_);
    counts_.end_all(2);
    expect(3, 3, 3);
    allocate(1, &mine_);
    expect(4, 3, 3);
}

TEST_F(thread_counts_test, settle_adjusts_counts_to_the_blocks_in_use)
{
    allocate(3, &mine_);
    counts_.settle(caches_, 5); // A thread has not counted two allocations yet.
    EXPECT_EQ(counts_.sum(caches_).allocations - counts_.sum(caches_).deallocations, 5u);
    EXPECT_EQ(counts_.sum(caches_).peak_in_use, 5u);
    counts_.settle(caches_, 1);
    EXPECT_EQ(counts_.sum(caches_).allocations - counts_.sum(caches_).deallocations, 1u);
    EXPECT_EQ(counts_.sum(caches_).peak_in_use, 5u);
}

TEST_F(thread_counts_test, resets_the_peak_to_the_blocks_in_use)
{
    allocate(5, &mine_);
    deallocate(3, nullptr);
    counts_.reset_peak();
    expect(5, 3, 2);
    deallocate(1, nullptr);
    allocate(3, nullptr);
    expect(8, 4, 4);
}
} // namespace
