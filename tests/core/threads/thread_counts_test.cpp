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

TEST_F(thread_counts_test, adds_up_what_threads_with_a_cache_and_without_one_have_done)
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

TEST_F(thread_counts_test, keeps_what_a_thread_has_counted_when_it_has_ended)
{
    allocate(3, &mine_);
    caches_.put(mine_);
    expect(3, 0, 3);
}

TEST_F(thread_counts_test, takes_back_the_count_of_blocks_that_were_refused)
{
    allocate(2, &mine_);
    deallocate(3, &mine_); // The last is none of the pool's.
    counts_.refuse(1);
    expect(2, 2, 2);
    allocate(2, &mine_);
    deallocate(1, &mine_); // It was here already.
    counts_.refuse(1);
    expect(4, 2, 2);
}

TEST_F(thread_counts_test, has_no_peak_below_0_while_a_misuse_is_not_found_out)
{
    deallocate(1, &mine_);
    allocate(1, &mine_);
    expect(1, 1, 0);
}

TEST_F(thread_counts_test, ends_all_that_are_in_use)
{
    allocate(3, &mine_);
    deallocate(1, &mine_);
    counts_.end_all(2);
    expect(3, 3, 3);
    allocate(1, &mine_);
    expect(4, 3, 3);
}

TEST_F(thread_counts_test, settles_what_another_thread_had_done_and_not_counted)
{
    allocate(3, &mine_);
    counts_.settle(caches_, 5); // It was about to count two more.
    EXPECT_EQ(counts_.sum(caches_).allocations - counts_.sum(caches_).deallocations, 5u);
    EXPECT_EQ(counts_.sum(caches_).peak_in_use, 5u);
    counts_.settle(caches_, 1);
    EXPECT_EQ(counts_.sum(caches_).allocations - counts_.sum(caches_).deallocations, 1u);
    EXPECT_EQ(counts_.sum(caches_).peak_in_use, 5u);
}

TEST_F(thread_counts_test, begins_the_peak_anew_at_the_blocks_in_use)
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
